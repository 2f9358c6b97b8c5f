// How long a search may go on: until a time, until somebody says stop, or both. The default is for ever.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/os/os.h"

namespace smelt {

struct SearchLimits {
  int64_t deadline_ns = 0;                  // absolute, as os::now_ns() counts; 0: none
  const std::atomic<bool>* stop = nullptr;  // set by another thread or a signal handler; nullptr: nobody does

  // Reads a clock: to be asked every thousandth of a second or so, not in an inner loop.
  bool exceeded() const {
    return (stop && stop->load(std::memory_order_relaxed)) || (deadline_ns != 0 && os::now_ns() >= deadline_ns);
  }
};

}  // namespace smelt
