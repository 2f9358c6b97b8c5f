// The words that a shell offers behind those of a command line: contrib/completion has the scripts, which ask
// `smelt --complete WORD...`.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace smelt {

// For the last of the words, which may be empty: one candidate a line, with a tab and its description. A line that
// begins with a colon names what the shell itself knows: ":files", or ":program N", where from word N on (0: the first
// behind "smelt") the command line is another program's.
std::string completions(const CLI::App& app, const std::vector<std::string>& words);

std::vector<std::string> names_of_verbs(const CLI::App& app);
std::vector<std::string> choices_of(const CLI::Option& option);  // none: it takes other values, too

}  // namespace smelt
