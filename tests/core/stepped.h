// A thread of a child process that is gone through instruction by instruction (ptrace), so that a test can look, or
// act, between any two of them: for windows of nanoseconds, which no number of repetitions meets.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <string>

#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smelt::test {

// In the child, by the thread that is to be stepped: first the one, then the other as often as the test is to have it
// there. False: nobody may step here.
inline bool let_step() { return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0; }
inline void stop_here() { syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR2); }

// In the parent, around the fork: both on one CPU, where a step costs two switches and no wake-up of another CPU.
class OnOneCpu {
 public:
  OnOneCpu() {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_getaffinity(0, sizeof before_, &before_);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~OnOneCpu() { sched_setaffinity(0, sizeof before_, &before_); }
  OnOneCpu(const OnOneCpu&) = delete;
  OnOneCpu& operator=(const OnOneCpu&) = delete;

 private:
  cpu_set_t before_;
};

// In the parent, by the thread that has forked.
class Stepped {
 public:
  explicit Stepped(pid_t thread) : thread_(thread) {}

  // Lets it run to where it says stop_here(). False: it does not come there.
  bool run() {
    ptrace(PTRACE_CONT, thread_, nullptr, nullptr);
    return comes_here();
  }
  bool comes_here() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < until) {
      int status;
      const pid_t who = waitpid(thread_, &status, __WALL | WNOHANG);
      if (who < 0 || (who > 0 && !WIFSTOPPED(status))) return false;
      if (who > 0 && WSTOPSIG(status) == SIGUSR2) return true;
      if (who > 0) ptrace(PTRACE_CONT, thread_, nullptr, nullptr);  // the end of a step in which it had slept
      sched_yield();
    }
    return false;
  }

  // One instruction. False: it sleeps in the kernel, or is gone.
  bool step() {
    if (ptrace(PTRACE_SINGLESTEP, thread_, nullptr, nullptr) != 0) return false;
    for (uint32_t looks = 1;; ++looks) {
      int status;
      const pid_t who = waitpid(thread_, &status, __WALL | WNOHANG);
      if (who != 0) return who > 0 && WIFSTOPPED(status);
      if (looks % 16 == 0 && sleeps()) return false;
      sched_yield();
    }
  }

  // Ends the child that it is of.
  void end(pid_t child) {
    kill(child, SIGKILL);
    waitpid(thread_, nullptr, __WALL);  // first: the process is not gone before
    waitpid(child, nullptr, 0);
  }

 private:
  bool sleeps() const {
    std::ifstream file("/proc/" + std::to_string(thread_) + "/stat");
    std::string text;
    std::getline(file, text);
    const size_t name = text.rfind(')');
    return name != std::string::npos && text.compare(name, 3, ") S") == 0;
  }

  pid_t thread_;
};

}  // namespace smelt::test
