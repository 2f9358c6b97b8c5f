// A reduction in the one order that groups promise (smelt/group.h), as a schedule, to be priced beside the trees.
//
// The operands are combined from the right, in blocks of 16 participants, and then the blocks. They must be taken in
// that order, whichever is there first. So the participants form parts: the head of each combines its part, and the
// root what the heads have, from the right.
//
//   more than a block    a part is a block; its head is its first participant, in the root's own the root
//   up to a block        everybody is a part, and the root combines all; or those at the end who share a cache, not the
//                        root's, are a part together, if that is cheaper. The combining begins with them, so the bits
//                        are the same, and one message comes from there instead of many
// It is a tree, of one level or two, but the last part is all that it knows of the machine.
#pragma once

#include <algorithm>

#include "schedule/schedule.h"

namespace smelt {

inline constexpr uint32_t kBlockSize = 16;  // the order is part of the API

// A part is kWidth participants, a block or one; the last may be fewer, or, where it is one, more.
template <uint32_t kWidth>
struct Parts {
  uint32_t n, root;
  uint32_t count = (n + kWidth - 1) / kWidth;

  constexpr uint32_t of(uint32_t i) const { return std::min(i / kWidth, count - 1); }
  constexpr uint32_t first(uint32_t part) const { return part < count ? part * kWidth : n; }
  constexpr uint32_t head(uint32_t part) const { return of(root) == part ? root : first(part); }
  constexpr bool combines(uint32_t i) const {  // a part in which it is not alone
    return kWidth == 1 ? i + 1 == count && count < n : i == head(of(i)) && first(of(i) + 1) > first(of(i)) + 1;
  }
};

// `count`: of the parts of up to a block, 0: a part is one participant. 0 or -ENOMEM.
int fixed_order_schedule(uint32_t n, uint32_t root, uint32_t count, Arena& arena, Schedule* out);

// The number of parts under these costs, and the price. 0 or an error as for predict; all scratch is given back.
int cheapest_fixed_order(uint32_t n, uint32_t root, const Costs& costs, Arena& arena, uint32_t* count, double* price);

}  // namespace smelt
