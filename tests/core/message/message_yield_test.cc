// Does a waiting member of the message room give its CPU away? Counted from outside, by its system calls.
#include "message/endpoint.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>
#include <tuple>

#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "processes.h"

namespace smelt::test {
namespace {

using message::Endpoint;
using message::Request;
using message::Shape;

// Waits for a message that does not come, and is looked at from outside.
int wait_in_vain(Endpoint& end, bool crowded, int cpu, bool is_looked_at) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  if (cpu >= 0) sched_setaffinity(0, sizeof one, &one);
  end.set_crowded(crowded);
  end.set_alone(true);
  if (is_looked_at && ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) return 77;
  if (is_looked_at) raise(SIGSTOP);
  Request receive;
  char buffer[8];
  if (end.receive(&receive, 0, 0, 1, false, buffer, sizeof buffer) != 0) return 1;
  return end.wait(&receive);
}

// How often such a member yields, in the first 200 ms and until it has polled for long; -1: it cannot be looked at.
int yields(Processes& processes, bool crowded, int cpu) {
  const pid_t child = processes.member(1, [=](Endpoint& end) { return wait_in_vain(end, crowded, cpu, true); });
  int status = 0, found = 0, calls = 0;
  if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return -1;
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  const auto ends = until + std::chrono::seconds(20);
  for (ptrace(PTRACE_SYSCALL, child, nullptr, nullptr); std::chrono::steady_clock::now() < ends;) {
    if (std::chrono::steady_clock::now() > until && calls >= 4) break;
    if (waitpid(child, &status, WNOHANG) != child) {
      std::this_thread::yield();
      continue;
    }
    if (!WIFSTOPPED(status)) return -1;
    __ptrace_syscall_info info{};
    ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info);
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) ++calls, found += info.entry.nr == SYS_sched_yield;
    ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
  }
  kill(child, SIGKILL);
  processes.ended(child);
  return found;
}

// To strangers the kernel gives their share of a CPU; a member gives it away for those for whom it may be waiting.
TEST(Endpoint, OnlyWhoSharesItsCpuGivesItAway) {
  NEEDS_PROCESSES();
  const int cpu = sched_getcpu();
  for (const auto& [crowded, companion, expects] :
       {std::tuple{false, false, false}, std::tuple{true, false, true}, std::tuple{false, true, true}}) {
    SCOPED_TRACE(testing::Message() << crowded << companion);
    Processes processes(Shape{static_cast<uint16_t>(companion ? 3 : 2)});
    // Where it waits it says so.
    if (companion) processes.member(2, [=](Endpoint& end) { return wait_in_vain(end, false, cpu, false); });
    const int found = yields(processes, crowded, companion ? cpu : -1);
    if (found < 0) GTEST_SKIP() << "ptrace is not allowed here";
    EXPECT_EQ(found > 0, expects) << found;
  }
}

}  // namespace
}  // namespace smelt::test
