#include "openmp/new_thread.h"

#include <dlfcn.h>
#include <sched.h>

namespace smelt::openmp {

bool is_of_runtime(void* (*start)(void*), const void* entry) {
  Dl_info starts, runtime;
  return entry && dladdr(reinterpret_cast<void*>(start), &starts) && dladdr(entry, &runtime) &&
         starts.dli_fbase == runtime.dli_fbase;
}

void begin_elsewhere(pthread_t thread) {
  const int here = ::sched_getcpu();
  cpu_set_t all;
  if (here < 0 || here >= CPU_SETSIZE || ::pthread_getaffinity_np(thread, sizeof all, &all) != 0) return;
  if (!CPU_ISSET(here, &all) || CPU_COUNT(&all) < 2) return;
  CPU_CLR(here, &all);
  const bool changed = ::pthread_setaffinity_np(thread, sizeof all, &all) == 0;
  CPU_SET(here, &all);
  if (changed) ::pthread_setaffinity_np(thread, sizeof all, &all);
}

}  // namespace smelt::openmp
