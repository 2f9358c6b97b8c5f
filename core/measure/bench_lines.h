// The common part of benchmarks between CPUs: lines in pages of their own, waiting for a line, letting things settle.
#pragma once

#include <cstdint>
#include <ctime>

#include <sys/mman.h>

#include "base/os/os.h"
#include "measure/ticks.h"
#include "profile/text/error.h"
#include "transport/line.h"

namespace smelt {

// Room for a T in fresh pages: the thread that touches them first decides on which NUMA node they lie. A Line starts as
// zeroed memory (its bell apart, which nobody rings here), so a T made of lines may also be used without being
// constructed by its owner.
template <typename T>
class MappedLines {
 public:
  MappedLines() : memory_(os::map_pages(sizeof(T))) {
    if (!memory_) throw UserError("out of memory for the lines of a measurement");
  }
  ~MappedLines() { os::unmap_pages(memory_, sizeof(T)); }
  MappedLines(const MappedLines&) = delete;
  MappedLines& operator=(const MappedLines&) = delete;
  T& operator*() const { return *static_cast<T*>(memory_); }

 private:
  void* const memory_;
};

// The same, shared with the processes that are forked afterwards. Not ok(): there is no memory.
template <typename T>
class SharedLines {
 public:
  SharedLines() : memory_(::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  ~SharedLines() {
    if (ok()) ::munmap(memory_, sizeof(T));
  }
  SharedLines(const SharedLines&) = delete;
  SharedLines& operator=(const SharedLines&) = delete;
  bool ok() const { return memory_ != MAP_FAILED; }
  T& operator*() const { return *static_cast<T*>(memory_); }

 private:
  void* const memory_;
};

// Spins, as the measured waits of an idle machine do. If no answer has come for far longer than a message takes, the
// partner has lost its CPU to another thread, and that sample is spoilt anyway. To go on spinning then would use up the
// own time slice, and between sixty busy processes two that spin by turns meet once in many seconds. So the waiter
// sleeps instead: the scheduler prefers it when it wakes, and both are soon there together.
inline void await(const Epoch& flag, uint64_t epoch) {
  constexpr uint32_t kPatient = 1u << 13, kAgain = 1u << 11;  // polls, 10 to 40 ns each
  constexpr timespec kNap{0, 50'000};
  for (uint32_t left = kPatient; !poll(flag, epoch); --left) {
    if (left > 0) {
      cpu_pause();
      continue;
    }
    ::nanosleep(&kNap, nullptr);
    left = kAgain;
  }
}

inline double ns_between(uint64_t start, uint64_t end) { return static_cast<double>(end - start) * ns_per_tick(); }

// Longer than the slowest hop known: a receiver that was told something is back in its polling loop.
inline constexpr double kSettleNs = 500;
inline void settle() {
  const uint64_t start = ticks();
  while (ns_between(start, ticks()) < kSettleNs) cpu_pause();
}

}  // namespace smelt
