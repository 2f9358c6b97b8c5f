// The group's C API: arguments checked, then straight to the collective.
#include <cerrno>

#include "group/fold.h"
#include "group/group.h"

using namespace smelt;

int smelt_group_barrier(smelt_group* group) {
  if (!group) return -EINVAL;
  if (group->n > 1) group_barrier(*group);
  return 0;
}

int smelt_group_broadcast(smelt_group* group, const smelt_data* data, size_t bytes, unsigned root) {
  if (!group || !data || root >= group->n) return -EINVAL;
  if (group->n == 1 || bytes == 0) return 0;
  return group_broadcast(*group, *data, bytes, root);
}

namespace {

// A group of one: the operand is the result.
void copy_through(const smelt_data& in, const smelt_data& out, size_t bytes) {
  if (in.base && in.base == out.base) return;
  char room[256];
  for (size_t offset = 0; offset < bytes; offset += sizeof room) {
    const size_t length = bytes - offset < sizeof room ? bytes - offset : sizeof room;
    unpack(out, offset, length, packed_view(in, offset, length, room));
  }
}

}  // namespace

int smelt_group_reduce(smelt_group* group, const smelt_data* in, const smelt_data* out, size_t elements,
                       const smelt_fold* fold, unsigned root) {
  if (!group || !in || !fold || root >= group->n || (group->me == root && !out)) return -EINVAL;
  if (elements == 0 || fold->element_bytes == 0) return 0;
  const smelt_data nowhere{};  // for who is not the root, whatever it names
  if (group->n > 1) return group_reduce(*group, *in, group->me == root ? *out : nowhere, elements, *fold, root);
  copy_through(*in, *out, elements * fold->element_bytes);
  return 0;
}

int smelt_group_allreduce(smelt_group* group, const smelt_data* in, const smelt_data* out, size_t elements,
                          const smelt_fold* fold) {
  if (!group || !in || !out || !fold) return -EINVAL;
  if (elements == 0 || fold->element_bytes == 0) return 0;
  if (group->n > 1) return group_allreduce(*group, *in, *out, elements, *fold);
  copy_through(*in, *out, elements * fold->element_bytes);
  return 0;
}

size_t smelt_group_element_limit(const smelt_group* group) { return group->plan.limits.piece; }
