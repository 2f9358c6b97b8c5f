#include "cli/houses.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "cli/child.h"
#include "cli/command.h"
#include "cli/launch_environment.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

struct House {
  const char* program;
  const char* folder;  // of the build tree, where the program lies before it is installed
  const char* option;  // of the build, which makes the program
};

constexpr House kPictures = {"smelt-pictures", "pictures", "-Dcli=enabled"};
constexpr House kLab = {"smelt-lab", "bench/lab", "-Dlab=true"};
constexpr House kRails = {"smelt-network", "rails", "-Drails=enabled"};

struct HouseRow {
  const House& house;
  const char* verb;
  const char* option;  // the verb is smelt's own unless this option is given; nullptr: the verb is the house's
  const char* about;   // nullptr: smelt's own verb names the option itself
};

constexpr HouseRow kHouseRows[] = {
    {kPictures, "tree", nullptr, "Show the pattern for a machine: its price and its picture"},
    {kPictures, "draw", nullptr, "Draw the costs of a machine, a tree, a schedule or its timeline"},
    {kPictures, "report", nullptr, "Write all that is known of a machine as one HTML file"},
    {kLab, "compare", nullptr, "All patterns side by side: on a machine, or on a folder of machines"},
    {kLab, "calibrate", "--simulate",
     "calibrate a machine that is not there: --simulate=MACHINE; --help --simulate=MACHINE has its options"},
    {kRails, "network", nullptr, "Sample the networks to another node, for smelt info --rails and tune"},
    {kRails, "tune", nullptr, "Give Open MPI the parameters that follow from the sampled networks"},
    {kRails, "info", "--rails", "instead: the sampled networks, their limits, and how messages are split"},
    {kPictures, "info", "--machine", nullptr},
    {kRails, "calibrate", "--network",
     "instead, sample the networks to another node and keep that: smelt network sample"},
};

std::string program_of(const House& house) { return find_part(house.folder, "smelt", house.program); }

// Throws UserError where it is missing; `what` is asked of it.
std::string need_program(const House& house, const std::string& what) {
  const std::string path = program_of(house);
  if (path.empty())
    throw UserError(fmt::format("{}: {}, which does this, is not beside this program; build Smelt with {}", what,
                                house.program, house.option));
  return path;
}

// "--simulate" and "--simulate=..." alike.
bool name_option(const std::vector<std::string>& words, const std::string& option) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return word == option || word.starts_with(option + "="); });
}

std::string read_to_end(int fd) {
  std::string all;
  char part[4096];
  for (ssize_t got; (got = ::read(fd, part, sizeof part)) > 0 || (got < 0 && errno == EINTR);)
    if (got > 0) all.append(part, static_cast<size_t>(got));
  ::close(fd);
  return all;
}

// The row that these arguments mean, nullptr where smelt has the verb itself.
const HouseRow* house_row_of(const std::vector<std::string>& words) {
  size_t verb = 0;
  if (!words.empty() && (words[0] == "help" || words[0] == "--complete")) verb = 1;
  if (words.size() <= verb) return nullptr;
  for (const HouseRow& row : kHouseRows) {
    if (words[verb] == row.verb && (!row.option || name_option(words, row.option))) return &row;
  }
  return nullptr;
}

}  // namespace

void leave_to_house(const std::vector<std::string>& words) {
  const HouseRow* const row = house_row_of(words);
  if (!row) return;
  const std::string what = row->option ? fmt::format("{} {}", row->verb, row->option) : row->verb;
  const std::string path = need_program(row->house, what);
  std::vector<std::string> arguments = {"smelt"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  ::execv(path.c_str(), argument_pointers(arguments).data());
  throw UserError(fmt::format("{}: {} cannot be executed ({})", what, path, std::strerror(errno)));
}

void name_houses(CLI::App& app) {
  for (const HouseRow& row : kHouseRows) {
    if (!row.about || program_of(row.house).empty()) continue;
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

std::string ask_house(const std::vector<std::string>& words) {
  const HouseRow* const row = house_row_of(words);
  if (!row) throw UserError(fmt::format("{} is no house's", words[0]));
  ChildPlan plan;
  plan.command = {need_program(row->house, words[0])};
  plan.command.insert(plan.command.end(), words.begin(), words.end());
  int out[2], err[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0)
    throw UserError(fmt::format("no pipe ({})", std::strerror(errno)));
  plan.out = out[1], plan.err = err[1];
  const Child child = start_child(plan);
  ::close(out[1]), ::close(err[1]);
  // One after the other: what a program with one verb says of an error fits into a pipe.
  const std::string answer = read_to_end(out[0]), said = read_to_end(err[0]);
  int status = 0;
  if (child.error == 0) ::waitpid(child.pid, &status, 0);
  if (child.error == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return answer;
  constexpr std::string_view kOurs = "smelt: ";
  throw UserError(said.empty() ? fmt::format("{} has failed", row->house.program)
                               : one_line(said.substr(said.starts_with(kOurs) ? kOurs.size() : 0)));
}

}  // namespace smelt
