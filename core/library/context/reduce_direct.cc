// Reduce and allreduce of long operands between threads: everybody combines a slice of all operands, which it reads
// where their callers have them, and writes the result to all participants that want it. So the work is shared by all,
// and every byte is read once.
//
//   1. everybody tells everybody where its memory is (meet.cc)
//   2. slice `me`, in parts that stay in a first-level cache: the operands are combined along the tree, though by one
//      thread: subtree by subtree, the last served first, a partial result for each depth (Fold)
//   3. everybody tells everybody that it is done: nobody goes on before all have read and written
//
// In place is safe: of a slice, everybody's operands are read by its owner alone, part by part before it writes there.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "library/context/seat.h"

namespace smelt::context {
namespace {

struct ReduceDirect {
  using How = Seat;
  static constexpr bool kSynchronises = true;
  int at = 0;
  AllNotices meeting;

  bool step(Seat& seat, const Call& call) {
    switch (at) {
      case 0:
        meeting.tell(seat, call);
        SMELT_AWAIT(meeting.step(seat));
        SMELT_AWAIT(are_as_long(seat, call.bytes) || seat.fail(-EMSGSIZE));
        combine_slice(seat, call);
        meeting.tell_done(seat);
        SMELT_AWAIT(meeting.step(seat));
    }
    return true;
  }

 private:
  // The first element of slice i; slices begin at lines where elements do.
  static size_t slice(const Seat& seat, const Call& call, uint32_t i) {
    const size_t width = call.fold.element_bytes, unit = width < 64 && 64 % width == 0 ? 64 / width : 1;
    const size_t units = (call.elements + unit - 1) / unit;
    return std::min(units / seat.n * i + std::min<size_t>(units % seat.n, i), units) * unit;
  }

  static void combine_slice(Seat& seat, const Call& call) {
    const size_t width = call.fold.element_bytes, most = kDirectPiece / width;
    const size_t end = std::min(slice(seat, call, seat.me + 1), call.elements);
    for (size_t first = slice(seat, call, seat.me); first < end; first += most) {
      const size_t count = std::min(most, end - first), offset = first * width;
      for (uint32_t i = 0; i + 1 < seat.n; ++i) {
        const Fold& fold = seat.folds[i];
        char* const to = seat.partials + fold.depth * kDirectPiece;
        const char* const operand = fold.child_is_leaf ? seat.notices[fold.child].in + offset : to + kDirectPiece;
        combine(call.fold, operand, fold.parent_is_new ? seat.notices[fold.parent].in + offset : to, to, count);
      }
      for (uint32_t k = 0; k < seat.n; ++k) {  // ourselves first, then the next, so that not all write to the same one
        const uint32_t i = (seat.me + k) % seat.n;
        if (call.root == kNoRoot || call.root == i)
          std::memcpy(seat.notices[i].out + offset, seat.partials, count * width);
      }
    }
  }
};

}  // namespace

void begin_reduce_direct(Seat& seat, const Call& call) { begin<ReduceDirect>(seat, call); }

}  // namespace smelt::context
