// The common part of benchmarks between CPUs: lines and where they lie, waiting for a line, letting things settle.
//
// DESIGN NOTE: a line's home.
// A line's home is the NUMA node of its page. On many processors a miss asks there, so a line whose home is on another
// package makes a message between two neighbours as dear as one across (published matrices have that: all their pairs
// use one line). So lines that two threads store to never share a page; nobody touches a page but the thread that
// stores to its lines, whose first store decides where it lies (a look before only maps the kernel's page of zeros);
// and the threads of a measurement have the kernel's own memory policy, whatever the process has (pinned.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>

#include <sys/mman.h>

#include "base/os/os.h"
#include "measure/ticks.h"
#include "profile/text/error.h"
#include "transport/line.h"

namespace smelt {

// `each` lines for each of several owners, in fresh pages of the owner's, where its first store puts them. A Line
// starts as zeroed memory (its bell apart, which nobody rings here).
class OwnLines {
 public:
  OwnLines(size_t owners, size_t each)
      : each_(each),
        stride_(((kColours + each) * sizeof(Line) + kLargestPage - 1) / kLargestPage * kLargestPage),
        bytes_(owners * stride_),
        memory_(static_cast<char*>(os::map_pages(bytes_))) {
    if (!memory_) throw UserError("out of memory for the lines of a measurement");
  }
  ~OwnLines() { os::unmap_pages(memory_, bytes_); }
  OwnLines(const OwnLines&) = delete;
  OwnLines& operator=(const OwnLines&) = delete;

  // One's first; the others follow.
  Line* of(size_t owner) const {
    return reinterpret_cast<Line*>(memory_ + owner * stride_ + owner * (each_ | 1) % kColours * sizeof(Line));
  }

 private:
  static constexpr size_t kLargestPage = 64 << 10;  // of the kernels that there are: some of Arm's
  static constexpr size_t kColours = 32;  // places in a page: else all owners' lines would fall into one set of a cache

  const size_t each_, stride_, bytes_;
  char* const memory_;
};

// Room for a T that is shared with the processes that are forked afterwards. If it is not ok(), there is no memory.
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
