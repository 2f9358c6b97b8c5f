/* How far apart are two CPUs just now: the time of one message, store to sight.
 *
 * Two threads pinned to different CPUs pass a counter to and fro, each through a line that only it writes; half a round
 * trip is one hop. The median over many short batches is taken: a batch that lost its CPU to somebody else is one
 * outlier, however long it took.
 */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "common.h"

enum { kBatches = 33, kTrips = 64, kLine = 128 };

struct table {
  _Alignas(kLine) _Atomic uint32_t ping;
  _Alignas(kLine) _Atomic uint32_t pong;
  _Alignas(kLine) double hop_ns[kBatches];
};

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void* serve(void* argument) {
  struct table* table = argument;
  uint32_t ball = 0;
  for (int batch = -1; batch < kBatches; batch++) { /* batch -1 only warms up */
    const double start = now_ns();
    for (int trip = 0; trip < kTrips; trip++) {
      atomic_store_explicit(&table->ping, ++ball, memory_order_release);
      while (atomic_load_explicit(&table->pong, memory_order_acquire) != ball) {
      }
    }
    if (batch >= 0) table->hop_ns[batch] = (now_ns() - start) / (2.0 * kTrips);
  }
  return NULL;
}

static void* answer(void* argument) {
  struct table* table = argument;
  for (uint32_t ball = 1; ball <= (kBatches + 1) * kTrips; ball++) {
    while (atomic_load_explicit(&table->ping, memory_order_acquire) != ball) {
    }
    atomic_store_explicit(&table->pong, ball, memory_order_release);
  }
  return NULL;
}

/* The first two CPUs in use. With OMP_PROC_BIND the runtime has already bound this thread to one CPU before main, so
 * its places are asked first and the affinity mask only where there are none. Returns how many were found, 0..2. */
static int first_two_cpus(int cpu[2]) {
  int found = 0;
  for (int place = 0; place < omp_get_num_places() && found < 2; place++) {
    const int count = omp_get_place_num_procs(place);
    int* ids = calloc(count > 0 ? (size_t)count : 1, sizeof *ids);
    if (!ids) return 0;
    omp_get_place_proc_ids(place, ids);
    for (int i = 0; i < count && found < 2; i++) {
      if (found == 0 || ids[i] != cpu[0]) cpu[found++] = ids[i];
      if (omp_get_num_places() > 1) break; /* one CPU of each place: SMT siblings share one */
    }
    free(ids);
  }
  if (found == 2) return 2;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 0;
  found = 0;
  for (int i = 0; i < CPU_SETSIZE && found < 2; i++)
    if (CPU_ISSET(i, &allowed)) cpu[found++] = i;
  return found;
}

static int start_on(pthread_t* thread, int cpu, void* (*body)(void*), void* argument) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return -1;
  int failed = pthread_attr_setaffinity_np(&attributes, sizeof one, &one);
  if (!failed) failed = pthread_create(thread, &attributes, body, argument);
  pthread_attr_destroy(&attributes);
  return failed ? -1 : 0;
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

double epcc_one_way_hop(void) {
  int cpu[2];
  if (first_two_cpus(cpu) < 2) return -1;
  static struct table table;
  atomic_store(&table.ping, 0);
  atomic_store(&table.pong, 0);
  pthread_t server, other;
  if (start_on(&other, cpu[1], answer, &table) != 0) return -1;
  if (start_on(&server, cpu[0], serve, &table) != 0)
    serve(&table); /* unpinned, but `other` is let go */
  else
    pthread_join(server, NULL);
  pthread_join(other, NULL);
  qsort(table.hop_ns, kBatches, sizeof table.hop_ns[0], by_size);
  return table.hop_ns[kBatches / 2];
}
