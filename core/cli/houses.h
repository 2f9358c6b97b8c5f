// The houses: parts of the tree that a build may leave out. The verbs of a house are a program of its own, which lies
// beside smelt-main; smelt finds it there, as git finds git-foo.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace smelt {

// Becomes the house's program if these arguments are for one, and returns if they are not. Throws UserError where the
// program is missing.
void leave_to_house(const std::vector<std::string>& words);

// Adds the verbs and the options of the houses that are there: the help, the completion and the "did you mean" know
// them from here.
void name_houses(CLI::App& app);

// The program of a house, "" where it is missing.
std::string find_house(const std::string& program);

// What the house's program prints for these arguments. Throws UserError where it is missing or has failed, with its own
// words.
std::string ask_house(const std::vector<std::string>& words);

}  // namespace smelt
