// Tasks: "barrier number e is real".
//
// A barrier must not be left before all tasks of the team have run, and the runtime's own barrier is where waiting
// threads run them. Ours cannot: it would spin while tasks wait. So every barrier of a region has a number, its
// episode, the same for all its threads (Position::epoch + 1 names the next one), and making a task marks the maker's
// next barrier as real:
//
//   1. Before a task is made: real_epoch = max(real_epoch, epoch + 1); if that changed it, a full fence, and sleepers
//      are woken.
//   2. At barrier e: real_epoch == e on arrival -> the runtime's barrier. While waiting in ours: released -> done;
//      real_epoch == e -> leave for the runtime's. epoch = e only after returning.
//   3. Equality, never >=: a thread that is past e already may mark e + 1 while others are still leaving e.
//
// A shim that queues tasks of its own marks for them, too, and tells the two apart by a word more:
// gomp_shim/own_tasks.h.
//
// Why all threads agree: whoever marks e has not arrived at e, so nobody can have been released from e by ours, and
// the marker itself goes to the real one. Either everybody is released by ours or everybody ends in the runtime's.
// Arrival flags are epochs with one writer each, so an abandoned episode needs no repair.
#pragma once

#include "openmp/region.h"

namespace smelt::openmp {

// Episode `epoch` is real. False: it was so already. True: now, and the caller wakes whoever sleeps in it.
bool mark(std::atomic<uint64_t>& real_epoch, uint64_t epoch);

inline bool is_real(const std::atomic<uint64_t>& real_epoch, uint64_t epoch) {
  // Acquire: pairs with mark(); what was written before the mark is seen by whoever goes to the real barrier for it.
  return real_epoch.load(std::memory_order_acquire) == epoch;
}

// Passes the next barrier of the region; `real_barrier()` ends one that is marked, and says whether the runtime did.
template <typename RealBarrier>
inline void pass(Position& position, RealBarrier real_barrier) {
  const uint64_t epoch = position.epoch + 1;
  const bool real = is_real(*position.real_epoch, epoch);
  if (real || !position.barrier->arrive_and_wait(position.thread, epoch, position.real_epoch)) [[unlikely]] {
    Counters& counters = position.region->counters;
    if (!real) counters.abandoned.fetch_add(1, std::memory_order_relaxed);
    const bool by_runtime = real_barrier();
    if (by_runtime && position.thread == 0) count(counters.real);
  }
  // Only now: tasks run inside the real barrier, and those they create belong to this same episode.
  position.epoch = epoch;
  position.unmarked = 1;
}

}  // namespace smelt::openmp
