// A deque for work stealing: its owner pushes and takes at the bottom, newest first; thieves take at the top, oldest
// first. So the owner works in the order of the recursion, in its own cache, and a thief gets the largest piece.
//
// Chase and Lev, "Dynamic Circular Work-Stealing Deque", SPAA 2005, with the memory orders of Lê, Pop, Cohen and Zappa
// Nardelli, "Correct and Efficient Work-Stealing for Weak Memory Models", PPoPP 2013. There is one exception: where the
// owner moves bottom back, it releases, because C++20 no longer has the release sequences on which the paper counts.
// Bounded, because a pusher can do without: a full deque refuses.
//
// An entry may be looked at before it is taken, and then be left. `fits` is asked with an entry that another thread may
// be taking, running and freeing meanwhile. So the memory of entries must stay mapped, and the words that `fits` reads
// must be atomic. Its answer counts only if the entry is then taken, which proves that the entry was there all the
// time: `top` only grows, and only the owner changes `bottom`.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/arch/cpu.h"

namespace smelt::openmp {

// Which lines does a thread touch? The owner its own, which nobody else has, and that of `bottom` and of the place when
// it pushes; a thief's line, `top`, only when what it knows of it no longer answers. A thief polls `top`, which it has
// moved itself, and `bottom`. A line that another has read is a transfer for its owner, too (transport/line.h).
//
// It lies in zeroed memory.
template <typename Entry, uint32_t kRoom>
struct Deque {
  static_assert((kRoom & (kRoom - 1)) == 0);

  // The owner's alone: where it pushes next, and what it knows of `top`, which may have grown since.
  alignas(kLineBytes) int64_t pushed;
  int64_t seen;
  alignas(kLineBytes) std::atomic<int64_t> top;     // the next to be stolen
  alignas(kLineBytes) std::atomic<int64_t> bottom;  // `pushed`, for thieves
  std::atomic<Entry*> newest;                       // what it has pushed last, for a thief's prefetch alone
  std::atomic<uint64_t> made;                       // the user's word: a push stores to this line anyway
  alignas(kLineBytes) std::atomic<Entry*> ring[kRoom];

  // The owner: do so many wait? More may have been stolen meanwhile.
  bool holds(int64_t count) {
    if (pushed - seen < count) return false;
    // Acquire: as in push().
    seen = top.load(std::memory_order_acquire);
    return pushed - seen >= count;
  }

  // The owner, soon to push: the lines come meanwhile.
  void prefetch_push() const {
    prefetch_to_write(&bottom);
    prefetch_to_write(&ring[pushed & (kRoom - 1)]);
  }

  // The owner: where the next entry will be.
  const void* next_place() const { return &ring[pushed & (kRoom - 1)]; }

  // A thief that has been told of an entry, and of its place: the same. For writing what it is about to move and to
  // take: `top`, and the entry's first `bytes`.
  void prefetch_steal(const void* entry, size_t bytes, const void* place) const {
    prefetch(&bottom);
    prefetch_to_write(&top);
    prefetch(place);
    for (size_t at = 0; at < bytes; at += 64) prefetch_to_write(static_cast<const char*>(entry) + at);
  }
  // The owner. False: full.
  bool push(Entry* entry) {
    const int64_t b = pushed;
    // Acquire there: a place is written anew after the thread that emptied it has read it.
    if (holds(kRoom)) return false;
    ring[b & (kRoom - 1)].store(entry, std::memory_order_relaxed);
    newest.store(entry, std::memory_order_relaxed);           // never followed: it may be gone
    bottom.store(pushed = b + 1, std::memory_order_release);  // the entry, and what it points to, for thieves
    return true;
  }

  // The owner: the newest, if there is one and it fits.
  template <typename Fits>
  Entry* take(Fits fits) {
    if (!holds(1)) return nullptr;  // empty is for ever: only the owner pushes
    const int64_t b = pushed - 1;
    Entry* const entry = ring[b & (kRoom - 1)].load(std::memory_order_relaxed);
    if (!fits(*entry)) return nullptr;
    // Release, as in push(): a thief that reads this bottom takes what lies above.
    bottom.store(pushed = b, std::memory_order_release);
    // The claim of the bottom before the look at top; a thief: the look at top before the one at bottom. One of the two
    // sees the other.
    full_fence();
    int64_t t = top.load(std::memory_order_relaxed);
    if (t < b) return entry;
    // The last one: the thread that moves top has it. Relaxed on failure: the entry is gone, nothing is read.
    const bool ours =
        t == b && top.compare_exchange_strong(t, b + 1, std::memory_order_acq_rel, std::memory_order_relaxed);
    bottom.store(pushed = b + 1, std::memory_order_release);
    return ours ? entry : nullptr;
  }

  // Anybody else: the oldest, if there is one and it fits. nullptr also when another was faster.
  template <typename Fits>
  Entry* steal(Fits fits) {
    int64_t t = top.load(std::memory_order_acquire);
    fence_between_loads();
    // Acquire: pairs with push().
    const int64_t b = bottom.load(std::memory_order_acquire);
    if (t >= b) return nullptr;
    // What is needed next comes from the owner's cache, all at once: the word to be moved, the entry's place, and where
    // there is one alone the entry itself. Relaxed: a hint.
    prefetch_to_write(&top);
    if (t + 1 == b) {
      const char* const likely = reinterpret_cast<const char*>(newest.load(std::memory_order_relaxed));
      prefetch_to_write(likely);
      prefetch_to_write(likely + 64);
    }
    Entry* const entry = ring[t & (kRoom - 1)].load(std::memory_order_relaxed);
    if (!fits(*entry)) return nullptr;
    return top.compare_exchange_strong(t, t + 1, std::memory_order_acq_rel, std::memory_order_relaxed) ? entry
                                                                                                       : nullptr;
  }
};

}  // namespace smelt::openmp
