// Masters on the smallest stack that there is.
//   stack THREADS            a thread with a stack of PTHREAD_STACK_MIN bytes runs regions of so many threads
//   stack THREADS BYTES      the same on a painted stack of so many bytes, and says how many were used
#define _GNU_SOURCE
#include <limits.h>
#include <omp.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"

enum { kMost = 64, kPaint = 0x5a };

static int threads;
static int seen[kMost * 16];

static void* master(void* unused) {
  for (int round = 1; round <= 8; ++round) {
    int sum = 0, done = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    {
      const int me = omp_get_thread_num();
      *(volatile int*)&seen[me * 16] = round;
#pragma omp barrier
      for (int t = 0; t < threads; ++t) CHECK(*(volatile int*)&seen[t * 16] == round);
      int copied = 0;
#pragma omp single copyprivate(copied)
      copied = round * 3;
      CHECK(copied == round * 3);
#pragma omp for schedule(dynamic)
      for (int k = 0; k < threads; ++k) sum += k;
      if (round % 4 == 0) {
#pragma omp task shared(done)
        __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
      }
#pragma omp barrier
      if (round % 4 == 0) CHECK(__atomic_load_n(&done, __ATOMIC_RELAXED) == threads);
    }
    CHECK(sum == threads * (threads - 1) / 2);
    // A region inside a region, and one of another size.
    if (round == 4) {
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
      {
#pragma omp barrier
      }
    }
  }
  return unused;
}

int main(int argc, char** argv) {
  CHECK(argc >= 2);
  threads = atoi(argv[1]);
  CHECK(threads >= 2 && threads <= kMost);
  omp_set_dynamic(0);
  omp_set_max_active_levels(2);
  pthread_attr_t attributes;
  pthread_t thread;
  CHECK(pthread_attr_init(&attributes) == 0);
  const size_t painted = argc > 2 ? (size_t)atoi(argv[2]) : 0;
  unsigned char* stack = NULL;
  if (painted) {
    stack = mmap(NULL, painted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED);
    memset(stack, kPaint, painted);
    CHECK(pthread_attr_setstack(&attributes, stack, painted) == 0);
  } else {
    CHECK(pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) == 0);
  }
  CHECK(pthread_create(&thread, &attributes, master, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  if (painted) {
    size_t untouched = 0;
    while (untouched < painted && stack[untouched] == kPaint) ++untouched;
    printf("used %zu of %zu bytes\n", painted - untouched, painted);
  }
  puts("ok");
  return 0;
}
