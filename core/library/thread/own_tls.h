// Thread-local variables of a thread's own, where they are asked for.
//
// Only the C library can build such a block: it alone knows the block's contents, and the memory to be freed with it.
// So a kernel thread lends its own: one is made for each such thread, tells where its block lies, and sleeps until the
// thread has ended; then it ends as any other does, which destroys the block's objects. A switch writes the register by
// which the block is found, which a program may do itself on AArch64, and on x86-64 where kernel and processor let it
// (FSGSBASE). The block's thread is known to the C library, so all that goes by it (pthread_self, owners of locks,
// keys) is the user-level thread's own, too.
//
// A kernel thread costs some ten microseconds and some ten KiB: this is for hundreds, not for millions.
#pragma once

#include <sys/auxv.h>

#include <cstdint>

#include "library/thread/thread.h"

namespace smelt::thread {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
// They find their own data there.
inline bool can_lend() { return false; }
inline uintptr_t thread_pointer() { return 0; }
inline void set_thread_pointer(uintptr_t) {}
#elif defined(__x86_64__)
inline bool can_lend() { return (::getauxval(AT_HWCAP2) & 2) != 0; }  // HWCAP2_FSGSBASE
inline uintptr_t thread_pointer() { return reinterpret_cast<uintptr_t>(__builtin_thread_pointer()); }
inline void set_thread_pointer(uintptr_t value) { asm volatile("wrfsbase %0" : : "r"(value) : "memory"); }
#elif defined(__aarch64__)
inline bool can_lend() { return true; }
inline uintptr_t thread_pointer() { return reinterpret_cast<uintptr_t>(__builtin_thread_pointer()); }
inline void set_thread_pointer(uintptr_t value) { asm volatile("msr tpidr_el0, %0" : : "r"(value) : "memory"); }
#else
inline bool can_lend() { return false; }
inline uintptr_t thread_pointer() { return 0; }
inline void set_thread_pointer(uintptr_t) {}
#endif

// A lender for a thread that is ready but for that; it makes it runnable. 0 or a negative errno.
int begin_lender(Thread& thread);
// The thread has ended: waits until its lender has, too.
void end_lender(Thread& thread);

}  // namespace smelt::thread
