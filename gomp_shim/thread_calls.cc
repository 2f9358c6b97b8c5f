// What we stand in front of in the C library's threads.
//
// For the sake of kept teams (parked.h):
//   pthread_create           libgomp ends the program where it can make no thread; and stock would not have those that
//                            are parked. They go home first, whoever wants one
//   __cxa_thread_atexit_impl a thread_local object of C++ (or of Rust) has a destructor,
//   pthread_setspecific,     or a key a value, which its destructor is to see: stock ends the thread behind its nested
//   tss_set                  region, and so do we
//
// And for the sake of a team's first region:
//   pthread_create           a new thread of libgomp's does not begin on its maker's CPU
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <threads.h>
#include <cerrno>

#include "base/os/os.h"
#include "parked.h"
#include "policy/wait.h"
#include "real.h"

// The C library's own, by the name that it has beside the one that we take: allocators come here before anything can be
// looked up.
extern "C" int libc_setspecific(pthread_key_t key, const void* value) noexcept;
#ifdef __x86_64__
__asm__(".symver libc_setspecific, __pthread_setspecific@GLIBC_2.2.5");
#else
__asm__(".symver libc_setspecific, __pthread_setspecific@GLIBC_2.17");
#endif

namespace smelt::gomp {
namespace {

// The next function of that name behind ours.
template <typename Function>
Function behind(std::atomic<Function>& found, const char* name) {
  Function function = found.load(std::memory_order_relaxed);  // code needs no ordering
  if (!function) {
    function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
    found.store(function, std::memory_order_relaxed);
  }
  return function;
}

using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
std::atomic<Create> found_create{nullptr};
Create real_create() { return behind(found_create, "pthread_create"); }

using AtExit = int (*)(void (*)(void*), void*, void*);
std::atomic<AtExit> found_atexit{nullptr};
using Set = decltype(&tss_set);
std::atomic<Set> found_set{nullptr};

// The kernel counts a thread until it is gone for good, and its stack is another's only then.
constexpr int64_t kFirstPause = 20'000, kLastPause = 200'000'000;

// libgomp ends the program if this one is not made; and perhaps the threads of its last nested region are just ending.
bool is_for_libgomp(void* (*start)(void*)) {
  Dl_info starts, libgomp;
  return smelt_real_GOMP_parallel && dladdr(reinterpret_cast<void*>(start), &starts) &&
         dladdr(smelt_real_GOMP_parallel, &libgomp) && starts.dli_fbase == libgomp.dli_fbase;
}

// Not in pthread_create itself, which every thread's maker has on its stack: libgomp's masters have little.
[[gnu::noinline, gnu::cold]] int create_after_all(Create create, pthread_t* thread, const pthread_attr_t* attributes,
                                                  void* (*start)(void*), void* argument) {
  const bool insists = is_for_libgomp(start);
  int error = EAGAIN;
  for (int64_t pause = kFirstPause; error == EAGAIN && pause <= kLastPause; pause *= 2) {
    if (!send_parked_home() && !insists) break;
    std::atomic<uint32_t> nobody{0};
    os::futex_wait(&nobody, 0, pause);
    error = create(thread, attributes, start, argument);
  }
  return error;
}

// The kernel may put a new thread on the CPU of its maker. That one waits for the team's threads next, by polling, and
// the new one gets the CPU when its time slice is over, or when another CPU looks for work: on two CPUs the first
// regions took 2 to 8 ms in more than half of the runs, and 75 µs where threads were bound. So the maker's CPU is taken
// from the new thread's mask, which moves it if it is there, and given back. It runs nothing of the program's till its
// maker comes to libgomp's barrier, so that nobody can have changed the mask.
[[gnu::noinline]] void begin_elsewhere(pthread_t thread) {
  const int here = ::sched_getcpu();
  cpu_set_t all;
  if (here < 0 || here >= CPU_SETSIZE || ::pthread_getaffinity_np(thread, sizeof all, &all) != 0) return;
  if (!CPU_ISSET(here, &all) || CPU_COUNT(&all) < 2) return;
  CPU_CLR(here, &all);
  const bool changed = ::pthread_setaffinity_np(thread, sizeof all, &all) == 0;
  CPU_SET(here, &all);
  if (changed) ::pthread_setaffinity_np(thread, sizeof all, &all);
}

}  // namespace

void resolve_thread_calls() { real_create(); }

int set_specific(pthread_key_t key, const void* value) { return libc_setspecific(key, value); }

}  // namespace smelt::gomp

using namespace smelt::gomp;

#pragma GCC visibility push(default)
extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) noexcept {
  const Create create = real_create();
  const int error = create(thread, attributes, start, argument);
  if (error == EAGAIN) return create_after_all(create, thread, attributes, start, argument);
  // With more threads than CPUs there is no better place.
  if (error == 0 && active() && !smelt::headcount.crowded() && is_for_libgomp(start)) begin_elsewhere(*thread);
  return error;
}

int __cxa_thread_atexit_impl(void (*destroy)(void*), void* object, void* library) noexcept {
  note_thread_end();
  return behind(found_atexit, "__cxa_thread_atexit_impl")(destroy, object, library);
}

int pthread_setspecific(pthread_key_t key, const void* value) noexcept {
  if (value) note_thread_end();
  return libc_setspecific(key, value);
}

int tss_set(tss_t key, void* value) noexcept {
  if (value) note_thread_end();
  return behind(found_set, "tss_set")(key, value);
}

}  // extern "C"
#pragma GCC visibility pop
