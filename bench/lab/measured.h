// smelt compare --measured: the models' prices of given trees and patterns against what those took on a real machine.
#pragma once

#include <string>
#include <vector>

namespace smelt {

// A file is a matrix file (t_send, t_receive, unit, numa_node) that also says what trees took on that machine:
// "measured": [{"operation", "tree", "root", "children": [the children of participant i, in order], "time"}].
// Operations: broadcast, reduce, barrier (one tree gathers and releases), agreement (two-phase commit: the question
// down the tree, the votes up, the outcome down). A participant that is not below the root takes no part. Or it is a
// table out of a paper: {"name", "source", "machine": as --machine takes it, "measured": [{"operation", "pattern",
// "name", "cpus", "loop", "time"}]}; name, cpus and loop of a row may be missing. Where the costs are not those of the
// machine that was timed, "stand_in" says whose they are, and the file is not in the mean. Throws UserError.
// Files of a third kind are broadcast_table.h's; `machine`, "" or as --machine takes it, is theirs alone.
void put_measured(const std::vector<std::string>& paths, const std::string& machine, bool json);

}  // namespace smelt
