// Reduction in one place: everybody copies its operands to its shelf in pieces, and the root combines the pieces of
// all; or everybody does, each for itself, which takes no more communication than a barrier.
//
// No answer goes back, so this is the quickest for messages of a few pieces, and among two participants also for longer
// ones: one puts while the other combines.
#pragma once

#include "group/fold.h"

namespace smelt {

struct ReduceFlat : Resumable {
  const Reduction job;
  uint64_t k = 0, piece = 0;
  size_t count = 0, offset = 0, length = 0;
  const void* own = nullptr;
  void* result = nullptr;
  Whole whole;

  ReduceFlat(InlineRoom*, const Reduction& job) : job(job) {}

  template <typename How>
  [[gnu::always_inline]] bool step(How how) {
    Group& group = how.group;
    const bool puts = job.root != group.me, gets = job.root == kEverybody || job.root == group.me;
    const size_t width = job.fold.element_bytes;
    const Pieces pieces(job.elements, width, group.piece_bytes);
    // In this process's own memory: our operands, two partial results, the result; each only where it has no other
    // place.
    char* const scratch = group.scratch;
    const auto operand = [&](uint32_t i) __attribute__((always_inline))->const void* {
      if (i == group.me) return own;
      return group.filled(how, i, &Desk::filled_up, piece) ? group.up_piece(i, piece) : nullptr;
    };
    const auto combined = [&]() __attribute__((always_inline)) {
      Combiner combiner(job.fold, count, scratch + kPieceBytes, scratch + 2 * kPieceBytes);
      return combiner.all(whole, group.n, operand, result);
    };
    switch (resume_at(how)) {
      case 0:
        for (; k < pieces.count; ++k) {
          piece = group.pieces++;
          count = pieces.in(k, job.elements), offset = k * pieces.elements * width, length = count * width;
          if (puts) {
            SMELT_AWAIT(group.piece_free(how, piece));
            pack<copy_piece>(job.in, offset, length, group.up_piece(group.me, piece));
            group.fill(&Desk::filled_up, piece);
            own = job.in.base ? static_cast<const char*>(job.in.base) + offset : group.up_piece(group.me, piece);
          } else {
            own = packed_view(job.in, offset, length, scratch);
          }
          if (gets) {
            result = job.out.base ? static_cast<char*>(job.out.base) + offset : scratch + 3 * kPieceBytes;
            whole = Whole(group.n);
            SMELT_AWAIT(combined());
            if (!job.out.base) job.out.unpack(job.out.context, offset, length, result);
          }
          group.consume(piece);
        }
    }
    return true;
  }
};

}  // namespace smelt
