// A clock that stands while an object of this lives, as under libfaketime with an absolute time. By the program's own
// clock_gettime, so one unit of a program includes it.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>
#include <atomic>
#include <ctime>

namespace smelt::test {

inline std::atomic<bool> clock_stands{false};

struct StandingClock {
  StandingClock() { clock_stands.store(true); }
  ~StandingClock() { clock_stands.store(false); }
  StandingClock(const StandingClock&) = delete;
  StandingClock& operator=(const StandingClock&) = delete;
};

// The kernel's, whatever stands.
inline int64_t true_ns() {
  timespec now{};
  ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace smelt::test

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  if (!smelt::test::clock_stands.load()) return static_cast<int>(::syscall(SYS_clock_gettime, clock, now));
  *now = {1'577'836'800, 0};
  return 0;
}
