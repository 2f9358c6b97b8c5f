// When a crowd stops yielding because a foreign thread gets the yielded time, and when it tries again.
//
// Among team-mates alone a yield is the fastest way to wait there is: it costs some µs where a sleep costs ten. Beside
// a foreign busy thread it is the slowest: each one that goes there costs a time slice, as long as hundreds of sleeps,
// and the scheduler counts the yielder's own slice as used. Which of the two it is shows only afterwards. So this is
// congestion control (Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988), with a lost slice in the place of a
// lost packet:
//
//   lost a slice      nobody yields for a pause, all go straight to sleep; each further loss doubles the pause, up to
//                     the longest
//   the pause is over yields are tried again, by everybody
//   a clean run       of so many waits that yielded and lost nothing have gained what one slice costs: the pause is
//                     halved, and forgotten when it is no longer than the first was
//
// The pause is a time and not a number of waits: a trial loses a few slices per thread, so the longest pause bounds
// which share of the time trials can cost, whatever the program does, and how long a team sleeps on after the foreigner
// is gone.
//
// The state is the process's, not a thread's or a team's: a foreigner on one CPU is soon on another, and teams share
// the CPUs. All accesses are relaxed and nothing is locked: it guards no data, and races do no harm. Two losses at once
// may be counted as one or two, so a pause may be half or twice as long; a clean wait may not be counted.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace smelt {

class YieldBackoff {
 public:
  struct Limits {
    int64_t first_ns;  // the first pause
    int64_t longest_ns;
    uint32_t clean_run;  // waits without a loss that halve it
  };
  constexpr explicit YieldBackoff(const Limits& limits) : limits_(limits) {}

  bool may_yield(int64_t now) const { return now >= until_.load(std::memory_order_relaxed); }

  // A yield in a wait that began to yield at `began` has gone to a foreigner, and came back `now`.
  void lost(int64_t began, int64_t now) {
    clean_.store(0, std::memory_order_relaxed);
    // Begun before the last loss was known: one trial of several threads, not a second one.
    if (began < known_.load(std::memory_order_relaxed)) return;
    const int64_t pause = pause_.load(std::memory_order_relaxed);
    const int64_t longer = pause == 0 ? limits_.first_ns : std::min(2 * pause, limits_.longest_ns);
    known_.store(now, std::memory_order_relaxed);
    pause_.store(longer, std::memory_order_relaxed);
    until_.store(now + longer, std::memory_order_relaxed);
  }

  // A wait yielded and lost nothing.
  void kept() {
    // The usual case: nothing is stored, so the line stays with everybody.
    const int64_t pause = pause_.load(std::memory_order_relaxed);
    if (pause == 0) return;
    if (clean_.fetch_add(1, std::memory_order_relaxed) + 1 < limits_.clean_run) return;
    clean_.store(0, std::memory_order_relaxed);
    pause_.store(pause > limits_.first_ns ? pause / 2 : 0, std::memory_order_relaxed);
  }

  int64_t pause() const { return pause_.load(std::memory_order_relaxed); }

 private:
  const Limits limits_;
  std::atomic<int64_t> until_{0};   // no yields before
  std::atomic<int64_t> pause_{0};   // the last pause, as far as it is not forgotten
  std::atomic<int64_t> known_{0};   // when the last loss was noticed
  std::atomic<uint32_t> clean_{0};  // yields in a row that lost nothing, as long as a pause is remembered
};

}  // namespace smelt
