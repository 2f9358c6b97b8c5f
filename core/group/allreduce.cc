// Allreduce: the operands of all, combined, to everybody.
//
//   pair    two participants, up to 24 bytes: both operands in one line
//   inline  up to 224 bytes, in lines that carry their own flags; everybody reads everybody's and combines for itself:
//           one hop.
//           Beyond 16 participants: reduced to participant 0, in blocks or along the tree, then broadcast
//   flat    the same over the shelves, in pieces: no more communication than a barrier, but everybody does all the
//           arithmetic
//   sliced  everybody combines a slice and gets the others' (reduce_sliced.cc)
//   single  the same, straight from and to the callers' memory (single_copy.h)
#include "group/fold.h"
#include "group/group.h"
#include "group/reduction.h"

namespace smelt {
namespace {

void allreduce_pair(Group& group, const smelt_data& in, void* result, size_t elements, const smelt_fold& fold) {
  const uint64_t episode = group.episode;
  group.open_slots();
  PairLine& line = group.front->pair[episode % kRing];
  pack(in, 0, elements * fold.element_bytes, line.half[group.me].payload);
  line.half[group.me].episode.store(episode, std::memory_order_release);
  const std::atomic<uint64_t>& other = line.half[1 - group.me].episode;
  group.wait_until(1 - group.me, [&] { return other.load(std::memory_order_acquire) == episode; });
  // For operations without a third operand; they may not write into the line.
  alignas(64) char room[kPairBytes];
  Combiner(fold, elements, nullptr, nullptr).combine(line.half[0].payload, line.half[1].payload, result, room);
  group.finish_together();
}

void allreduce_inline(Group& group, const smelt_data& in, void* result, size_t elements, const smelt_fold& fold) {
  InlineRoom packed;
  const size_t bytes = elements * fold.element_bytes;
  const void* own = packed_view(in, 0, bytes, packed.bytes);
  group.put_inline(group.desk().up, own, bytes);
  combine_inline(group, own, result, elements, fold);
  group.finish_together();
}

// Everybody hears of everybody through participant 0, which is what finish_together needs.
void allreduce_blocks(Group& group, const smelt_data& in, void* result, size_t elements, const smelt_fold& fold) {
  const Route& route = group.route(0);
  const size_t bytes = elements * fold.element_bytes;
  const void* from = result;
  const ReduceRoute* tree = group.tree_for(fold, 0);
  if (!(tree ? reduce_tree_inline(group, in, result, elements, fold, *tree)
             : reduce_inline(group, in, result, elements, fold, 0)))
    from = group.get_inline(route.parent, group.desks[route.parent].down, bytes, result);
  if (group.me == 0 || route.forwards) group.put_inline(group.desk().down, from, bytes);
  if (from != result) std::memcpy(result, from, bytes);
  group.finish_together();
}

}  // namespace

int group_allreduce(Group& group, const smelt_data& in, const smelt_data& out, size_t elements,
                    const smelt_fold& fold) {
  const size_t bytes = elements * fold.element_bytes;
  if (bytes <= kInlineBytes) {
    ++group.episode;
    InlineRoom packed;
    void* const result = out.base ? out.base : packed.bytes;
    if (group.n == 2 && bytes <= kPairBytes)
      allreduce_pair(group, in, result, elements, fold);
    else if (group.n <= kBlockSize)
      allreduce_inline(group, in, result, elements, fold);
    else
      allreduce_blocks(group, in, result, elements, fold);
    if (!out.base) out.unpack(out.context, 0, bytes, result);
    return 0;
  }
  return reduce_long(group, in, out, elements, fold, kEverybody);
}

}  // namespace smelt
