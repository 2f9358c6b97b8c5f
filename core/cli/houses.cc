#include "cli/houses.h"

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cli/preload.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

struct House {
  const char* program;
  const char* folder;  // of the build tree, where the program lies before it is installed
  const char* option;  // of the build, which makes the program
};

constexpr House kLab = {"smelt-lab", "bench/lab", "lab"};

struct HouseRow {
  const House& house;
  const char* verb;
  const char* option;  // the verb is smelt's own unless this option is given; nullptr: the verb is the house's
  const char* about;
};

constexpr HouseRow kHouseRows[] = {
    {kLab, "compare", nullptr, "All patterns side by side: on a machine, or on a folder of machines"},
    {kLab, "calibrate", "--simulate",
     "calibrate a machine that is not there: --simulate=MACHINE; --help --simulate=MACHINE has its options"},
};

std::string program_of(const House& house) { return find_part(house.folder, "smelt", house.program); }

// "--simulate" and "--simulate=..." alike.
bool names_option(const std::string& word, const std::string& option) {
  return word == option || word.starts_with(option + "=");
}

// The row that these arguments mean, nullptr where smelt has the verb itself.
const HouseRow* house_row_of(const std::vector<std::string>& words) {
  size_t verb = 0;
  if (!words.empty() && (words[0] == "help" || words[0] == "--complete")) verb = 1;
  if (words.size() <= verb) return nullptr;
  for (const HouseRow& row : kHouseRows) {
    if (words[verb] != row.verb) continue;
    if (!row.option || std::any_of(words.begin(), words.end(),
                                   [&row](const std::string& word) { return names_option(word, row.option); }))
      return &row;
  }
  return nullptr;
}

}  // namespace

void leave_to_house(const std::vector<std::string>& words) {
  const HouseRow* const row = house_row_of(words);
  if (!row) return;
  const std::string what = row->option ? fmt::format("{} {}", row->verb, row->option) : row->verb;
  const std::string path = program_of(row->house);
  if (path.empty())
    throw UserError(fmt::format("{}: {}, which does this, is not beside this program; build Smelt with -D{}=true", what,
                                row->house.program, row->house.option));
  std::vector<std::string> arguments = {"smelt"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  ::execv(path.c_str(), pointers.data());
  throw UserError(fmt::format("{}: {} cannot be executed ({})", what, path, std::strerror(errno)));
}

void name_houses(CLI::App& app) {
  for (const HouseRow& row : kHouseRows) {
    if (program_of(row.house).empty()) continue;
    if (row.option)
      app.get_subcommand(row.verb)->add_flag(row.option, row.about);
    else
      app.add_subcommand(row.verb, row.about);
  }
}

std::string find_house(const std::string& program) {
  for (const HouseRow& row : kHouseRows)
    if (program == row.house.program) return program_of(row.house);
  return "";
}

}  // namespace smelt
