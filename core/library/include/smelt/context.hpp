// smelt/context.h for C++20: objects that free themselves, rows of elements instead of addresses and bytes, any
// callable instead of a smelt_fold. All of it is in this header, and calls the C functions, which say what each does
// and returns (0 or a negative errno); nothing throws.
//
//   smelt::Context context;
//   std::vector<smelt::Seat> seats;
//   if (smelt::Context::create(4, context) != 0 || context.seats(seats) != 0) ...
//   // in thread i
//   double mine[3] = {...}, all[3];
//   seats[i].allreduce(mine, all, std::plus<>());
//
// A row is whatever lies in one piece: an array, a std::vector, a std::array, a std::span. Its elements are trivially
// copyable; bool is refused, as a std::vector of them is no row, and a byte that holds neither 0 nor 1 is no bool.
#ifndef SMELT_CONTEXT_HPP
#define SMELT_CONTEXT_HPP

#include <smelt/context.h>

#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace smelt {

template <typename T>
concept Element = std::is_trivially_copyable_v<T> && !std::same_as<std::remove_cv_t<T>, bool>;

// How far participants wait for each other beyond what data need.
enum class Sync : unsigned {
  loose = 0,
  strict_entry = SMELT_STRICT_ENTRY,
  strict_exit = SMELT_STRICT_EXIT,
  strict = SMELT_STRICT_ENTRY | SMELT_STRICT_EXIT
};

inline constexpr int64_t for_ever = -1;  // as a limit to waits, which are nanoseconds

// One participant's part in the collectives of a context.
class Seat {
 public:
  Seat() = default;
  explicit Seat(smelt_seat* seat) : seat_(seat) {}  // owns it from here on

  smelt_seat* get() const { return seat_.get(); }
  explicit operator bool() const { return seat_ != nullptr; }
  unsigned size() const { return smelt_seat_size(get()); }
  unsigned participant() const { return smelt_seat_participant(get()); }

  static int attach(const smelt_seat_ticket& ticket, unsigned participant, Seat& seat, int64_t timeout_ns = for_ever) {
    smelt_seat* made = nullptr;
    const int error = smelt_seat_attach(&ticket, participant, timeout_ns, &made);
    if (error == 0) seat = Seat(made);
    return error;
  }
  static int open(std::span<std::byte> memory, unsigned participant, Seat& seat, int64_t timeout_ns = for_ever) {
    smelt_seat* made = nullptr;
    const int error = smelt_seat_open(memory.data(), memory.size(), participant, timeout_ns, &made);
    if (error == 0) seat = Seat(made);
    return error;
  }

  int barrier() { return smelt_seat_barrier(get()); }
  int start_barrier() { return smelt_seat_start_barrier(get()); }

  template <typename Row>
  int broadcast(Row&& row, unsigned root, Sync sync = Sync::loose) {
    const std::span data = to(row);
    return smelt_seat_broadcast(get(), data.data(), data.size_bytes(), root, unsigned(sync));
  }
  template <typename Row>
  int start_broadcast(Row&& row, unsigned root, Sync sync = Sync::loose) {
    const std::span data = to(row);
    return smelt_seat_start_broadcast(get(), data.data(), data.size_bytes(), root, unsigned(sync));
  }

  // operation(left, right) gives an element; it associates, commutes and does not throw. One with a state is given by
  // name, and stays where it is until the operation is complete. -EINVAL where `out` is not as long as `in`; of a
  // reduction that is not the root's, `out` may be empty.
  template <typename In, typename Out, typename Operation>
  int reduce(const In& in, Out&& out, Operation&& operation, unsigned root, Sync sync = Sync::loose) {
    return reduction<In>(in, out, operation, std::is_lvalue_reference<Operation>(), root != participant(),
                         [&](const auto& from, auto* result, const smelt_fold& fold) {
                           return smelt_seat_reduce(get(), from.data(), result, from.size(), &fold, root,
 unsigned(sync));
                         });
  }
  template <typename In, typename Out, typename Operation>
  int start_reduce(const In& in, Out&& out, Operation&& operation, unsigned root, Sync sync = Sync::loose) {
    return reduction<In>(in, out, operation, std::is_lvalue_reference<Operation>(), root != participant(),
                         [&](const auto& from, auto* result, const smelt_fold& fold) {
                           return smelt_seat_start_reduce(get(), from.data(), result, from.size(), &fold, root,
                                                          unsigned(sync));
                         });
  }
  template <typename In, typename Out, typename Operation>
  int allreduce(const In& in, Out&& out, Operation&& operation, Sync sync = Sync::loose) {
    return reduction<In>(in, out, operation, std::is_lvalue_reference<Operation>(), false,
                         [&](const auto& from, auto* result, const smelt_fold& fold) {
                           return smelt_seat_allreduce(get(), from.data(), result, from.size(), &fold, unsigned(sync));
                         });
  }
  template <typename In, typename Out, typename Operation>
  int start_allreduce(const In& in, Out&& out, Operation&& operation, Sync sync = Sync::loose) {
    return reduction<In>(in, out, operation, std::is_lvalue_reference<Operation>(), false,
                         [&](const auto& from, auto* result, const smelt_fold& fold) {
                           return smelt_seat_start_allreduce(get(), from.data(), result, from.size(), &fold,
                                                             unsigned(sync));
                         });
  }

  // The long row is the root's, or everybody's (exchange), and has size() times as many elements as the short one, or
  // of an exchange a multiple of size(); -EINVAL otherwise. A row that a participant is not asked for may be empty.
  template <typename In, typename Out>
  int gather(const In& in, Out&& out, unsigned root, Sync sync = Sync::loose) {
    const auto [from, result] = rows(in, out);
    if (participant() == root && result.size() != from.size() * size()) return -EINVAL;
    return smelt_seat_gather(get(), from.data(), result.data(), from.size_bytes(), root, unsigned(sync));
  }
  template <typename In, typename Out>
  int start_gather(const In& in, Out&& out, unsigned root, Sync sync = Sync::loose) {
    const auto [from, result] = rows(in, out);
    if (participant() == root && result.size() != from.size() * size()) return -EINVAL;
    return smelt_seat_start_gather(get(), from.data(), result.data(), from.size_bytes(), root, unsigned(sync));
  }
  template <typename In, typename Out>
  int scatter(const In& in, Out&& out, unsigned root, Sync sync = Sync::loose) {
    const auto [from, result] = rows(in, out);
    if (participant() == root && from.size() != result.size() * size()) return -EINVAL;
    return smelt_seat_scatter(get(), from.data(), result.data(), result.size_bytes(), root, unsigned(sync));
  }
  template <typename In, typename Out>
  int start_scatter(const In& in, Out&& out, unsigned root, Sync sync = Sync::loose) {
    const auto [from, result] = rows(in, out);
    if (participant() == root && from.size() != result.size() * size()) return -EINVAL;
    return smelt_seat_start_scatter(get(), from.data(), result.data(), result.size_bytes(), root, unsigned(sync));
  }
  template <typename In, typename Out>
  int exchange(const In& in, Out&& out, Sync sync = Sync::loose) {
    const auto [from, result] = rows(in, out);
    if (from.size() != result.size() || from.size() % size() != 0) return -EINVAL;
    return smelt_seat_exchange(get(), from.data(), result.data(), from.size_bytes() / size(), unsigned(sync));
  }
  template <typename In, typename Out>
  int start_exchange(const In& in, Out&& out, Sync sync = Sync::loose) {
    const auto [from, result] = rows(in, out);
    if (from.size() != result.size() || from.size() % size() != 0) return -EINVAL;
    return smelt_seat_start_exchange(get(), from.data(), result.data(), from.size_bytes() / size(), unsigned(sync));
  }

  int test(bool& done) {
    int now = 0;
    const int error = smelt_seat_test(get(), &now);
    done = now != 0;
    return error;
  }
  int wait() { return smelt_seat_wait(get()); }

 private:
  struct Free {
    void operator()(smelt_seat* seat) const { smelt_seat_free(seat); }
  };

  template <typename Row>
  static auto from(const Row& row) {
    static_assert(std::ranges::contiguous_range<const Row> && std::ranges::sized_range<const Row>,
                  "a row of elements lies in one piece");
    using T = std::ranges::range_value_t<const Row>;
    static_assert(Element<T>, "elements are trivially copyable, and not bool");
    return std::span<const T>(std::ranges::data(row), std::ranges::size(row));
  }
  template <typename Row>
  static auto to(Row& row) {
    static_assert(std::ranges::contiguous_range<Row> && std::ranges::sized_range<Row>,
                  "a row of elements lies in one piece");
    using T = std::ranges::range_value_t<Row>;
    static_assert(Element<T>, "elements are trivially copyable, and not bool");
    static_assert(!std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Row>>>,
                  "what is received is written");
    return std::span<T>(std::ranges::data(row), std::ranges::size(row));
  }
  template <typename In, typename Out>
  static auto rows(const In& in, Out& out) {
    const std::pair both(from(in), to(out));
    static_assert(std::same_as<std::remove_const_t<typename decltype(both.first)::element_type>,
                               typename decltype(both.second)::element_type>,
                  "both rows have elements of one type");
    return both;
  }

  // Kept by name where the caller has it, and made anew for each use where it has no state.
  template <typename T, typename Operation, bool by_name>
  struct Folded {
    static decltype(auto) operation(void* context) {
      if constexpr (by_name)
        return *static_cast<Operation*>(context);
      else
        return Operation{};
    }
    static void into_right(void* context, const void* left, void* right, size_t elements) {
      into_third(context, left, right, right, elements);
    }
    static void into_third(void* context, const void* left, const void* right, void* result, size_t elements) {
      auto&& of = operation(context);
      const T* const a = static_cast<const T*>(left);
      const T* const b = static_cast<const T*>(right);
      T* const to = static_cast<T*>(result);
      for (size_t k = 0; k < elements; ++k) to[k] = of(a[k], b[k]);
    }
  };
  template <typename In, typename Out, typename Operation, bool by_name, typename Call>
  int reduction(const In& in, Out& out, Operation& operation, std::bool_constant<by_name>, bool may_be_empty,
                Call call) {
    const auto [operand, result] = rows(in, out);
    using T = typename decltype(result)::element_type;
    using Bare = std::remove_reference_t<Operation>;
    static_assert(sizeof(T) <= SMELT_SEAT_ELEMENT && alignof(T) <= 64, "no longer elements are combined");
    static_assert(by_name || (std::is_empty_v<Bare> && std::is_default_constructible_v<Bare>),
                  "an operation with a state is given by name, so that it is there until all is complete");
    if (result.size() != operand.size() && !(may_be_empty && result.empty())) return -EINVAL;
    void* context = nullptr;
    if constexpr (by_name) context = const_cast<void*>(static_cast<const void*>(std::addressof(operation)));
    using Functions = Folded<T, Bare, by_name>;
    const smelt_fold fold = {sizeof(T), Functions::into_right, Functions::into_third, context, 0};
    return call(operand, result.data(), fold);
  }

  std::unique_ptr<smelt_seat, Free> seat_;
};

// Participants and the tree that serves them.
class Context {
 public:
  Context() = default;
  explicit Context(smelt_context* context) : context_(context) {}  // owns it from here on

  smelt_context* get() const { return context_.get(); }
  explicit operator bool() const { return context_ != nullptr; }
  unsigned size() const { return smelt_context_size(get()); }
  const char* pattern() const { return smelt_context_pattern(get()); }
  int parent(unsigned participant) const { return smelt_context_parent(get(), participant); }

  // Along the pattern that is best on this machine, or the one that is named.
  static int create(unsigned n, Context& context, const char* pattern = nullptr) {
    return take(context, [&](smelt_context** made) {
      return smelt_context_create(nullptr, n, nullptr, pattern, made);
    });
  }
  // The same where participant i is pinned to the kernel's CPU cpus[i].
  static int create(std::span<const unsigned> cpus, Context& context, const char* pattern = nullptr) {
    return take(context, [&](smelt_context** made) {
      return smelt_context_create(nullptr, unsigned(cpus.size()), cpus.data(), pattern, made);
    });
  }
  static int along(const smelt_tree* tree, Context& context) {
    return take(context, [&](smelt_context** made) { return smelt_context_create_along(tree, made); });
  }
  static int from_parents(std::span<const int> parents, Context& context) {
    return take(context, [&](smelt_context** made) {
      return smelt_context_create_from(unsigned(parents.size()), parents.data(), made);
    });
  }
  int subset(std::span<const unsigned> participants, Context& context) const {
    return take(context, [&](smelt_context** made) {
      return smelt_context_create_subset(get(), participants.data(), unsigned(participants.size()), made);
    });
  }

  // All seats, for threads of this process.
  int seats(std::vector<Seat>& seats, int64_t timeout_ns = for_ever) const {
    std::vector<smelt_seat*> made(size());
    const int error = smelt_seats_create(get(), timeout_ns, made.data());
    if (error != 0) return error;
    seats.clear();
    for (smelt_seat* seat : made) seats.emplace_back(seat);
    return 0;
  }
  // Participant 0's, and the ticket by which other processes attach to theirs.
  int share(smelt_seat_ticket& ticket, Seat& seat, int64_t timeout_ns = for_ever) const {
    smelt_seat* made = nullptr;
    const int error = smelt_seats_create_shared(get(), timeout_ns, &ticket, &made);
    if (error == 0) seat = Seat(made);
    return error;
  }
  size_t seats_size() const { return smelt_seats_size(get()); }
  int init_seats(std::span<std::byte> memory) const {
    return smelt_seats_init(memory.data(), memory.size(), get());
  }

 private:
  struct Free {
    void operator()(smelt_context* context) const { smelt_context_free(context); }
  };
  template <typename Make>
  static int take(Context& context, Make make) {
    smelt_context* made = nullptr;
    const int error = make(&made);
    if (error == 0) context = Context(made);
    return error;
  }

  std::unique_ptr<smelt_context, Free> context_;
};

}  // namespace smelt

#endif
