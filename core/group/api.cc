// The group's C API: arguments checked, then straight to the collective.
#include <cerrno>

#include "group/engine.h"
#include "group/fold.h"

using namespace smelt;

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

smelt_data at(const void* base) { return {const_cast<void*>(base), nullptr, nullptr, nullptr}; }

const smelt_data kNowhere{};  // in place of the buffer that a participant other than the root names

// Each: the error in a call's arguments, or 0.
int check_broadcast(const smelt_group* group, const smelt_data* data, unsigned root) {
  return !group || !data || root >= group->n ? -EINVAL : 0;
}
int check_reduce(const smelt_group* group, const smelt_data* in, const smelt_data* out, const smelt_fold* fold,
                 unsigned root) {
  return !group || !in || !fold || root >= group->n || (group->me == root && !out) ? -EINVAL : 0;
}
int check_allreduce(const smelt_group* group, const smelt_data* in, const smelt_data* out, const smelt_fold* fold) {
  return !group || !in || !out || !fold ? -EINVAL : 0;
}
int check_allgather(const smelt_group* group, const smelt_data* in, const void* out, size_t bytes) {
  return !group || !in || (!out && bytes > 0) ? -EINVAL : 0;
}

int check_alltoall(const smelt_group* group, const void* in, const void* out, size_t bytes) {
  return !group || ((!in || !out) && bytes > 0) ? -EINVAL : 0;
}
bool is_list(const smelt_group& group, const smelt_block* blocks, size_t count) {
  if (!blocks && count > 0) return false;
  for (size_t i = 0; i < count; ++i)
    if (blocks[i].peer >= group.n || (i > 0 && blocks[i - 1].peer > blocks[i].peer)) return false;
  return true;
}
int check_exchange(const smelt_group* group, const smelt_block* out, size_t outgoing, const smelt_block* in,
                   size_t incoming) {
  return !group || !is_list(*group, out, outgoing) || !is_list(*group, in, incoming) ? -EINVAL : 0;
}

// Has nothing to combine, and nobody anything to wait for?
bool is_nothing(const smelt_group& group, Blocks blocks, const smelt_fold& fold) {
  return fold.element_bytes == 0 || blocks.before(group.n) == 0;
}
int check_blocks(const smelt_group* group, const void* in, const void* out, const smelt_fold* fold, Blocks blocks) {
  if (!group || !fold) return -EINVAL;
  return is_nothing(*group, blocks, *fold) || (in && (out || blocks.of(group->me) == 0)) ? 0 : -EINVAL;
}

int check_allgatherv(const smelt_group* group, const smelt_data* in, const void* out, const smelt_place* blocks) {
  return !group || !in || !out || !blocks ? -EINVAL : 0;
}
int check_gather(const smelt_group* group, const smelt_data* in, const void* out, unsigned root) {
  return !group || !in || root >= group->n || (group->me == root && !out) ? -EINVAL : 0;
}
int check_scatter(const smelt_group* group, const void* in, const smelt_data* out, unsigned root) {
  return !group || !out || root >= group->n || (group->me == root && !in) ? -EINVAL : 0;
}

size_t sum_of(const smelt_group& group, const smelt_place* blocks) {
  size_t sum = 0;
  for (uint32_t i = 0; i < group.n; ++i) sum += blocks[i].bytes;
  return sum;
}

// Nothing lies anywhere.
bool is_row(const smelt_group& group, const void* row, const smelt_place* blocks) {
  return blocks && (row || sum_of(group, blocks) == 0);
}

int check_scatterv(const smelt_group* group, const void* in, const smelt_place* blocks, const smelt_data* out,
                   unsigned root) {
  return !group || !out || root >= group->n || (group->me == root && !is_row(*group, in, blocks)) ? -EINVAL : 0;
}

int check_gatherv(const smelt_group* group, const void* in, size_t bytes, const void* out, const smelt_place* blocks,
                  unsigned root) {
  return !group || (!in && bytes > 0) || root >= group->n || (group->me == root && !is_row(*group, out, blocks))
             ? -EINVAL
             : 0;
}

bool is_busy(const smelt_group& group) { return group.completed != group.started || group.broken; }

// A blocking call comes after all that was started. Apart, so that it costs the usual call nothing but the look.
template <typename Call>
[[gnu::noinline, gnu::cold]] int after_started(smelt_group& group, Call call) {
  complete_until(group, group.started);
  return group.broken ? -EMSGSIZE : call();
}

// A request of which nothing is left to do, or that came to nothing.
int complete(smelt_request* request, int result = 0) {
  request->group = nullptr;
  return request->result = result;
}

// Starts an operation: begin(place) makes its machine from what it finds there.
template <typename Begin>
int start(smelt_group& group, smelt_request* request, const smelt_data* in, const smelt_data* out,
          const smelt_fold* fold, Begin begin) {
  if (group.started - group.completed == kOutstanding) complete_until(group, group.completed + 1);
  if (group.broken) return complete(request, -EMSGSIZE);
  if (group.completed == group.started) group.first_place = group.started;
  Pending& place = group.place_of(group.started);
  place.request = request;
  place.is_barrier = false;
  place.in = in ? *in : kNowhere;
  place.out = out ? *out : kNowhere;
  if (fold) place.fold = *fold;
  if (const int error = begin(place)) return complete(request, error);
  request->group = &group;
  ++group.started;
  advance(group);
  return 0;
}

// Both forms of reduce-scatter, and both scans.
int scatter(smelt_group* group, const void* in, void* out, Blocks blocks, const smelt_fold* fold) {
  if (const int error = check_blocks(group, in, out, fold, blocks)) return error;
  if (is_nothing(*group, blocks, *fold)) return 0;
  if (is_busy(*group)) [[unlikely]]
    return after_started(*group, [=] { return scatter(group, in, out, blocks, fold); });
  if (group->n > 1) return group_reduce_scatter(*group, in, out, blocks, *fold);
  std::memcpy(out, in, blocks.of(0) * fold->element_bytes);
  return 0;
}
int start_scatter(smelt_group* group, const void* in, void* out, Blocks blocks, const smelt_fold* fold,
                  smelt_request* request) {
  if (!request) return -EINVAL;
  if (const int error = check_blocks(group, in, out, fold, blocks)) return complete(request, error);
  if (is_nothing(*group, blocks, *fold)) return complete(request);
  const smelt_data row = at(const_cast<void*>(in)), own = at(out);
  if (group->n > 1)
    return start(*group, request, &row, &own, fold,
                 [&](Pending& place) { return start_reduce_scatter(*group, place, blocks); });
  std::memcpy(out, in, blocks.of(0) * fold->element_bytes);
  return complete(request);
}

int scan(smelt_group* group, const smelt_data* in, const smelt_data* out, size_t elements, const smelt_fold* fold,
         Prefix prefix) {
  if (const int error = check_allreduce(group, in, out, fold)) return error;
  if (elements == 0 || fold->element_bytes == 0) return 0;
  if (is_busy(*group)) [[unlikely]]
    return after_started(*group, [=] { return scan(group, in, out, elements, fold, prefix); });
  if (group->n > 1) return group_scan(*group, *in, *out, elements, *fold, prefix);
  if (prefix == Prefix::kInclusive) copy_through(*in, *out, elements * fold->element_bytes);
  return 0;
}
int start_scan(smelt_group* group, const smelt_data* in, const smelt_data* out, size_t elements, const smelt_fold* fold,
               Prefix prefix, smelt_request* request) {
  if (!request) return -EINVAL;
  if (const int error = check_allreduce(group, in, out, fold)) return complete(request, error);
  if (elements == 0 || fold->element_bytes == 0) return complete(request);
  if (group->n > 1)
    return start(*group, request, in, out, fold,
                 [&](Pending& place) { return smelt::start_scan(*group, place, elements, prefix); });
  if (prefix == Prefix::kInclusive) copy_through(*in, *out, elements * fold->element_bytes);
  return complete(request);
}

}  // namespace

int smelt_group_barrier(smelt_group* group) {
  if (!group) return -EINVAL;
  if (is_busy(*group)) [[unlikely]]
    return after_started(*group, [=] { return smelt_group_barrier(group); });
  if (group->n > 1) group_barrier(*group);
  return 0;
}

int smelt_group_broadcast(smelt_group* group, const smelt_data* data, size_t bytes, unsigned root) {
  if (const int error = check_broadcast(group, data, root)) return error;
  if (group->n == 1 || bytes == 0) return 0;
  if (is_busy(*group)) [[unlikely]]
    return after_started(*group, [=] { return smelt_group_broadcast(group, data, bytes, root); });
  return group_broadcast(*group, *data, bytes, root);
}

int smelt_group_reduce(smelt_group* group, const smelt_data* in, const smelt_data* out, size_t elements,
                       const smelt_fold* fold, unsigned root) {
  if (const int error = check_reduce(group, in, out, fold, root)) return error;
  if (elements == 0 || fold->element_bytes == 0) return 0;
  if (is_busy(*group)) [[unlikely]]
    return after_started(*group, [=] { return smelt_group_reduce(group, in, out, elements, fold, root); });
  if (group->n > 1) return group_reduce(*group, *in, group->me == root ? *out : kNowhere, elements, *fold, root);
  copy_through(*in, *out, elements * fold->element_bytes);
  return 0;
}

int smelt_group_allreduce(smelt_group* group, const smelt_data* in, const smelt_data* out, size_t elements,
                          const smelt_fold* fold) {
  if (const int error = check_allreduce(group, in, out, fold)) return error;
  if (elements == 0 || fold->element_bytes == 0) return 0;
  if (is_busy(*group)) [[unlikely]]
    return after_started(*group, [=] { return smelt_group_allreduce(group, in, out, elements, fold); });
  if (group->n > 1) return group_allreduce(*group, *in, *out, elements, *fold);
  copy_through(*in, *out, elements * fold->element_bytes);
  return 0;
}

int smelt_group_allgather(smelt_group* group, const smelt_data* in, void* out, size_t bytes) {
  if (const int error = check_allgather(group, in, out, bytes)) return error;
  if (bytes == 0) return 0;
  if (is_busy(*group)) [[unlikely]]
    return after_started(*group, [=] { return smelt_group_allgather(group, in, out, bytes); });
  if (group->n > 1) return group_allgather(*group, *in, out, bytes);
  copy_through(*in, at(out), bytes);
  return 0;
}

int smelt_group_reduce_scatter_block(smelt_group* group, const void* in, void* out, size_t elements,
                                     const smelt_fold* fold) {
  return scatter(group, in, out, {nullptr, elements}, fold);
}
int smelt_group_reduce_scatter(smelt_group* group, const void* in, void* out, const size_t* elements,
                               const smelt_fold* fold) {
  return elements ? scatter(group, in, out, {elements, 0}, fold) : -EINVAL;
}
int smelt_group_scan(smelt_group* group, const smelt_data* in, const smelt_data* out, size_t elements,
                     const smelt_fold* fold) {
  return scan(group, in, out, elements, fold, Prefix::kInclusive);
}
int smelt_group_exscan(smelt_group* group, const smelt_data* in, const smelt_data* out, size_t elements,
                       const smelt_fold* fold) {
  return scan(group, in, out, elements, fold, Prefix::kExclusive);
}

int smelt_group_alltoall(smelt_group* group, const void* in, void* out, size_t bytes) {
  if (const int error = check_alltoall(group, in, out, bytes)) return error;
  if (bytes == 0) return 0;
  if (is_busy(*group)) [[unlikely]]
    return after_started(*group, [=] { return smelt_group_alltoall(group, in, out, bytes); });
  if (group->n > 1) return group_alltoall(*group, in, out, bytes);
  std::memcpy(out, in, bytes);
  return 0;
}

int smelt_group_exchange(smelt_group* group, const smelt_block* out, size_t outgoing, const smelt_block* in,
                         size_t incoming) {
  if (const int error = check_exchange(group, out, outgoing, in, incoming)) return error;
  if (is_busy(*group)) [[unlikely]]
    return after_started(*group, [=] { return smelt_group_exchange(group, out, outgoing, in, incoming); });
  return group_exchange(*group, out, outgoing, in, incoming);
}

int smelt_group_allgatherv(smelt_group* group, const smelt_data* in, void* out, const smelt_place* blocks) {
  if (const int error = check_allgatherv(group, in, out, blocks)) return error;
  const size_t sum = sum_of(*group, blocks);
  if (sum == 0) return 0;
  if (is_busy(*group)) [[unlikely]]
    return after_started(*group, [=] { return smelt_group_allgatherv(group, in, out, blocks); });
  if (group->n > 1) return group_allgatherv(*group, *in, out, blocks);
  copy_through(*in, at(static_cast<char*>(out) + blocks->offset), sum);
  return 0;
}

int smelt_group_gather(smelt_group* group, const smelt_data* in, void* out, size_t bytes, unsigned root) {
  if (const int error = check_gather(group, in, out, root)) return error;
  if (bytes == 0) return 0;
  if (is_busy(*group)) [[unlikely]]
    return after_started(*group, [=] { return smelt_group_gather(group, in, out, bytes, root); });
  if (group->n > 1) return group_gather(*group, *in, out, bytes, root);
  copy_through(*in, at(out), bytes);
  return 0;
}

int smelt_group_scatter(smelt_group* group, const void* in, const smelt_data* out, size_t bytes, unsigned root) {
  if (const int error = check_scatter(group, in, out, root)) return error;
  if (bytes == 0) return 0;
  if (is_busy(*group)) [[unlikely]]
    return after_started(*group, [=] { return smelt_group_scatter(group, in, out, bytes, root); });
  if (group->n > 1) return group_scatter(*group, in, *out, bytes, root);
  copy_through(at(in), *out, bytes);
  return 0;
}

int smelt_group_scatterv(smelt_group* group, const void* in, const smelt_place* blocks, const smelt_data* out,
                         size_t bytes, unsigned root) {
  if (const int error = check_scatterv(group, in, blocks, out, root)) return error;
  if (is_busy(*group)) [[unlikely]]
    return after_started(*group, [=] { return smelt_group_scatterv(group, in, blocks, out, bytes, root); });
  if (group->n > 1) return group_scatterv(*group, in, blocks, *out, bytes, root);
  copy_through(at(static_cast<const char*>(in) + blocks->offset), *out, blocks->bytes);
  return 0;
}

int smelt_group_gatherv(smelt_group* group, const void* in, size_t bytes, void* out, const smelt_place* blocks,
                        unsigned root) {
  if (const int error = check_gatherv(group, in, bytes, out, blocks, root)) return error;
  if (is_busy(*group)) [[unlikely]]
    return after_started(*group, [=] { return smelt_group_gatherv(group, in, bytes, out, blocks, root); });
  if (group->n > 1) return group_gatherv(*group, in, bytes, out, blocks, root);
  copy_through(at(in), at(static_cast<char*>(out) + blocks->offset), bytes);
  return 0;
}

int smelt_group_start_barrier(smelt_group* group, smelt_request* request) {
  if (!request) return -EINVAL;
  if (!group) return complete(request, -EINVAL);
  if (group->n == 1) return complete(request);
  return start(*group, request, nullptr, nullptr, nullptr,
               [&](Pending& place) { return start_barrier(*group, place); });
}

int smelt_group_start_broadcast(smelt_group* group, const smelt_data* data, size_t bytes, unsigned root,
                                smelt_request* request) {
  if (!request) return -EINVAL;
  if (const int error = check_broadcast(group, data, root)) return complete(request, error);
  if (group->n == 1 || bytes == 0) return complete(request);
  return start(*group, request, data, nullptr, nullptr,
               [&](Pending& place) { return start_broadcast(*group, place, bytes, root); });
}

int smelt_group_start_reduce(smelt_group* group, const smelt_data* in, const smelt_data* out, size_t elements,
                             const smelt_fold* fold, unsigned root, smelt_request* request) {
  if (!request) return -EINVAL;
  if (const int error = check_reduce(group, in, out, fold, root)) return complete(request, error);
  if (elements == 0 || fold->element_bytes == 0) return complete(request);
  if (group->n > 1)
    return start(*group, request, in, group->me == root ? out : nullptr, fold,
                 [&](Pending& place) { return start_reduce(*group, place, elements, root); });
  copy_through(*in, *out, elements * fold->element_bytes);
  return complete(request);
}

int smelt_group_start_allreduce(smelt_group* group, const smelt_data* in, const smelt_data* out, size_t elements,
                                const smelt_fold* fold, smelt_request* request) {
  if (!request) return -EINVAL;
  if (const int error = check_allreduce(group, in, out, fold)) return complete(request, error);
  if (elements == 0 || fold->element_bytes == 0) return complete(request);
  if (group->n > 1)
    return start(*group, request, in, out, fold,
                 [&](Pending& place) { return start_allreduce(*group, place, elements); });
  copy_through(*in, *out, elements * fold->element_bytes);
  return complete(request);
}

int smelt_group_start_allgather(smelt_group* group, const smelt_data* in, void* out, size_t bytes,
                                smelt_request* request) {
  if (!request) return -EINVAL;
  if (const int error = check_allgather(group, in, out, bytes)) return complete(request, error);
  if (bytes == 0) return complete(request);
  const smelt_data all = at(out);
  if (group->n > 1)
    return start(*group, request, in, &all, nullptr,
                 [&](Pending& place) { return start_allgather(*group, place, bytes); });
  copy_through(*in, all, bytes);
  return complete(request);
}

int smelt_group_start_reduce_scatter_block(smelt_group* group, const void* in, void* out, size_t elements,
                                           const smelt_fold* fold, smelt_request* request) {
  return start_scatter(group, in, out, {nullptr, elements}, fold, request);
}
int smelt_group_start_reduce_scatter(smelt_group* group, const void* in, void* out, const size_t* elements,
                                     const smelt_fold* fold, smelt_request* request) {
  if (!request) return -EINVAL;
  return elements ? start_scatter(group, in, out, {elements, 0}, fold, request) : complete(request, -EINVAL);
}
int smelt_group_start_scan(smelt_group* group, const smelt_data* in, const smelt_data* out, size_t elements,
                           const smelt_fold* fold, smelt_request* request) {
  return start_scan(group, in, out, elements, fold, Prefix::kInclusive, request);
}
int smelt_group_start_exscan(smelt_group* group, const smelt_data* in, const smelt_data* out, size_t elements,
                             const smelt_fold* fold, smelt_request* request) {
  return start_scan(group, in, out, elements, fold, Prefix::kExclusive, request);
}

int smelt_group_start_alltoall(smelt_group* group, const void* in, void* out, size_t bytes, smelt_request* request) {
  if (!request) return -EINVAL;
  if (const int error = check_alltoall(group, in, out, bytes)) return complete(request, error);
  if (bytes == 0) return complete(request);
  const smelt_data from = at(const_cast<void*>(in)), to = at(out);
  if (group->n > 1)
    return start(*group, request, &from, &to, nullptr,
                 [&](Pending& place) { return start_alltoall(*group, place, bytes); });
  std::memcpy(out, in, bytes);
  return complete(request);
}

int smelt_group_start_exchange(smelt_group* group, const smelt_block* out, size_t outgoing, const smelt_block* in,
                               size_t incoming, smelt_request* request) {
  if (!request) return -EINVAL;
  if (const int error = check_exchange(group, out, outgoing, in, incoming)) return complete(request, error);
  if (group->n == 1) return complete(request, group_exchange(*group, out, outgoing, in, incoming));
  return start(*group, request, nullptr, nullptr, nullptr,
               [&](Pending& place) { return start_exchange(*group, place, out, outgoing, in, incoming); });
}

int smelt_group_start_allgatherv(smelt_group* group, const smelt_data* in, void* out, const smelt_place* blocks,
                                 smelt_request* request) {
  if (!request) return -EINVAL;
  if (const int error = check_allgatherv(group, in, out, blocks)) return complete(request, error);
  const size_t sum = sum_of(*group, blocks);
  if (sum == 0) return complete(request);
  const smelt_data all = at(out);
  if (group->n > 1)
    return start(*group, request, in, &all, nullptr,
                 [&](Pending& place) { return start_allgatherv(*group, place, blocks); });
  copy_through(*in, at(static_cast<char*>(out) + blocks->offset), sum);
  return complete(request);
}

int smelt_group_start_gather(smelt_group* group, const smelt_data* in, void* out, size_t bytes, unsigned root,
                             smelt_request* request) {
  if (!request) return -EINVAL;
  if (const int error = check_gather(group, in, out, root)) return complete(request, error);
  if (bytes == 0) return complete(request);
  const smelt_data all = at(out);
  if (group->n > 1)
    return start(*group, request, in, &all, nullptr,
                 [&](Pending& place) { return start_gather(*group, place, bytes, root); });
  copy_through(*in, all, bytes);
  return complete(request);
}

int smelt_group_start_scatter(smelt_group* group, const void* in, const smelt_data* out, size_t bytes, unsigned root,
                              smelt_request* request) {
  if (!request) return -EINVAL;
  if (const int error = check_scatter(group, in, out, root)) return complete(request, error);
  if (bytes == 0) return complete(request);
  const smelt_data all = at(in);
  if (group->n > 1)
    return start(*group, request, &all, out, nullptr,
                 [&](Pending& place) { return start_scatter(*group, place, bytes, root); });
  copy_through(all, *out, bytes);
  return complete(request);
}

int smelt_group_start_scatterv(smelt_group* group, const void* in, const smelt_place* blocks, const smelt_data* out,
                               size_t bytes, unsigned root, smelt_request* request) {
  if (!request) return -EINVAL;
  if (const int error = check_scatterv(group, in, blocks, out, root)) return complete(request, error);
  const smelt_data all = at(in);
  if (group->n > 1)
    return start(*group, request, &all, out, nullptr,
                 [&](Pending& place) { return start_scatterv(*group, place, blocks, bytes, root); });
  copy_through(at(static_cast<const char*>(in) + blocks->offset), *out, blocks->bytes);
  return complete(request);
}

int smelt_group_start_gatherv(smelt_group* group, const void* in, size_t bytes, void* out, const smelt_place* blocks,
                              unsigned root, smelt_request* request) {
  if (!request) return -EINVAL;
  if (const int error = check_gatherv(group, in, bytes, out, blocks, root)) return complete(request, error);
  const smelt_data own = at(in), all = at(out);
  if (group->n > 1)
    return start(*group, request, &own, &all, nullptr,
                 [&](Pending& place) { return start_gatherv(*group, place, bytes, blocks, root); });
  copy_through(own, at(static_cast<char*>(out) + blocks->offset), bytes);
  return complete(request);
}

int smelt_group_prepare(smelt_group* group) {
  if (!group) return -EINVAL;
  if (group->n == 1) return 0;
  if (is_busy(*group)) complete_until(*group, group->started);
  group->begin_apart(0);
  Waiting{{*group}}.shelves_agreed();
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
