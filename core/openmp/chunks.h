// Dynamic loops: chunks in the order in which they are asked for.
//
// With schedule(dynamic), a thread that asks is given the next chunk. Programs count on that order, knowing or not:
// their iterations take turns to write, an early hit spares the rest of a search, later iterations take longer. So a
// loop has one counter, as in any OpenMP runtime. The counter's line moves between cores for every chunk. If bodies are
// short, that is most of the time. Only then does a thread take kBatch chunks at a time.
//
// The counter is a word {episode, next unit}. A unit is a chunk, or several neighbouring ones where the loop has more
// than 2^23. An episode (episodes.h) has kLoops counters, one for each of its loops without a barrier between them;
// more are not taken. A thread in an episode knows that all have left the loops of the episodes before. So an older
// word is of a loop that is over: a thread that comes early may add to it, and replaces it by {its episode, its units}.
// From then on only threads in this loop add to it. Episodes are told apart by 40 bits: 2^40 barriers take half a day.
//
// A batch is a word in its thread's own line, {place of the loop in the episode, first unit, units left}. Its thread
// takes units from the front. A thread for which the counter has none left takes others' in the same way, by
// compare-and-swap, so that a batch whose bodies turn out to be long is run by all. Such a thread is given units out of
// order, which `dynamic` allows since OpenMP 5.0. The loop's last unit is run when no other is held: compilers write
// `lastprivate` as "if my last iteration was the loop's last", so the thread that has run it is given no other.
//
// No iteration waits for ever for an earlier one, though batches be held. Units leave the counter and every batch in
// rising order; a thread takes from the counter only when it holds none, and another's only when it holds none but the
// last. So let u be the lowest unit that is not finished. There are three cases. (a) u is being run. (b) A thread holds
// it: that thread can wait only for units before u, and then takes u next. (c) It is in the counter: so are all later
// ones, no thread is in a later one, and the first that asks is given u.
//
// When are bodies short? Now and then a thread looks at the clock: how long is the body of one unit, how long a trip to
// the counter, and how long does it take on average from unit to unit? Bodies are short where two looks in a row say
// that one takes less than half of that time, and the longest trip takes more than half of it. So they are not where an
// iteration waits for others, or where all but the one that was looked at are long. With batches, all threads together
// must need at least a quarter less time for a unit; else they end, and at once with a batch whose units take more than
// twice as long as the thread's had without. Batches begin with one unit and double, and begin anew where they are
// judged. The finding holds for the next loop at the same site.
//
// Guided loops: the next chunk is what is left, divided by the number of threads (once or several times, as the
// runtime does), and at least as long as was asked for. So the lengths of all chunks follow from the loop alone, and
// the counter has to say only which one is next: a thread that takes chunk k walks from the last one that it had to the
// k-th by itself. Runtimes keep the next iteration instead, which takes a compare-and-swap that fails where threads
// come at once.
//
// Sections are a loop over their numbers, from 1 on, one at a time: a thread in one section may wait for another.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

#include "base/arch/cpu.h"
#include "base/ticks.h"

namespace smelt::openmp {

// A loop as a thread is told of it; numbers modulo 2^64.
struct DynamicLoop {
  uint64_t start, end, step;
  uint64_t iterations;
  uint64_t chunk;       // at least 1
  uint32_t guided = 0;  // not 0: by chunks that become shorter, down to `chunk`: what is left / (guided * threads)
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
struct Chunk {
  uint64_t begin, end;
};

inline constexpr uint32_t kLoops = 16;                    // of an episode
inline constexpr uint32_t kBatch = 32;                    // at most; they double up to it
inline constexpr unsigned kUnitBits = 24, kLeftBits = 8;  // a counter: 40 + 24 bits; a batch: 32 + 24 + 8
inline constexpr uint64_t kMostUnits = uint64_t{1}
                                       << (kUnitBits - 1);  // threads add to the counter behind the end, too
inline constexpr uint64_t kUnitMask = (uint64_t{1} << kUnitBits) - 1, kLeftMask = (uint64_t{1} << kLeftBits) - 1;
inline constexpr uint64_t kEpisodeMask = ~uint64_t{0} >> kUnitBits;

// A look begins behind the counter, has a body's time when it next comes there, and that of the way, without the clock
// in between, kWay times later. It costs 100 to 200 ns, so that looks are kPause times apart, and kRest after batches.
enum class Stage : uint8_t { kNone, kBody, kWay };
inline constexpr uint32_t kFirstLook = 16, kWay = 16, kPause = 512, kRest = 4096;  // 512 apart: at most 0.4 ns a chunk
inline constexpr uint32_t kTrial = 4;                                              // batches that are judged together

// It is a team's, in zeroed memory.
struct alignas(kLineBytes) LoopCounter {
  std::atomic<uint64_t> word;
};

// Thread number i's is the i-th of an array, in zeroed memory.
struct alignas(kLineBytes) LoopThread {
  std::atomic<uint64_t> batch;

  // Only the owner uses it.
  alignas(kLineBytes) std::atomic<uint64_t>* counter;
  DynamicLoop loop;
  uint64_t stride;   // from unit to unit, in the loop's own numbers
  uint64_t units;    // guided: of iterations behind the last chunk that it has walked to
  uint64_t seen;     // so many had left the counter when the thread was last there
  uint64_t episode;  // of its last loop
  uint32_t place;    // loops of that episode that have begun
  uint32_t threads;  // of the team
  const void* site;  // of its last loop, in the program
  bool in_batches;   // it takes several units at a time
  bool has_batched;  // in this loop
  bool at_last;      // it has been given the last unit
  bool was_short;    // the body, at the last look
  Stage stage;       // of the look
  uint32_t until;    // so many times at the counter, to the look's next step; 0: it has never looked
  uint32_t count;    // units that it took the last time
  uint32_t batches;  // whole ones in a row
  uint64_t from;     // the first unit of the look, or of those batches
  uint64_t since;    // when the look began, or the last time at the counter; in ticks, as the following
  uint64_t began;    // those batches
  uint64_t clock;    // the time of one reading of the clock
  uint64_t trip;     // to the counter and back, the longest of two looks
  uint64_t body;
  uint64_t ticks;   // of the shorter one of two looks
  uint64_t handed;  // units that all threads took meanwhile

  // shares.h: one for each loop of an episode.
  alignas(kLineBytes) std::atomic<uint64_t> shares[kLoops];
};

inline uint64_t batch_word(uint64_t place, uint64_t first, uint64_t left) {
  return place << (kUnitBits + kLeftBits) | first << kLeftBits | left;
}

inline void look_later(LoopThread& own, uint32_t until) {
  own.stage = Stage::kNone;
  own.until = until;
}

// Thread `own` of `threads` comes to the next loop of this episode, whose units are iterations. False, for all threads
// alike: too many loops since the last barrier.
inline bool open_units(LoopCounter* counters, LoopThread& own, uint32_t threads, uint64_t episode,
                       const DynamicLoop& loop) {
  if (own.episode != episode) {
    own.episode = episode;
    own.place = 0;
  }
  if (own.place == kLoops) return false;
  own.counter = &counters[own.place++].word;
  own.threads = threads;
  own.loop = loop;
  own.units = loop.iterations;
  own.seen = 0;
  own.has_batched = loop.guided != 0;  // which takes the long way
  return true;
}

// A unit is a chunk, or several.
inline void measure_units(LoopThread& own, const DynamicLoop& loop) {
  const auto parts = [](uint64_t whole, uint64_t part) { return whole == 0 ? 0 : (whole - 1) / part + 1; };
  const uint64_t chunks = parts(loop.iterations, loop.chunk);
  const uint64_t together = chunks <= kMostUnits ? 1 : parts(chunks, kMostUnits);
  own.stride = loop.chunk * together * loop.step;
  own.units = parts(chunks, together);
}

// The same of any loop; it is at `site`.
inline bool open_loop(LoopCounter* counters, LoopThread& own, uint32_t threads, uint64_t episode,
                      const DynamicLoop& loop, const void* site) {
  if (!open_units(counters, own, threads, episode, loop)) return false;
  if (loop.guided) return true;
  measure_units(own, loop);
  own.count = 0;
  own.at_last = false;
  if (own.site != site) {
    own.site = site;
    own.in_batches = own.was_short = false;
  }
  own.has_batched = own.in_batches;
  own.batches = 0;
  if (own.until == 0) own.until = kFirstLook;
  if (own.stage != Stage::kNone) look_later(own, kPause);
  return true;
}

// The next `count` units leave the counter, as far as they are there: the first of them.
inline uint64_t take_units(LoopThread& own, uint64_t count) {
  // Relaxed, here and below: no order but that of the one word is asked for.
  uint64_t found = own.counter->fetch_add(count, std::memory_order_relaxed);
  const uint64_t episode = own.episode & kEpisodeMask;
  if (found >> kUnitBits != episode) [[unlikely]] {
    found += count;
    while (found >> kUnitBits != episode)
      if (own.counter->compare_exchange_weak(found, episode << kUnitBits | count, std::memory_order_relaxed)) return 0;
    found = own.counter->fetch_add(count, std::memory_order_relaxed);
  }
  return found & kUnitMask;
}

// Takes a unit that is held in `batch`, in the loop at `place` of this episode. Words of other loops have another
// place, or nothing is left in them, for a thread that holds units does not leave the loop.
inline bool take_held(std::atomic<uint64_t>& batch, uint32_t place, uint64_t* unit) {
  uint64_t word = batch.load(std::memory_order_relaxed);
  while ((word & kLeftMask) != 0 && word >> (kUnitBits + kLeftBits) == place) {
    const uint64_t rest = word + (uint64_t{1} << kLeftBits) - 1;
    if (!batch.compare_exchange_weak(word, rest, std::memory_order_relaxed)) continue;
    *unit = word >> kLeftBits & kUnitMask;
    return true;
  }
  return false;
}

inline bool take_others(LoopThread* all, uint32_t me, uint64_t* unit) {
  const LoopThread& own = all[me];
  for (uint32_t i = 1; i < own.threads; ++i)
    if (take_held(all[(me + i) % own.threads].batch, own.place, unit)) return true;
  return false;
}

// Holds units from `first` on. A plain store: the thread holds none, and nobody else changes a word without units.
inline void hold(LoopThread& own, uint64_t first, uint64_t left) {
  own.batch.store(batch_word(own.place, first, left), std::memory_order_relaxed);
}

// Takes a unit, at a step of a look.
[[gnu::noinline]] inline uint64_t take_and_look(LoopThread& own) {
  const uint64_t first = ticks(), before = ticks(), unit = take_units(own, 1), now = ticks();
  own.trip = std::max(own.trip, now - before);
  switch (own.stage) {
    case Stage::kNone:
      if (!own.was_short) own.trip = now - before;
      own.since = now;
      own.clock = before - first;
      own.stage = Stage::kBody;
      own.until = 1;
      break;
    case Stage::kBody:
      own.body = first - own.since > own.clock ? first - own.since - own.clock : 0;
      own.since = now;
      own.from = unit;
      own.stage = Stage::kWay;
      own.until = kWay;
      break;
    case Stage::kWay: {
      const uint64_t taken = first - own.since;
      const bool is_short = 2 * kWay * own.body < taken || own.body <= own.clock;
      if (!own.was_short || taken < own.ticks) {
        own.ticks = taken;
        own.handed = unit - own.from;
      }
      own.in_batches = own.has_batched = is_short && own.was_short && 2 * kWay * own.trip > own.ticks;
      own.since = now;
      own.batches = 0;
      look_later(own, is_short && !own.was_short ? 1 : kPause);
      own.was_short = is_short && !own.was_short;
    }
  }
  return unit;
}

// Takes several units, if batches are still worth it.
inline uint64_t take_batch(LoopThread& own) {
  const uint64_t now = unfenced_ticks(), taken = now - own.since;
  own.since = now;
  const bool is_long = own.count > 0 && kWay * taken > std::max(2 * own.count, kWay) * own.ticks;
  const bool is_judged = own.batches == kTrial;
  // Where batches may end, the thread takes one unit and holds none, because it may go the short way from there.
  const uint64_t most = std::min<uint64_t>(kBatch, 2 * own.count);
  own.count = own.count == 0 || is_long || is_judged
                  ? 1
                  : static_cast<uint32_t>(std::clamp<uint64_t>((own.units - own.seen) / (2 * own.threads), 1, most));
  const uint64_t unit = take_units(own, own.count);
  const bool is_slow = is_judged && 4 * (now - own.began) * own.handed > 3 * own.ticks * (unit - own.from);
  if (own.count < kBatch) {
    own.batches = 0;
  } else if (own.batches++ == 0) {
    own.began = now;
    own.from = unit;
  }
  if (is_long || is_slow) {
    own.in_batches = own.was_short = false;
    // A thread that has found no more than short bodies goes the short way again.
    own.has_batched = is_long;
    look_later(own, kRest);
  }
  return unit;
}

inline void name_chunk(const LoopThread& own, uint64_t unit, Chunk* chunk) {
  chunk->begin = own.loop.start + unit * own.stride;
  chunk->end = unit + 1 == own.units ? own.loop.end : chunk->begin + own.stride;
}

// The next chunk of a guided loop.
inline bool take_guided(LoopThread& own, Chunk* chunk) {
  if (own.units == 0) return false;  // it has had the last one
  const uint32_t parts = own.threads * own.loop.guided;
  const unsigned shift = static_cast<unsigned>(std::countr_zero(parts));
  const bool is_power = parts >> shift == 1;  // a division takes as long as a trip to a near counter
  const uint64_t wanted = take_units(own, 1);
  while (own.units > 0) {
    const uint64_t share = (is_power ? (own.units - 1) >> shift : (own.units - 1) / parts) + 1;
    const uint64_t length = std::min(std::max(share, own.loop.chunk), own.units);
    const uint64_t begin = own.loop.iterations - own.units;
    own.units -= length;
    if (own.seen++ < wanted) continue;
    chunk->begin = own.loop.start + begin * own.loop.step;
    chunk->end = own.units == 0 ? own.loop.end : chunk->begin + length * own.loop.step;
    return true;
  }
  return false;
}

// Where units may be held, where the clock is looked at, and where chunks differ.
[[gnu::noinline]] inline bool take_watched(LoopThread* all, uint32_t me, Chunk* chunk) {
  LoopThread& own = all[me];
  if (own.loop.guided) return take_guided(own, chunk);
  if (own.at_last) return false;
  uint64_t unit;
  if (!take_held(own.batch, own.place, &unit)) {
    unit = own.units;
    if (own.seen < own.units) {
      if (own.in_batches) {
        unit = take_batch(own);
      } else {
        own.count = 1;
        unit = --own.until > 0 ? take_units(own, 1) : take_and_look(own);
      }
      own.seen = std::min(unit + own.count, own.units);
      if (own.seen > unit + 1) hold(own, unit + 1, own.seen - unit - 1);
    }
    if (unit >= own.units && !(own.has_batched && take_others(all, me, &unit))) return false;
  }
  if (unit + 1 == own.units) {
    own.at_last = true;
    if (uint64_t other; own.has_batched && take_others(all, me, &other)) {
      hold(own, unit, 1);
      unit = other;
      own.at_last = false;
    }
  }
  name_chunk(own, unit, chunk);
  return true;
}

// The next chunk of thread `me`. False: nothing is left that it could have. As short as can be where chunks come from
// the counter one by one: a processor that sees its next access to the counter early asks for the line early.
inline bool take_chunk(LoopThread* all, uint32_t me, Chunk* chunk) {
  LoopThread& own = all[me];
  if (own.has_batched || own.until == 1) [[unlikely]]
    return take_watched(all, me, chunk);
  --own.until;
  const uint64_t unit = take_units(own, 1);
  if (unit >= own.units) return false;
  name_chunk(own, unit, chunk);
  return true;
}

// The number of the next section; 0: none is left.
inline uint32_t take_section(LoopThread& own) {
  if (own.seen >= own.units) return 0;  // it has had the last one
  own.seen = take_units(own, 1) + 1;
  return own.seen <= own.units ? static_cast<uint32_t>(own.seen) : 0;
}

// In the child of a fork, where others are gone in the middle of their loops.
inline void forget_loops(LoopCounter* counters, LoopThread* all, uint32_t count) {
  // Relaxed: there is one thread.
  for (uint32_t i = 0; i < kLoops; ++i) counters[i].word.store(0, std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) {
    all[i].batch.store(0, std::memory_order_relaxed);
    for (auto& share : all[i].shares) share.store(0, std::memory_order_relaxed);
    all[i].episode = all[i].place = 0;
  }
}

}  // namespace smelt::openmp
