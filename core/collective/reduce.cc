// Reduction: the operands of all, combined, to the root. And what it shares with allreduce.
//
//   inline  up to 56 bytes ride in the line of the flag; the root reads everybody's. Beyond 16 participants the first of each
//           block of 16 combines its block and the root the blocks, which is the order that is promised anyway
//   flat    everybody copies its operands to its shelf in pieces, the root combines
//   sliced  (reduce-scatter, then the root gathers) everybody combines one slice of every piece: the arithmetic and the
//           reading are spread over all (reduce_sliced.cc)
//   single  sliced, straight from and to the callers' memory (single_copy.h)
#include <cerrno>

#include "collective/fold.h"
#include "collective/group.h"
#include "collective/reduction.h"
#include "collective/single_copy.h"

namespace smelt {
namespace {

// Who combines the block: its first member, or the root for its own.
uint32_t head_of_block(uint32_t block, uint32_t root) {
  return root / kBlockSize == block ? root : block * kBlockSize;
}

// The operands of a block, as they lie in the lines of this episode; ours where the caller has them.
auto lines_of(Group& group, const void* own) {
  return [&group, own](uint32_t i) -> const void* { return i == group.me ? own : group.wait_up(i).payload; };
}

}  // namespace

bool reduce_inline(Group& group, const smelt_data& in, void* result, size_t elements, const smelt_fold& fold, uint32_t root) {
  alignas(64) char own[kInlineBytes], block_room[kInlineBytes], total_room[kInlineBytes];
  const size_t bytes = elements * fold.element_bytes;
  const uint32_t n = group.n, block = group.me / kBlockSize;
  if (group.me != root && head_of_block(block, root) != group.me) {
    InlineLine& line = group.open_line(group.desk().up);
    pack(in, 0, bytes, line.payload);
    group.post_line(line);
    return false;
  }
  Combiner combiner(fold, elements, block_room, total_room);
  const auto source = lines_of(group, packed_view(in, 0, bytes, own));
  if (n <= kBlockSize) {
    combiner.chain(0, n, source, block_room, result);
    return true;
  }
  const auto chain_of = [&](uint32_t b, char* room, void* to) {
    const uint32_t first = b * kBlockSize, last = first + kBlockSize < n ? first + kBlockSize : n;
    return combiner.chain(first, last, source, room, to);
  };
  if (group.me != root) {
    InlineLine& line = group.open_line(group.desk().up);
    chain_of(block, block_room, line.payload);
    group.post_line(line);
    return false;
  }
  // The blocks from the right; the head of each has left its partial result in its line.
  const void* total = nullptr;
  for (uint32_t b = (n - 1) / kBlockSize + 1; b-- > 0;) {
    const void* partial = b == block ? chain_of(b, block_room, nullptr) : group.wait_up(head_of_block(b, root)).payload;
    if (!total) {
      total = partial;
      if (partial == block_room) total = std::memcpy(total_room, block_room, bytes);
      continue;
    }
    void* const to = b == 0 ? result : total_room;
    combiner.combine(partial, total, to, total_room);
    total = to;
  }
  return true;
}

namespace {

// Three places in the scratch memory beside the result's.
void reduce_flat(Group& group, const smelt_data& in, const smelt_data& out, size_t elements, const smelt_fold& fold, uint32_t root) {
  const size_t width = fold.element_bytes;
  const Pieces pieces(elements, width, group.plan.limits.piece);
  char* const scratch = group.scratch;
  for (uint64_t k = 0; k < pieces.count; ++k) {
    const uint64_t piece = group.pieces++;
    const size_t count = pieces.in(k, elements), offset = k * pieces.elements * width, bytes = count * width;
    if (group.me != root) {
      group.open_piece(piece);
      pack(in, offset, bytes, group.up_piece(group.me, piece));
      group.fill(&Desk::filled_up, piece);
    } else {
      const void* own = packed_view(in, offset, bytes, scratch);
      void* result = out.base ? static_cast<char*>(out.base) + offset : scratch + 3 * kPieceBytes;
      Combiner combiner(fold, count, scratch + kPieceBytes, scratch + 2 * kPieceBytes);
      combiner.all(group.n, [&](uint32_t i) -> const void* {
        if (i == group.me) return own;
        group.wait_filled(i, &Desk::filled_up, piece);
        return group.up_piece(i, piece);
      }, result);
      if (!out.base) out.unpack(out.context, offset, bytes, result);
    }
    group.consume(piece);
  }
}

}  // namespace

int group_reduce(Group& group, const smelt_data& in, const smelt_data& out, size_t elements, const smelt_fold& fold, uint32_t root) {
  const size_t bytes = elements * fold.element_bytes;
  if (bytes <= kInlineBytes) {
    ++group.episode;
    alignas(64) char packed[kInlineBytes];
    void* const result = group.me == root && out.base ? out.base : packed;
    if (reduce_inline(group, in, result, elements, fold, root) && !out.base) out.unpack(out.context, 0, bytes, result);
    group.finish();
    return 0;
  }
  if (fold.element_bytes > group.plan.limits.piece || !group.have_shelves()) return -ENOTSUP;
  int error = 0;
  if (bytes > group.plan.limits.copy_reduce && group.n <= kMostForSingleCopy && group.agree_on_single_copy() &&
      reduce_single_copy(group, in, out, elements, fold, root, &error)) {
    return error;
  }
  if (bytes > group.plan.limits.flat_reduce)
    reduce_sliced(group, in, out, elements, fold, root);
  else
    reduce_flat(group, in, out, elements, fold, root);
  return 0;
}

}  // namespace smelt
