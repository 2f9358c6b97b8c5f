// Runs the smelt program as a user would, in an environment that the test knows.
#pragma once

#include <nlohmann/json.hpp>

#include <csignal>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace smelt::test {

struct Outcome {
  int code = -1;  // exit code; 128 + signal when a signal ended it
  std::string out, err;

  nlohmann::json json() const { return nlohmann::json::parse(out); }  // throws: fails the test
};

struct Call {
  std::vector<std::string> arguments;
  std::map<std::string, std::string>
      environment;                            // besides PATH, HOME, XDG_CACHE_HOME (empty folders) and a UTF-8 locale
  bool closed_stdout = false;                 // stdout is a pipe that nobody reads
  const char* stdout_to = nullptr;            // a file instead of `out`
  double interrupt_after = 0;                 // seconds, then `signal`; 0: never
  std::function<bool()> interrupt_when = {};  // the same as soon as this says true
  int signal = SIGINT;
  bool terminal = false;               // stderr is one; what it shows is `err`
  std::string program = {};            // instead of the smelt that was built
  std::function<bool()> prepare = {};  // in the child, before it becomes the program; false: `code` is 125
};

Outcome run(const Call& call);
// Bad input: exit code 2, and one line, on stderr, which says that.
void expect_refused(const Outcome& outcome, const std::string& says);
// smelt-main somewhere else, without the programs of the houses.
Outcome alone(std::vector<std::string> arguments);
// The manual page has a section for each verb and every option of its help, and groff does not warn of it. Returns the
// page as it reads.
std::string expect_manual(const std::string& path, const std::vector<std::vector<std::string>>& verbs);
inline Outcome smelt(std::vector<std::string> arguments) { return run({std::move(arguments), {}}); }

// A folder for this test alone, removed at the end of the process; its cache/ is XDG_CACHE_HOME.
std::string scratch();
// XDG_CACHE_HOME for one test: scratch()/<name>, made, private.
std::map<std::string, std::string> cache(const std::string& name);
std::string write_file(const std::string& name, const std::string& content, int mode = 0644);  // its path
std::string read_file(const std::string& path);
std::string from_environment(const char* name);  // "" when not set

// "NAME=value ...": what a Fit or a Binding would change in the environment.
template <typename Choice>
std::string changes(const Choice& choice) {
  std::string text;
  for (const auto& change : choice.changes)
    text += (text.empty() ? "" : " ") + change.name + "=" + change.value.value_or("-");
  return text;
}

}  // namespace smelt::test
