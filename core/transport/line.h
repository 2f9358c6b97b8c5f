// How one participant tells another: a flag in a cache line that only its owner writes.
//
// A flag carries an epoch, the number of the last episode in which its owner got this far. Epochs only grow, so
// nothing is ever reset, nothing is acknowledged, and an episode that everybody left half-way (the OpenMP shim does
// that when a real barrier must run tasks) needs no repair. 64 bits do not wrap: 10^9 episodes a second for 584 years.
//
// The idea of a message as one cache line with one writer is UMP's and URPC's (Baumann et al., SOSP 2009; Bershad et
// al., 1991); epochs instead of a sequence of slots suffice because a collective never runs two episodes ahead.
//
// The rule. A line that others poll is stored to once an episode, by its owner, and never loaded by it. On some
// processors (AMD's, Intel's Emerald Rapids) a line that was written and then read goes over to its reader. A look by
// the owner fetches it back, and the owner waits for that; a store alone waits for nobody. The owner keeps a value that
// it must compare with beside, in a line of its own. Measured on two CPUs, with the look and without:
//
//   a region of two threads: is it the last one's message     far: 622, 488 ns (the exchange by hand: 435)
//   (team/fork_join.h)?                                       near: 135, 125 ns (108)
//   does somebody sleep, with the bell in the epoch's line    590-680, 400-470 ns, one hop 250 ns
//   (below)?
//   is the cell of a message free (message/inbox.h)? So       near, with other savings: a ping-pong 167, 155 ns both
//   claims lie beside the cells                               ways, a ring of two 240, 170 ns
//   is my deque empty, are all tasks over, is the barrier     near, Emerald Rapids (one hop 135 ns), with other
//   marked (openmp/deque.h, gomp_shim/task_barrier.cc)?       savings: a task that another takes 744, 585 ns
//
// On Emerald Rapids (a hit is 24 ns, with the fences around it) a look at a line that another has read since costs 76
// ns, one at a line that another has written 81, and eight of these at once 150. A neighbour of 64 bytes that another
// writes to costs nothing.
//
// A reader, too, looks at a line only when it waits for it. A load that misses holds up all stores behind it, because
// stores become visible in order, and a reader's next store is what somebody else waits for. Measured the same way:
//
//   is there another message in the inbox                     both send 8 bytes at the same time, far: 429, 294 ns;
//   (message/inflow.cc)?                                      near: 102, 71 ns
//
// A line that two share, with a flag each, is none of these: its reader wants the other's flag.
//
// Sleeping. A reader that has polled long enough goes to sleep on the flag's bell, and the writer must notice that. The
// bell lies in a line of its own, which hardly ever changes, so looking is a hit in the writer's own cache. The cost is
// the store-load order that the pair (epoch, sleepers) needs on both sides. Two ways to have it:
//
//   writer:  epoch = e;  [fence]  look at sleepers
//   sleeper: sleepers = 1;  fence [membarrier on every running thread];  look at epoch again;  sleep while wake is
//   unchanged
//
//   kUnfenced  sleeping is rare: the sleeper alone pays, with membarrier, a few µs; the writer's fence is left out
//   kFenced    sleeping is the rule (more threads than CPUs, OMP_WAIT_POLICY=passive): the writer pays its 20 cycles
//
// Where the kernel refuses membarrier, unfenced sleepers sleep in short slices instead. It may do so at any time (a
// filter that the program sets for itself), so the result of every call counts, and each sleep decides for itself: for
// as long as it takes if its own membarrier went well, else for a slice. That is right whatever the writers do, because
// a slice needs nobody: a sleeper that was missed finds the epoch when the slice is over. Telling the writers to fence
// from now on would not be: one of them may be between its store and its look just then, so the sleeper would need its
// slices all the same, and every post would have to ask. Flags that are made after a refusal are posted with the fence
// (policy/wait.h). tests/model_check/bell.pml has both ways, the slices, and the failures without.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/arch/cpu.h"

namespace smelt {

using Epoch = std::atomic<uint64_t>;  // owner: release store; readers: acquire load

struct Bell {
  std::atomic<uint32_t> sleepers{0};  // set by a reader before it sleeps, cleared by the waker
  std::atomic<uint32_t> wake{0};      // the futex word: changes with every wake-up
  // Where the owner last ran, its CPU's number + 1, or 0: two on one CPU must not spin on each other.
  std::atomic<uint32_t> cpu{0};
};

// A flag is an epoch and a bell, wherever they lie.
struct Flag {
  Epoch& epoch;
  Bell& bell;
};

// The usual place: each alone in a line.
struct alignas(kLineBytes) Line {
  alignas(64) Epoch epoch{0};
  alignas(64) Bell bell;

  operator Flag() { return {epoch, bell}; }
};

// Wakes the sleepers on the bell. Safe from any thread.
void wake_sleepers(Bell& bell);

enum class PostOrder : uint8_t { kUnfenced, kFenced };

// Tells every reader that the owner has got to episode `epoch`. Everything the owner wrote before is visible to a
// reader that sees it (release / acquire).
inline void post(Flag flag, uint64_t epoch, PostOrder order = PostOrder::kUnfenced) {
  flag.epoch.store(epoch, std::memory_order_release);
  if (order == PostOrder::kFenced)
    full_fence();
  else  // only the compiler must keep the order: the sleeper's membarrier does the rest
    std::atomic_signal_fence(std::memory_order_seq_cst);
  if (flag.bell.sleepers.load(std::memory_order_relaxed) != 0) [[unlikely]]
    wake_sleepers(flag.bell);
}

// Has the owner got to episode `epoch`?
inline bool poll(const Epoch& flag, uint64_t epoch) { return flag.load(std::memory_order_acquire) >= epoch; }

}  // namespace smelt
