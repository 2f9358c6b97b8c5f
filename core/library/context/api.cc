// The C functions of seats: arguments checked, and the blocking forms made of the started ones.
#include <cerrno>

#include "base/os/os.h"
#include "library/context/seat.h"

using namespace smelt;
using namespace smelt::context;

namespace {

constexpr unsigned kSync = SMELT_STRICT_ENTRY | SMELT_STRICT_EXIT;  // the bits that are known

// May it begin an operation?
int check(const smelt_seat* seat, unsigned sync) {
  if (!seat || (sync & ~kSync) != 0) return -EINVAL;
  return seat->error ? seat->error : seat->step ? -EBUSY : 0;
}

void begin_if_any(smelt_seat& seat, const Call& call, void (*begin_call)(Seat&, const Call&)) {
  if (call.bytes == 0)
    begin<Nothing>(seat, call);
  else
    begin_call(seat, call);
}

int begin_barrier(smelt_seat* seat) {
  if (const int error = check(seat, 0)) return error;
  Call call;
  call.sync = SMELT_STRICT_EXIT;
  begin<Nothing>(*seat, call);
  return 0;
}

int begin_broadcast(smelt_seat* seat, void* data, size_t bytes, unsigned root, unsigned sync) {
  if (const int error = check(seat, sync)) return error;
  if ((!data && bytes != 0) || root >= seat->n) return -EINVAL;
  Call call;
  call.out = static_cast<char*>(data);
  call.bytes = bytes;
  call.root = root;
  call.sync = sync;
  begin_if_any(*seat, call, context::begin_broadcast);
  return 0;
}

int begin_reduce(smelt_seat* seat, const void* in, void* out, size_t elements, const smelt_fold* fold, uint32_t root,
                 unsigned sync) {
  if (const int error = check(seat, sync)) return error;
  if (!fold || !fold->into_right || fold->element_bytes == 0 || fold->element_bytes > SMELT_SEAT_ELEMENT ||
      (root >= seat->n && root != kNoRoot))
    return -EINVAL;
  if (elements != 0 && (!in || (!out && (root == kNoRoot || root == seat->me)))) return -EINVAL;
  Call call;
  call.in = static_cast<const char*>(in);
  call.out = static_cast<char*>(out);
  call.bytes = elements * fold->element_bytes;
  call.elements = elements;
  call.fold = *fold;
  call.root = root;
  call.sync = sync;
  begin_if_any(*seat, call, context::begin_reduce);
  return 0;
}

int begin_blocks(smelt_seat* seat, const void* in, void* out, size_t bytes, unsigned root, unsigned sync, bool has_in,
                 bool has_out, void (*begin_call)(Seat&, const Call&)) {
  if (bytes != 0 && ((has_in && !in) || (has_out && !out))) return -EINVAL;
  Call call;
  call.in = static_cast<const char*>(in);
  call.out = static_cast<char*>(out);
  call.bytes = bytes;
  call.root = root;
  call.sync = sync;
  begin_if_any(*seat, call, begin_call);
  return 0;
}

int begin_gather(smelt_seat* seat, const void* in, void* out, size_t bytes, unsigned root, unsigned sync) {
  if (const int error = check(seat, sync)) return error;
  if (root >= seat->n) return -EINVAL;
  return begin_blocks(seat, in, out, bytes, root, sync, true, root == seat->me, context::begin_gather);
}

int begin_scatter(smelt_seat* seat, const void* in, void* out, size_t bytes, unsigned root, unsigned sync) {
  if (const int error = check(seat, sync)) return error;
  if (root >= seat->n) return -EINVAL;
  return begin_blocks(seat, in, out, bytes, root, sync, root == seat->me, true, context::begin_scatter);
}

int begin_exchange(smelt_seat* seat, const void* in, void* out, size_t bytes, unsigned sync) {
  if (const int error = check(seat, sync)) return error;
  return begin_blocks(seat, in, out, bytes, 0, sync, true, true, context::begin_exchange);
}

// `error`: of beginning it.
int run(smelt_seat* seat, int error) { return error ? error : wait(*seat); }
int start(smelt_seat* seat, int error) {
  if (!error) advance(*seat);
  return error;
}

}  // namespace

unsigned smelt_seat_size(const smelt_seat* seat) { return seat->n; }
unsigned smelt_seat_participant(const smelt_seat* seat) { return seat->me; }

int smelt_seat_barrier(smelt_seat* seat) { return run(seat, begin_barrier(seat)); }
int smelt_seat_broadcast(smelt_seat* seat, void* data, size_t bytes, unsigned root, unsigned sync) {
  return run(seat, begin_broadcast(seat, data, bytes, root, sync));
}
int smelt_seat_reduce(smelt_seat* seat, const void* in, void* out, size_t elements, const smelt_fold* fold,
                      unsigned root, unsigned sync) {
  return run(seat, root == kNoRoot ? -EINVAL : begin_reduce(seat, in, out, elements, fold, root, sync));
}
int smelt_seat_allreduce(smelt_seat* seat, const void* in, void* out, size_t elements, const smelt_fold* fold,
                         unsigned sync) {
  return run(seat, begin_reduce(seat, in, out, elements, fold, kNoRoot, sync));
}
int smelt_seat_gather(smelt_seat* seat, const void* in, void* out, size_t bytes, unsigned root, unsigned sync) {
  return run(seat, begin_gather(seat, in, out, bytes, root, sync));
}
int smelt_seat_scatter(smelt_seat* seat, const void* in, void* out, size_t bytes, unsigned root, unsigned sync) {
  return run(seat, begin_scatter(seat, in, out, bytes, root, sync));
}
int smelt_seat_exchange(smelt_seat* seat, const void* in, void* out, size_t bytes, unsigned sync) {
  return run(seat, begin_exchange(seat, in, out, bytes, sync));
}

int smelt_seat_start_barrier(smelt_seat* seat) { return start(seat, begin_barrier(seat)); }
int smelt_seat_start_broadcast(smelt_seat* seat, void* data, size_t bytes, unsigned root, unsigned sync) {
  return start(seat, begin_broadcast(seat, data, bytes, root, sync));
}
int smelt_seat_start_reduce(smelt_seat* seat, const void* in, void* out, size_t elements, const smelt_fold* fold,
                            unsigned root, unsigned sync) {
  return start(seat, root == kNoRoot ? -EINVAL : begin_reduce(seat, in, out, elements, fold, root, sync));
}
int smelt_seat_start_allreduce(smelt_seat* seat, const void* in, void* out, size_t elements, const smelt_fold* fold,
                               unsigned sync) {
  return start(seat, begin_reduce(seat, in, out, elements, fold, kNoRoot, sync));
}
int smelt_seat_start_gather(smelt_seat* seat, const void* in, void* out, size_t bytes, unsigned root, unsigned sync) {
  return start(seat, begin_gather(seat, in, out, bytes, root, sync));
}
int smelt_seat_start_scatter(smelt_seat* seat, const void* in, void* out, size_t bytes, unsigned root, unsigned sync) {
  return start(seat, begin_scatter(seat, in, out, bytes, root, sync));
}
int smelt_seat_start_exchange(smelt_seat* seat, const void* in, void* out, size_t bytes, unsigned sync) {
  return start(seat, begin_exchange(seat, in, out, bytes, sync));
}

int smelt_seat_test(smelt_seat* seat, int* done) {
  constexpr uint32_t kTests = 8;  // a yield is a system call, too much for every test
  if (!seat || !done) return -EINVAL;
  *done = advance(*seat) ? 1 : 0;
  if (*done) return seat->error;
  // Where participants share a CPU, a tester must make room for the participant that it waits for.
  if (seat->crowded && ++seat->in_vain % kTests == 0) os::yield_cpu();
  return 0;
}

int smelt_seat_wait(smelt_seat* seat) { return seat ? wait(*seat) : -EINVAL; }
