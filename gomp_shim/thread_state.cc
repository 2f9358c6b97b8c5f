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
  held_ = destructor();
  return held_ && set_specific(destructor_key.load(std::memory_order_relaxed), nullptr) == 0;
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

std::atomic<uint32_t> PoolWord::index_{kUnknown};

bool PoolWord::is_in(uint32_t begin, uint32_t end) {
  const uint32_t index = index_.load(std::memory_order_relaxed);
  return index >= begin && index < end;
}

void PoolWord::before_first_region(const void* address) {
  if (state_.find(address)) state_.save(&before_);
}

void PoolWord::after_first_region() {
  // Relaxed, here and below: a number that says all by itself.
  if (state_.words() == 0 || index_.load(std::memory_order_relaxed) != kUnknown) return;
  StateImage after;
  state_.save(&after);
  // Another word beside it, say the place that a bound thread has got, and learning is left to another thread.
  const uint32_t changed = state_.only_difference(before_, after);
  if (changed < state_.words() && before_.word[changed] == 0 && after.word[changed] % alignof(void*) == 0)
    index_.store(changed, std::memory_order_relaxed);
}

// No look-up here: the dynamic linker's locks may be held for ever in a child.
void PoolWord::forget_pool() {
  const uint32_t index = index_.load(std::memory_order_relaxed);
  if (index < state_.words()) state_.clear_word(index);
}

bool SwappedState::can_swap(const Whereabouts& around, const Whereabouts& inside) {
  const auto is_at = [](const Whereabouts& at) {
    return REAL(omp_get_level)() == at.level && REAL(omp_get_num_threads)() == at.threads;
  };
  state.save_range(&inside_image);
  state.restore_range(serial);
  const bool is_around = is_at(around) && state.same_as(serial);
  state.restore_range(inside_image);
  const bool is_inside = is_at(inside);
  state.restore_range(serial);
  return is_around && is_inside;
}

}  // namespace smelt::gomp
