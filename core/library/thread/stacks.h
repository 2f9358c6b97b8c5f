// Stacks: reserved by address, given memory by the kernel when they are touched, used again last in first out.
//
// They come in slabs of 64, or fewer where address space ends, so a million of them are 16,384 mappings.
// Below each lies a guard, pages that nobody may touch. The kernel marks them within the mapping (MADV_GUARD_INSTALL,
// Linux 6.13); before that each guard splits the mapping in two, of which a process may have 65,530
// (/proc/sys/vm/max_map_count), so only some 16,000 stacks have one then and the others do not: unguarded().
//
// A stack and its guard are an odd number of pages, so that the same place of each falls into another set of the TLB
// and of the caches behind the first.
//
// Each worker keeps a few stacks for itself, without a lock; more stacks go through a common list, 32 at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "library/thread/thread.h"

namespace smelt::thread {

// A cache of one worker, or of the holder of its lock.
struct StackCache {
  static constexpr uint32_t kMost = 64;  // two batches of the common list
  Thread* first = nullptr;
  uint32_t count = 0;
};

class Stacks {
 public:
  static constexpr size_t kGuardBytes = 16384, kLeast = 16384, kMost = size_t{1} << 30;

  // Makes stacks of so many usable bytes. No memory is taken yet.
  void create(size_t bytes);
  void destroy();  // nobody is on one of them

  // A thread with a stack, as it was left or zeroed; nullptr: there is no memory.
  Thread* take(StackCache& cache);
  void give_back(StackCache& cache, Thread* thread);

  size_t stack_bytes() const { return stack_bytes_; }
  uint64_t count() const;      // there are
  uint64_t unguarded() const;  // of them
  bool is_guard(const Thread* thread, uintptr_t address) const;

 private:
  struct Slab {
    Slab* next;
    char* memory;
    uint32_t stacks;
  };
  static constexpr uint32_t kInSlab = 64;  // mapped at once: a system call for 64 stacks

  Thread* at(char* slab, uint32_t i) const;
  bool grow();  // under the lock, as what follows
  bool put_guards(char* slab, uint32_t stacks);

  size_t stack_bytes_ = 0, stride_ = 0;
  std::atomic<uintptr_t> lock_{0};
  Thread* free_ = nullptr;
  Slab* slabs_ = nullptr;
  char* fresh_ = nullptr;  // the last slab, and which of it were never used
  uint32_t next_fresh_ = 0, end_fresh_ = 0;
  std::atomic<uint64_t> count_{0}, unguarded_{0};
  bool kernel_marks_ = true;
  int64_t splits_ = 0;        // our guards that split mappings
  int64_t split_limit_ = -1;  // how many of the process may; -1: not known yet
};

}  // namespace smelt::thread
