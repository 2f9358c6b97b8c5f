#include "thread_state.h"

#include <pthread.h>
#include <climits>

#include "openmp/thread_block.h"
#include "parked.h"
#include "real.h"

namespace smelt::gomp {
namespace {

constexpr uint32_t kUnknown = ~0u;               // no key has that number
std::atomic<uint32_t> destructor_key{kUnknown};  // relaxed: a number that says all by itself

}  // namespace

bool ThreadState::find(const void* address) {
  const auto [block, bytes] = thread_block(address);
  if (!block || bytes % 8 != 0 || bytes > kStateWords * 8 || reinterpret_cast<uintptr_t>(block) % 8 != 0) return false;
  block_ = static_cast<Word*>(block);
  words_ = static_cast<uint32_t>(bytes / 8);
  return true;
}

bool ThreadState::find_mine() { return find(smelt_real_GOMP_parallel); }

void* ThreadState::destructor() const {
  uint32_t key = destructor_key.load(std::memory_order_relaxed);
  if (key != kUnknown) return pthread_getspecific(key);
  // glibc answers nullptr for keys that nobody has made.
  for (key = 0; key < PTHREAD_KEYS_MAX; ++key) {
    auto* const value = static_cast<Word*>(pthread_getspecific(key));
    if (value < block_ || value >= block_ + words_) continue;
    destructor_key.store(key, std::memory_order_relaxed);
    return value;
  }
  return nullptr;
}

bool ThreadState::hold_destructor() {
  void* const value = destructor();
  if (!value) return false;
  held_ = value;
  return set_specific(destructor_key.load(std::memory_order_relaxed), nullptr) == 0;
}

void ThreadState::release_destructor() {
  // A key that exists already for the thread needs no memory; one that libgomp has deleted, at exit, is no harm.
  set_specific(destructor_key.load(std::memory_order_relaxed), held_);
}

bool ThreadState::learn_range(const StateImage& before) {
  begin_ = end_ = 0;
  for (uint32_t i = 0; i < words_; ++i) {
    if (block_[i] == before.word[i]) continue;
    if (end_ == 0) begin_ = i;
    end_ = i + 1;
  }
  return end_ != 0 && !PoolWord::is_in(begin_, end_);
}

namespace {

// Relaxed, these two: numbers that say all by themselves.
std::atomic<uint32_t> pool_index{kUnknown};  // of the word in the block
std::atomic<intptr_t> pool_distance{0};      // from the thread pointer, bytes
// A thread is learning, and its block was as follows. Acquire and release: the image is the next learner's.
std::atomic<bool> learning{false};
StateImage before;

}  // namespace

bool PoolWord::is_in(uint32_t begin, uint32_t end) {
  const uint32_t index = pool_index.load(std::memory_order_relaxed);
  return index >= begin && index < end;
}

PoolWord::PoolWord(bool may_be_first) {
  if (!may_be_first || pool_index.load(std::memory_order_relaxed) != kUnknown ||
      learning.exchange(true, std::memory_order_acquire))
    return;
  if (state_.find_mine())
    state_.save(&before);
  else
    learning.store(false, std::memory_order_release);
}

PoolWord::~PoolWord() {
  if (state_.words() == 0) return;
  StateImage after;
  state_.save(&after);
  // Another word beside it, say the place that a bound thread has got, and learning is left to another thread.
  const uint32_t changed = state_.only_difference(before, after);
  if (changed < state_.words() && before.word[changed] == 0 && after.word[changed] % alignof(void*) == 0) {
    pool_distance.store(
        static_cast<const char*>(state_.address(changed)) - static_cast<char*>(__builtin_thread_pointer()),
        std::memory_order_relaxed);
    pool_index.store(changed, std::memory_order_relaxed);
  }
  learning.store(false, std::memory_order_release);
}

// No look-up here: the dynamic linker's locks may be held for ever in a child.
void PoolWord::forget_pool() {
  using Word [[gnu::may_alias]] = uint64_t;
  learning.store(false, std::memory_order_relaxed);  // there is one thread, and it is in its serial part
  if (const intptr_t distance = pool_distance.load(std::memory_order_relaxed))
    *reinterpret_cast<Word*>(static_cast<char*>(__builtin_thread_pointer()) + distance) = 0;
}

}  // namespace smelt::gomp
