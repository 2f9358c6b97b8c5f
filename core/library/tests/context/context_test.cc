// Contexts: the collectives of seats between threads and processes, along the generator's trees and given ones.
#include <smelt/barrier.h>
#include <smelt/context.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smelt::test {
namespace {

constexpr int64_t kForEver = -1, kShort = 20'000'000, kPatience = 60'000'000'000;  // ns

struct FreeContext {
  void operator()(smelt_context* context) const { smelt_context_free(context); }
};
struct FreeSeat {
  void operator()(smelt_seat* seat) const { smelt_seat_free(seat); }
};
using Context = std::unique_ptr<smelt_context, FreeContext>;
using Seat = std::unique_ptr<smelt_seat, FreeSeat>;
using Seats = std::vector<Seat>;

Context along(const std::vector<int>& parents) {
  smelt_context* made = nullptr;
  EXPECT_EQ(smelt_context_create_from(static_cast<unsigned>(parents.size()), parents.data(), &made), 0);
  return Context(made);
}

// Participants in a random order, each under one that came before it.
std::vector<int> random_parents(unsigned n, std::mt19937& random) {
  std::vector<int> order(n), parents(n, -1);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  for (unsigned i = 1; i < n; ++i) parents[order[i]] = order[random() % i];
  return parents;
}

Seats seats_of(const Context& context, int64_t timeout_ns) {
  std::vector<smelt_seat*> made(smelt_context_size(context.get()));
  EXPECT_EQ(smelt_seats_create(context.get(), timeout_ns, made.data()), 0);
  Seats seats;
  for (smelt_seat* seat : made) seats.emplace_back(seat);
  return seats;
}

void in_threads(unsigned n, const std::function<void(unsigned)>& body) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < n; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

void add(void*, const void* left, void* right, size_t elements) {
  for (size_t k = 0; k < elements; ++k) static_cast<uint64_t*>(right)[k] += static_cast<const uint64_t*>(left)[k];
}
void add_into_third(void*, const void* left, const void* right, void* result, size_t elements) {
  for (size_t k = 0; k < elements; ++k)
    static_cast<uint64_t*>(result)[k] = static_cast<const uint64_t*>(left)[k] + static_cast<const uint64_t*>(right)[k];
}
const smelt_fold kSum = {8, add, nullptr, nullptr, 0}, kSumIntoThird = {8, add, add_into_third, nullptr, 0};

// --- Every operation with every participant's data; each checks what it got.

enum Kind { kBarrier, kBroadcast, kReduce, kAllreduce, kGather, kScatter, kExchange, kKinds };

struct Case {
  Kind kind;
  size_t words;  // of 8 bytes: of a message, an operand or a block
  unsigned root, sync;
  bool in_place, into_third;

  std::string text() const {
    return "kind " + std::to_string(kind) + ", " + std::to_string(words) + " words, root " + std::to_string(root) +
           ", sync " + std::to_string(sync) + (in_place ? ", in place" : "");
  }
};

// What participant i has for j, or as word k.
uint64_t word(unsigned i, unsigned j, size_t k) { return (i * 1000003u + j * 7919u + k + 1) * 0x9e3779b97f4a7c15; }

struct Part {
  Case which;
  unsigned n, me;
  std::vector<uint64_t> in, out;

  Part(const Case& which, unsigned n, unsigned me) : which(which), n(n), me(me) {
    const size_t words = which.words;
    const bool row_in = which.kind == kExchange || (which.kind == kScatter && me == which.root);
    const bool row_out = which.kind == kExchange || (which.kind == kGather && me == which.root);
    in.resize(words * (row_in ? n : 1));
    out.assign(words * (row_out ? n : 1), 0xbad);
    for (unsigned j = 0; j < (row_in ? n : 1); ++j)
      for (size_t k = 0; k < words; ++k) in[j * words + k] = word(me, j, k);
    if (which.kind == kBroadcast && me == which.root) out = in;
    if (place()) std::copy(in.begin(), in.end(), out.begin() + static_cast<long>(at()));
  }

  bool is_reduction() const { return which.kind == kReduce || which.kind == kAllreduce; }
  // Do `in` and `out` share memory, where the operation allows that?
  bool place() const { return which.in_place && (is_reduction() || (which.kind == kGather && me == which.root)); }
  size_t at() const { return which.kind == kGather ? me * which.words : 0; }
  const void* input() const { return place() ? out.data() + at() : in.data(); }

  // Blocking or started.
  int call(smelt_seat* seat, bool start) {
    const smelt_fold* const fold = which.into_third ? &kSumIntoThird : &kSum;
    const bool root = me == which.root;
    const size_t words = which.words, bytes = words * 8;
    const unsigned sync = which.sync;
    void* const result = out.data();
    const auto pick = [start](auto blocking, auto started) { return start ? started : blocking; };
    switch (which.kind) {
      case kBarrier: return pick(smelt_seat_barrier, smelt_seat_start_barrier)(seat);
      case kBroadcast:
        return pick(smelt_seat_broadcast, smelt_seat_start_broadcast)(seat, result, bytes, which.root, sync);
      case kReduce:
        return pick(smelt_seat_reduce, smelt_seat_start_reduce)(seat, input(), root ? result : nullptr, words, fold,
                                                                which.root, sync);
      case kAllreduce:
        return pick(smelt_seat_allreduce, smelt_seat_start_allreduce)(seat, input(), result, words, fold, sync);
      case kGather:
        return pick(smelt_seat_gather, smelt_seat_start_gather)(seat, input(), root ? result : nullptr, bytes,
                                                                which.root, sync);
      case kScatter:
        return pick(smelt_seat_scatter, smelt_seat_start_scatter)(seat, root ? in.data() : nullptr, result, bytes,
                                                                  which.root, sync);
      case kExchange: return pick(smelt_seat_exchange, smelt_seat_start_exchange)(seat, in.data(), result, bytes, sync);
      default: return -1;
    }
  }

  bool is_right() const {
    const size_t words = which.words;
    const bool root = me == which.root;
    for (size_t k = 0; k < words; ++k) {
      uint64_t sum = 0;
      for (unsigned i = 0; i < n; ++i) sum += word(i, 0, k);
      switch (which.kind) {
        case kBroadcast:
          if (out[k] != word(which.root, 0, k)) return false;
          break;
        case kReduce:
          if (root && out[k] != sum) return false;
          break;
        case kAllreduce:
          if (out[k] != sum) return false;
          break;
        case kScatter:
          if (out[k] != word(which.root, me, k)) return false;
          break;
        default:
          for (unsigned i = 0; i < n && (which.kind == kExchange || (which.kind == kGather && root)); ++i)
            if (out[i * words + k] != word(i, which.kind == kExchange ? me : 0, k)) return false;
      }
    }
    return true;
  }
};

// One thread sits on all seats: whatever the machines do at each of their stops, in an order that random chooses.
void drive(const Seats& seats, const Case& which, std::mt19937& random) {
  const unsigned n = static_cast<unsigned>(seats.size());
  std::vector<Part> parts;
  for (unsigned i = 0; i < n; ++i) parts.emplace_back(which, n, i);
  std::vector<unsigned> left(n);
  std::iota(left.begin(), left.end(), 0u);
  std::shuffle(left.begin(), left.end(), random);
  for (unsigned i : left) ASSERT_EQ(parts[i].call(seats[i].get(), true), 0) << which.text();
  for (uint64_t turns = 0; !left.empty(); ++turns) {
    ASSERT_LT(turns, 100'000'000u) << which.text();
    const size_t at = random() % left.size();
    int done = 0;
    ASSERT_EQ(smelt_seat_test(seats[left[at]].get(), &done), 0) << which.text();
    if (done) left.erase(left.begin() + static_cast<long>(at));
  }
  for (const Part& part : parts) EXPECT_TRUE(part.is_right()) << which.text() << ", participant " << part.me;
}

Case random_case(unsigned n, size_t most_words, std::mt19937& random) {
  constexpr size_t kLengths[] = {0, 1, 2, 7, 8, 100, 511, 512, 513, 895, 896, 897, 2700, 8000, 30000};
  size_t words = kLengths[random() % std::size(kLengths)];
  words = std::min(words, most_words);
  return {static_cast<Kind>(random() % kKinds),
          words,
          static_cast<unsigned>(random() % n),
          static_cast<unsigned>(random() % 4),
          random() % 2 == 0,
          random() % 2 == 0};
}

TEST(Seats, EveryOperationAlongRandomTreesWhateverTheOrder) {
  std::mt19937 random(1);
  for (unsigned n = 1; n <= 9; ++n) {
    for (int tree = 0; tree < 3; ++tree) {
      const Context context = along(random_parents(n, random));
      const Seats seats = seats_of(context, kForEver);
      for (int i = 0; i < 40; ++i) drive(seats, random_case(n, 4000, random), random);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Seats, EveryRootOfEveryOperation) {
  std::mt19937 random(2);
  const Context context = along({2, 2, -1, 0, 0, 1});
  const Seats seats = seats_of(context, kForEver);
  for (unsigned root = 0; root < 6; ++root)
    for (int kind = 0; kind < kKinds; ++kind)
      for (size_t words : {size_t{1}, size_t{500}, size_t{600}, size_t{3000}})
        drive(seats, {static_cast<Kind>(kind), words, root, 0, false, true}, random);
}

// All in threads, a row of operations without anything between them, so that they run into each other.
void rows_in_threads(const Context& context, int rows, size_t most_words, unsigned seed) {
  const unsigned n = smelt_context_size(context.get());
  const Seats seats = seats_of(context, kPatience);
  in_threads(n, [&](unsigned me) {
    std::mt19937 random(seed);  // the same to all
    std::mt19937 own(seed + me);
    for (int i = 0; i < rows; ++i) {
      Part part(random_case(n, most_words, random), n, me);
      const bool start = own() % 2 == 0;
      ASSERT_EQ(part.call(seats[me].get(), start), 0) << part.which.text();
      if (start) {
        int done = own() % 2 == 0 ? 0 : -1;
        while (done == 0) ASSERT_EQ(smelt_seat_test(seats[me].get(), &done), 0) << part.which.text();
        if (done < 0) {
          ASSERT_EQ(smelt_seat_wait(seats[me].get()), 0) << part.which.text();
        }
      }
      ASSERT_TRUE(part.is_right()) << part.which.text() << ", participant " << me;
    }
  });
}

TEST(Seats, RowsOfOperationsInThreads) {
  std::mt19937 random(3);
  for (unsigned n = 2; n <= 9; ++n) rows_in_threads(along(random_parents(n, random)), 50, 3000, n);
}

TEST(Seats, AMebibyte) {
  const Context context = along({-1, 0, 0, 1});
  const Seats seats = seats_of(context, kPatience);
  for (Kind kind : {kBroadcast, kReduce, kAllreduce, kGather, kScatter, kExchange})
    in_threads(4, [&](unsigned me) {
      Part part({kind, size_t{1} << 17, 2, 0, kind == kAllreduce, true}, 4, me);
      ASSERT_EQ(part.call(seats[me].get(), false), 0) << kind;
      EXPECT_TRUE(part.is_right()) << kind;
    });
}

// So many that messages have shorter pieces and long operands are not read where they lie.
TEST(Seats, AnUnevenTreeOfMany) {
  std::vector<int> tree(140);
  for (int i = 0; i < 140; ++i) tree[static_cast<size_t>(i)] = i < 12 ? i - 1 : i / 2;
  const Seats seats = seats_of(along(tree), kPatience);
  in_threads(140, [&](unsigned me) {
    for (size_t words : {size_t{1}, size_t{600}})
      for (Kind kind : {kBarrier, kBroadcast, kAllreduce, kGather}) {
        Part part({kind, words, 7, 0, false, true}, 140, me);
        ASSERT_EQ(part.call(seats[me].get(), false), 0) << kind;
        EXPECT_TRUE(part.is_right()) << kind;
      }
  });
}

// --- The order in which operands are combined is that of the tree.

constexpr size_t kText = 128;  // bytes: an operand is the text of how it came about

void write_sum(void*, const void* left, void* right, size_t elements) {
  for (size_t k = 0; k < elements; ++k) {
    char* const to = static_cast<char*>(right) + k * kText;
    std::string text;
    text.append("(").append(static_cast<const char*>(left) + k * kText).append("+").append(to).append(")");
    std::memcpy(to, text.c_str(), text.size() + 1);
  }
}

// How `elements` elements were combined, as the last participant that has a result tells; all must agree.
std::string how_combined(const Context& context, size_t elements, int root) {
  const unsigned n = smelt_context_size(context.get());
  const Seats seats = seats_of(context, kPatience);
  const smelt_fold fold = {kText, write_sum, nullptr, nullptr, 0};
  std::vector<std::string> how(n);
  in_threads(n, [&](unsigned me) {
    std::vector<char> in(elements * kText), out(elements * kText);
    for (size_t k = 0; k < elements; ++k) in[k * kText] = static_cast<char>('0' + me);
    const int error = root < 0 ? smelt_seat_allreduce(seats[me].get(), in.data(), out.data(), elements, &fold, 0)
                               : smelt_seat_reduce(seats[me].get(), in.data(), out.data(), elements, &fold,
                                                   static_cast<unsigned>(root), 0);
    EXPECT_EQ(error, 0);
    if (root >= 0 && static_cast<unsigned>(root) != me) return;
    how[me] = out.data();
    for (size_t k = 1; k < elements; ++k) EXPECT_EQ(how[me], out.data() + k * kText) << k;
  });
  if (root >= 0) return how[static_cast<size_t>(root)];
  for (const std::string& each : how) EXPECT_EQ(each, how[0]);
  return how[0];
}

TEST(Reductions, GoAlongTheTree) {
  //     0
  //    / \      the last served first, each into what the parent has
  //   1   2
  //  / \   \    .
  // 3   4   5
  const Context tree = along({-1, 0, 0, 1, 1, 2}), chain = along({1, 2, 3, -1});
  const std::string order = "((3+(4+1))+((5+2)+0))";
  EXPECT_EQ(how_combined(tree, 1, 0), order);
  EXPECT_EQ(how_combined(tree, 1, -1), order);
  EXPECT_EQ(how_combined(tree, 1, 4), "((((5+2)+0)+(3+1))+4)");  // the same edges, hanging from 4
  // Long: by slices, but each in the same order.
  EXPECT_EQ(how_combined(tree, 500, 0), order);
  EXPECT_EQ(how_combined(tree, 500, -1), order);
  EXPECT_EQ(how_combined(chain, 1, -1), "(((0+1)+2)+3)");
  EXPECT_EQ(how_combined(chain, 333, -1), "(((0+1)+2)+3)");
}

// --- Loose and strict: what happens while others have not come. One thread sits on all seats, one after the other.

TEST(Strictness, LooseGoesAsFarAsDataNeed) {
  const Seats seats = seats_of(along({-1, 0, 0}), kShort);
  uint64_t data[3] = {7, 0, 0}, sum = 0;
  // The root of a broadcast need not see anybody.
  EXPECT_EQ(smelt_seat_broadcast(seats[0].get(), &data[0], 8, 0, 0), 0);
  EXPECT_EQ(smelt_seat_broadcast(seats[2].get(), &data[2], 8, 0, 0), 0);
  EXPECT_EQ(data[2], 7u);
  EXPECT_EQ(smelt_seat_broadcast(seats[1].get(), &data[1], 8, 0, 0), 0);
  EXPECT_EQ(data[1], 7u);
  // The contributors are gone before the root comes; many times.
  for (int i = 0; i < 5; ++i)
    for (unsigned me : {1u, 2u}) EXPECT_EQ(smelt_seat_reduce(seats[me].get(), &data[me], nullptr, 1, &kSum, 0, 0), 0);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(smelt_seat_reduce(seats[0].get(), &data[0], &sum, 1, &kSum, 0, 0), 0);
    EXPECT_EQ(sum, 21u);
  }
}

TEST(Strictness, StrictEntryWaitsForAllBeforeDataAreTouched) {
  const Seats seats = seats_of(along({-1, 0, 0}), kShort);
  uint64_t data[3] = {7, 1, 1};
  EXPECT_EQ(smelt_seat_broadcast(seats[0].get(), &data[0], 8, 0, SMELT_STRICT_ENTRY), -ETIMEDOUT);
  EXPECT_EQ(smelt_seat_broadcast(seats[1].get(), &data[1], 8, 0, SMELT_STRICT_ENTRY), -ETIMEDOUT);
  EXPECT_EQ(data[1], 1u);
  data[0] = 8;  // not touched yet, so it may still change
  EXPECT_EQ(smelt_seat_start_broadcast(seats[2].get(), &data[2], 8, 0, SMELT_STRICT_ENTRY), 0);
  EXPECT_EQ(smelt_seat_wait(seats[0].get()), 0);  // the root need not wait for more than their coming
  EXPECT_EQ(smelt_seat_wait(seats[2].get()), 0);
  EXPECT_EQ(data[2], 8u);
  EXPECT_EQ(data[1], 1u);  // who has not gone on has nothing yet
  EXPECT_EQ(smelt_seat_wait(seats[1].get()), 0);
  EXPECT_EQ(data[1], 8u);
}

TEST(Strictness, StrictExitWaitsForAllResults) {
  const Seats seats = seats_of(along({-1, 0, 0}), kShort);
  uint64_t data[3] = {7, 0, 0};
  EXPECT_EQ(smelt_seat_broadcast(seats[0].get(), &data[0], 8, 0, SMELT_STRICT_EXIT), -ETIMEDOUT);
  EXPECT_EQ(smelt_seat_broadcast(seats[1].get(), &data[1], 8, 0, SMELT_STRICT_EXIT), -ETIMEDOUT);
  EXPECT_EQ(data[1], 7u);  // it has its data all the same
  EXPECT_EQ(smelt_seat_start_broadcast(seats[2].get(), &data[2], 8, 0, SMELT_STRICT_EXIT), 0);
  EXPECT_EQ(data[2], 7u);
  for (const Seat& seat : seats) EXPECT_EQ(smelt_seat_wait(seat.get()), 0);
}

// --- What goes wrong.

TEST(Faults, WhoNeverComesTimesOutAndMayStillCome) {
  const Seats seats = seats_of(along({-1, 0}), kShort);
  EXPECT_EQ(smelt_seat_barrier(seats[0].get()), -ETIMEDOUT);
  EXPECT_EQ(smelt_seat_barrier(seats[0].get()), -EBUSY);  // the first is still under way
  EXPECT_EQ(smelt_seat_wait(seats[0].get()), -ETIMEDOUT);
  int done = 1;
  EXPECT_EQ(smelt_seat_test(seats[0].get(), &done), 0);
  EXPECT_EQ(done, 0);
  ASSERT_EQ(smelt_seat_start_barrier(seats[1].get()), 0);
  EXPECT_EQ(smelt_seat_wait(seats[0].get()), 0);
  EXPECT_EQ(smelt_seat_wait(seats[1].get()), 0);
}

TEST(Faults, WhoHasLeftIsNotWaitedFor) {
  Seats seats = seats_of(along({-1, 0, 1}), kPatience);
  seats[2].reset();
  EXPECT_EQ(smelt_seat_barrier(seats[1].get()), -EPIPE);
  EXPECT_EQ(smelt_seat_barrier(seats[1].get()), -EPIPE);
  EXPECT_EQ(smelt_seat_wait(seats[1].get()), -EPIPE);
  seats[1].reset();
  EXPECT_EQ(smelt_seat_barrier(seats[0].get()), -EPIPE);
}

// The same of long operands, which are read where they lie.
TEST(Faults, WhoNeverComesOrHasLeftWithLongOperands) {
  std::vector<uint64_t> data[2] = {std::vector<uint64_t>(10'000, 1), std::vector<uint64_t>(10'000, 2)};
  Seats seats = seats_of(along({-1, 0}), kShort);
  const auto start = [&](unsigned me) {
    return smelt_seat_start_allreduce(seats[me].get(), data[me].data(), data[me].data(), 10'000, &kSum, 0);
  };
  EXPECT_EQ(smelt_seat_allreduce(seats[0].get(), data[0].data(), data[0].data(), 10'000, &kSum, 0), -ETIMEDOUT);
  ASSERT_EQ(start(1), 0);
  EXPECT_EQ(smelt_seat_wait(seats[1].get()), -ETIMEDOUT);  // it has done its part, and we have not
  EXPECT_EQ(smelt_seat_wait(seats[0].get()), 0);
  seats[0].reset();
  EXPECT_EQ(smelt_seat_wait(seats[1].get()), 0);  // who leaves after its part is not missed
  for (const auto& each : data) EXPECT_EQ(each, std::vector<uint64_t>(10'000, 3));
  ASSERT_EQ(start(1), 0);
  EXPECT_EQ(smelt_seat_wait(seats[1].get()), -EPIPE);
}

TEST(Faults, OtherLengthsAreNoticed) {
  std::vector<char> data(100'000), other(100'000);
  struct Lengths {
    size_t root, other;
  };
  for (const auto& [root, rest] : {Lengths{8, 16}, Lengths{8000, 7000}, Lengths{90'000, 80'000}}) {
    const Seats seats = seats_of(along({-1, 0}), kShort);
    EXPECT_EQ(smelt_seat_start_broadcast(seats[0].get(), data.data(), root, 0, 0), 0);
    EXPECT_EQ(smelt_seat_broadcast(seats[1].get(), other.data(), rest, 0, 0), -EMSGSIZE);
    EXPECT_EQ(smelt_seat_barrier(seats[1].get()), -EMSGSIZE);
  }
  const Seats seats = seats_of(along({-1, 0}), kShort);
  EXPECT_EQ(smelt_seat_start_allreduce(seats[0].get(), data.data(), data.data(), 10'000, &kSum, 0), 0);
  EXPECT_EQ(smelt_seat_start_allreduce(seats[1].get(), other.data(), other.data(), 9'000, &kSum, 0), 0);
  EXPECT_EQ(smelt_seat_wait(seats[0].get()), -EMSGSIZE);
  EXPECT_EQ(smelt_seat_wait(seats[1].get()), -EMSGSIZE);
}

TEST(Faults, Arguments) {
  smelt_context* context = nullptr;
  const int circle[] = {1, 0, -1}, two_roots[] = {-1, -1}, nobody[] = {-1, 5}, none[] = {1, 0};
  EXPECT_EQ(smelt_context_create_from(3, circle, &context), -EINVAL);
  EXPECT_EQ(smelt_context_create_from(2, two_roots, &context), -EINVAL);
  EXPECT_EQ(smelt_context_create_from(2, nobody, &context), -EINVAL);
  EXPECT_EQ(smelt_context_create_from(2, none, &context), -EINVAL);
  EXPECT_EQ(smelt_context_create_from(0, none, &context), -EINVAL);
  EXPECT_EQ(smelt_context_create_along(nullptr, &context), -EINVAL);
  const Context two = along({-1, 0});
  EXPECT_EQ(smelt_context_parent(two.get(), 0), -1);
  EXPECT_EQ(smelt_context_parent(two.get(), 1), 0);
  EXPECT_EQ(smelt_context_parent(two.get(), 2), -EINVAL);
  const unsigned twice[] = {1, 1}, beyond[] = {2};
  EXPECT_EQ(smelt_context_create_subset(two.get(), twice, 2, &context), -EINVAL);
  EXPECT_EQ(smelt_context_create_subset(two.get(), beyond, 1, &context), -EINVAL);
  EXPECT_EQ(smelt_context_create_subset(two.get(), beyond, 0, &context), -EINVAL);

  const Seats seats = seats_of(two, kShort);
  smelt_seat* const seat = seats[0].get();
  EXPECT_EQ(smelt_seat_size(seat), 2u);
  EXPECT_EQ(smelt_seat_participant(seats[1].get()), 1u);
  uint64_t data = 0;
  int done = 0;
  const smelt_fold long_elements = {SMELT_SEAT_ELEMENT + 1, add, nullptr, nullptr, 0};
  EXPECT_EQ(smelt_seat_barrier(nullptr), -EINVAL);
  EXPECT_EQ(smelt_seat_broadcast(seat, nullptr, 8, 0, 0), -EINVAL);
  EXPECT_EQ(smelt_seat_broadcast(seat, &data, 8, 2, 0), -EINVAL);
  EXPECT_EQ(smelt_seat_broadcast(seat, &data, 8, 0, 4), -EINVAL);
  EXPECT_EQ(smelt_seat_reduce(seat, &data, nullptr, 1, &kSum, 0, 0), -EINVAL);
  EXPECT_EQ(smelt_seat_reduce(seat, &data, &data, 1, nullptr, 0, 0), -EINVAL);
  EXPECT_EQ(smelt_seat_reduce(seat, &data, &data, 1, &kSum, ~0u, 0), -EINVAL);
  EXPECT_EQ(smelt_seat_allreduce(seat, &data, &data, 1, &long_elements, 0), -EINVAL);
  EXPECT_EQ(smelt_seat_gather(seat, &data, nullptr, 8, 0, 0), -EINVAL);
  EXPECT_EQ(smelt_seat_scatter(seat, nullptr, &data, 8, 0, 0), -EINVAL);
  EXPECT_EQ(smelt_seat_exchange(seat, nullptr, &data, 8, 0), -EINVAL);
  EXPECT_EQ(smelt_seat_test(nullptr, &done), -EINVAL);
  EXPECT_EQ(smelt_seat_test(seat, nullptr), -EINVAL);
  EXPECT_EQ(smelt_seat_wait(seat), 0);  // nothing was started
  smelt_seat_free(nullptr);
}

// --- Trees and subsets.

std::vector<int> parents_of(const Context& context) {
  std::vector<int> parents(smelt_context_size(context.get()));
  for (unsigned i = 0; i < parents.size(); ++i) parents[i] = smelt_context_parent(context.get(), i);
  return parents;
}

// Two packages of four CPUs each.
smelt_model* two_packages() {
  double send[64], receive[64];
  for (int i = 0; i < 64; ++i) {
    const bool same = i / 8 == i % 8, near = i / 8 / 4 == i % 8 / 4;
    send[i] = same ? 0 : near ? 20 : 60;
    receive[i] = same ? 0 : near ? 50 : 200;
  }
  smelt_model* model = nullptr;
  EXPECT_EQ(smelt_model_create(8, send, receive, nullptr, nullptr, &model), 0);
  return model;
}

// What a tree says of the order in which operands are combined: the last served first.
std::string expected_order(const smelt_tree* tree, unsigned whose) {
  std::string text = std::to_string(whose);
  unsigned children[8];
  for (int k = smelt_tree_children(tree, whose, children, 8); k-- > 0;)
    text = std::string().append("(").append(expected_order(tree, children[k])).append("+").append(text).append(")");
  return text;
}

TEST(Contexts, AlongTheGeneratorsTrees) {
  smelt_model* const model = two_packages();
  for (const char* pattern : {"sequential", "binary", "mst", "cluster", "adaptive", "optimised"}) {
    smelt_tree* tree = nullptr;
    ASSERT_EQ(smelt_tree_create(model, pattern, 8, nullptr, 5, &tree), 0) << pattern;
    smelt_context* made = nullptr;
    ASSERT_EQ(smelt_context_create_along(tree, &made), 0) << pattern;
    const Context context(made);
    for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(smelt_context_parent(made, i), smelt_tree_parent(tree, i)) << pattern;
    EXPECT_EQ(how_combined(context, 1, 5), expected_order(tree, 5)) << pattern;
    smelt_tree_free(tree);
    rows_in_threads(context, 20, 2000, 6);
  }
  for (const char* pattern : {"best", "binary", "all-to-all"}) {
    smelt_context* made = nullptr;
    ASSERT_EQ(smelt_context_create(model, 8, nullptr, pattern, &made), 0) << pattern;
    rows_in_threads(Context(made), 20, 2000, 7);
  }
  smelt_model_free(model);
}

Context subset(const Context& of, const std::vector<unsigned>& who) {
  smelt_context* made = nullptr;
  EXPECT_EQ(smelt_context_create_subset(of.get(), who.data(), static_cast<unsigned>(who.size()), &made), 0);
  return Context(made);
}

TEST(Contexts, SubsetsKeepTheShapeOfTheTree) {
  const Context whole = along({-1, 0, 0, 1, 1, 2, 3});
  EXPECT_EQ(parents_of(subset(whole, {0, 3, 4, 5})), (std::vector<int>{-1, 0, 0, 0}));  // 1 and 2 are left out
  EXPECT_EQ(parents_of(subset(whole, {6, 3, 1})), (std::vector<int>{1, 2, -1}));
  EXPECT_EQ(parents_of(subset(whole, {5, 6, 4})), (std::vector<int>{2, 2, -1}));  // nobody is above them
  EXPECT_EQ(parents_of(subset(subset(whole, {0, 1, 3, 6}), {3, 1})), (std::vector<int>{1, -1}));
  EXPECT_EQ(parents_of(subset(whole, {2})), (std::vector<int>{-1}));
}

// Six threads: all together, the even ones, and each pair of neighbours, in turn; each by seats of its own.
TEST(Contexts, ManyAtOnce) {
  const Context whole = along({-1, 0, 0, 1, 1, 2}), even = subset(whole, {4, 2, 0});
  const Seats all = seats_of(whole, kPatience), some = seats_of(even, kPatience);
  std::vector<Seats> pairs;
  for (unsigned i = 0; i < 6; ++i) pairs.push_back(seats_of(subset(whole, {i, (i + 1) % 6}), kPatience));
  in_threads(6, [&](unsigned me) {
    for (uint64_t round = 0; round < 200; ++round) {
      uint64_t mine = me + round, sum = 0;
      ASSERT_EQ(smelt_seat_allreduce(all[me].get(), &mine, &sum, 1, &kSum, 0), 0);
      ASSERT_EQ(sum, 15 + 6 * round);
      if (me % 2 == 0) {
        ASSERT_EQ(smelt_seat_allreduce(some[2 - me / 2].get(), &mine, &sum, 1, &kSum, 0), 0);
        ASSERT_EQ(sum, 6 + 3 * round);
      }
      // With both neighbours at the same time.
      uint64_t right = 0, left = 0;
      smelt_seat* const first = pairs[me][0].get();
      smelt_seat* const second = pairs[(me + 5) % 6][1].get();
      ASSERT_EQ(smelt_seat_start_allreduce(first, &mine, &right, 1, &kSum, 0), 0);
      ASSERT_EQ(smelt_seat_start_allreduce(second, &mine, &left, 1, &kSum, 0), 0);
      for (int one = 0, other = 0; !one || !other;) {
        ASSERT_EQ(smelt_seat_test(first, &one), 0);
        ASSERT_EQ(smelt_seat_test(second, &other), 0);
      }
      ASSERT_EQ(right, me + (me + 1) % 6 + 2 * round);
      ASSERT_EQ(left, me + (me + 5) % 6 + 2 * round);
    }
  });
}

TEST(Contexts, BarriersAlongAGivenTree) {
  const Context context = along({-1, 0});
  smelt_barrier* barrier = nullptr;
  ASSERT_EQ(smelt_barrier_create(context.get(), &barrier), 0);
  std::atomic<int> before{0};
  in_threads(2, [&](unsigned me) {
    for (int round = 1; round <= 1000; ++round) {
      before.fetch_add(1);
      ASSERT_EQ(smelt_barrier_wait(barrier, me), 0);
      ASSERT_GE(before.load(), 2 * round);
    }
  });
  smelt_barrier_free(barrier);
}

// --- Processes.

int ended(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}
pid_t in_another_process(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child != 0) return child;
  alarm(120);
  _exit(body());
}

// 0: every operation of the row was right.
int row(smelt_seat* seat, int rows, size_t most_words, unsigned seed) {
  const unsigned n = smelt_seat_size(seat), me = smelt_seat_participant(seat);
  std::mt19937 random(seed);
  for (int i = 0; i < rows; ++i) {
    Part part(random_case(n, most_words, random), n, me);
    if (part.call(seat, false) != 0) return 1;
    if (!part.is_right()) return 2;
  }
  return 0;
}

TEST(Processes, ByTicket) {
  const Context context = along({3, 0, 0, -1, 0});
  smelt_seat_ticket ticket;
  smelt_seat* made = nullptr;
  ASSERT_EQ(smelt_seats_create_shared(context.get(), kPatience, &ticket, &made), 0);
  const Seat seat(made);
  std::vector<pid_t> children;
  for (unsigned me = 1; me < 5; ++me)
    children.push_back(in_another_process([&] {
      smelt_seat* own = nullptr;
      if (smelt_seat_attach(&ticket, me, kPatience, &own) != 0) return 3;
      const int result = row(own, 100, 30000, 7);
      smelt_seat_free(own);
      return result;
    }));
  EXPECT_EQ(row(made, 100, 30000, 7), 0);
  for (pid_t child : children) EXPECT_EQ(ended(child), 0);
  smelt_seat* again = nullptr;
  EXPECT_EQ(smelt_seat_attach(&ticket, 1, kPatience, &again), -EBUSY);
  EXPECT_EQ(smelt_seat_attach(&ticket, 5, kPatience, &again), -EINVAL);
  EXPECT_EQ(smelt_seat_attach(&ticket, 0, kPatience, &again), -EINVAL);
  ticket.word[0] ^= 1;
  EXPECT_EQ(smelt_seat_attach(&ticket, 2, kPatience, &again), -ENOTSUP);
}

size_t open_files() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

TEST(Processes, LeaveNoFileOpen) {
  const Context context = along({-1, 0});
  const size_t before = open_files();
  smelt_seat_ticket ticket;
  smelt_seat *made = nullptr, *attached = nullptr;
  ASSERT_EQ(smelt_seats_create_shared(context.get(), kPatience, &ticket, &made), 0);
  ASSERT_EQ(smelt_seat_attach(&ticket, 1, kPatience, &attached), 0);
  smelt_seat_free(attached);
  smelt_seat_free(made);
  EXPECT_EQ(open_files(), before);
}

struct Pages {
  size_t bytes;
  void* at;
  explicit Pages(size_t bytes)
      : bytes(bytes), at(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  ~Pages() { munmap(at, bytes); }
};

TEST(Processes, InTheCallersMemory) {
  const Context context = along({-1, 0, 1});
  const Pages pages(smelt_seats_size(context.get()));
  smelt_seat* made = nullptr;
  EXPECT_EQ(smelt_seat_open(pages.at, pages.bytes, 0, kPatience, &made), -EPROTO);  // nothing is there yet
  EXPECT_EQ(smelt_seats_init(pages.at, pages.bytes - 1, context.get()), -EINVAL);
  ASSERT_EQ(smelt_seats_init(pages.at, pages.bytes, context.get()), 0);
  std::vector<pid_t> children;
  for (unsigned me = 1; me < 3; ++me)
    children.push_back(in_another_process([&] {
      smelt_seat* own = nullptr;
      if (smelt_seat_open(pages.at, pages.bytes, me, kPatience, &own) != 0) return 3;
      return row(own, 100, 8000, 8);
    }));
  ASSERT_EQ(smelt_seat_open(pages.at, pages.bytes, 0, kPatience, &made), 0);
  const Seat seat(made);
  EXPECT_EQ(row(made, 100, 8000, 8), 0);
  for (pid_t child : children) EXPECT_EQ(ended(child), 0);
  smelt_seat* again = nullptr;
  EXPECT_EQ(smelt_seat_open(pages.at, pages.bytes, 0, kPatience, &again), -EBUSY);
}

TEST(Processes, ASeatAloneIsTakenOnce) {
  const Context context = along({-1});
  const Pages pages(smelt_seats_size(context.get()));
  ASSERT_EQ(smelt_seats_init(pages.at, pages.bytes, context.get()), 0);
  smelt_seat *made = nullptr, *again = nullptr;
  ASSERT_EQ(smelt_seat_open(pages.at, pages.bytes, 0, kPatience, &made), 0);
  EXPECT_EQ(smelt_seat_open(pages.at, pages.bytes, 0, kPatience, &again), -EBUSY);
  EXPECT_EQ(row(made, 50, 8000, 10), 0);
  smelt_seat_free(made);
}

TEST(Processes, ATreeThatSomebodyDamagedIsRefused) {
  const Context context = along({-1, 0, 1});
  const Pages pages(smelt_seats_size(context.get()));
  ASSERT_EQ(smelt_seats_init(pages.at, pages.bytes, context.get()), 0);
  std::vector<char> good(512);
  std::memcpy(good.data(), pages.at, good.size());
  std::mt19937 random(9);
  for (int i = 0; i < 20'000; ++i) {  // the head, the tree and who has taken a seat: whatever is there, nothing breaks
    std::memcpy(pages.at, good.data(), good.size());
    for (int k = 0; k < 3; ++k)
      static_cast<char*>(pages.at)[random() % good.size()] = static_cast<char>(random() % 4 ? random() % 4 : random());
    smelt_seat* made = nullptr;
    const int error = smelt_seat_open(pages.at, pages.bytes, random() % 3, kShort, &made);
    // The queues of the edges are open to one end each, so most are busy after the first time.
    ASSERT_TRUE(error == 0 || error == -EPROTO || error == -EBUSY || error == -EINVAL) << error;
    if (!error) smelt_seat_free(made);
  }
}

TEST(Processes, WhoIsKilledTimesOut) {
  const Context context = along({-1, 0, 0});
  smelt_seat_ticket ticket;
  smelt_seat* made = nullptr;
  ASSERT_EQ(smelt_seats_create_shared(context.get(), kPatience, &ticket, &made), 0);
  const Seat seat(made);
  const pid_t good = in_another_process([&] {
    smelt_seat* own = nullptr;
    if (smelt_seat_attach(&ticket, 1, kShort * 50, &own) != 0) return 3;
    for (int i = 0; i < 100; ++i) {
      const int error = smelt_seat_barrier(own);
      if (error != 0) return error == -ETIMEDOUT ? 0 : 1;
    }
    return 2;
  });
  const pid_t bad = in_another_process([&] {
    smelt_seat* own = nullptr;
    if (smelt_seat_attach(&ticket, 2, kPatience, &own) != 0) return 3;
    for (int i = 0; i < 10; ++i) smelt_seat_barrier(own);
    raise(SIGKILL);
    return 0;
  });
  for (int i = 0; i < 10; ++i) ASSERT_EQ(smelt_seat_barrier(made), 0);
  EXPECT_EQ(ended(bad), 1000 + SIGKILL);
  EXPECT_EQ(ended(good), 0);  // it waits for us, and we for the one that was killed
}

}  // namespace
}  // namespace smelt::test
