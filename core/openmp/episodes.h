// Tasks: "barrier number e is real".
//
// A barrier must not be left before all tasks of the team have run, and the runtime's own barrier is where waiting
// threads run them. Ours cannot: it would spin while tasks wait. So every barrier of a region has a number, its
// episode, the same for all its threads (Position::epoch + 1 names the next one), and making a task marks the maker's
// next barrier as real:
//
//   1. Before a task of the runtime's is made: real_epoch = max(real_epoch, epoch + 1); if that changed it, a full
//      fence, and sleepers are woken. For one of the shim's own it will do before its maker arrives or ends a task.
//   2. At barrier e: real_epoch == e on arrival -> the runtime's barrier. While waiting in ours: released -> done;
//      real_epoch == e -> leave for the runtime's. epoch = e only after returning.
//   3. Equality, never >=: a thread that is past e already may mark e + 1 while others are still leaving e.
//
// A shim that queues tasks of its own marks for them, too, and tells the two apart by a word more:
// gomp_shim/own_tasks.h. Only those that are the runtime's count below.
//
// Where every barrier has tasks, the mark is a line that moves between cores for nothing. So after kFewReals marked
// episodes in a row the next ones are the runtime's without a mark (Position::assumed), then one is asked again: 8, 16,
// ... 256, as long as those are marked, too. Every thread counts for itself, from the region's beginning, and all come
// to the same count, because an episode ends in the same way for all. At worst, as many barriers are the runtime's as
// were marked or assumed before.
//
// Why all threads agree: a thread that marks e has not arrived at e. So our barrier cannot have released anybody from
// e, and the marker itself goes to the real one. Either all threads are released by ours or all end in the runtime's.
// Arrival flags are epochs with one writer each, so an abandoned episode needs no repair.
#pragma once

#include "openmp/callers.h"
#include "openmp/region.h"

namespace smelt::openmp {

// Episode `epoch` is real. False: it was so already. True: it is from now on, and the caller wakes the threads that
// sleep in it. `guess`: what the word may be now, less than `epoch`; 0: it is looked at first. The thread that was the
// first to mark before does without: a load of a line that others poll fetches it, and the compare-and-swap then
// fetches it again. If several mark the same episode, the others look, which leaves the line with all.
bool mark(std::atomic<uint64_t>& real_epoch, uint64_t epoch, uint64_t guess = 0);

// The calling thread's next episode is known to be real.
inline void note_marked(Position& position) {
  position.marked = position.epoch + 1;
  position.rare = 1;
}

// The same of the calling thread's next one. The count is the marker's: those who leave because of the mark are many,
// and in a hurry.
inline bool mark_next(Position& position, uint64_t guess = 0) {
  if (position.marked == position.epoch + 1) return false;
  note_marked(position);
  if (!mark(*position.real_epoch, position.marked, guess)) return false;
  position.region->counters.abandoned.fetch_add(1, std::memory_order_relaxed);
  return true;
}

inline bool is_real(const std::atomic<uint64_t>& real_epoch, uint64_t epoch) {
  // Acquire: pairs with mark(). A thread that goes to the real barrier because of the mark sees all that was written
  // before it.
  return real_epoch.load(std::memory_order_acquire) == epoch;
}

// Is the thread's next episode real?
inline bool next_is_real(const Position& position) {
  // A thread that has marked it does not look: others poll the word.
  if (position.rare != 0 && (position.assumed != 0 || position.marked == position.epoch + 1)) [[unlikely]]
    return true;
  return is_real(*position.real_epoch, position.epoch + 1);
}

inline constexpr uint32_t kFewReals = 8, kMostReals = 13;  // 8 to 256 episodes are assumed

// The next episode has been passed. Where others' calls come by, every task is looked at, marks or no marks.
inline void step(Position& position) {
  ++position.epoch;
  position.unmarked = 1;
  if (position.rare != 0) [[unlikely]] {
    if (position.assumed != 0) position.unmarked = --position.assumed == 0 || smelt_openmp_several;
    position.rare = position.assumed != 0;
  }
}

// Passes the next barrier of the region; `real_barrier()` ends one that is marked, and says whether the runtime did,
// the same to all.
template <typename RealBarrier>
inline void pass(Position& position, RealBarrier real_barrier) {
  const uint64_t epoch = position.epoch + 1;
  const bool real = next_is_real(position);
  if (real || !position.barrier->arrive_and_wait(position.thread, epoch, position.real_epoch)) [[unlikely]] {
    const bool by_runtime = real_barrier();
    if (by_runtime && position.thread == 0) count(position.region->counters.real);
    if (!by_runtime) {
      position.reals = 0;
    } else if (position.assumed == 0) {
      if (position.reals < kMostReals) ++position.reals;
      if (position.reals >= kFewReals) {
        position.assumed = (1u << (position.reals - kFewReals + 3)) + 1;  // step()
        position.rare = 1;
      }
    }
  } else {
    position.reals = 0;
  }
  // Only now: tasks run inside the real barrier, and those they create belong to this same episode.
  step(position);
}

}  // namespace smelt::openmp
