#pragma once

#include <atomic>
#include <cstddef>

namespace smelt {

// 64 bytes on most cores, 128 on Apple's; 128 suits both.
inline constexpr size_t kLineBytes = 128;

// YIELD is a no-op on most implementations; ISB stalls for about as long as x86's PAUSE.
inline void cpu_pause() { asm volatile("isb" ::: "memory"); }

inline void full_fence() { std::atomic_thread_fence(std::memory_order_seq_cst); }

inline void fence_after_update() { full_fence(); }

inline void fence_between_loads() { full_fence(); }

inline void prefetch(const void* line) { __builtin_prefetch(line); }

inline void prefetch_to_write(const void* line) { __builtin_prefetch(line, 1); }

}  // namespace smelt
