// smelt compare --measured: the models' prices of given trees against what those trees took on a real machine.
#pragma once

#include <string>
#include <vector>

namespace smelt {

// A file is a matrix file (t_send, t_receive, unit, numa_node) that also says what trees took on that machine:
// "measured": [{"operation", "tree", "root", "children": [the children of participant i, in order], "time"}].
// Operations: broadcast, reduce, barrier (one tree gathers and releases), agreement (two-phase commit: the question
// down the tree, the votes up, the outcome down). Who is not below the root takes no part. Throws UserError.
void put_measured(const std::vector<std::string>& paths, bool json);

}  // namespace smelt
