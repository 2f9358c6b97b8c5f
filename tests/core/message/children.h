// Processes that a test forks.
#pragma once

#include <gtest/gtest.h>

#include <csignal>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smelt::test {

// A child that ends with its parent. (An alarm would be none: the machine may be busy, or stand still, for minutes.)
inline pid_t fork_child() {
  const pid_t child = fork();
  if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
  return child;
}
// How it has ended: its exit status, or 1000 and the signal.
inline int ended(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}
// Has it ended, otherwise than with 0? It is still to be waited for.
inline bool has_failed(pid_t child) {
  siginfo_t how{};
  return waitid(P_PID, static_cast<id_t>(child), &how, WEXITED | WNOHANG | WNOWAIT) == 0 && how.si_pid != 0 &&
         (how.si_code != CLD_EXITED || how.si_status != 0);
}

// The thread sanitizer sees the threads of one process: what passes from one of them to another through a third process
// (a packet that was returned) looks like a race to it.
#if defined(__SANITIZE_THREAD__)
#define NEEDS_PROCESSES() GTEST_SKIP() << "the sanitizer does not see other processes"
#else
#define NEEDS_PROCESSES()
#endif

}  // namespace smelt::test
