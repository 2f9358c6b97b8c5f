// Reduction along the tree that the plan has for this root. Everybody combines its own operands with its children's and
// hands the outcome on. So the arithmetic and the reading are shared out, and the messages that cross the machine are
// few. Short operands go inline (fold.h). Here they go piece by piece: one is on its way up while the next is
// combined below.
//
// The operands meet in the tree's order, not in the promised one: only for operations that allow it (Group::tree_for).
// Each participant takes its children in one order, that in which the model expects them, so that even operations that
// round come out alike in every run.
#pragma once

#include "group/fold.h"

namespace smelt {

struct ReduceTree : Resumable {
  const Reduction job;
  uint64_t k = 0, piece = 0;
  size_t count = 0, offset = 0, length = 0;
  uint32_t c = 0;
  char* to = nullptr;
  const void* partial = nullptr;

  ReduceTree(InlineRoom*, const Reduction& job) : job(job) {}

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    const ReduceRoute& route = *group.tree_for(job.fold, job.root);
    const bool root = route.parent == kNobody;
    const size_t width = job.fold.element_bytes;
    const Pieces pieces(job.elements, width, group.piece_bytes);
    switch (resume_at(how)) {
      case 0:
        for (; k < pieces.count; ++k) {
          piece = group.pieces++;
          count = pieces.in(k, job.elements), offset = k * pieces.elements * width, length = count * width;
          to = group.up_piece(group.me, piece);
          if (root) {
            to = job.out.base ? static_cast<char*>(job.out.base) + offset : group.scratch + kPieceBytes;
          } else {
            SMELT_AWAIT(group.piece_free(how, piece));
          }
          partial = to;
          if (route.count == 0)
            pack<copy_piece>(job.in, offset, length, to);
          else
            partial = packed_view(job.in, offset, length, group.scratch);
          for (c = 0; c < route.count; ++c) {
            SMELT_AWAIT(group.filled(how, route.children[c], &Desk::filled_up, piece));
            Combiner(job.fold, count, nullptr, nullptr)
                .combine(group.up_piece(route.children[c], piece), partial, to, to);
            partial = to;
          }
          if (!root)
            group.fill(&Desk::filled_up, piece);
          else if (!job.out.base)
            job.out.unpack(job.out.context, offset, length, to);
          group.consume(piece);
        }
    }
    return true;
  }
};

inline const ReduceRoute* tree_of(Group& group, const Reduction& job) {
  return job.root == kEverybody ? nullptr : group.tree_for(job.fold, job.root);
}

}  // namespace smelt
