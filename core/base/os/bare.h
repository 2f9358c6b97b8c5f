// System calls without the C library, for a kernel thread whose thread-local storage is somebody else's just now: the C
// library's own would write errno there (gomp_shim/surplus.h). Linux, x86-64 and AArch64; kBare says whether they are
// there. Each returns what the kernel does: a negative errno, or 0 and up.
#pragma once

#include <sys/syscall.h>

#include <atomic>
#include <cstdint>
#include <ctime>

namespace smelt::os {

#if defined(__x86_64__) && defined(__linux__) && !defined(__ILP32__)
inline constexpr bool kBare = true;
inline long bare_call(long number, long a = 0, long b = 0, long c = 0, long d = 0) {
  register long r10 asm("r10") = d;
  long result;
  asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__) && defined(__linux__)
inline constexpr bool kBare = true;
inline long bare_call(long number, long a = 0, long b = 0, long c = 0, long d = 0) {
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
  return x0;
}
#else
inline constexpr bool kBare = false;
inline long bare_call(long, long = 0, long = 0, long = 0, long = 0) { return -1; }
#endif

// As futex_wait and futex_wake_all (os.h). `timeout_ns` 0: for ever. -ETIMEDOUT when that is over.
inline long bare_futex_wait(std::atomic<uint32_t>* word, uint32_t expected, int64_t timeout_ns) {
  timespec timeout{};
  timeout.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000);
  timeout.tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000);
  return bare_call(SYS_futex, reinterpret_cast<long>(word), 0 /* FUTEX_WAIT */, static_cast<long>(expected),
                   timeout_ns > 0 ? reinterpret_cast<long>(&timeout) : 0);
}
inline void bare_futex_wake_all(std::atomic<uint32_t>* word) {
  bare_call(SYS_futex, reinterpret_cast<long>(word), 1 /* FUTEX_WAKE */, INT32_MAX);
}
inline void bare_yield() { bare_call(SYS_sched_yield); }

// The signals that the calling kernel thread does not take, a bit each as the kernel counts them (signal 1 is bit 0).
inline uint64_t bare_block_signals(uint64_t blocked) {
  uint64_t before = 0;
  bare_call(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, reinterpret_cast<long>(&blocked), reinterpret_cast<long>(&before),
            8);
  return before;
}

}  // namespace smelt::os
