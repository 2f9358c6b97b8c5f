// An endpoint's counts of its messages, and how a part of it counts.
#pragma once

#include <atomic>
#include <cstdint>

namespace smelt::message {

// The counts of an endpoint since it was opened. Relaxed: each is right, no two need be of the same moment.
struct Counters {
  uint64_t received_inline, received_eager, received_single_copy, received_pieces;  // messages, by how they came
  uint64_t unexpected;          // of them: nobody had asked for them when they came
  uint64_t longest_unexpected;  // most of those at a time
  uint64_t wildcards;           // receives and probes that named no source or no tag
  uint64_t switches;            // contexts that have begun to keep order for them (those that share a place: one)
  uint64_t deferred;            // sends that have had to wait for room
  uint64_t sleeps;              // of waiting threads
  // messages received from other machines, by how they came
  uint64_t far_eager, far_announced;
};

// A count that only the holder of a lock writes.
inline void count(std::atomic<uint64_t>& counter) {
  // relaxed, both: nothing else is read on the strength of it
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// A count of several threads. `alone`: of one at a time (lock_bit.h).
template <typename T>
inline void add(std::atomic<T>& counter, std::type_identity_t<T> by, bool alone) {
  // relaxed, all: nothing else is read on the strength of it
  if (alone)
    counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  else
    counter.fetch_add(by, std::memory_order_relaxed);
}

// relaxed: as above
inline uint64_t value_of(const std::atomic<uint64_t>& counter) { return counter.load(std::memory_order_relaxed); }

}  // namespace smelt::message
