// What every benchmark between CPUs needs: lines in pages of their own, waiting for a line, letting things settle.
#pragma once

#include <cstdint>

#include "base/os/os.h"
#include "discover/error.h"
#include "measure/ticks.h"
#include "transport/line.h"

namespace smelt {

// Room for a T in fresh pages: whoever touches them first decides on which NUMA node they lie. Zeroed memory is what a
// Line starts as (its bell apart, which nobody rings here), so a T made of lines may also be used without being constructed by its owner.
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

inline void await(const Epoch& flag, uint64_t epoch) {
  while (!poll(flag, epoch)) cpu_pause();
}

inline double ns_between(uint64_t start, uint64_t end) { return static_cast<double>(end - start) * ns_per_tick(); }

// Longer than the slowest hop known: whoever was told something is back in its polling loop.
inline constexpr double kSettleNs = 500;
inline void settle() {
  const uint64_t start = ticks();
  while (ns_between(start, ticks()) < kSettleNs) cpu_pause();
}

}  // namespace smelt
