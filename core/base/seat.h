// A participant's seat: is it taken, where was it last seen, and is its process still there?
#pragma once

#include <atomic>
#include <cstdint>

#include "base/os/os.h"
#include "base/os/process.h"

namespace smelt::place {

inline constexpr uint32_t kNowhere = ~0u;  // a CPU that is not known

// Takes a seat that nobody may take twice. relaxed: it only tells which of several comes first.
inline bool take_seat(std::atomic<uint32_t>& taken) { return taken.exchange(1, std::memory_order_relaxed) == 0; }

// relaxed: a hint. Stored on change only, as the others read that line.
inline void note(std::atomic<uint32_t>& own, uint32_t here) {
  if (own.load(std::memory_order_relaxed) != here) own.store(here, std::memory_order_relaxed);
}

// Tells the others where we are, and returns it: the CPU's number plus `first`, which is 1 where 0 means nowhere.
inline uint32_t note_cpu(std::atomic<uint32_t>& own, uint32_t first = 0) {
  const uint32_t here = os::current_cpu() + first;
  note(own, here);
  return here;
}

// Has the process of a seat surely ended? Our own has not. It asks the kernel, a few µs: so every now and then, not
// with every look. `started`: as os::process_start() said there, or 0.
inline bool is_gone(int32_t process, uint64_t started) {
  return process != os::process_id() && os::process_gone(process, started);
}

}  // namespace smelt::place
