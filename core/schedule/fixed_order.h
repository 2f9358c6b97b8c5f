// A reduction in the one order that groups promise (smelt/group.h), as a schedule, so that it can be priced beside the
// trees.
//
// The operands are combined from the right, in blocks of 16 participants, and then the blocks. The combiner must take
// them in that order, whichever is there first. Among up to a block of participants the root combines; beyond, the
// first of each block does (the root in its own), and the root combines their results. It is a tree, of one level or
// two, but one that knows nothing of the machine.
#pragma once

#include "schedule/schedule.h"

namespace smelt {

inline constexpr uint32_t kBlockSize = 16;  // the order is part of the API

// The combiner of the block.
constexpr uint32_t head_of_block(uint32_t block, uint32_t root) {
  return root / kBlockSize == block ? root : block * kBlockSize;
}

int fixed_order_schedule(uint32_t n, uint16_t root, Arena& arena, Schedule* out);  // 0 or -ENOMEM

}  // namespace smelt
