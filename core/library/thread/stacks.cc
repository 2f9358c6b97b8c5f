#include "library/thread/stacks.h"

#include <new>

#include "base/os/os.h"
#include "library/thread/stack_memory.h"
#include "message/lock_bit.h"

namespace smelt::thread {

namespace {

constexpr uint32_t kBatch = 32;       // stacks that go through the common list together
constexpr uint32_t kFresh = 8;        // ... of those that were never used: linking them touches their pages
constexpr size_t kTop = 64;           // above the thread: the slab's record, in the first stack of each
constexpr uint32_t kColours = 16;     // the page's lower half, in steps of two lines
constexpr size_t kColourBytes = 128;  // two lines: adjacent ones are fetched together

// Guards of this process that split mappings. relaxed, all: a number
constinit std::atomic<int64_t> splits{0};

size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

void Stacks::create(size_t bytes) {
  const size_t page = os::page_bytes();
  stack_bytes_ = round_up(bytes, page);
  stride_ = stack_bytes_ + round_up(kGuardBytes, page);
  if (stride_ / page % 2 == 0) stride_ += page;
}

void Stacks::destroy() {
  for (Slab *slab = slabs_, *next; slab; slab = next) {
    next = slab->next;
    os::unmap_pages(slab->memory, slab->stacks * stride_);
  }
  slabs_ = nullptr;
  splits.fetch_sub(splits_, std::memory_order_relaxed);
  splits_ = 0;
}

// The i-th of a slab, colours and all. Touches nothing.
Thread* Stacks::at(char* slab, uint32_t i) const {
  char* const top = slab + (i + 1) * stride_ - kTop - i % kColours * kColourBytes;
  return reinterpret_cast<Thread*>(top - sizeof(Thread));
}

// A process has so many mappings, and the program wants some, too: guards split no more than half of them.
bool Stacks::put_guards(char* slab, uint32_t stacks) {
  const size_t guard = stride_ - stack_bytes_;
  for (uint32_t i = 0; i < stacks; ++i) {
    if (kernel_marks_) kernel_marks_ = os::mark_guard(slab + i * stride_, guard);
    if (kernel_marks_) continue;
    if (split_limit_ < 0) split_limit_ = os::mapping_limit() / 4;
    if (splits.load(std::memory_order_relaxed) >= split_limit_ || !os::split_guard(slab + i * stride_, guard))
      return false;
    splits.fetch_add(1, std::memory_order_relaxed);
    ++splits_;
  }
  return true;
}

bool Stacks::grow() {
  uint32_t stacks = kInSlab;
  char* memory;
  while (!(memory = static_cast<char*>(os::map_stacks(stacks * stride_))))
    if ((stacks /= 4) == 0) return false;
  if (!put_guards(memory, stacks)) {
    split_limit_ = 0;  // no more attempts
    // relaxed: a figure
    unguarded_.fetch_add(stacks, std::memory_order_relaxed);
  }
  slabs_ = new (memory + stride_ - kTop) Slab{slabs_, memory, stacks};
  fresh_ = memory;
  next_fresh_ = 0;
  end_fresh_ = stacks;
  count_.fetch_add(stacks, std::memory_order_relaxed);
  return true;
}

Thread* Stacks::take(StackCache& cache) {
  if (!cache.first) {
    lock(lock_);
    for (; free_ && cache.count < kBatch; ++cache.count) {
      Thread* const thread = free_;
      free_ = thread->next;
      thread->next = cache.first;
      cache.first = thread;
    }
    if (!cache.first && (next_fresh_ < end_fresh_ || grow())) {
      for (; next_fresh_ < end_fresh_ && cache.count < kFresh; ++cache.count, ++next_fresh_) {
        auto* const thread = new (at(fresh_, next_fresh_)) Thread;
        thread->stack = fresh_ + (next_fresh_ + 1) * stride_ - stack_bytes_;
        thread->next = cache.first;
        cache.first = thread;
      }
    }
    unlock(lock_, 0);
  }
  Thread* const thread = cache.first;
  if (!thread) return nullptr;
  cache.first = thread->next;
  --cache.count;
  return thread;
}

void Stacks::give_back(StackCache& cache, Thread* thread) {
  thread->next = cache.first;
  cache.first = thread;
  if (++cache.count <= StackCache::kMost) return;
  // Those that lie behind the first few: these are the ones that are still in the cache.
  Thread* last_kept = cache.first;
  for (uint32_t i = 1; i < StackCache::kMost - kBatch; ++i) last_kept = last_kept->next;
  Thread* const first = last_kept->next;
  last_kept->next = nullptr;
  cache.count = StackCache::kMost - kBatch;
  Thread* last = first;
  while (last->next) last = last->next;
  lock(lock_);
  last->next = free_;
  free_ = first;
  unlock(lock_, 0);
}

uint64_t Stacks::count() const { return count_.load(std::memory_order_relaxed); }
uint64_t Stacks::unguarded() const { return unguarded_.load(std::memory_order_relaxed); }

bool Stacks::is_guard(const Thread* thread, uintptr_t address) const {
  const uintptr_t above = reinterpret_cast<uintptr_t>(thread->stack);
  return address < above && address >= above - (stride_ - stack_bytes_);
}

}  // namespace smelt::thread
