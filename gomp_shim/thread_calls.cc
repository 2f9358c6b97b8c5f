// What we stand in front of in the C library's threads, for the sake of kept teams (parked.h).
//
//   pthread_create   libgomp ends the program where it can make no thread; and stock would not have those that are
//                    parked. They go home first, whoever wants one
#include <dlfcn.h>
#include <pthread.h>
#include <cerrno>

#include "base/os/os.h"
#include "parked.h"
#include "real.h"

namespace smelt::gomp {
namespace {

using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

Create real_create() {
  static std::atomic<Create> found{nullptr};
  Create function = found.load(std::memory_order_relaxed);  // code needs no ordering
  if (!function) {
    function = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    found.store(function, std::memory_order_relaxed);
  }
  return function;
}

// The kernel counts a thread until it is gone for good, and its stack is another's only then.
constexpr int64_t kFirstPause = 20'000, kLastPause = 200'000'000;

// libgomp ends the program if this one is not made; and perhaps the threads of its last nested region are just ending.
bool is_for_libgomp(void* (*start)(void*)) {
  Dl_info starts, libgomp;
  return smelt_real_GOMP_parallel && dladdr(reinterpret_cast<void*>(start), &starts) &&
         dladdr(smelt_real_GOMP_parallel, &libgomp) && starts.dli_fbase == libgomp.dli_fbase;
}

int create_after_all(Create create, pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                     void* argument) {
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

}  // namespace

void resolve_thread_calls() { real_create(); }

}  // namespace smelt::gomp

using namespace smelt::gomp;

extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* attributes,
                                                                     void* (*start)(void*), void* argument) noexcept {
  const Create create = real_create();
  const int error = create(thread, attributes, start, argument);
  return error == EAGAIN ? create_after_all(create, thread, attributes, start, argument) : error;
}
