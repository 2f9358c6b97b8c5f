// What smelt plans for two well-known machines, word for word: trees, schedules and prices that no change should move
// unseen. After a change that is meant to move them: SMELT_RENEW_GOLDEN=1 meson test -C build pictures-verbs, and look
// at the difference in git.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "program.h"

namespace smelt::test {
namespace {

struct Planned {
  const char *machine, *op;
};
std::ostream& operator<<(std::ostream& out, const Planned& planned) {
  return out << planned.machine << ' ' << planned.op;
}

// The command and what it prints, without the day on which it did.
std::string session(const std::vector<std::string>& arguments) {
  const Outcome outcome = smelt(arguments);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::string text = "$ smelt";
  for (const std::string& argument : arguments) text += ' ' + argument;
  text += '\n';
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("drawn ")) text += line + '\n';
  return text + '\n';
}

class Golden : public testing::TestWithParam<Planned> {};

TEST_P(Golden, IsAsItWas) {
#ifdef __FP_FAST_FMA
  GTEST_SKIP() << "this compiler fuses multiplications and additions, and equally good trees may change places";
#endif
  const auto& [machine, op] = GetParam();
  std::vector<std::string> patterns = {"adaptive-sorted", "optimised"};
  if (op == std::string("barrier"))
    patterns.insert(patterns.end(), {"hybrid", "dissemination", "hierarchical", "spread", "best"});
  std::string now;
  for (const std::string& pattern : patterns) {
    const std::vector<std::string> what = {
        "--machine", "zoo:" + std::string(machine), "--op", op, "--pattern", pattern, "--seed", "1"};
    for (const std::vector<std::string>& verb : {std::vector<std::string>{"tree"}, {"draw", "schedule"}}) {
      std::vector<std::string> arguments = verb;
      arguments.insert(arguments.end(), what.begin(), what.end());
      now += session(arguments);
    }
  }
  const std::string path = from_environment("SMELT_TEST_GOLDEN") + "/" + machine + "-" + op + ".txt";
  if (!from_environment("SMELT_RENEW_GOLDEN").empty()) {
    std::ofstream(path, std::ios::binary) << now;
    GTEST_SKIP() << path << " written anew";
  }
  ASSERT_TRUE(std::filesystem::exists(path)) << path;
  std::istringstream before(read_file(path)), after(now);
  std::string command;
  for (size_t number = 1;; ++number) {
    std::string was, is;
    const bool more = static_cast<bool>(std::getline(before, was)), still = static_cast<bool>(std::getline(after, is));
    if (!more && !still) break;
    if (is.starts_with("$ ")) command = is.substr(2);
    ASSERT_TRUE(more == still && was == is)
        << path << ":" << number << "\n  was  " << was << "\n  is   " << is << "\n  of   " << command
        << "\nIf that is meant: SMELT_RENEW_GOLDEN=1 meson test -C build pictures-verbs, and commit the files.";
  }
}

std::vector<Planned> all_planned() {
  std::vector<Planned> all;
  for (const char* machine : {"intel-xeon-e5-2670v2-2x10", "apple-m1-pro-1x6"})
    for (const char* op : {"broadcast", "reduce", "barrier"}) all.push_back({machine, op});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Zoo, Golden, testing::ValuesIn(all_planned()));

}  // namespace
}  // namespace smelt::test
