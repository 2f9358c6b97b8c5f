// Reduction: the operands of all, combined, to the root. And what it shares with allreduce.
//
//   inline  up to 224 bytes, in lines that carry their own flags; the root reads everybody's. Beyond 16 participants
//   the first of each
//           block of 16 combines its block and the root the blocks, which is the order that is promised anyway
//   tree    either of inline and flat along the generator's tree, for operations that may be combined in any order
//           (reduce_tree.cc)
//   flat    everybody copies its operands to its shelf in pieces, the root combines (reduce_flat.cc)
//   sliced  (reduce-scatter, then the root gathers) everybody combines one slice of every piece: the arithmetic and the
//           reading are spread over all (reduce_sliced.cc)
//   single  sliced, straight from and to the callers' memory (single_copy.h)
#include <cerrno>

#include "group/fold.h"
#include "group/group.h"
#include "group/reduction.h"
#include "group/single_copy.h"

namespace smelt {
namespace {

// Everybody's operands in this episode, to be combined from the right: what is asked for first stays until the second
// has been combined with it, so two places are enough for those that take several lines.
class InlineOperands {
 public:
  InlineOperands(Group& group, const void* own, size_t bytes) : group_(group), own_(own), bytes_(bytes) {}
  const void* operator()(uint32_t i) {
    if (i == group_.me) return own_;
    turn_ = !turn_;
    return group_.get_inline(i, group_.desks[i].up, bytes_, place_[turn_].bytes);
  }

 private:
  Group& group_;
  const void* own_;
  size_t bytes_;
  bool turn_ = false;
  InlineRoom place_[2];
};

}  // namespace

void combine_inline(Group& group, const void* own, void* result, size_t elements, const smelt_fold& fold) {
  InlineRoom room;
  InlineOperands operands(group, own, elements * fold.element_bytes);
  Combiner(fold, elements, nullptr, nullptr).chain(0, group.n, operands, room.bytes, result);
}

bool reduce_inline(Group& group, const smelt_data& in, void* result, size_t elements, const smelt_fold& fold,
                   uint32_t root) {
  InlineRoom packed, room, total;
  const size_t bytes = elements * fold.element_bytes;
  const uint32_t n = group.n, block = group.me / kBlockSize;
  const void* own = packed_view(in, 0, bytes, packed.bytes);
  if (group.me != root && head_of_block(block, root) != group.me) {
    group.put_inline(group.desk().up, own, bytes);
    return false;
  }
  if (n <= kBlockSize) {
    combine_inline(group, own, result, elements, fold);
    return true;
  }
  InlineOperands operands(group, own, bytes);
  Combiner combiner(fold, elements, nullptr, nullptr);
  const auto chain_of = [&](uint32_t b) {
    const uint32_t first = b * kBlockSize, last = first + kBlockSize < n ? first + kBlockSize : n;
    return combiner.chain(first, last, operands, room.bytes, nullptr);
  };
  if (group.me != root) {
    group.put_inline(group.desk().up, chain_of(block), bytes);
    return false;
  }
  // The blocks from the right; the head of each has left its partial result in its slot.
  uint32_t b = (n - 1) / kBlockSize;
  std::memcpy(total.bytes, b == block ? chain_of(b) : operands(head_of_block(b, root)), bytes);
  while (b-- > 0) {
    const void* partial = b == block ? chain_of(b) : operands(head_of_block(b, root));
    combiner.combine(partial, total.bytes, b == 0 ? result : total.bytes, total.bytes);
  }
  return true;
}

int reduce_long(Group& group, const smelt_data& in, const smelt_data& out, size_t elements, const smelt_fold& fold,
                uint32_t root) {
  const Limits& limits = group.plan.limits;
  if (fold.element_bytes > limits.piece || !group.have_shelves()) return -ENOTSUP;
  const bool all = root == kEverybody;
  const size_t bytes = elements * fold.element_bytes;
  int error = 0;
  if (bytes > (all ? limits.copy_allreduce : limits.copy_reduce) && group.n <= kDirectCopyParticipants &&
      group.agree_on_single_copy() && reduce_single_copy(group, in, out, elements, fold, root, &error)) {
    return error;
  }
  if (bytes > (all ? limits.flat_allreduce : limits.flat_reduce))
    reduce_sliced(group, in, out, elements, fold, root);
  else if (const ReduceRoute* tree = all ? nullptr : group.tree_for(fold, root))
    reduce_tree(group, in, out, elements, fold, *tree);
  else
    reduce_flat(group, in, out, elements, fold, root);
  return 0;
}

int group_reduce(Group& group, const smelt_data& in, const smelt_data& out, size_t elements, const smelt_fold& fold,
                 uint32_t root) {
  const size_t bytes = elements * fold.element_bytes;
  if (bytes <= kInlineBytes) {
    ++group.episode;
    InlineRoom packed;
    void* const result = group.me == root && out.base ? out.base : packed.bytes;
    const ReduceRoute* tree = group.tree_for(fold, root);
    const bool have = tree ? reduce_tree_inline(group, in, result, elements, fold, *tree)
                           : reduce_inline(group, in, result, elements, fold, root);
    if (have && !out.base) out.unpack(out.context, 0, bytes, result);
    group.finish();
    return 0;
  }
  return reduce_long(group, in, out, elements, fold, root);
}

}  // namespace smelt
