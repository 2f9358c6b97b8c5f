#include "epcc/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

namespace smelt::epcc {
namespace {

// All live children, readable from the signal handler. 0: free.
constexpr int kMaxChildren = 1025;
volatile pid_t children[kMaxChildren];

void remember(pid_t pid) {
  for (auto& slot : children)
    if (slot == 0) {
      slot = pid;
      return;
    }
}

void forget(pid_t pid) {
  for (auto& slot : children)
    if (slot == pid) slot = 0;
}

// Asks first: an mpirun that is killed outright leaves shared memory behind. Async-signal-safe.
void end_all(int signal_number) {
  for (auto& slot : children)
    if (slot > 0) kill(slot, SIGTERM);
  const timespec pause{0, 10'000'000};
  bool any = true;
  for (int pauses = 0; any && pauses < 300; pauses++) {
    any = false;
    for (auto& slot : children)
      if (slot > 0 && waitpid(slot, nullptr, WNOHANG) == 0)
        any = true;
      else if (slot > 0)
        slot = 0;
    if (any) nanosleep(&pause, nullptr);
  }
  for (auto& slot : children)
    if (slot > 0) kill(slot, SIGKILL);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

// In the child, after fork: die with the parent, however it dies, and take signals in the ordinary way.
void become_child(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(number, SIG_DFL);
}

std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of(" \t\r\n");
  if (end == text.npos) return "nothing on stderr";
  const size_t before = text.find_last_of('\n', end);
  const size_t start = before == text.npos ? 0 : before + 1;
  return text.substr(start, end + 1 - start);
}

std::string describe_failure(int status, const std::string& err) {
  if (WIFSIGNALED(status))
    return fmt::format("killed by signal {} ({}): {}", WTERMSIG(status), strsignal(WTERMSIG(status)), last_line(err));
  return fmt::format("exit status {}: {}", WEXITSTATUS(status), last_line(err));
}

// Reads both pipes until both are closed. False: the deadline came first.
bool collect(int out, int err, std::chrono::steady_clock::time_point deadline, Finished* result) {
  std::array<pollfd, 2> watched{{{out, POLLIN, 0}, {err, POLLIN, 0}}};
  std::array<std::string*, 2> into{&result->out, &result->err};
  while (watched[0].fd >= 0 || watched[1].fd >= 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) return false;
    if (poll(watched.data(), watched.size(), static_cast<int>(std::min<int64_t>(left, 60'000))) < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    for (size_t i = 0; i < watched.size(); i++) {
      if (watched[i].fd < 0 || watched[i].revents == 0) continue;
      char buffer[16384];
      const ssize_t got = read(watched[i].fd, buffer, sizeof buffer);
      if (got > 0)
        into[i]->append(buffer, static_cast<size_t>(got));
      else if (got == 0 || errno != EINTR)
        watched[i].fd = -1;
    }
  }
  return true;
}

}  // namespace

Environment Environment::of_this_process() {
  Environment result;
  for (char** entry = environ; *entry; entry++) result.entries_.emplace_back(*entry);
  return result;
}

void Environment::unset(std::string_view name) {
  std::erase_if(entries_, [&](const std::string& entry) {
    return entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
  });
}

void Environment::set(std::string_view name, std::string_view value) {
  unset(name);
  entries_.push_back(fmt::format("{}={}", name, value));
}

Finished run_child(const std::vector<std::string>& argv, const Environment& environment, double timeout_s) {
  Finished result;
  std::vector<char*> arguments, variables;
  for (const auto& text : argv) arguments.push_back(const_cast<char*>(text.c_str()));
  for (const auto& text : environment.entries()) variables.push_back(const_cast<char*>(text.c_str()));
  arguments.push_back(nullptr);
  variables.push_back(nullptr);

  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0) {
    result.failure = fmt::format("no pipe: {}", strerror(errno));
    return result;
  }
  if (pipe2(err, O_CLOEXEC) != 0) {
    result.failure = fmt::format("no pipe: {}", strerror(errno));
    close(out[0]);
    close(out[1]);
    return result;
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    become_child(parent);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    execve(arguments[0], arguments.data(), variables.data());
    dprintf(STDERR_FILENO, "%s: %s\n", arguments[0], strerror(errno));
    _exit(127);
  }
  const int fork_error = errno;
  close(out[1]);
  close(err[1]);
  if (pid > 0) {
    remember(pid);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                                                 std::chrono::duration<double>(timeout_s));
    const bool in_time = collect(out[0], err[0], deadline, &result);
    if (!in_time) kill(pid, SIGKILL);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    forget(pid);
    result.ok = in_time && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!in_time)
      result.failure = fmt::format("still running after {:g} s", timeout_s);
    else if (!result.ok)
      result.failure = describe_failure(status, result.err);
  } else {
    result.failure = fmt::format("no new process: {}", strerror(fork_error));
  }
  close(out[0]);
  close(err[0]);
  return result;
}

Hogs::Hogs(int count) {
  const pid_t parent = getpid();
  for (int i = 0; i < count; i++) {
    const pid_t pid = fork();
    if (pid == 0) {
      become_child(parent);
      for (;;) asm volatile("");
    }
    if (pid < 0) {
      ok_ = false;
      return;
    }
    remember(pid);
    pids_.push_back(pid);
  }
}

Hogs::~Hogs() {
  for (const pid_t pid : pids_) {
    kill(pid, SIGKILL);
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    forget(pid);
  }
}

void install_signal_handlers() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, end_all);
}

}  // namespace smelt::epcc
