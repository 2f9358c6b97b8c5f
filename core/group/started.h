// Started operations: as Running runs a state machine (engine.h), Starting leaves it for later.
//
// A group begins its collectives in the same order everywhere, so started ones form a queue, and only the first is ever
// under way: episodes, pieces and flow control stay a matter of one collective at a time. A blocking call completes the
// queue first. The memory of started ones belongs to the group, for kOutstanding of them. If a caller starts more, it
// waits for the first.
#pragma once

#include <new>

#include "group/engine.h"

namespace smelt {

inline constexpr int kMostRooms = 6;  // of a ReduceShort of ReduceBlocks

// A started operation: copies of its caller's arguments, and its state machine.
struct Pending {
  smelt_request* request;
  smelt_data in, out;
  smelt_fold fold;
  bool (*step)(Group& group, Pending& self);
  uint64_t operand_bytes;  // begin_call
  bool is_barrier;
  bool begun;
  InlineRoom rooms[kMostRooms];
  alignas(64) char call[1024];
};

inline Pending& Group::place_of(uint64_t operation) { return pending[(operation - first_place) % kOutstanding]; }

// Advances the started operations as far as they go without waiting.
void advance(Group& group);
// Waits until this one is.
void complete_request(Group& group, const smelt_request& request);

// A started call: of what a state machine is to be made when its turn has come.
struct Starting {
  Group& group;
  Pending& place;

  const smelt_data& in(const smelt_data& data) const { return place.in = data; }
  const smelt_data& out(const smelt_data& data) const { return place.out = data; }
  const smelt_fold& by(const smelt_fold& fold) const { return place.fold = fold; }
  template <typename M, typename... Arguments>
  int run(const Arguments&... arguments) {
    static_assert(sizeof(M) <= sizeof place.call && M::kRooms <= kMostRooms && alignof(M) <= 64);
    new (place.call) M(place.rooms, arguments...);
    place.step = step_of<M>;
    return 0;
  }
  int refuse(int error) { return error; }

 private:
  template <typename M>
  static bool step_of(Group& group, Pending& self) {
    M& call = *std::launder(reinterpret_cast<M*>(self.call));
    if (!call.step(Testing{group})) return false;
    self.request->result = group.lengths_differ ? at_odds(group) : call.error;
    return true;
  }
};

// A request of which nothing is left to do, or that came to nothing.
inline int complete(smelt_request* request, int result) {
  request->group = nullptr;
  return request->result = result;
}

template <typename Call>
int started(smelt_group* group, smelt_request* request, const Call& call) {
  if (!request) return -EINVAL;
  if (const int error = call.check(group)) return complete(request, error);
  if (call.is_nothing(*group)) return complete(request, 0);
  if (group->n == 1) return complete(request, call.alone());
  if (group->started - group->completed == kOutstanding) complete_until(*group, group->completed + 1);
  if (group->broken) return complete(request, -EMSGSIZE);
  if (group->completed == group->started) group->first_place = group->started;
  Pending& place = group->place_of(group->started);
  place.request = request;
  place.operand_bytes = call.operand_bytes(*group);
  place.is_barrier = Call::kIsBarrier;
  place.begun = false;
  if (const int error = call.run(Starting{*group, place})) return complete(request, error);
  request->group = group;
  ++group->started;
  advance(*group);
  return 0;
}

}  // namespace smelt

// smelt_group_NAME and smelt_group_start_NAME; behind the Call, in brackets, the parameters.
#define SMELT_GROUP_CALLS(name, call, ...)                                                              \
  int smelt_group_##name(smelt_group* group __VA_OPT__(, ) __VA_ARGS__) {                               \
    using namespace smelt;                                                                              \
    return blocking(group, call);                                                                       \
  }                                                                                                     \
  int smelt_group_start_##name(smelt_group* group __VA_OPT__(, ) __VA_ARGS__, smelt_request* request) { \
    using namespace smelt;                                                                              \
    return started(group, request, call);                                                               \
  }
