// Dynamic loops by shares: every thread begins with a contiguous share of the chunks, and a thread that has none left
// takes of the others'.
//
// This is what a runtime does that hands such loops out in no order (LLVM's libomp, for loops that need not be
// monotonic): a loop that is run again and again finds its data in the caches of the same cores. Where chunks leave in
// order (chunks.h), they move between cores each time.
//
// A share is a counter as there, a word {episode, next unit}, in a line of its thread's own; and taking of it is the
// same, for its thread and for all others: one addition. So a unit is handed out once, in whatever order threads come,
// and a thread that comes late finds what the others have left of its share. A thread begins with its own share and
// goes on to the next one when nothing is left there, until it has been at all. It takes one unit at a time: the line
// of a share moves between cores only where somebody helps.
//
// The loop's last unit is run by the thread that takes it when nothing else is left for that thread: compilers write
// `lastprivate` as "if my last iteration was the loop's last".
#pragma once

#include "openmp/chunks.h"

namespace smelt::openmp {

// The place where share `i` begins, in the units of the loop.
inline uint64_t share_begin(const LoopThread& own, uint64_t i) {
  return i * (own.units / own.threads) + std::min(i, own.units % own.threads);
}

// Turns to the share of that thread.
inline void turn_to(LoopThread* all, LoopThread& own, uint32_t thread) {
  own.counter = &all[thread].shares[own.place - 1];
  own.from = share_begin(own, thread);
  own.seen = share_begin(own, uint64_t{thread} + 1) - own.from;  // units of it
}

// Thread `me` of `threads` comes to the next loop of this episode. False, for all threads alike: too many loops since
// the last barrier.
inline bool open_shares(LoopCounter* counters, LoopThread* all, uint32_t me, uint32_t threads, uint64_t episode,
                        const DynamicLoop& loop) {
  LoopThread& own = all[me];
  if (!open_units(counters, own, threads, episode, loop)) return false;
  measure_units(own, loop);
  own.at_last = false;
  own.count = 0;  // shares in which nothing is left
  turn_to(all, own, me);
  return true;
}

// The next chunk of thread `me`. False: nothing is left that it could have.
inline bool take_of_shares(LoopThread* all, uint32_t me, Chunk* chunk) {
  LoopThread& own = all[me];
  while (own.count < own.threads) {
    // Another's share is looked at first: a look leaves the line with the thread that works on it. Relaxed: as in
    // chunks.h.
    const uint64_t word = own.count == 0 ? 0 : own.counter->load(std::memory_order_relaxed);
    const bool is_empty = word >> kUnitBits == (own.episode & kEpisodeMask) && (word & kUnitMask) >= own.seen;
    if (const uint64_t unit = is_empty ? own.seen : take_units(own, 1); unit < own.seen) {
      if (own.from + unit + 1 != own.units) {
        name_chunk(own, own.from + unit, chunk);
        return true;
      }
      own.at_last = true;  // and this share is at its end, too
    }
    if (++own.count < own.threads) turn_to(all, own, (me + own.count) % own.threads);
  }
  if (!own.at_last) return false;
  own.at_last = false;
  name_chunk(own, own.units - 1, chunk);
  return true;
}

}  // namespace smelt::openmp
