// Going on elsewhere: Boost.Context's fcontext, which is assembly and needs nothing but libc, told to sanitizers.
//
// jump_fcontext(to, data) saves the callee's registers on our stack and goes on at `to`, where the jump that had left
// there returns {us, data}. Signal masks stay the kernel thread's: a system call would cost fifty times as much. Where
// Boost.Context is not there when Smelt is built, kCanSwitch is false, and there are no user-level threads.
#pragma once

#include <cstddef>

#include "library/thread/thread.h"
#include "smelt_config.h"

#if defined(__SANITIZE_THREAD__)
extern "C" {
void* __tsan_get_current_fiber(void);
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
}
#elif defined(__SANITIZE_ADDRESS__)
extern "C" {
void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom, size_t bytes);
void __sanitizer_finish_switch_fiber(void* fake_stack, const void** old_bottom, size_t* old_bytes);
void __asan_unpoison_memory_region(const volatile void* address, size_t bytes);
}
#endif

namespace smelt::thread {

struct Transfer {
  void* from;
  void* data;
};

}  // namespace smelt::thread

#if SMELT_HAVE_FCONTEXT
extern "C" {
smelt::thread::Transfer jump_fcontext(void* to, void* data);
void* make_fcontext(void* stack_end, size_t bytes, void (*function)(smelt::thread::Transfer));
}
#endif

namespace smelt::thread {

#if SMELT_HAVE_FCONTEXT
inline constexpr bool kCanSwitch = true;
inline Transfer jump(void* to, void* data) { return ::jump_fcontext(to, data); }
inline void* make_context(void* stack_end, size_t bytes, void (*function)(Transfer)) {
  return ::make_fcontext(stack_end, bytes, function);
}
#else
inline constexpr bool kCanSwitch = false;
inline Transfer jump(void*, void*) { __builtin_unreachable(); }
inline void* make_context(void*, size_t, void (*)(Transfer)) { return nullptr; }
#endif

// Tells sanitizers: a fiber begins to be, is left for another (for good?), is gone on with, is no more.
#if defined(__SANITIZE_THREAD__)
inline void create_fiber(Fiber& fiber, const void*, size_t) { fiber.tsan = __tsan_create_fiber(0); }
inline void adopt_fiber(Fiber& fiber) { fiber.tsan = __tsan_get_current_fiber(); }
inline void destroy_fiber(Fiber& fiber) { __tsan_destroy_fiber(fiber.tsan); }
inline void leave_fiber(Fiber&, const Fiber& to, bool) { __tsan_switch_to_fiber(to.tsan, 0); }
inline void enter_fiber(Fiber&, Fiber*) {}
#elif defined(__SANITIZE_ADDRESS__)
inline void create_fiber(Fiber& fiber, const void* bottom, size_t bytes) { fiber = {bottom, bytes, nullptr}; }
inline void adopt_fiber(Fiber&) {}  // the first switch away says where it lies
// There are frames that were never returned from, and whatever comes to lie there next has others.
inline void destroy_fiber(Fiber& fiber) { __asan_unpoison_memory_region(fiber.bottom, fiber.bytes); }
inline void leave_fiber(Fiber& from, const Fiber& to, bool for_good) {
  __sanitizer_start_switch_fiber(for_good ? nullptr : &from.fake_stack, to.bottom, to.bytes);
}
inline void enter_fiber(Fiber& fiber, Fiber* from) {
  const void* bottom;
  size_t bytes;
  __sanitizer_finish_switch_fiber(fiber.fake_stack, &bottom, &bytes);
  if (from) *from = {bottom, bytes, from->fake_stack};
}
#else
inline void create_fiber(Fiber&, const void*, size_t) {}
inline void adopt_fiber(Fiber&) {}
inline void destroy_fiber(Fiber&) {}
inline void leave_fiber(Fiber&, const Fiber&, bool) {}
inline void enter_fiber(Fiber&, Fiber*) {}
#endif

}  // namespace smelt::thread
