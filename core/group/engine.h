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
// A collective's file ends with its functions of the C API, blocking and started (started.h), which are made of one
// struct, a Call: the arguments, and
//
//   int check(const smelt_group* group) const;            0, or the error in them
//   bool is_nothing(const Group& group) const;            nobody has anything to do, and nobody waits
//   int alone() const;                                    in a group of one: the operand is the result
//   int run(Group& group) const;                          blocking; inlined where it is one call, so that the struct
//                                                         stays in registers
//   int start(Group& group, Pending& place) const;        copies the arguments to `place`, and makes the machine there
#pragma once

#include <cerrno>

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
  // nullptr: not yet. All know the length. A message of another length is noted.
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

// Waits until ready() holds. `peer` is the participant that will make it hold, and may change meanwhile. False: it
// never will. wait.cc says how.
template <typename Ready>
bool wait_until(Group& group, const uint32_t& peer, Ready ready) {
  if (ready()) [[likely]]
    return true;
  if (!group.plan.crowded) {
    for (int i = 0; i < group.plan.burst; ++i) {
      cpu_pause();
      if (ready()) return true;
    }
  }
  for (uint32_t turn = 0;; ++turn) {
    group.idle(peer, turn);
    for (int i = 0; i < group.plan.turn; ++i) {
      if (ready()) return true;
      cpu_pause();
    }
    if (!group.may_come(peer)) return false;
  }
}

struct Waiting : Asking<Waiting> {
  static constexpr bool kStops = false;
  template <typename Ready>
  bool until(const uint32_t& peer, Ready ready) {
    return wait_until(group, peer, ready);
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

// The result of a machine that has stopped. A participant that saw operands of different lengths meet is told so.
inline int outcome(Group& group, bool done, int error) {
  if (done && !group.lengths_differ) [[likely]]
    return error;
  group.lengths_differ = false;
  return -EMSGSIZE;
}

// The group's next call. `operand_bytes` where all must give the same, else 0.
inline void begin_call(Group& group, uint64_t operand_bytes, bool is_barrier) {
  is_barrier ? group.watch.barrier() : group.watch.call();
  ++group.calls, group.operand_bytes = operand_bytes;
}

// Runs a machine to its end: its error. The group comes in a register.
template <typename M, typename... Arguments>
int run_to_end(Group& group, const Arguments&... arguments) {
  InlineRoom rooms[M::kRooms];
  M machine(rooms, arguments...);
  const bool done = machine.step(Waiting{{group}});  // inlined: nothing else calls it
  return outcome(group, done, machine.error);
}

// A blocking call, which is under way from here on.
struct Running {
  Group& group;

  // Before anybody looks at a limit.
  [[gnu::always_inline]] Running(Group& group, uint64_t operand_bytes, bool is_barrier = false) : group(group) {
    begin_call(group, operand_bytes, is_barrier);
    if (group.watch.has_turned()) [[unlikely]]
      group.turn();
  }

  template <typename M, typename... Arguments>
  [[gnu::always_inline]] int run(const Arguments&... arguments) const {
    return run_to_end<M>(group, arguments...);
  }
  // No machine serves the call, and it does not count.
  int refuse(int error) {
    --group.calls;
    return error;
  }
};

// Waits until so many operations in all are complete.
void complete_until(Group& group, uint64_t number);

// Is something to be completed before a call, or nothing to be begun any more?
inline bool is_busy(const Group& group) { return group.completed != group.started || group.broken; }

// Apart, so that it costs the usual call nothing but the look.
template <typename Call>
[[gnu::noinline, gnu::cold]] int after_started(Group& group, Call call) {
  complete_until(group, group.started);
  if (group.broken) return -EMSGSIZE;
  return group.n > 1 ? call.run(group) : call.alone();
}

template <typename Call>
[[gnu::always_inline]] inline int blocking(smelt_group* group, const Call& call) {
  if (const int error = call.check(group)) return error;
  if (call.is_nothing(*group)) return 0;
  if (is_busy(*group)) [[unlikely]]
    return after_started(*group, call);
  return group->n > 1 ? call.run(*group) : call.alone();
}

}  // namespace smelt
