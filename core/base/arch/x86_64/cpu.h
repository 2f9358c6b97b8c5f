#pragma once

#include <atomic>
#include <cstddef>

namespace smelt {

// Lines are 64 bytes; Intel's spatial prefetcher fetches them in pairs.
inline constexpr size_t kLineBytes = 128;

inline void cpu_pause() { __builtin_ia32_pause(); }

// A locked operation on the stack is a full barrier for ordinary memory and cheaper than mfence.
inline void full_fence() { std::atomic_thread_fence(std::memory_order_seq_cst); }

// A locked operation is a full barrier itself; only the compiler must keep the order.
inline void fence_after_update() { std::atomic_signal_fence(std::memory_order_seq_cst); }

// Loads are seen in order; only the compiler must keep it.
inline void fence_between_loads() { std::atomic_signal_fence(std::memory_order_seq_cst); }

inline void prefetch(const void* line) { __builtin_prefetch(line); }

// The instruction is named here, because for the compiler's oldest processors __builtin_prefetch has none such. It does
// nothing there.
inline void prefetch_to_write(const void* line) {
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
}

}  // namespace smelt
