// A user-level thread: its descriptor, at the upper end of its stack.
//
//   guard | ............. its stack, grows down ............. | Thread | colour |
//
// So a thread that waits has one page, with its frames and the words that a switch to it reads: one entry of the TLB,
// as few lines of the cache as possible. If all stacks began at the same place of a page, all those lines would fall
// into the same few sets of the cache; the colour, unused bytes of which each stack has another number, spreads them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <pthread.h>

namespace smelt::thread {

struct Worker;
struct Scheduler;

using Function = void* (*)(void*);

// The values of `exit`. Any other is the thread that joins it, or, with kOutside, an OutsideWait of a kernel thread.
inline constexpr uintptr_t kRuns = 0, kEnded = 1, kDetached = 2, kOutside = 4;

// A thread that is built for a sanitizer, which must be told of each switch.
struct Fiber {
#if defined(__SANITIZE_THREAD__)
  void* tsan = nullptr;
#elif defined(__SANITIZE_ADDRESS__)
  const void* bottom = nullptr;
  size_t bytes = 0;
  void* fake_stack = nullptr;
#endif
};

// The exceptions that are being handled, as the C++ ABI lays them out (__cxa_eh_globals).
struct Exceptions {
  void* caught = nullptr;
  uintptr_t uncaught = 0;
};

struct alignas(64) Thread {
  void* context = nullptr;  // where it goes on; written when it has stopped running, by the thread that runs next
  // Signals that no wait has taken yet; -1: it waits for one. The signaller that changes that to 0 makes it runnable.
  std::atomic<int32_t> permits{0};
  int error_number = 0;    // errno, while it does not run
  Worker* home = nullptr;  // whose bit it has; a worker that may run it, or make it runnable, may read and change both
  uint32_t position = 0;   // ... which bit
  bool ended = false;      // its function has returned
  Exceptions exceptions;   // while it does not run
  Scheduler* scheduler = nullptr;
  std::atomic<uintptr_t> exit{kRuns};
  Function function = nullptr;
  void* argument = nullptr;  // and its result, when it has ended
  char* stack = nullptr;     // the lowest byte above the guard
  Thread* next = nullptr;    // in a list of those that are free
  // Of one with thread-local variables of its own (own_tls.h)
  uintptr_t tls = 0;
  pthread_t lender{};
  std::atomic<uint32_t> returned{0};
  Fiber fiber;
};

}  // namespace smelt::thread
