#include "library/thread/own_tls.h"

#include <cerrno>
#include <climits>
#include <csignal>

#include <pthread.h>

#include "base/os/os.h"
#include "library/thread/scheduler.h"

namespace smelt::thread {
namespace {

void* lend(void* argument) {
  Thread& thread = *static_cast<Thread*>(argument);
  thread.tls = thread_pointer();
  make_runnable(thread);
  // acquire: all that the thread did, its thread-local variables too
  while (thread.returned.load(std::memory_order_acquire) == 0) os::futex_wait(&thread.returned, 0);
  leave_worker();  // destructors from here on run on no worker
  return nullptr;
}

}  // namespace

int begin_lender(Thread& thread) {
  // The C library takes the block out of the stack, and says EINVAL if there is no room left; destructors want some.
  constexpr size_t kLeast = 262144, kMost = size_t{1} << 30;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return -ENOMEM;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // it runs nobody's handlers
  int error = EINVAL;
  for (size_t bytes = kLeast; error == EINVAL && bytes <= kMost; bytes *= 4) {
    pthread_attr_setstacksize(&attributes, bytes);
    error = pthread_create(&thread.lender, &attributes, lend, &thread);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return -error;
}

void end_lender(Thread& thread) {
  // release: all that the thread did
  thread.returned.store(1, std::memory_order_release);
  os::futex_wake_all(&thread.returned);
  pthread_join(thread.lender, nullptr);
}

}  // namespace smelt::thread
