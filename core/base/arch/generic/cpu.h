#pragma once

#include <atomic>
#include <cstddef>

namespace smelt {

inline constexpr size_t kLineBytes = 128;

inline void cpu_pause() { std::atomic_signal_fence(std::memory_order_seq_cst); }

inline void full_fence() { std::atomic_thread_fence(std::memory_order_seq_cst); }

inline void fence_after_update() { full_fence(); }

inline void fence_between_loads() { full_fence(); }

inline void prefetch(const void* line) { __builtin_prefetch(line); }

inline void prefetch_to_write(const void* line) { __builtin_prefetch(line, 1); }

}  // namespace smelt
