// MPI_THREAD_MULTIPLE: threads that send and receive at the same time, each with a tag of its own; threads that share
// what comes, by matched probes and by wildcards: each message comes to one of them.
//   many_threads [--threads T] [--rounds N]
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

enum { kWindow = 16, kMost = 64, kLong = 20000 };
static int threads = 4, rounds = 150;
static MPI_Comm shared;

static int length_of(int round, int i) { return (round + i) % 11 == 0 ? kLong : (round + i) % 5 == 0 ? 2000 : 8; }

// A ring per tag: windows of all lengths, waited for in several ways.
static void *own_tag(void *argument) {
  const int tag = (int)(intptr_t)argument, to = (world_rank + 1) % world_size;
  const int from = (world_rank + world_size - 1) % world_size;
  unsigned char *out = malloc(kWindow * kLong), *in = malloc(kWindow * kLong);
  for (int round = 0; round < rounds; ++round) {
    MPI_Request requests[2 * kWindow];
    for (int i = 0; i < kWindow; ++i)
      MPI_Irecv(in + i * kLong, kLong, MPI_BYTE, from, tag, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < kWindow; ++i) {
      memset(out + i * kLong, tag * 7 + round + i, kLong);
      MPI_Isend(out + i * kLong, length_of(round, i), MPI_BYTE, to, tag, MPI_COMM_WORLD, &requests[kWindow + i]);
    }
    MPI_Status status[2 * kWindow];
    if (round % 3 == 0) {
      MPI_Waitall(2 * kWindow, requests, status);
    } else if (round % 3 == 1) {
      for (int i = 2 * kWindow; i-- > 0;) MPI_Wait(&requests[i], &status[i]);
    } else {
      for (int left = 2 * kWindow; left > 0; --left) {
        int index;
        MPI_Status one;
        MPI_Waitany(2 * kWindow, requests, &index, &one);
        status[index] = one;
      }
    }
    for (int i = 0; i < kWindow; ++i) {
      int count;
      MPI_Get_count(&status[i], MPI_BYTE, &count);
      if (count != length_of(round, i) || status[i].MPI_TAG != tag)
        fail("tag %d, round %d: message %d has %d bytes and tag %d", tag, round, i, count, status[i].MPI_TAG);
      for (int k = 0; k < count; k += 97)
        if (in[i * kLong + k] != (unsigned char)(tag * 7 + round + i)) fail("tag %d, round %d: byte %d", tag, round, k);
    }
    // and a ping-pong of two
    int value = round, got = -1;
    MPI_Sendrecv(&value, 1, MPI_INT, to, 1000 + tag, &got, 1, MPI_INT, from, 1000 + tag, MPI_COMM_WORLD, &status[0]);
    CHECK(got == round);
  }
  free(out);
  free(in);
  return NULL;
}

// All threads of rank 0 share what the threads of the others send.
static atomic_int taken;
static atomic_uchar *seen;

static void note(int sender, int value) {
  if (atomic_fetch_add(&seen[sender * threads * rounds + value], 1) != 0)
    fail("message %d of %d came twice", value, sender);
}

static void *share(void *argument) {
  const int me = (int)(intptr_t)argument;
  if (world_rank != 0) {
    for (int i = 0; i < rounds; ++i) {
      const int value = me * rounds + i;
      MPI_Send(&value, 1, MPI_INT, 0, value % 3, shared);
    }
    return NULL;
  }
  for (int mine = 0;; ++mine) {
    if (atomic_fetch_add(&taken, 1) >= (world_size - 1) * threads * rounds) return NULL;
    int value;
    MPI_Status status;
    if ((me + mine) % 3 == 0) {
      MPI_Message message;
      MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, shared, &message, &status);
      MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
    } else if ((me + mine) % 3 == 1) {
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, shared, &status);
    } else {
      MPI_Message message;
      int flag = 0;
      while (!flag) MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, shared, &flag, &message, &status);
      MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
    }
    CHECK(status.MPI_TAG == value % 3);
    note(status.MPI_SOURCE, value);
  }
}

static void with_threads(void *(*body)(void *)) {
  pthread_t all[kMost];
  for (int i = 0; i < threads; ++i) CHECK(pthread_create(&all[i], NULL, body, (void *)(intptr_t)i) == 0);
  for (int i = 0; i < threads; ++i) pthread_join(all[i], NULL);
}

int main(int argc, char **argv) {
  int provided;
  start_threaded(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided != MPI_THREAD_MULTIPLE) return skip("this MPI has no MPI_THREAD_MULTIPLE");
  if (world_size < 2) return skip("needs two ranks");
  threads = (int)number_argument(argc, argv, "--threads", threads);
  rounds = (int)number_argument(argc, argv, "--rounds", rounds);
  CHECK(threads > 0 && threads <= kMost);
  with_threads(own_tag);
  MPI_Comm_dup(MPI_COMM_WORLD, &shared);
  seen = calloc((size_t)world_size * (size_t)threads * (size_t)rounds, 1);
  with_threads(share);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int sender = 1; world_rank == 0 && sender < world_size; ++sender)
    for (int i = 0; i < threads * rounds; ++i) CHECK(seen[sender * threads * rounds + i] == 1);
  free(seen);
  MPI_Comm_free(&shared);
  return finish();
}
