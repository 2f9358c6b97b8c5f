// Proves that different communicators may run collectives at once in threads of one process (MPI_THREAD_MULTIPLE): 2,
// then 4 threads, each with a communicator of its own, call all four collectives thousands of times, each in a
// different order and at lengths of every method; every result is checked. Threads also make and free communicators
// meanwhile.
#include "check.h"

#include <pthread.h>

enum { kMostThreads = 4, kMostInts = 20000 };

typedef struct worker {
  pthread_t thread;
  MPI_Comm comm;
  int number, rounds;
} worker;

static void one_barrier(const worker *w) { MPI_Barrier(w->comm); }

static void one_bcast(const worker *w, int *data, int count, int root, int round) {
  for (int k = 0; k < count; ++k) data[k] = world_rank == root ? round * 31 + k + w->number : -1;
  MPI_Bcast(data, count, MPI_INT, root, w->comm);
  for (int k = 0; k < count; ++k)
    if (data[k] != round * 31 + k + w->number)
      fail("thread %d round %d: bcast MPI_INT count %d root %d: element %d is %d", w->number, round, count, root, k,
           data[k]);
}

static int sum_of(int k, int round, int number) {
  return world_size * (k + round + number) + world_size * (world_size - 1) / 2;
}

static void one_reduction(const worker *w, int *in, int *out, int count, int root, int round) {
  for (int k = 0; k < count; ++k) in[k] = world_rank + k + round + w->number, out[k] = -1;
  if (root < 0)
    MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, w->comm);
  else
    MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, root, w->comm);
  for (int k = 0; (root < 0 || root == world_rank) && k < count; ++k)
    if (out[k] != sum_of(k, round, w->number))
      fail("thread %d round %d: %s MPI_SUM MPI_INT count %d root %d: element %d is %d instead of %d", w->number, round,
           root < 0 ? "allreduce" : "reduce", count, root, k, out[k], sum_of(k, round, w->number));
}

// The same sequence on all ranks, another one per thread.
static void *work(void *argument) {
  const worker *w = argument;
  uint64_t random = (uint64_t)w->number * 1000;
  int *in = malloc(kMostInts * sizeof *in), *out = malloc(kMostInts * sizeof *out);
  for (int round = 0; round < w->rounds; ++round) {
    const uint64_t r = next_random(&random);
    const int root = (int)((r >> 8) % (uint64_t)world_size);
    const int limits[] = {3, 14, 100, 1000, kMostInts};
    const int count = 1 + (int)((r >> 32) % (uint64_t)limits[(r >> 20) % (round % 8 == 0 ? 5 : 3)]);
    switch (r % 4) {
      case 0: one_barrier(w); break;
      case 1: one_bcast(w, in, count, root, round); break;
      case 2: one_reduction(w, in, out, count, root, round); break;
      default: one_reduction(w, in, out, count, -1, round);
    }
  }
  free(in);
  free(out);
  return NULL;
}

static void *work_on_short_lived(void *argument) {
  worker w = *(worker *)argument;
  for (int i = 0; i < 10; ++i) {
    worker inner = w;
    MPI_Comm_dup(w.comm, &inner.comm);
    inner.rounds = w.rounds / 20;
    work(&inner);
    MPI_Comm_free(&inner.comm);
  }
  return NULL;
}

static void run(int threads, int rounds, void *(*function)(void *)) {
  worker workers[kMostThreads];
  for (int i = 0; i < threads; ++i) {
    workers[i] = (worker){.number = i, .rounds = rounds};
    MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
  }
  for (int i = 0; i < threads; ++i) CHECK(pthread_create(&workers[i].thread, NULL, function, &workers[i]) == 0);
  for (int i = 0; i < threads; ++i) CHECK(pthread_join(workers[i].thread, NULL) == 0);
  for (int i = 0; i < threads; ++i) MPI_Comm_free(&workers[i].comm);
}

int main(int argc, char **argv) {
  int provided;
  start_threaded(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided < MPI_THREAD_MULTIPLE) return skip("this MPI has no MPI_THREAD_MULTIPLE");
  const int rounds = (int)number_argument(argc, argv, "--rounds", full ? 20000 : light ? 500 : 2000);
  run(2, rounds, work);
  run(kMostThreads, rounds / 2, work);
  if (has_argument(argc, argv, "--create")) run(2, rounds, work_on_short_lived);
  return finish();
}
