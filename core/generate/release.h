// Trees that release by shared lines: a parent stores once, all its children poll that line. See release.cc.
#pragma once

#include "generate/levels.h"
#include "generate/tree.h"

namespace smelt {

// Everybody under `root`: straight, or through a leader for each group of a level. levels.count - 1, where all are one group, gives
// the star. 0; -EINVAL for no such level or root; -ENOMEM, then nothing is left in the arena.
int release_tree(const Costs& costs, const Levels& levels, uint32_t level, uint16_t root, Arena& arena, Tree* out);

// How many lines a parent does best to store for so many children: one more line is one more store, and leaves fewer pollers on each.
// Each further poller costs `poller`, each further store `busy`. At least 1, at most kMostReleaseLines.
inline constexpr uint32_t kMostReleaseLines = 4;
uint32_t release_lines(uint32_t children, double poller, double busy);

}  // namespace smelt
