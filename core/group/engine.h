// The engine: collectives as machines that can stop wherever they would have to wait.
//
// A collective is a struct with all it must remember and one function,
//
//   template <typename How> bool step(How how);   // true: complete; false: not yet, call again
//
// written like a function that waits: its body is one switch over `at`, and SMELT_AWAIT(what) marks a place where it
// may have to stop, and goes on when it is called again (the protothreads of Dunkels et al., SenSys 2006; Duff's device
// underneath). `what` is an expression that is true when the machine may go on; it is evaluated again and again, and
// must bear that. What has to outlive such a place is a member; no variable may be begun before one and used after it.
//
// `How` says what happens where something is not there yet, and is the only thing that waits:
//
//   Waiting   polls, lets the host progress, and always goes on: the blocking form, in which no machine ever stops,
//             so the compiler leaves nothing of the switch
//   Testing   stops: the started form
//
// A group begins its collectives in the same order everywhere, so started ones form a queue, and only the first is ever
// under way: episodes, pieces and flow control stay a matter of one collective at a time. Who calls a blocking one
// completes the queue first. The memory of started ones belongs to the group, kOutstanding of them; who starts more
// waits for the first.
#pragma once

#include <new>

#include "group/group.h"

// Nothing to do with a lambda: `at` must be the machine's own, and `return` leave step().
#define SMELT_AWAIT(...)                          \
  if constexpr (How::kStops) this->at = __LINE__; \
  [[fallthrough]];                                \
  case __LINE__:                                  \
    if (!(__VA_ARGS__)) return false

namespace smelt {

// What every machine has.
struct Machine {
  int at = 0;  // where step() goes on
  int error = 0;
};

// What machines ask of the rings, each true when it is done.
template <typename Self>
struct Asking {
  Group& group;

  bool put(InlineSlot* channel, const void* from, size_t bytes) {
    if (!until(group.behind, [this] { return group.slots_free(); })) return false;
    group.put(channel, from, bytes);
    return true;
  }
  // nullptr: not yet.
  const void* get(uint32_t i, const InlineSlot* channel, size_t bytes, void* room) {
    const void* at = nullptr;
    until(i, [&] { return (at = group.try_get(channel, bytes, room)) != nullptr; });
    return at;
  }
  bool slots_free() {
    return until(group.behind, [this] { return group.slots_free(); });
  }
  bool all_finished(uint64_t upto) {
    return until(group.behind, [&] { return group.all_finished(upto); });
  }
  bool piece_free(uint64_t piece) {
    return until(group.behind, [&] { return group.piece_free(piece); });
  }
  bool filled(uint32_t i, Counter Desk::*channel, uint64_t piece) {
    return until(i, [&] { return group.filled(i, channel, piece); });
  }
  bool shelves_agreed() {
    return until(group.behind, [this] { return group.shelves_agreed(); });
  }
  bool single_copy_agreed() {
    return until(group.behind, [this] { return group.single_copy_agreed(); });
  }

 private:
  template <typename Ready>
  bool until(const uint32_t& peer, Ready ready) {
    return static_cast<Self*>(this)->until(peer, ready);
  }
};

struct Waiting : Asking<Waiting> {
  static constexpr bool kStops = false;
  template <typename Ready>
  bool until(const uint32_t& peer, Ready ready) {
    group.wait_until(peer, ready);
    return true;
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

// A started operation: copies of what its caller said, and its machine.
struct Pending {
  smelt_request* request;
  smelt_data in, out;
  smelt_fold fold;
  bool (*step)(Group& group, Pending& self);
  alignas(64) char machine[3072];
};

// Advances what was started as far as it goes without waiting.
void advance(Group& group);
// Waits until so many operations in all are complete.
void complete_until(Group& group, uint64_t number);
// Waits until this one is.
void complete_request(Group& group, const smelt_request& request);
// Waits for all that were started.
inline void complete_all(Group& group) {
  if (group.completed != group.started) [[unlikely]]
    complete_until(group, group.started);
}

// What a collective does with the machine that serves the call: runs it, or leaves it for later. Both return its error,
// as far as it is known.
struct Running {
  Group& group;
  template <typename M, typename... Arguments>
  int run(const Arguments&... arguments) {
    M machine(arguments...);
    machine.step(Waiting{{group}});
    return machine.error;
  }
};
struct Starting {
  Group& group;
  Pending& place;
  template <typename M, typename... Arguments>
  int run(const Arguments&... arguments) {
    static_assert(sizeof(M) <= sizeof place.machine && alignof(M) <= 64);
    new (place.machine) M(arguments...);
    place.step = [](Group& group, Pending& self) { return step_of<M>(group, self); };
    return 0;
  }

 private:
  template <typename M>
  static bool step_of(Group& group, Pending& self) {
    M& machine = *std::launder(reinterpret_cast<M*>(self.machine));
    if (!machine.step(Testing{{group}})) return false;
    self.request->result = machine.error;
    return true;
  }
};

}  // namespace smelt
