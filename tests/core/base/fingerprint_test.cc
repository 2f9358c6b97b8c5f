#include "base/fingerprint.h"

#include <gtest/gtest.h>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstring>
#include <thread>
#include <vector>

#include "base/os/os.h"

using namespace smelt;

namespace {

// What a process that may use one CPU only, or any, computes: -1 when it failed.
int64_t fingerprint_in_child(bool one_cpu) {
  int ends[2];
  if (::pipe(ends) != 0) return -1;
  const pid_t child = ::fork();
  if (child == 0) {
    if (one_cpu) {
      const uint32_t cpu = os::current_cpu();
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(cpu, &set);
      if (::sched_setaffinity(0, sizeof set, &set) != 0) ::_exit(1);
    }
    const uint64_t value = machine_fingerprint();
    ::_exit(::write(ends[1], &value, sizeof value) == sizeof value ? 0 : 1);
  }
  ::close(ends[1]);
  uint64_t value = 0;
  const bool complete = ::read(ends[0], &value, sizeof value) == sizeof value;
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return complete && status == 0 ? static_cast<int64_t>(value) : -1;
}

// First in this file, so that the children compute it and do not inherit it.
TEST(Fingerprint, IsTheSameInEveryProcessWhateverItsAffinity) {
  const int64_t free = fingerprint_in_child(false), bound = fingerprint_in_child(true);
  ASSERT_NE(free, -1);
  EXPECT_EQ(free, bound);
  EXPECT_EQ(static_cast<uint64_t>(free), machine_fingerprint());
  EXPECT_NE(free, 0) << "0 stands for any machine";
}

TEST(Fingerprint, IsTheSameInEveryThread) {
  std::vector<std::thread> threads;
  std::vector<uint64_t> values(4);
  for (uint64_t& value : values) threads.emplace_back([&value] { value = machine_fingerprint(); });
  for (std::thread& thread : threads) thread.join();
  for (uint64_t value : values) EXPECT_EQ(value, machine_fingerprint());
}

// The published test vectors of the hash's authors (Fowler, Noll, Vo).
TEST(Fnv1a, GivesThePublishedValues) {
  EXPECT_EQ(fnv1a("", 0), 0xcbf29ce484222325ull);
  EXPECT_EQ(fnv1a("a", 1), 0xaf63dc4c8601ec8cull);
  EXPECT_EQ(fnv1a("foobar", 6), 0x85944171f73967e8ull);
  EXPECT_EQ(fnv1a("bar", 3, fnv1a("foo", 3)), fnv1a("foobar", 6));
}

}  // namespace
