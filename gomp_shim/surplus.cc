#include "surplus.h"

#include <dlfcn.h>
#include <sched.h>

#include <cerrno>
#include <new>

#include "base/log.h"
#include "base/options.h"
#include "base/os/bare.h"
#include "base/os/os.h"
#include "base/os/stack_memory.h"
#include "hot_team.h"
#include "openmp/callers.h"
#include "openmp/episodes.h"
#include "own_tasks.h"
#include "real.h"
#include "tasks.h"
#include "thread/own_tls.h"
#include "thread/switch.h"

namespace smelt::gomp {

extern "C" {
constinit thread_local Lent* smelt_gomp_lent;
}

namespace {

// Lent::state. kHomeward: it may be run by its own kernel thread and no other.
enum : uint32_t { kRunning, kRunnable, kHomeward };
// Lent::order. From kGiven on: run the thread of that number.
enum : uint32_t { kBusy, kFree, kGiven };

constexpr uint32_t kNobody = ~0u;      // as the watchman
constexpr size_t kStackBytes = 16384;  // of a kernel thread that sleeps: a few frames, and no signal's
constexpr int64_t kTickNs = 10'000'000, kLongestTickNs = 160'000'000;  // of the watchdog
constexpr uint64_t kFewEvictions = 8, kRegionsEach = 16;               // that many are too much, if as often as that
// The signals that a sleeping kernel thread blocks: all but the C library's own for setuid() and its kin, which waits
// for every thread to take it.
constexpr uint64_t kSetxid = 33, kAllSignals = ~(uint64_t{1} << (kSetxid - 1));

// The words that a leaving thread hands to the one that goes on in its place; on its stack, and gone once the thread is
// settled.
struct Left {
  Lent* thread;  // nullptr: the idle loop of `kernel`
  Lent* kernel;  // which they have in common
  uint32_t state;
  Lent* to;  // kRunning: the kernel thread to which it is given
};

bool is_carrier(const Lent& kernel) { return kernel.number == kernel.block->first; }

// Wakes that kernel thread if it sleeps.
void ring(Lent& kernel) {
  // Release: the news, before. The sleeper has the bell with acquire before it looks.
  kernel.bell.fetch_add(1, std::memory_order_release);
  os::bare_futex_wake_all(&kernel.bell);
}

// Is what it waits for there? Its own fields may be those of its next wait: then it looks again itself.
bool is_over(const Lent& thread) {
  // Relaxed: as said, or ordered by the state.
  const std::atomic<uint64_t>* const word = thread.word.load(std::memory_order_relaxed);
  const uint64_t target = thread.target.load(std::memory_order_relaxed);
  if (!word || word->load(std::memory_order_acquire) >= target) return true;  // acquire: the writes before
  return thread.stops.load(std::memory_order_relaxed) && is_real(thread.team->region->real_epoch, target);
}

// Takes a thread that may go on. The caller runs it or gives it to somebody who does.
bool take(Lent& thread, uint32_t state) {
  // Relaxed: the exchange decides.
  if (thread.state.load(std::memory_order_relaxed) != state || !is_over(thread)) return false;
  // Acquire: its context, and what it waits for.
  return thread.state.compare_exchange_strong(state, kRunning, std::memory_order_acquire, std::memory_order_relaxed);
}

// The next thread that this kernel thread may run: its own thread on the way home; a carrier, any of its block behind
// `from`.
Lent* take_next(Lent& kernel, uint32_t from) {
  if (take(kernel, kHomeward)) return &kernel;
  if (!is_carrier(kernel)) return nullptr;
  const LentBlock& block = *kernel.block;
  Lent* const lent = kernel.team->lent;
  for (uint32_t i = from + 1; i < block.end; ++i)
    if (take(lent[i], kRunnable)) return &lent[i];
  for (uint32_t i = block.first; i < from; ++i)
    if (take(lent[i], kRunnable)) return &lent[i];
  return nullptr;
}

// The first act of a thread that goes on on a kernel thread: the one before has stopped running.
void settle(const thread::Transfer& transfer) {
  const Left left = *static_cast<const Left*>(transfer.data);
  if (!left.thread) {
    left.kernel->idle = transfer.from;
    os::bare_block_signals(left.kernel->signals);
    return;
  }
  Lent& thread = *left.thread;
  thread.context = transfer.from;
  if (left.state == kRunning) {
    // Release: the context.
    left.to->order.store(kGiven + thread.number, std::memory_order_release);
    ring(*left.to);
    return;
  }
  // Release: the context and what it waits for. From here on it may be anywhere.
  thread.state.store(left.state, std::memory_order_release);
  Lent& home = left.state == kHomeward ? thread : thread.team->lent[thread.block->first];
  if (&home != left.kernel) ring(home);
}

// There must be a watchdog: a kernel thread that sleeps is called, and becomes it when it looks. seq_cst: a kernel
// thread that gives the watch up says so before it looks for sleepers. One that is given a thread has another `order`
// before it looks whether there is a watchdog. So of the two one sees the other.
void give_up_watch(Lent& kernel) {
  Surplus& team = *kernel.team;
  if (team.watchman.load(std::memory_order_seq_cst) == kernel.number)
    team.watchman.store(kNobody, std::memory_order_seq_cst);
  if (team.watchman.load(std::memory_order_seq_cst) != kNobody) return;
  for (uint32_t i = 0; i < team.threads; ++i) {
    Lent& other = team.lent[i];
    if (is_carrier(other) || other.order.load(std::memory_order_seq_cst) != kFree) continue;
    return ring(other);
  }
}

// A kernel thread for one that is taken, of those that sleep; its own, if it may be. nullptr: none sleeps just now.
Lent* take_kernel(Lent& thread) {
  Lent* const lent = thread.team->lent;
  const auto have = [](Lent& kernel) {
    uint32_t free = kFree;
    // seq_cst: give_up_watch()
    return kernel.order.compare_exchange_strong(free, kBusy, std::memory_order_seq_cst, std::memory_order_relaxed);
  };
  if (have(thread)) return &thread;
  for (uint32_t i = thread.block->first; i < thread.block->end; ++i)
    if (have(lent[i])) return &lent[i];
  return nullptr;
}

// All of the block that may go on get kernel threads to themselves. How many?
uint32_t evict(LentBlock& block, Lent* lent) {
  uint32_t count = 0;
  for (uint32_t i = block.first; i < block.end; ++i) {
    Lent& thread = lent[i];
    if (!take(thread, kRunnable)) continue;
    Lent* const kernel = take_kernel(thread);
    if (!kernel) {                                               // one is about to sleep
      thread.state.store(kRunnable, std::memory_order_release);  // release: the context, which we have acquired
      ring(lent[block.first]);                                   // it may have looked meanwhile
      break;
    }
    kernel->order.store(kGiven + i, std::memory_order_release);  // release: likewise
    ring(*kernel);
    ++count;
  }
  return count;
}

// The watchdog's look. True: something was there to be run.
bool watch(Surplus& team) {
  bool busy = false;
  for (uint32_t b = 0; b < team.blocks; ++b) {
    LentBlock& block = team.block[b];
    // Relaxed: numbers and hints. evict() makes sure for itself.
    const uint64_t switches = block.switches.load(std::memory_order_relaxed);
    bool waiting = false;
    for (uint32_t i = block.first; i < block.end && !waiting; ++i)
      waiting = team.lent[i].state.load(std::memory_order_relaxed) == kRunnable && is_over(team.lent[i]);
    busy |= waiting;
    const bool stuck = waiting && switches == block.seen.load(std::memory_order_relaxed) &&
                       team.lent[block.first].order.load(std::memory_order_relaxed) != kFree;
    block.seen.store(waiting ? switches : ~uint64_t{0}, std::memory_order_relaxed);
    if (!stuck || evict(block, team.lent) == 0) continue;
    team.evictions.fetch_add(1, std::memory_order_relaxed);
    team.region->counters.evictions.fetch_add(1, std::memory_order_relaxed);
  }
  return busy;
}

// A kernel thread that runs nobody: sleeps until there is somebody.
Lent& wait_for_work(Lent& kernel) {
  Surplus& team = *kernel.team;
  const bool carrier = is_carrier(kernel);
  int64_t tick = kTickNs;
  for (;;) {
    const uint32_t rung = kernel.bell.load(std::memory_order_acquire);    // acquire: ring()
    const uint32_t order = kernel.order.load(std::memory_order_acquire);  // acquire: the context of the given thread
    if (order >= kGiven) {
      kernel.order.store(kBusy, std::memory_order_relaxed);  // relaxed: nobody else writes it before it is free
      if (!carrier) give_up_watch(kernel);
      return team.lent[order - kGiven];
    }
    // Relaxed: a hint; take() acquires.
    if (order == kFree && (carrier || kernel.state.load(std::memory_order_relaxed) == kHomeward)) {
      uint32_t free = kFree;
      // Had by ourselves first, lest we be given another meanwhile. seq_cst: give_up_watch()
      if (!kernel.order.compare_exchange_strong(free, kBusy, std::memory_order_seq_cst, std::memory_order_relaxed))
        continue;
      if (Lent* const next = take_next(kernel, kernel.number)) {
        if (!carrier) give_up_watch(kernel);
        return *next;
      }
      if (carrier && take(kernel, kRunnable)) return kernel;  // take_next looks at all but the one that it starts from
      kernel.order.store(kFree, std::memory_order_release);
    }
    bool watches = false;
    if (!carrier) {
      uint32_t nobody = kNobody;
      watches = team.watchman.load(std::memory_order_relaxed) == kernel.number ||
                team.watchman.compare_exchange_strong(nobody, kernel.number, std::memory_order_seq_cst,
                                                      std::memory_order_relaxed);
    }
    if (os::bare_futex_wait(&kernel.bell, rung, watches ? tick : 0) == -ETIMEDOUT && watches)
      tick = watch(team) ? kTickNs : tick * 2 < kLongestTickNs ? tick * 2 : kLongestTickNs;
  }
}

// A kernel thread's loop on its small stack; it never returns from there. Its thread pointer is that of its own thread,
// which may run elsewhere: nothing here may touch thread-local storage.
void idle(thread::Transfer transfer) {
  Lent& kernel = *static_cast<const Left*>(transfer.data)->kernel;
  for (;;) {
    kernel.order.store(kFree, std::memory_order_release);  // before there is one more that wants a kernel thread
    settle(transfer);
    Lent& next = wait_for_work(kernel);
    next.on = kernel.number;
    Left left{nullptr, &kernel, kRunning, nullptr};
    thread::set_thread_pointer(next.tls);
    transfer = thread::jump(next.context, &left);
  }
}

// Goes over to `next`, which is taken, or to sleep; returns when the thread is gone on with, perhaps on another kernel
// thread.
[[gnu::noinline]] void leave(Lent& self, Lent* next, uint32_t state, Lent* to = nullptr) {
  Lent& kernel = self.team->lent[self.on];
  Left left{&self, &kernel, state, to};
  void* context = kernel.idle;
  if (next) {
    if (is_carrier(kernel)) count(self.block->switches);
    next->on = kernel.number;
    context = next->context;
    thread::set_thread_pointer(next->tls);
  } else {
    kernel.signals = os::bare_block_signals(kAllSignals);
    thread::set_thread_pointer(kernel.tls);
  }
  settle(thread::jump(context, &left));
}

// Leaves, to be run again once *word >= target.
void wait_once(Lent& self, const std::atomic<uint64_t>* word, uint64_t target, bool stops) {
  // Relaxed: published by the state.
  self.word.store(word, std::memory_order_relaxed);
  self.target.store(target, std::memory_order_relaxed);
  self.stops.store(stops, std::memory_order_relaxed);
  leave(self, take_next(self.team->lent[self.on], self.number), kRunnable);
}

// False: real_epoch == target was seen first.
bool wait_until(Lent& self, const std::atomic<uint64_t>& word, uint64_t target, bool stops) {
  for (;;) {
    if (word.load(std::memory_order_acquire) >= target) return true;  // acquire: the writes before
    if (stops && is_real(self.team->region->real_epoch, target)) return false;
    wait_once(self, &word, target, stops);
  }
}

// One more of the block has arrived. True: all have.
bool is_last(LentBlock& block, uint64_t epoch) {
  uint64_t seen = block.arrived.load(std::memory_order_relaxed), mine;
  do {
    mine = seen >> 16 == epoch ? seen + 1 : epoch << 16 | 1;
    // Acquire, release: the effects of the others of the block, for the last one to pass on.
  } while (!block.arrived.compare_exchange_weak(seen, mine, std::memory_order_acq_rel, std::memory_order_relaxed));
  return (mine & 0xffff) == block.end - block.first;
}

// The block's `word` gets to `epoch`; the carrier may run the threads that wait for that.
void say(Lent& self, std::atomic<uint64_t>& word, uint64_t epoch) {
  word.store(epoch, std::memory_order_release);  // release: the writes before
  if (!is_on_carrier(self)) ring(self.team->lent[self.block->first]);
}

// Where the processor compares each return with a stack that a switch does not know.
bool has_shadow_stack() {
#if defined(__x86_64__)
  uint64_t pointer = 0;
  asm("rdsspq %0" : "+r"(pointer));  // changes nothing where there is none
  return pointer != 0;
#else
  return false;
#endif
}

uint32_t block_of(const LentBlock* block, const Surplus& team) { return static_cast<uint32_t>(block - team.block); }

}  // namespace

const char* why_not_surplus(const Region& region, uint32_t threads) {
  static const bool binds = REAL(omp_get_proc_bind)() != 0;
  static const bool sanitized =
      dlsym(RTLD_DEFAULT, "__tsan_init") || dlsym(RTLD_DEFAULT, "__asan_init") || dlsym(RTLD_DEFAULT, "__msan_init");
  if (!options().surplus) return "SMELT_SURPLUS=0";
  if (region.nested) return "nested";
  if (threads <= headcount.cpus.load(std::memory_order_relaxed)) return "there is a CPU for each";
  if (!thread::kCanSwitch) return "Smelt was built without Boost.Context";
  if (!os::kBare || !thread::can_lend()) return "a program may not write the thread pointer here";
  if (has_shadow_stack()) return "the program has a shadow stack";
  if (sanitized) return "the program is built with a sanitizer";
  if (smelt_gomp_own_tasks) return "SMELT_TASKS=1";
  if (binds) return "threads are bound (OMP_PROC_BIND, OMP_PLACES, GOMP_CPU_AFFINITY)";
  if (region.never_surplus) return "its threads kept their carriers waiting";
  return nullptr;
}

void free_surplus(Surplus*& surplus) {
  if (!surplus) return;
  os::unmap_pages(surplus->stacks, surplus->stack_bytes);
  os::unmap_pages(surplus, surplus->bytes);
  surplus = nullptr;
}

bool make_surplus(Surplus*& surplus, uint32_t threads, uint32_t blocks) {
  if (surplus && surplus->threads == threads && surplus->blocks == blocks) return true;
  free_surplus(surplus);
  const size_t guard = os::page_bytes(), each = kStackBytes + guard;
  const size_t head = (sizeof(Surplus) + kLineBytes - 1) / kLineBytes * kLineBytes;
  const size_t bytes = head + threads * sizeof(Lent) + blocks * sizeof(LentBlock);
  auto* const memory = static_cast<char*>(os::map_pages(bytes));
  auto* const stacks = memory ? static_cast<char*>(os::map_stacks(threads * each)) : nullptr;
  if (!stacks) {
    if (memory) os::unmap_pages(memory, bytes);
    return false;
  }
  // Without a guard, should the kernel refuse it, they serve as well: only code of this file runs there.
  for (uint32_t i = 0; i < threads; ++i)
    if (!os::mark_guard(stacks + i * each, guard) && !os::split_guard(stacks + i * each, guard)) break;
  surplus = new (memory) Surplus{};
  surplus->threads = threads;
  surplus->blocks = blocks;
  surplus->lent = reinterpret_cast<Lent*>(memory + head);
  surplus->block = reinterpret_cast<LentBlock*>(memory + head + threads * sizeof(Lent));
  surplus->stacks = stacks;
  surplus->bytes = bytes;
  surplus->stack_bytes = threads * each;
  return true;
}

void begin_surplus(Surplus& surplus, RegionRecord& region) {
  surplus.region = &region;
  // Relaxed, all: libgomp's fork orders it.
  surplus.watchman.store(kNobody, std::memory_order_relaxed);
  surplus.evictions.store(0, std::memory_order_relaxed);
  for (uint32_t b = 0; b < surplus.blocks; ++b) {
    auto* const block = new (&surplus.block[b]) LentBlock{};
    block->first = static_cast<uint32_t>(uint64_t{b} * surplus.threads / surplus.blocks);
    block->end = static_cast<uint32_t>((uint64_t{b} + 1) * surplus.threads / surplus.blocks);
    for (uint32_t i = block->first; i < block->end; ++i) {
      auto* const lent = new (&surplus.lent[i]) Lent{};
      lent->block = block;
      lent->team = &surplus;
      lent->number = lent->on = i;
    }
  }
}

Lent& lend(Surplus& surplus, uint32_t me) {
  Lent& self = surplus.lent[me];
  self.tls = thread::thread_pointer();
  const size_t each = surplus.stack_bytes / surplus.threads;
  self.idle = thread::make_context(surplus.stacks + (me + 1) * each, kStackBytes, idle);
  return self;
}

void release_block(Lent& self, uint64_t epoch, const ForkMessage& message) {
  self.block->message = message;
  say(self, self.block->released, epoch);
}

void come_home(Lent& self) {
  self.word.store(nullptr, std::memory_order_relaxed);
  while (self.on != self.number) leave(self, take_next(self.team->lent[self.on], self.number), kHomeward);
}

bool gather_lent(Lent& master, uint64_t epoch) {
  arrive_lent(master, epoch);
  if (!wait_until(master, master.block->joined, epoch, true)) return false;
  come_home(master);
  return master.team->fork->gather(epoch, &master.team->region->real_epoch);
}

void arrive_lent(Lent& self, uint64_t epoch) {
  if (is_last(*self.block, epoch)) say(self, self.block->joined, epoch);
}

bool await_lent(Lent& self, uint64_t epoch, bool stops, ForkMessage* message) {
  LentBlock& block = *self.block;
  if (self.number != block.first) {
    if (!wait_until(self, block.released, epoch, stops)) return false;
    *message = block.message;  // written again only when we have arrived again
    return true;
  }
  ForkJoin& fork = *self.team->fork;
  const uint32_t me = block_of(&block, *self.team);
  const std::atomic<uint64_t>* const stop = stops ? &self.team->region->real_epoch : nullptr;
  if (stops && !wait_until(self, block.joined, epoch, true)) return false;
  come_home(self);
  if (stops && !fork.arrive(me, epoch, stop)) return false;
  if (!fork.await(me, epoch, stop, message)) return false;
  release_block(self, epoch, *message);
  return true;
}

void leave_lent(Lent& self) {
  LentBlock& block = *self.block;
  come_home(self);
  if (self.number != block.first) {
    block.gone.fetch_add(1, std::memory_order_release);  // release: nobody of us looks at the team any more
    return;
  }
  // All have arrived and may go on: they are given kernel threads, or sleep homeward, or are on their way to it.
  while (block.gone.load(std::memory_order_acquire) + 1 < block.end - block.first)
    if (evict(block, self.team->lent) == 0) os::bare_yield();
}

bool pass_lent(Lent& self, uint64_t epoch) {
  Surplus& team = *self.team;
  LentBlock& block = *self.block;
  std::atomic<uint64_t>& real_epoch = team.region->real_epoch;
  if (!is_real(real_epoch, epoch)) {
    bool passed;
    if (!is_last(block, epoch)) {
      passed = wait_until(self, block.released, epoch, true);
    } else {
      passed = team.barrier->arrive_and_wait(block_of(&block, team), epoch, &real_epoch);
      if (passed) say(self, block.released, epoch);
    }
    if (passed) return true;
  }
  alone(self);
  return false;
}

bool give_way(Lent& self) {
  if (!is_on_carrier(self)) return false;
  Lent* const next = take_next(self.team->lent[self.on], self.number);
  if (!next) return false;
  self.word.store(nullptr, std::memory_order_relaxed);  // published by the state
  leave(self, next, kRunnable);
  return true;
}

void alone(Lent& self) {
  if (!is_on_carrier(self)) return;
  if (self.number == self.on) {
    evict(*self.block, self.team->lent);  // threads that may go on later are the watchdog's
    return;
  }
  // No kernel thread that sleeps: all others have one, and we have the carrier to ourselves.
  Lent* const kernel = take_kernel(self);
  if (kernel) leave(self, take_next(self.team->lent[self.on], self.number), kRunning, kernel);
}

void ring_all(Surplus& surplus) {
  for (uint32_t b = 0; b < surplus.blocks; ++b) ring(surplus.lent[surplus.block[b].first]);
}

bool is_too_much(const Surplus& surplus, uint64_t regions) {
  const uint64_t evictions = surplus.evictions.load(std::memory_order_relaxed);  // relaxed: a number
  return evictions >= kFewEvictions && evictions * kRegionsEach > regions;
}

}  // namespace smelt::gomp
