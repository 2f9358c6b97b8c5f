// The functions of the C library's threads that we stand in front of.
//
// For the sake of kept teams (parked.h):
//   pthread_create           libgomp ends the program where it can make no thread; and stock would not have those that
//                            are parked. They go home first, for any caller
//   __cxa_thread_atexit_impl a thread_local object of C++ (or of Rust) has a destructor,
//   pthread_setspecific,     or a key a value, which its destructor is to see: stock ends the thread behind its nested
//   tss_set                  region, and so do we
//
// And for the sake of a team's first region:
//   pthread_create           a new thread of libgomp's does not begin on its maker's CPU
//
// And so that the program ends at once:
//   pthread_create           the process's first one tells the kernel of the barriers that sleepers will ask for (os.h)
//
// And for teams that a quota pays for:
//   pthread_getaffinity_np   libgomp counts the CPUs by it, in its constructor and for omp_get_num_procs
#include <dlfcn.h>
#include <pthread.h>
#include <threads.h>
#include <cerrno>
#include <cstring>

#include "base/options.h"
#include "base/os/os.h"
#include "openmp/behind.h"
#include "openmp/new_thread.h"
#include "parked.h"
#include "policy/team_size.h"
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

using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
std::atomic<Create> found_create{nullptr};
Create real_create() { return behind(found_create, "pthread_create"); }

using AtExit = int (*)(void (*)(void*), void*, void*);
std::atomic<AtExit> found_atexit{nullptr};
using Set = decltype(&tss_set);
std::atomic<Set> found_set{nullptr};

using GetAffinity = int (*)(pthread_t, size_t, cpu_set_t*);
std::atomic<GetAffinity> found_affinity{nullptr};

bool is_of_libgomp(const void* address) {
  Dl_info where;
  if (!dladdr(address, &where) || !where.dli_fname) return false;
  const char* const slash = std::strrchr(where.dli_fname, '/');
  return std::strncmp(slash ? slash + 1 : where.dli_fname, "libgomp", 7) == 0;  // wheels rename it: libgomp-a34b3233.so
}

// Leaves so many of the CPUs. libgomp takes their number and nothing else from them where it binds no thread; where it
// does, teams are as large as its places.
void leave(uint32_t threads, size_t bytes, cpu_set_t* cpus) {
  for (const char* const name : {"OMP_PLACES", "OMP_PROC_BIND", "GOMP_CPU_AFFINITY"})
    if (const char* const value = environment(name); value && *value && strcasecmp(value, "false") != 0) return;
  for (size_t cpu = 0; cpu < 8 * bytes; ++cpu)
    if (CPU_ISSET_S(cpu, bytes, cpus) && threads-- == 0)
      for (; cpu < 8 * bytes; ++cpu) CPU_CLR_S(cpu, bytes, cpus);
}

// The kernel counts a thread until it is gone for good, and its stack is another's only then.
constexpr int64_t kFirstPause = 20'000, kLastPause = 200'000'000;

// These two are not in pthread_create itself, which every thread's maker has on its stack: libgomp's masters have
// little.
[[gnu::noinline, gnu::cold]] int create_after_all(pthread_t* thread, const pthread_attr_t* attributes,
                                                  void* (*start)(void*), void* argument) {
  // libgomp ends the program if this one is not made; and perhaps the threads of its last nested region are just
  // ending.
  const bool insists = is_of_runtime(start);
  int error = EAGAIN;
  for (int64_t pause = kFirstPause; error == EAGAIN && pause <= kLastPause; pause *= 2) {
    if (!send_parked_home() && !insists) break;
    std::atomic<uint32_t> nobody{0};
    os::futex_wait(&nobody, 0, pause);
    error = real_create()(thread, attributes, start, argument);
  }
  return error;
}

// With more threads than CPUs there is no better place. A new thread waits in libgomp for its maker.
[[gnu::noinline, gnu::cold]] int settle(pthread_t thread) { return headcount.crowded() ? 0 : begin_elsewhere(thread); }

// A program that cannot bear the call has said so (docs/start.md); nothing else of the settings is looked at here.
[[gnu::noinline, gnu::cold]] void before_first_thread() {
  const auto is = [](const char* name, const char* value) {
    const char* const setting = environment(name);
    return setting && std::strcmp(setting, value) == 0;
  };
  const char* const switches = environment("SMELT_OPENMP");
  if (is("SMELT_OPENMP", "off") || (switches && std::strstr(switches, "-libgomp")) || is("SMELT_GOMP", "0")) return;
  if (!is("SMELT_WAIT", "sleep")) os::register_process_barrier();
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
  if (smelt::os::is_single_threaded()) [[unlikely]]
    before_first_thread();
  const int error = real_create()(thread, attributes, start, argument);
  if (error == EAGAIN) [[unlikely]]
    return create_after_all(thread, attributes, start, argument);
  return error == 0 && is_of_runtime(start) ? settle(*thread) : error;
}

int pthread_getaffinity_np(pthread_t thread, size_t bytes, cpu_set_t* cpus) noexcept {
  const int error = behind(found_affinity, "pthread_getaffinity_np")(thread, bytes, cpus);
  // The loader, which may be busy for long, is asked about the caller only if that decides something.
  if (error != 0 || (smelt::is_team_size_settled() && smelt::settled_team_size() == 0)) return error;
  void* const caller = __builtin_return_address(0);
  if (is_of_runtime(reinterpret_cast<void* (*)(void*)>(caller)) || is_of_libgomp(caller))
    if (const uint32_t threads = smelt::settle_team_size(&smelt::Options::gomp)) leave(threads, bytes, cpus);
  return error;
}

// NOLINTNEXTLINE(bugprone-reserved-identifier): the C library's name
int __cxa_thread_atexit_impl(void (*destroy)(void*), void* object, void* library) noexcept {
  note_thread_end();
  return behind(found_atexit, "__cxa_thread_atexit_impl")(destroy, object, library);
}

int pthread_setspecific(pthread_key_t key, const void* value) noexcept {
  if (value) note_thread_end();
  return libc_setspecific(key, value);
}

int tss_set(tss_t key, void* value) {
  if (value) note_thread_end();
  return behind(found_set, "tss_set")(key, value);
}

}  // extern "C"
#pragma GCC visibility pop
