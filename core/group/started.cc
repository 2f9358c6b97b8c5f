#include "group/started.h"

#include <cerrno>

namespace smelt {
namespace {

// Can the message that the first of them waits for still come? A tester looks now and then; a waiter looks by itself
// (wait_until).
bool may_come(Group& group, bool look) {
  return look && ++group.looks % 64 == 0 ? group.may_come(group.awaited) : !group.broken;
}

void advance(Group& group, bool look) {
  // The host's progress or a caller's operation, called from within, may test a request of this very group.
  if (group.advancing) return;
  group.advancing = true;
  while (group.completed != group.started) {
    Pending& first = group.place_of(group.completed);
    if (!first.begun) {
      first.begun = true;
      begin_call(group, first.operand_bytes, first.is_barrier);
    }
    const bool done = !group.broken && first.step(group, first);
    if (!done && may_come(group, look)) break;
    if (!done) first.request->result = -EMSGSIZE;
    ++group.completed;
    first.request->group = nullptr;  // complete: it is the caller's again
  }
  group.advancing = false;
}

template <typename Done>
void advance_until(Group& group, Done done) {
  const auto advanced = [&] {
    if (!done()) advance(group, false);
    return done();
  };
  if (!wait_until(group, group.awaited, advanced)) advance(group, false);  // which ends what cannot go on
}

}  // namespace

void advance(Group& group) { advance(group, true); }

bool complete_started(Group& group) {
  complete_until(group, group.started);
  return !group.broken;
}

void complete_until(Group& group, uint64_t number) {
  advance_until(group, [&] { return group.completed >= number; });
}
void complete_request(Group& group, const smelt_request& request) {
  advance_until(group, [&] { return !request.group; });
}

}  // namespace smelt
