#include "program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace smelt::test {

namespace fs = std::filesystem;

void expect_refused(const Outcome& outcome, const std::string& says) {
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_TRUE(outcome.err.starts_with("smelt: ")) << outcome.err;
  EXPECT_NE(outcome.err.find(says), std::string::npos) << "should say: " << says << "\n" << outcome.err;
}

Outcome alone(std::vector<std::string> arguments) {
  const std::filesystem::path there = scratch() + "/alone/core";
  std::filesystem::create_directories(there);
  std::filesystem::copy_file(std::filesystem::path(from_environment("SMELT")).parent_path() / "smelt-main",
                             there / "smelt-main", std::filesystem::copy_options::skip_existing);
  Call call{std::move(arguments), {}};
  call.program = there / "smelt-main";
  return run(call);
}

std::string expect_manual(const std::string& path, const std::vector<std::vector<std::string>>& verbs) {
  std::string page = read_file(path);
  EXPECT_FALSE(page.empty()) << path;
  for (size_t at; (at = page.find("\\-")) != std::string::npos;) page.erase(at, 1);
  for (std::vector<std::string> words : verbs) {
    EXPECT_NE(page.find(".SS smelt " + words[0]), std::string::npos) << words[0];
    words.push_back("--help");
    const std::string help = smelt(words).out;
    EXPECT_NE(help.find("Usage: "), std::string::npos) << help;
    for (size_t at = help.find("  --"); at != std::string::npos; at = help.find("  --", at + 1)) {
      const std::string option = help.substr(at + 2, help.find_first_of(" \n,", at + 2) - at - 2);
      EXPECT_NE(page.find(option), std::string::npos) << words[0] << " " << option;
    }
  }
  if (std::system("command -v man >/dev/null 2>&1") == 0) {
    const std::string warnings = "man --warnings -l " + path + " 2>&1 >/dev/null | grep -q .";
    EXPECT_NE(std::system(warnings.c_str()), 0) << "groff warns of " << path;
  }
  return page;
}

std::string scratch() {
  struct Folder {
    fs::path path;
    Folder() {
      std::string name = (fs::temp_directory_path() / "smelt-cli-XXXXXX").string();
      if (!mkdtemp(name.data())) std::abort();
      path = name;
      fs::create_directory(path / "cache");
      fs::permissions(path / "cache", fs::perms::owner_all);
    }
    ~Folder() {
      std::error_code ignored;
      fs::remove_all(path, ignored);
    }
  };
  static const Folder folder;
  return folder.path.string();
}

std::string write_file(const std::string& name, const std::string& content, int mode) {
  const std::string path = scratch() + "/" + name;
  std::ofstream(path, std::ios::binary) << content;
  ::chmod(path.c_str(), static_cast<mode_t>(mode));
  return path;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::map<std::string, std::string> cache(const std::string& name) {
  const std::string path = scratch() + "/" + name;
  fs::create_directories(path);
  fs::permissions(path, fs::perms::owner_all);
  return {{"XDG_CACHE_HOME", path}};
}

namespace {

// What a terminal shows until nobody writes to it any more.
std::string read_terminal(int master) {
  std::string shown;
  char part[4096];
  for (ssize_t got; (got = ::read(master, part, sizeof part)) > 0 || (got < 0 && errno == EINTR);)
    if (got > 0) shown.append(part, static_cast<size_t>(got));
  return shown;
}

}  // namespace

Outcome run(const Call& call) {
  std::map<std::string, std::string> variables = {{"PATH", from_environment("PATH")},
                                                  {"HOME", scratch()},
                                                  {"XDG_CACHE_HOME", scratch() + "/cache"},
                                                  {"LC_ALL", "C.UTF-8"}};
  for (const auto& [name, value] : call.environment) variables[name] = value;

  std::vector<std::string> words = {call.program.empty() ? from_environment("SMELT") : call.program}, pairs;
  words.insert(words.end(), call.arguments.begin(), call.arguments.end());
  for (const auto& [name, value] : variables) pairs.push_back(name + "=" + value);
  std::vector<char*> argv, envp;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& pair : pairs) envp.push_back(pair.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);

  const std::string out = call.stdout_to ? call.stdout_to : scratch() + "/stdout", err = scratch() + "/stderr";
  // Opened here, so that a child that is interrupted at once leaves empty ones.
  int out_fd = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  int err_fd = ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), master = -1;
  if (call.terminal) {
    ::close(err_fd);
    master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    ::grantpt(master);
    ::unlockpt(master);
    err_fd = ::open(::ptsname(master), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  }
  if (int ends[2]; call.closed_stdout && ::pipe2(ends, O_CLOEXEC) == 0) {
    ::close(ends[0]);
    ::close(out_fd);
    out_fd = ends[1];
  }
  const pid_t child = fork();
  if (child == 0) {
    ::dup2(out_fd, STDOUT_FILENO);
    ::dup2(err_fd, STDERR_FILENO);
    ::signal(SIGINT, SIG_DFL);
    ::signal(SIGTERM, SIG_DFL);
    ::signal(SIGPIPE, SIG_DFL);
    if (!call.prepare || call.prepare()) ::execve(argv[0], argv.data(), envp.data());
    _exit(125);
  }
  ::close(out_fd);
  ::close(err_fd);
  if (call.interrupt_after > 0) {
    ::usleep(static_cast<useconds_t>(call.interrupt_after * 1e6));
    ::kill(child, call.signal);
  }
  int status = 0;
  bool ended = false;
  while (call.interrupt_when && !ended && !call.interrupt_when()) {
    ::usleep(500);
    ended = ::waitpid(child, &status, WNOHANG) == child;
  }
  if (call.interrupt_when && !ended) ::kill(child, call.signal);
  Outcome outcome;
  if (call.terminal) outcome.err = read_terminal(master);
  if (!ended) ::waitpid(child, &status, 0);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (!call.stdout_to && !call.closed_stdout) outcome.out = read_file(out);
  if (!call.terminal) outcome.err = read_file(err);
  if (master >= 0) ::close(master);
  return outcome;
}

}  // namespace smelt::test
