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
// exactly once, in whatever order. With e the loop that a thread is in:
//
//   open    the owner: {an earlier loop, empty} -> {e, its share}. If the word is of e or later by now, a thief has
//           dealt the share, and there is nothing to do
//   take    the owner: {e, first, last} -> {e, first + 1, last}
//   steal   another thread in e: {e, first, last} -> {e, first, middle}; of the back half it runs one unit and puts the
//           rest into its own word, {e, empty} -> {e, rest}
//   deal    another thread in e finds {the loop before e, empty}: the owner is late. {e, its share}, of which the back
//           half is stolen in the same step
//
// Which loop comes before? Loops are numbered by the episode (episodes.h) and their place in it, 1, 2, ..., the
// same for all threads. A thread may be ahead of others by some loops that end without a barrier; who is in an
// episode knows that all have finished the loops of earlier ones. So before e = {episode, place} comes {episode,
// place - 1}, and before {episode, 1} any loop of an earlier episode. Nothing is skipped: a word of loop e says
// that the owner's shares of all loops before are handed out. Where the owner itself is still in an earlier loop
// than its word says, what it steals there has no place in the word; it keeps that to itself.
//
// The word has room for 12 bits of the episode and 12 of the place. How old it is tells `opened`, the whole number
// of the last loop that the owner opened, written after the word: the word is of that loop or a later one, less
// than 2^24 later. Where the owner has opened none for half of that, nobody deals or steals: it opens its share
// undisturbed. Nothing wraps meanwhile, for a thread in a loop keeps all others from passing the next barrier, and
// more than kMostLoops loops without one are not taken.
//
// Who has run the last unit gets no other. For compilers write `lastprivate` as "if my last iteration was the
// loop's last". So who comes to that unit while others still have plenty sets it aside, {nothing set aside} -> {e},
// and steals; {e} -> {nothing} takes it up again: the first thread that finds nothing else, at the latest who set
// it aside.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/arch/cpu.h"
#include "openmp/victims.h"

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
  std::atomic<uint64_t> opened;     // written by the owner
  std::atomic<uint64_t> set_aside;  // thread 0's, for all: the loop whose last unit is; 0: none

  // The owner's alone.
  alignas(kLineBytes) SharedLoop loop;
  uint64_t unit;  // iterations
  uint32_t units;
  uint32_t kept_first, kept_last;  // stolen units that have no place in the word
  bool at_last;                    // it has been given the last unit
};

inline constexpr unsigned kUnitBits = 20, kNumberBits = 24, kPlaceBits = 12;
inline constexpr uint64_t kMostUnits = (uint64_t{1} << kUnitBits) - 1;
inline constexpr uint64_t kMostLoops = (1u << kPlaceBits) - 1;  // of an episode
inline constexpr uint64_t kNumberMask = (uint64_t{1} << kNumberBits) - 1;
inline constexpr uint64_t kWindow = uint64_t{1} << (kNumberBits - 1);

inline constexpr uint64_t share_word(uint64_t loop, uint64_t first, uint64_t last) {
  return loop << 2 * kUnitBits | first << kUnitBits | last;
}
inline uint32_t first_unit(uint64_t word) { return static_cast<uint32_t>(word >> kUnitBits & kMostUnits); }
inline uint32_t last_unit(uint64_t word) { return static_cast<uint32_t>(word & kMostUnits); }
inline bool has_units(uint64_t word) { return first_unit(word) < last_unit(word); }
// The whole number of the word's loop: the only one with its bits within 2^kNumberBits from `opened` on.
inline uint64_t loop_of(uint64_t word, uint64_t opened) {
  return opened + (((word >> 2 * kUnitBits) - opened) & kNumberMask);
}
inline bool comes_before(uint64_t earlier, uint64_t loop) {
  return earlier + 1 == loop || ((loop & kMostLoops) == 1 && earlier < loop);
}
inline uint64_t whole_share(uint64_t loop, uint64_t units, uint32_t thread, uint32_t threads) {
  return share_word(loop, units * thread / threads, units * (thread + 1) / threads);
}

// Thread `me` of `threads` comes to the next loop of this episode. False, for all threads alike: too many loops since
// the last barrier.
inline bool open_share(Share* shares, uint32_t me, uint32_t threads, uint64_t episode, const SharedLoop& loop) {
  Share& own = shares[me];
  const uint64_t before = own.opened.load(std::memory_order_relaxed);  // our own
  uint64_t number = episode << kPlaceBits | 1;
  if (before >= number) {
    if ((before & kMostLoops) == kMostLoops) return false;
    number = before + 1;
  }
  const auto parts = [](uint64_t whole, uint64_t part) { return whole == 0 ? 0 : (whole - 1) / part + 1; };
  const uint64_t chunks = parts(loop.iterations, loop.chunk);
  const uint64_t together = chunks <= kMostUnits ? 1 : parts(chunks, kMostUnits);
  const uint64_t units = parts(chunks, together);
  own.loop = loop;
  own.unit = loop.chunk * together;
  own.units = static_cast<uint32_t>(units);
  own.at_last = false;
  const uint64_t mine = whole_share(number, units, me, threads);
  // Relaxed, here and below: no order but that of the one word is asked for.
  uint64_t word = own.word.load(std::memory_order_relaxed);
  while (loop_of(word, before) < number && !own.word.compare_exchange_weak(word, mine, std::memory_order_relaxed)) {
  }
  // Release: who sees the number sees a word that is as new.
  own.opened.store(number, std::memory_order_release);
  return true;
}

// A unit, to be run by the owner of `own`.
inline ShareRange give(Share& own, uint32_t unit) {
  own.at_last = unit + 1 == own.units;
  const uint64_t first = unit * own.unit;
  return {own.loop.start + first * own.loop.step,
          own.at_last ? own.loop.end : own.loop.start + (first + own.unit) * own.loop.step};
}

// What thread `me` could take of another's share: read, not taken yet.
struct Spoils {
  uint64_t word;         // as it was found
  uint32_t first, last;  // the units in it; in the loop of the thief
  bool late;             // the owner has not come
};

// In loop `number` of `units`. `opened` of the victim's was read before the word. False: nothing to be had.
inline bool look_at(uint64_t word, uint64_t opened, uint64_t number, uint64_t units, uint32_t victim, uint32_t threads,
                    Spoils* spoils) {
  if (number - opened >= kWindow) return false;  // also where the victim is ahead
  const uint64_t at = loop_of(word, opened);
  const bool late = at != number;
  if (late && (has_units(word) || at > number || !comes_before(at, number))) return false;
  const uint64_t there = late ? whole_share(number, units, victim, threads) : word;
  *spoils = {word, first_unit(there), last_unit(there), late};
  return late || has_units(word);
}

// Is there so much left with others that it is worth stealing? One unit is not, if its owner is there.
inline bool others_have(Share* shares, uint32_t me, uint32_t threads, const Victims* order) {
  const Share& own = shares[me];
  for (uint32_t i = 0; i + 1 < threads; ++i) {
    const uint32_t victim = victim_of(order, me, threads, i);
    // Acquire: as in steal_share().
    const uint64_t opened = shares[victim].opened.load(std::memory_order_acquire);
    Spoils spoils;
    if (look_at(shares[victim].word.load(std::memory_order_relaxed), opened, own.opened.load(std::memory_order_relaxed),
                own.units, victim, threads, &spoils) &&
        spoils.last - spoils.first > !spoils.late)
      return true;
  }
  return false;
}

// Thread `me`, whose word is `own_word`, with nothing in it, takes the back half of a victim's share. False: nothing.
inline bool steal_share(Share* shares, uint32_t me, uint32_t threads, uint32_t victim, uint64_t own_word,
                        ShareRange* range) {
  Share& own = shares[me];
  Share& other = shares[victim];
  const uint64_t number = own.opened.load(std::memory_order_relaxed);
  // Acquire: the word is read after it, so it is of this loop or later. An older one would not pass the comparison.
  const uint64_t opened = other.opened.load(std::memory_order_acquire);
  uint64_t word = other.word.load(std::memory_order_relaxed);
  for (Spoils spoils; look_at(word, opened, number, own.units, victim, threads, &spoils);) {
    const uint32_t first = spoils.first, last = spoils.last, middle = first + (last - first) / 2;
    if (!other.word.compare_exchange_weak(word, share_word(number, first, middle), std::memory_order_relaxed)) continue;
    if (first == last) return false;  // dealt; there was nothing in it
    if (middle + 1 < last) {
      const bool here = own_word >> 2 * kUnitBits == (number & kNumberMask);
      if (!here || !own.word.compare_exchange_strong(own_word, share_word(number, middle + 1, last),
                                                     std::memory_order_relaxed)) {
        own.kept_first = middle + 1;
        own.kept_last = last;
      }
    }
    *range = give(own, middle);
    return true;
  }
  return false;
}

// The next unit of thread `me`; victims in the order of `order` (victims.h). False: nothing is left that it could have.
inline bool take_share(Share* shares, uint32_t me, uint32_t threads, const Victims* order, ShareRange* range) {
  Share& own = shares[me];
  const uint64_t number = own.opened.load(std::memory_order_relaxed);  // our own
  uint64_t word = own.word.load(std::memory_order_relaxed);
  while (word >> 2 * kUnitBits == (number & kNumberMask) && has_units(word)) {
    const uint32_t unit = first_unit(word);
    const uint64_t rest = word + (uint64_t{1} << kUnitBits);
    if (!own.word.compare_exchange_weak(word, rest, std::memory_order_relaxed)) continue;
    word = rest;
    uint64_t none = 0;
    if (unit + 1 == own.units && others_have(shares, me, threads, order) &&
        shares->set_aside.compare_exchange_strong(none, number, std::memory_order_relaxed))
      break;
    *range = give(own, unit);
    return true;
  }
  if (own.kept_first < own.kept_last) {
    *range = give(own, own.kept_first++);
    return true;
  }
  if (own.units == 0 || own.at_last) return false;
  for (uint32_t i = 0; i + 1 < threads; ++i)
    if (steal_share(shares, me, threads, victim_of(order, me, threads, i), word, range)) return true;
  uint64_t set_aside = number;
  if (shares->set_aside.load(std::memory_order_relaxed) != number ||
      !shares->set_aside.compare_exchange_strong(set_aside, 0, std::memory_order_relaxed))
    return false;
  *range = give(own, own.units - 1);
  return true;
}

// In the child of a fork, where others are gone in the middle of their loops.
inline void forget_share(Share& share) {
  // Relaxed: there is one thread.
  share.word.store(0, std::memory_order_relaxed);
  share.opened.store(0, std::memory_order_relaxed);
  share.set_aside.store(0, std::memory_order_relaxed);
  share.kept_first = share.kept_last = 0;
}

}  // namespace smelt::openmp
