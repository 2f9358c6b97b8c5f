// Dynamic loops without a common counter: every thread has a share of the loop, and who has finished steals.
//
// With schedule(dynamic), chunks are handed out to whoever asks. An OpenMP runtime keeps one counter for that, so every
// chunk costs a transfer of its line between cores. Here the loop is dealt beforehand, as schedule(static) does, and
// each thread takes chunks from the front of its own share, in a line of its own; a thread with nothing left takes the
// back half of another's. That is allowed where the schedule is nonmonotonic, as `dynamic` is since OpenMP 5.0: a
// thread may then be given chunks in any order. Work stealing: Blumofe and Leiserson, "Scheduling Multithreaded
// Computations by Work Stealing", J. ACM 46(5), 1999; of ranges of a loop: LLVM's schedule(static_steal).
//
// A share is one word: {number of the loop, first unit, last unit + 1}. A unit is a chunk, or several neighbouring ones
// where the loop has more than 2^20. The word says all there is to say, so that compare-and-swap hands out every unit
// exactly once, in whatever order (no order of memory is needed):
//
//   open    the owner stores its share. Nobody else writes then: what is in the word before is empty
//   take    the owner: first -> first + 1
//   steal   another thread in the same loop: last -> the middle; then it stores what it got, less the unit that it
//           runs first, in its own word, which is empty
//
// The loops of an episode (episodes.h) are numbered, 1, 2, ..., the same for all threads. A thread may be ahead of
// others by some loops that end without a barrier: who finds another number than its own steals nothing. Behind: the
// owner has not come yet and will deal its share itself; it is not dealt for it, so a thread that comes late does all
// of its share that is left when it comes. (Teams with more threads than CPUs are therefore left to the runtime.)
// Ahead: the owner found everything empty. A word of an earlier episode is empty whatever its number, since nobody
// leaves a loop before his own share is empty, and nobody passes a barrier before all have left.
//
// Who has run the last unit gets no other. For compilers write `lastprivate` as "if my last iteration was the loop's
// last".
#pragma once

#include <atomic>
#include <cstdint>

#include "base/arch/cpu.h"

namespace smelt::openmp {

// A loop as a thread is told of it; numbers modulo 2^64.
struct SharedLoop {
  uint64_t start, end, step;
  uint64_t iterations;
  uint64_t chunk;  // at least 1
};

// How many times a loop from `start` with `step` (not 0) runs until `end`, which it does not reach. Number: a signed
// type for loops of signed variables, which run down where the step is negative.
template <typename Number>
inline uint64_t iterations_of(bool up, Number start, Number end, Number step) {
  if (up ? start >= end : start <= end) return 0;
  const auto from = static_cast<uint64_t>(start), to = static_cast<uint64_t>(end), by = static_cast<uint64_t>(step);
  return ((up ? to - from : from - to) - 1) / (up ? by : 0 - by) + 1;
}

// Iterations [begin, end) in the loop's own numbers.
struct ShareRange {
  uint64_t begin, end;
};

// Thread number i's is the i-th of an array, in zeroed memory.
struct alignas(kLineBytes) Share {
  std::atomic<uint64_t> word;
  // The owner's alone.
  SharedLoop loop;
  uint64_t unit;     // iterations
  uint64_t episode;  // in which `number` counts
  uint32_t units;
  uint32_t number;  // of the loop
};

inline constexpr unsigned kUnitBits = 20, kNumberBits = 24;
inline constexpr uint64_t kMostUnits = (uint64_t{1} << kUnitBits) - 1;
inline constexpr uint32_t kMostLoops = (1u << kNumberBits) - 1;  // of an episode

inline constexpr uint64_t share_word(uint64_t number, uint64_t first, uint64_t last) {
  return number << 2 * kUnitBits | first << kUnitBits | last;
}
inline uint32_t first_unit(uint64_t word) { return static_cast<uint32_t>(word >> kUnitBits & kMostUnits); }
inline uint32_t last_unit(uint64_t word) { return static_cast<uint32_t>(word & kMostUnits); }

// Thread `me` of `threads` comes to the next loop of this episode and deals its share. False, for all threads alike:
// too many loops since the last barrier.
inline bool open_share(Share* shares, uint32_t me, uint32_t threads, uint64_t episode, const SharedLoop& loop) {
  Share& own = shares[me];
  if (own.episode != episode) {
    own.episode = episode;
    own.number = 0;
  }
  if (own.number == kMostLoops) return false;
  ++own.number;
  const auto parts = [](uint64_t whole, uint64_t part) { return whole == 0 ? 0 : (whole - 1) / part + 1; };
  const uint64_t chunks = parts(loop.iterations, loop.chunk);
  const uint64_t together = chunks <= kMostUnits ? 1 : parts(chunks, kMostUnits);
  const uint64_t units = parts(chunks, together);
  own.loop = loop;
  own.unit = loop.chunk * together;
  own.units = static_cast<uint32_t>(units);
  // Relaxed: see above.
  own.word.store(share_word(own.number, units * me / threads, units * (me + 1) / threads), std::memory_order_relaxed);
  return true;
}

inline ShareRange range_of(const Share& own, uint32_t unit) {
  const uint64_t first = unit * own.unit;
  const bool last = unit + 1 == own.units;
  return {own.loop.start + first * own.loop.step,
          last ? own.loop.end : own.loop.start + (first + own.unit) * own.loop.step};
}

// The next unit of thread `me`. False: nothing is left that it could have.
inline bool take_share(Share* shares, uint32_t me, uint32_t threads, ShareRange* range) {
  Share& own = shares[me];
  uint64_t word = own.word.load(std::memory_order_relaxed);
  while (first_unit(word) < last_unit(word)) {
    const uint32_t unit = first_unit(word);
    if (!own.word.compare_exchange_weak(word, word + (uint64_t{1} << kUnitBits), std::memory_order_relaxed)) continue;
    *range = range_of(own, unit);
    return true;
  }
  if (own.units == 0 || first_unit(word) == own.units) return false;  // the last unit was run here
  for (uint32_t i = 1; i < threads; ++i) {
    Share& victim = shares[me + i < threads ? me + i : me + i - threads];
    word = victim.word.load(std::memory_order_relaxed);
    while (word >> 2 * kUnitBits == own.number && first_unit(word) < last_unit(word)) {
      const uint32_t first = first_unit(word), last = last_unit(word), middle = first + (last - first) / 2;
      if (!victim.word.compare_exchange_weak(word, share_word(own.number, first, middle), std::memory_order_relaxed))
        continue;
      own.word.store(share_word(own.number, middle + 1, last), std::memory_order_relaxed);
      *range = range_of(own, middle);
      return true;
    }
  }
  return false;
}

}  // namespace smelt::openmp
