// Which of a worker's threads may run: a vector of bits in two levels (Dang, Snir and Gropp, "Towards millions of
// communicating threads", EuroMPI 2016, section 3.2).
//
// A queue of runnable threads costs its lock and its links; here making a thread runnable is one atomic "or" into a
// word, and finding one is counting zeros. A word of the first level stands for 64 groups, a group is a line of eight
// words, a bit in them a thread:
//
//     top      | 1 0 1 ... |  8 words: "perhaps something is set in that group"
//                |   |
//     groups   | 0 0 0 1 0 0 0 0 |   | ... |      512 lines of 8 words: bit i is set
//
// set() sets the bit first and then, if it is not there, the hint. A taker that finds a group empty takes its hint
// back, and looks at the group once more: either it sees the bit, and puts the hint back, or the setter of the bit sees
// that the hint is gone (Dekker's argument, by the fences). So a hint may stand over an empty group, but no bit is
// without one for long.
//
// Different from the paper: it takes whole words, by exchange, into a variable of the worker, where nobody else finds
// the rest of them when a thread runs for long. Here bits are taken one by one and stay where thieves find them. The
// paper's bound on waiting holds by going round: take() begins behind the one taken last.
//
// The same vector says which positions of a worker's table are unused. All functions are safe from any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/arch/cpu.h"

namespace smelt::thread {

inline constexpr uint32_t kGroupWords = 8, kGroups = 512;      // a group's words fill a line; `top` has a bit for each
inline constexpr uint32_t kBits = kGroups * kGroupWords * 64;  // 262144
inline constexpr uint32_t kTopWords = kGroups / 64;
inline constexpr uint32_t kNoBit = ~0u;  // an answer: none is set

// In zeroed memory; unused words are not touched.
struct BitVector {
  alignas(kLineBytes) std::atomic<uint64_t> top[kTopWords];
  alignas(kLineBytes) std::atomic<uint64_t> words[kGroups * kGroupWords];

  void set(uint32_t bit) {
    // release: the taker of the bit has all that was done before
    words[bit / 64].fetch_or(uint64_t{1} << bit % 64, std::memory_order_release);
    fence_after_update();  // the bit before the look at its hint; pairs with the one in is_empty()
    const uint32_t group = bit / (64 * kGroupWords);
    // relaxed, both: the fences order them
    if (!(top[group / 64].load(std::memory_order_relaxed) >> group % 64 & 1)) [[unlikely]] {
      top[group / 64].fetch_or(uint64_t{1} << group % 64, std::memory_order_relaxed);
      fence_after_update();  // the hint, too, before the caller's next look
    }
  }

  // Perhaps something is set. No bit is missed whose set() had finished before, in the order of fences.
  bool maybe_any() const {
    uint64_t any = 0;
    // relaxed: a caller that must not miss one has a fence before this
    for (const auto& word : top) any |= word.load(std::memory_order_relaxed);
    return any != 0;
  }

  // The bit at `from`, or the first behind it, going round, taken; kNoBit: nothing was there. *hidden: for a moment a
  // hint was gone that something stood behind, and a worker that looked then has missed it. A fence comes after that.
  uint32_t take(uint32_t from, bool* hidden) {
    uint32_t word;
    const uint64_t got = find<false>(from, 1, &word, hidden);
    return got == 0 ? kNoBit : word * 64 + static_cast<uint32_t>(__builtin_ctzll(got));
  }

  // Half of the bits, rounded up, of the first word that has so many at least, from that of `from` on, going round,
  // taken; 0: no word has. *word: which.
  uint64_t take_half(uint32_t from, int least, uint32_t* word) { return find<true>(from & ~63u, least, word, nullptr); }

 private:
  template <bool half>
  uint64_t find(uint32_t from, int least, uint32_t* word, bool* hidden) {
    const uint32_t first = from / 64 % (kGroups * kGroupWords);
    // The rest of the word and of its group; the groups behind it, those before it, and the group itself again.
    if (const uint64_t got = take_of<half>(first, ~uint64_t{0} << from % 64, least)) return *word = first, got;
    const uint32_t group = first / kGroupWords;
    for (uint32_t w = first + 1; w < (group + 1) * kGroupWords; ++w)
      if (const uint64_t got = take_of<half>(w, ~uint64_t{0}, least)) return *word = w, got;
    for (uint32_t done = 0; done < kGroups;) {
      const uint32_t next = next_hint((group + 1 + done) % kGroups, kGroups - done);
      if (next == kNoBit) break;
      for (uint32_t w = next * kGroupWords; w < (next + 1) * kGroupWords; ++w)
        if (const uint64_t got = take_of<half>(w, ~uint64_t{0}, least)) return *word = w, got;
      done = (next + kGroups - group - 1) % kGroups;
      if (half || is_empty(next))
        ++done;
      else
        *hidden = true;
    }
    return 0;
  }

  template <bool half>
  uint64_t take_of(uint32_t word, uint64_t mask, [[maybe_unused]] int least) {
    // relaxed: a look; the exchange decides
    uint64_t seen = words[word].load(std::memory_order_relaxed);
    for (;;) {
      uint64_t some = seen & mask;
      if (some == 0) return 0;
      if constexpr (half) {
        const int count = __builtin_popcountll(some);
        if (count < least) return 0;
        for (int leave = count / 2; leave > 0; --leave) some &= some - 1;
      } else {
        some &= -some;
      }
      // acquire: pairs with set(). relaxed on failure: it looks again
      if (words[word].compare_exchange_weak(seen, seen & ~some, std::memory_order_acquire, std::memory_order_relaxed))
        return some;
    }
  }

  // The first group at `from` or behind it, of `count`, that has a hint.
  uint32_t next_hint(uint32_t from, uint32_t count) const {
    uint32_t word = from / 64;
    // relaxed, both: hints
    uint64_t hints = top[word].load(std::memory_order_relaxed) & ~uint64_t{0} << from % 64;
    for (uint32_t more = kTopWords; hints == 0; --more) {
      if (more == 0) return kNoBit;
      word = (word + 1) % kTopWords;  // at last the first one again, with the bits before `from`
      hints = top[word].load(std::memory_order_relaxed);
    }
    const uint32_t group = word * 64 + static_cast<uint32_t>(__builtin_ctzll(hints));
    return (group - from) % kGroups < count ? group : kNoBit;
  }

  // A group with a hint in which nothing was found. False: something has come meanwhile.
  bool is_empty(uint32_t group) {
    // relaxed: the fence orders it
    top[group / 64].fetch_and(~(uint64_t{1} << group % 64), std::memory_order_relaxed);
    fence_after_update();  // the hint is gone before the second look; pairs with set()
    uint64_t any = 0;
    for (uint32_t w = group * kGroupWords; w < (group + 1) * kGroupWords; ++w)
      any |= words[w].load(std::memory_order_relaxed);
    if (any == 0) return true;
    top[group / 64].fetch_or(uint64_t{1} << group % 64, std::memory_order_relaxed);
    fence_after_update();  // before the caller's next look
    return false;
  }
};

}  // namespace smelt::thread
