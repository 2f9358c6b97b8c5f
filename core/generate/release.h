// Trees that release by shared lines: a parent stores once, all its children poll that line. See release.cc.
#pragma once

#include "generate/levels.h"
#include "generate/tree.h"
#include "policy/thresholds.h"  // release_lines: how many lines a parent stores

namespace smelt {

// Everybody under `root`: straight, or through a leader for each group of a level. levels.count - 1, where all are one
// group, gives the star. 0; -EINVAL for no such level or root; -ENOMEM, then nothing is left in the arena.
int release_tree(const Costs& costs, const Levels& levels, uint32_t level, uint16_t root, Arena& arena, Tree* out);

}  // namespace smelt
