// By how many lines does a participant tell several others in one round, and whom by which? See line_split.cc.
#pragma once

#include "model/cost_model.h"

namespace smelt {

// More receivers than these share one line: nobody looks how to part them.
inline constexpr uint32_t kMostSplit = 32;

// Sorts the `count` receivers as `from` stores their lines, the longest way first, and says by which line each is told,
// 0, 1 ..., and when it sees that. Room of the caller: [count]. Returns the number of lines.
uint32_t split_lines(const Costs& costs, uint16_t from, uint16_t* receivers, uint32_t count, uint16_t* line,
                     float* visible);

}  // namespace smelt
