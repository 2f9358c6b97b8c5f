// The engine: collectives as machines that can stop wherever they would have to wait.
//
// A collective is a struct with all it must remember and one function,
//
//   template <typename How> bool step(How how);   // true: complete; false: not yet, call again
//
// written like a function that waits: its body is one switch over `at`, and SMELT_AWAIT(what) marks a place where it
// may have to stop, and goes on when it is called again (the protothreads of Dunkels et al., SenSys 2006; Duff's device
// underneath). `what` is an expression that is true when the machine may go on. It is evaluated again and again, and
// must bear that. State that has to outlive such a place is a member: no variable may be begun before one and used
// after it, unless step() begins it anew each time.
//
// `How` decides how to go on if something is not there yet, and is the only thing that waits:
//
//   Waiting   polls, lets the host progress, and goes on: the blocking form, in which no machine is ever called again,
//             so the compiler leaves nothing of the switch. It stops only for good, where the awaited message cannot
//             come
//   Testing   stops: the started form
//
// A group begins its collectives in the same order everywhere, so started ones form a queue, and only the first is ever
// under way: episodes, pieces and flow control stay a matter of one collective at a time. A blocking call completes the
// queue first. The memory of started ones belongs to the group, for kOutstanding of them. If a caller starts more, it
// waits for the first.
#pragma once

#include <cerrno>
#include <new>

#include "base/await.h"
#include "group/group.h"

namespace smelt {

// The state that every machine has.
struct Machine {
  int at = 0;  // where step() goes on
  int error = 0;

  template <typename How>
  int resume_at(const How&) const {
    return How::kStops ? at : 0;
  }
};

// One's own memory for an inline message. Operands lie there as group.h promises, which is why two of them do not
// follow each other after 280 bytes. A machine is given as many as it wants (kRooms) and keeps no other memory whose
// address it tells others: so the compiler may keep all the rest of it in registers.
struct alignas(64) InlineRoom {
  char bytes[kInlineBytes];
};

// Polls of a line between two looks elsewhere. Every turn of waiting has one (policy/thresholds.def, crowd_turn).
inline constexpr uint32_t kPollsHere = 8;

// The requests of machines to the rings. Each is true when it is done.
template <typename Self>
struct Asking {
  Group& group;

  bool put(InlineSlot* channel, const void* from, size_t bytes) { return put(channel, from, bytes, bytes); }
  bool put(InlineSlot* channel, const void* from, size_t bytes, uint64_t what) {
    if (!slots_free()) return false;
    group.put(channel, from, bytes, what);
    return true;
  }
  // To all who hear it from us: by both lines of a root that has two.
  bool put_lines(const Route& route, const void* from, size_t bytes) { return put_lines(route, from, bytes, bytes); }
  bool put_lines(const Route& route, const void* from, size_t bytes, uint64_t what) {
    if (!slots_free()) return false;
    if (route.two_lines) [[unlikely]]
      group.put(group.desk().up, from, bytes, what);
    group.put(group.desk().down, from, bytes, what);
    return true;
  }
  // A heading or the like, which is told apart from a message by `what`.
  template <typename T>
  bool put_special(InlineSlot* channel, const T& special, uint64_t what) {
    static_assert(sizeof special <= kLinePayload);
    return put(channel, &special, sizeof special, what);
  }
  // nullptr: not yet. kOtherLength: a message of another kind or length. That is also the answer if elsewhere() holds,
  // because such a message may be in another place.
  template <typename Elsewhere>
  const void* get_any(uint32_t i, const InlineSlot* channel, size_t bytes, void* room, Elsewhere elsewhere) {
    const void* at = nullptr;
    const auto ready = [&] {
      if (!(at = group.try_get(channel, bytes, room)) && elsewhere()) at = kOtherLength;
      return at != nullptr;
    };
    return until(i, ready) ? at : nullptr;
  }
  // Has anything come in this episode?
  bool is_here(uint32_t i, const InlineSlot* channel) {
    return until(i, [&] { return group.is_here(*group.slot(channel)); });
  }
  // nullptr: not yet. Of a length that all know. A message of another length is noted.
  template <typename Elsewhere>
  const void* get(uint32_t i, const InlineSlot* channel, size_t bytes, void* room, Elsewhere elsewhere) {
    const void* const at = static_cast<Self*>(this)->get_any(i, channel, bytes, room, elsewhere);
    if (at == kOtherLength) [[unlikely]]
      return group.get_differing(channel, bytes, room);
    return at;
  }
  const void* get(uint32_t i, const InlineSlot* channel, size_t bytes, void* room) {
    return get(i, channel, bytes, room, [] { return false; });
  }
  bool slots_free() {
    uint64_t upto;
    return group.slots_free(&upto) || all_finished(group, upto);
  }
  bool piece_free(uint64_t piece) {
    uint64_t upto;
    return group.piece_free(piece, &upto) || all_consumed(group, upto);
  }
  // Static, as every function here that is not inlined: `this` does not leave the caller, so the compiler keeps it in
  // registers.
  [[gnu::noinline]] static bool all_finished(Group& group, uint64_t upto) {
    if (!static_cast<Asking&&>(Self{{group}}).everybody([&](uint32_t i) { return group.has_finished(i, upto); }))
      return false;
    group.note_finished();
    return true;
  }
  bool filled(uint32_t i, Filled Desk::*channel, uint64_t piece) {
    if (!until(i, [&] { return group.filled(i, channel, piece); })) return false;
    return group.operand_bytes == 0 || group.message_of(i, channel, piece) == group.operand_bytes || group.give_up();
  }
  bool shelves_agreed() {
    return until(group.behind, [this] { return group.shelves_agreed(); });
  }
  bool single_copy_agreed() {
    return until(group.behind, [this] { return group.single_copy_agreed(); });
  }

 private:
  [[gnu::noinline]] static bool all_consumed(Group& group, uint64_t upto) {
    if (!static_cast<Asking&&>(Self{{group}}).everybody([&](uint32_t i) { return group.has_consumed(i, upto); }))
      return false;
    group.note_consumed();
    return true;
  }
  // One after the other: a waiter polls one line.
  template <typename Has>
  bool everybody(Has has) {
    for (; group.behind < group.n; ++group.behind)
      if (group.behind != group.me && !until(group.behind, [&] { return has(group.behind); })) return false;
    group.behind = 0;
    return true;
  }
  template <typename Ready>
  bool until(const uint32_t& peer, Ready ready) {
    return static_cast<Self*>(this)->until(peer, ready);
  }
};

struct Waiting : Asking<Waiting> {
  static constexpr bool kStops = false;
  template <typename Ready>
  bool until(const uint32_t& peer, Ready ready) {
    return group.wait_until(peer, ready);
  }
  // Line after line: a waiter that stays until the last line is here has nothing to remember between two looks
  // (measured, allreduce of 64 bytes: 84 ns, 99 by way of try_get).
  template <typename Elsewhere>
  const void* get_any(uint32_t i, const InlineSlot* channel, size_t bytes, void* room, Elsewhere elsewhere) {
    const InlineLine* line = group.slot(channel);
    uint64_t flag = 0;
    uint32_t polls = 0;
    const auto ready = [&] {
      flag = line->flag.load(std::memory_order_acquire);
      return group.is_here(flag) || (++polls % kPollsHere == 0 && elsewhere());
    };
    if (!until(i, ready)) return nullptr;
    if (flag != group.flag_of(bytes)) [[unlikely]]
      return kOtherLength;
    group.ask_for_next(channel);
    if (bytes <= kLinePayload) return line->payload;
    for (char* to = static_cast<char*>(room);; to += kLinePayload, bytes -= kLinePayload) {
      std::memcpy(to, line->payload, bytes < kLinePayload ? bytes : kLinePayload);
      if (bytes <= kLinePayload) return room;
      ++line;
      if (!until(i, [&] { return group.is_here(*line); })) return nullptr;
    }
  }
};

struct Testing : Asking<Testing> {
  static constexpr bool kStops = true;
  template <typename Ready>
  bool until(const uint32_t& peer, Ready ready) {
    if (ready()) return true;
    group.awaited = peer;
    return false;
  }
};

inline constexpr int kMostRooms = 6;  // of a ReduceShort of ReduceBlocks

// A started operation: copies of its caller's arguments, and its machine.
struct Pending {
  smelt_request* request;
  smelt_data in, out;
  smelt_fold fold;
  bool (*step)(Group& group, Pending& self);
  uint64_t operand_bytes;  // Group::begin
  bool is_barrier;
  bool begun;
  InlineRoom rooms[kMostRooms];
  alignas(64) char machine[1024];
};

inline Pending& Group::place_of(uint64_t operation) { return pending[(operation - first_place) % kOutstanding]; }

// Advances the started operations as far as they go without waiting.
void advance(Group& group);
// Waits until so many operations in all are complete.
void complete_until(Group& group, uint64_t number);
// Waits until this one is.
void complete_request(Group& group, const smelt_request& request);

// The result of a machine that has stopped. A participant that saw operands of different lengths meet is told so.
inline int outcome(Group& group, bool done, int error) {
  if (done && !group.lengths_differ) [[likely]]
    return error;
  group.lengths_differ = false;
  return -EMSGSIZE;
}

// The two ways to serve a call by a machine: Running runs it, Starting leaves it for later. Both return its error, as
// far as it is known. refuse: no machine serves the call, and the call does not count. operand_bytes: as for
// Group::begin, which has been called before if the call runs.
struct Running {
  Group& group;
  template <typename M, typename... Arguments>
  [[gnu::always_inline]] int run(const Arguments&... arguments) {
    return run_in<M>(group, arguments...);
  }
  int refuse(int error) {
    --group.calls;
    return error;
  }

 private:
  // Static, so that the group comes in a register.
  template <typename M, typename... Arguments>
  static int run_in(Group& group, const Arguments&... arguments) {
    InlineRoom rooms[M::kRooms];
    M machine(rooms, arguments...);
    const bool done = machine.step(Waiting{{group}});  // inlined: nothing else calls it
    return outcome(group, done, machine.error);
  }
};
struct Starting {
  Group& group;
  Pending& place;
  uint64_t operand_bytes = 0;
  template <typename M, typename... Arguments>
  int run(const Arguments&... arguments) {
    static_assert(sizeof(M) <= sizeof place.machine && M::kRooms <= kMostRooms && alignof(M) <= 64);
    new (place.machine) M(place.rooms, arguments...);
    place.step = [](Group& group, Pending& self) { return step_of<M>(group, self); };
    place.operand_bytes = operand_bytes;
    place.begun = false;
    return 0;
  }
  int refuse(int error) { return error; }

 private:
  template <typename M>
  static bool step_of(Group& group, Pending& self) {
    M& machine = *std::launder(reinterpret_cast<M*>(self.machine));
    if (!machine.step(Testing{{group}})) return false;
    self.request->result = outcome(group, true, machine.error);
    return true;
  }
};

}  // namespace smelt
