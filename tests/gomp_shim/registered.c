// Was the kernel told, before the process had a second thread, that it will want barriers of all its threads
// (membarrier)? Told later it waits for a grace period, and so does the end of the program.
//   registered [threads]    with an argument, the program's own thread is the first one
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

static void* nothing(void* argument) { return argument; }

int main(int count, char** argument) {
  (void)argument;
  if (count > 1) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0);
  } else {
    int threads = 0;
#pragma omp parallel num_threads(2) reduction(+ : threads)
    threads += 1;
    CHECK(threads == 2);
  }
  /* Only a process that is registered may ask. */
  puts(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0 ? "registered" : "not registered");
  return 0;
}
