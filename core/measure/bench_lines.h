// What every benchmark between CPUs needs: lines in pages of their own, waiting for a line, letting things settle.
#pragma once

#include <cstdint>
#include <ctime>

#include "base/os/os.h"
#include "measure/ticks.h"
#include "profile/text/error.h"
#include "transport/line.h"

namespace smelt {

// Room for a T in fresh pages: whoever touches them first decides on which NUMA node they lie. Zeroed memory is what a
// Line starts as (its bell apart, which nobody rings here), so a T made of lines may also be used without being
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

// Spins, as the waits of an idle machine do that are measured. Who has not been answered for far longer than a message
// takes has a partner who lost its CPU to somebody else, and that sample is spoilt anyway. To go on spinning then would
// use up the own time slice, and between sixty busy processes two who spin by turns meet once in many seconds. Who
// sleeps instead is preferred by the scheduler when it wakes, so both are soon there together.
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

// Longer than the slowest hop known: whoever was told something is back in its polling loop.
inline constexpr double kSettleNs = 500;
inline void settle() {
  const uint64_t start = ticks();
  while (ns_between(start, ticks()) < kSettleNs) cpu_pause();
}

}  // namespace smelt
