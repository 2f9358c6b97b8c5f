// The engine: collectives as state machines that can stop wherever they would have to wait.
//
// A collective is a struct with all it must remember and one function,
//
//   template <typename How> bool step(How how);   // true: complete; false: not yet, call again
//
// written like a function that waits, as base/await.h says. State that has to outlive a place where it may stop is a
// member. `How` (wait.h) goes on in another way if something is not there yet: blocking calls wait, started ones stop.
//
// A collective's file ends with SMELT_GROUP_CALLS, which defines its functions of the C API, blocking and started
// (started.h). Both make a Call of their arguments:
//
//   int check(const smelt_group* group) const;            0, or the error in them
//   bool is_nothing(const Group& group) const;            nobody has anything to do, and nobody waits
//   uint64_t operand_bytes(const Group& group) const;     where all must give the same, else 0
//   int alone() const;                                    in a group of one: the operand is the result
//   int run(Form form) const;                             picks the method for the size: form.run<M>(...)
//
// A form is Running (blocking) or Starting (started). Its in(), out() and by() are the caller's arguments, which
// Starting copies.
#pragma once

#include <cerrno>

#include "base/await.h"
#include "group/wait.h"

namespace smelt {

// One's own memory for an inline message. Operands lie there as group.h promises, which is why two of them do not
// follow each other after 280 bytes. A state machine is given as many as it wants (kRooms) and keeps no other memory
// whose address it tells others: so the compiler may keep all the rest of it in registers.
struct alignas(64) InlineRoom {
  char bytes[kInlineBytes];
};

// All that every state machine has.
struct Resumable {
  static constexpr int kRooms = 1;
  int at = 0;  // where step() goes on
  int error = 0;

  template <typename How>
  int resume_at(const How&) const {
    return How::kStops ? at : 0;
  }
  // Are there no shelves (Group::shelves_agreed)? Then no long message is served.
  bool is_refused(const Group& group) {
    if (!group.shelves) error = -ENOTSUP;
    return !group.shelves;
  }
};

// Operands of different lengths have met, or the awaited message cannot come.
inline int at_odds(Group& group) {
  group.lengths_differ = false;
  return -EMSGSIZE;
}

// The watch sees a call, in the order in which they begin (Watch, group.h).
inline void count_call(Watch& watch, bool is_barrier) {
  watch.followed = watch.followed << watch.open | (is_barrier ? watch.open : 0);
  watch.open = !is_barrier;
}

// The group's next call. `operand_bytes` where all must give the same, else 0.
inline void begin_call(Group& group, uint64_t operand_bytes, bool is_barrier) {
  count_call(group.watch, is_barrier);
  ++group.calls, group.operand_bytes = operand_bytes;
}

// Runs a state machine to its end: its error. The group comes in a register.
template <typename M, typename... Arguments>
int run_to_end(Group& group, const Arguments&... arguments) {
  InlineRoom rooms[M::kRooms];
  M call(rooms, arguments...);
  const bool done = call.step(Waiting{group});  // inlined: nothing else calls it
  const int error = call.error;
  if (done && !group.lengths_differ) [[likely]]
    return error;
  return at_odds(group);
}

// A blocking call, which is under way from here on.
struct Running {
  Group& group;

  // Before anybody looks at a limit.
  [[gnu::always_inline]] Running(Group& group, uint64_t operand_bytes, bool is_barrier) : group(group) {
    begin_call(group, operand_bytes, is_barrier);
    if (group.watch.has_turned()) [[unlikely]]
      group.turn();
  }

  const smelt_data& in(const smelt_data& data) const { return data; }
  const smelt_data& out(const smelt_data& data) const { return data; }
  const smelt_fold& by(const smelt_fold& fold) const { return fold; }
  template <typename M, typename... Arguments>
  [[gnu::always_inline]] int run(const Arguments&... arguments) const {
    return run_to_end<M>(group, arguments...);
  }
  // No method serves the call, and it does not count.
  int refuse(int error) {
    --group.calls;
    return error;
  }
};

// The usual answers of a Call.
struct AnyCall {
  static constexpr bool kIsBarrier = false;
  static bool is_nothing(const Group&) { return false; }
  static uint64_t operand_bytes(const Group&) { return 0; }
};

// Waits until so many operations in all are complete.
void complete_until(Group& group, uint64_t number);

// Is something to be completed before a call, or nothing to be begun any more?
inline bool is_busy(const Group& group) { return group.completed != group.started || group.broken; }
// Apart, so that it costs the usual call nothing but the look. False: nothing is to be begun any more.
[[gnu::cold]] bool complete_started(Group& group);

template <typename Call>
[[gnu::always_inline]] inline int blocking(smelt_group* group, const Call& call) {
  if (const int error = call.check(group)) return error;
  if (call.is_nothing(*group)) return 0;
  if (is_busy(*group) && !complete_started(*group)) [[unlikely]]
    return -EMSGSIZE;
  if (group->n == 1) return call.alone();
  return call.run(Running(*group, call.operand_bytes(*group), Call::kIsBarrier));
}

}  // namespace smelt
