// The words that say how floating-point numbers are rounded and which exceptions trap: a thread's own, and inherited by
// the threads of a region. On AArch64 libomp leaves them alone, and so do we.
#pragma once

#include <cstdint>

namespace smelt::kmp {

#if defined __x86_64__
// SSE's, without its flags, below; x87's above.
inline uint32_t float_control() {
  uint32_t sse = 0;
  uint16_t x87 = 0;
  __asm__ volatile("stmxcsr %0" : "=m"(sse));
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  return (sse & 0xffc0) | uint32_t{x87} << 16;
}

inline void set_float_control(uint32_t wanted) {
  if (float_control() == wanted) return;
  const uint32_t sse = wanted & 0xffc0;
  const auto x87 = static_cast<uint16_t>(wanted >> 16);
  __asm__ volatile("fnclex\n\tfldcw %0" : : "m"(x87));
  __asm__ volatile("ldmxcsr %0" : : "m"(sse));
}
#else
inline uint32_t float_control() { return 0; }
inline void set_float_control(uint32_t) {}
#endif

}  // namespace smelt::kmp
