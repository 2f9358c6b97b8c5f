// Bells: no sleeper is forgotten, at whatever instruction it comes.
#include "transport/line.h"

#include <gtest/gtest.h>

#include <csignal>
#include <new>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stepped.h"

namespace smelt::test {
namespace {

// A reader that finds the new futex word sleeps until it changes again. So nobody may take its mark away any more.
TEST(Bells, AreClearedBeforeTheirWordChanges) {
  void* const memory = mmap(nullptr, sizeof(Bell), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  Bell& bell = *new (memory) Bell;
  bell.sleepers = 1;
  const OnOneCpu here;
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!let_step()) _exit(1);
    stop_here();
    wake_sleepers(bell);
    _exit(0);
  }
  Stepped waker(child);
  if (!waker.comes_here()) GTEST_SKIP() << "no process may be stepped here";
  while (bell.wake == 0) ASSERT_TRUE(waker.step());
  EXPECT_EQ(bell.sleepers, 0u) << "a reader that had come just now would have been forgotten";
  waker.end(child);
  munmap(memory, sizeof(Bell));
}

}  // namespace
}  // namespace smelt::test
