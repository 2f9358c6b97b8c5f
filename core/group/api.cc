// The group's C API besides its collectives, which are each in a file of its own.
#include <cerrno>

#include "group/fold.h"
#include "group/started.h"

namespace smelt {

int copy_through(const smelt_data& in, const smelt_data& out, size_t bytes) {
  if (in.base && in.base == out.base) return 0;
  char room[256];
  for (size_t offset = 0; offset < bytes; offset += sizeof room) {
    const size_t length = bytes - offset < sizeof room ? bytes - offset : sizeof room;
    unpack(out, offset, length, packed_view(in, offset, length, room));
  }
  return 0;
}

}  // namespace smelt

using namespace smelt;

int smelt_group_prepare(smelt_group* group) {
  if (!group) return -EINVAL;
  if (group->n == 1) return 0;
  if (is_busy(*group)) complete_until(*group, group->started);
  ++group->calls, group->operand_bytes = 0;
  group->shelves_agreed(Waiting{*group});
  return group->shelves ? 0 : -ENOTSUP;
}

size_t smelt_group_start_limit(const smelt_group* group) {
  return group->n == 1 || group->shelves ? SIZE_MAX : kInlineBytes;
}

int smelt_group_test(smelt_request* request, int* done) {
  if (!request || !done) return -EINVAL;
  if (smelt_group* group = request->group) {
    advance(*group);
    if (request->group && !group->advancing) group->tested_in_vain();
  }
  *done = !request->group;
  return *done ? request->result : 0;
}

int smelt_group_wait(smelt_request* request) {
  if (!request) return -EINVAL;
  if (smelt_group* group = request->group) complete_request(*group, *request);
  return request->result;
}

size_t smelt_group_element_limit(const smelt_group* group) { return group->plan.limits.piece; }
smelt_sync smelt_group_sync(const smelt_group* group, const char** why) {
  if (why) *why = group->sync_why;
  return group->sync == Sync::kStrict ? SMELT_SYNC_STRICT : SMELT_SYNC_LOOSE;
}
int smelt_group_sync_matters(const smelt_group* group) {
  return !same_limits(group->plan.limits_of[0], group->plan.limits_of[1]);
}
int smelt_group_crowded(const smelt_group* group) { return group->plan.crowded; }
