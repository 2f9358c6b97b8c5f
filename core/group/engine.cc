#include "group/engine.h"

namespace smelt {

void advance(Group& group) {
  // The host's progress or a caller's operation, called from within, may test a request of this very group.
  if (group.advancing) return;
  group.advancing = true;
  while (group.completed != group.started) {
    Pending& first = group.pending[group.completed % kOutstanding];
    if (!first.step(group, first)) break;
    ++group.completed;
    first.request->group = nullptr;  // complete: it is the caller's again
  }
  group.advancing = false;
}

void complete_until(Group& group, uint64_t number) {
  group.wait_until(group.awaited, [&] {
    if (group.completed < number) advance(group);
    return group.completed >= number;
  });
}

void complete_request(Group& group, const smelt_request& request) {
  group.wait_until(group.awaited, [&] {
    if (request.group) advance(group);
    return !request.group;
  });
}

}  // namespace smelt
