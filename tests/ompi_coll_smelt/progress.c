// Proves that a rank that waits in a collective keeps its other communication moving. Each of these hangs where it
// does not:
//   - rank 0 starts to send 8 MB to everybody and enters the collective, which the others enter only once they have
//     received all of it (the same with rank 0's synchronous small messages, and with receives posted beforehand);
//   - nonblocking collectives are in flight, which the others complete before they enter;
//   - the others lock, write and unlock a window of a rank that already sits in the collective.
// The driver's time limit is the judge.
#include "check.h"

enum { kLong = 8 << 20, kSmall = 200, kPuts = 20 };

typedef enum collective { kBarrier, kBcast, kReduce, kAllreduce, kCollectives } collective;
static const char *const kNames[] = {"barrier", "bcast", "reduce", "allreduce"};

// In each of them rank 0 has to wait for somebody: it is never bcast's root.
static void enter(collective which, int round) {
  int word = world_rank == world_size - 1 ? 41 + round : 0, one = 1, sum = 0;
  switch (which) {
    case kBarrier: MPI_Barrier(MPI_COMM_WORLD); break;
    case kBcast:
      MPI_Bcast(&word, 1, MPI_INT, world_size - 1, MPI_COMM_WORLD);
      if (word != 41 + round) fail("bcast MPI_INT count 1 root %d: %d instead of %d", world_size - 1, word, 41 + round);
      break;
    case kReduce:
      MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
      if (world_rank == 0 && sum != world_size) fail("reduce MPI_SUM MPI_INT count 1 root 0: %d", sum);
      break;
    default:
      MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      if (sum != world_size) fail("allreduce MPI_SUM MPI_INT count 1: %d", sum);
  }
}

static void verify_long(const unsigned char *data, int round, const char *when) {
  for (size_t i = 0; i < kLong; i += 4096)
    if (data[i] != (unsigned char)(i / 4096 + (size_t)round)) fail("%s: byte %zu of a long message is wrong", when, i);
}

static void fill_long(unsigned char *data, int round) {
  for (size_t i = 0; i < kLong; i += 4096) data[i] = (unsigned char)(i / 4096 + (size_t)round);
}

// Rendezvous: the transfer needs the sender again after the receiver has answered.
static void long_send(collective which, int round, unsigned char *data) {
  if (world_rank == 0) {
    MPI_Request *requests = malloc((size_t)world_size * sizeof *requests);
    fill_long(data, round);
    for (int to = 1; to < world_size; ++to) MPI_Isend(data, kLong, MPI_BYTE, to, 1, MPI_COMM_WORLD, &requests[to - 1]);
    enter(which, round);
    MPI_Waitall(world_size - 1, requests, MPI_STATUSES_IGNORE);
    free(requests);
  } else {
    memset(data, 0xEE, kLong);
    MPI_Recv(data, kLong, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    verify_long(data, round, kNames[which]);
    enter(which, round);
  }
}

// The other way: rank 0 has posted receives, the others wait until their sends are done.
static void long_receive(collective which, int round, unsigned char *data) {
  if (world_rank == 0) {
    MPI_Request request;
    MPI_Irecv(data, kLong, MPI_BYTE, world_size - 1, 2, MPI_COMM_WORLD, &request);
    enter(which, round);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    verify_long(data, round, kNames[which]);
  } else {
    fill_long(data, round);
    if (world_rank == world_size - 1) MPI_Ssend(data, kLong, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    enter(which, round);
  }
}

static void small_synchronous(collective which, int round) {
  MPI_Request requests[kSmall];
  int words[kSmall];
  for (int i = 0; i < kSmall; ++i) words[i] = world_rank == 0 ? round + i : -1;
  for (int i = 0; i < kSmall; ++i) {
    if (world_rank == 0)
      MPI_Issend(&words[i], 1, MPI_INT, 1 + i % (world_size - 1), 3, MPI_COMM_WORLD, &requests[i]);
    else if (i % (world_size - 1) == world_rank - 1) {
      MPI_Recv(&words[i], 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (words[i] != round + i) fail("%s: small message %d is %d", kNames[which], i, words[i]);
    }
  }
  enter(which, round);
  if (world_rank == 0) MPI_Waitall(kSmall, requests, MPI_STATUSES_IGNORE);
}

// Passive target: rank 0 does nothing but sit in the collective while the others write to it, one after the other.
static void one_sided(collective which, int round) {
  long *memory = calloc((size_t)world_size + 1, sizeof *memory);
  MPI_Win window;
  MPI_Win_create(memory, (MPI_Aint)(((size_t)world_size + 1) * sizeof *memory), sizeof *memory, MPI_INFO_NULL,
                 MPI_COMM_WORLD, &window);
  for (int i = 0; world_rank > 0 && i < kPuts; ++i) {
    const long mine = round * 1000 + world_rank * 100 + i, one = 1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Put(&mine, 1, MPI_LONG, 0, world_rank, 1, MPI_LONG, window);
    MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, window);
    MPI_Win_unlock(0, window);
  }
  enter(which, round);
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    if (memory[0] != (long)(world_size - 1) * kPuts)
      fail("%s: %ld accumulated instead of %d", kNames[which], memory[0], (world_size - 1) * kPuts);
    for (int from = 1; from < world_size; ++from)
      if (memory[from] != round * 1000 + from * 100 + kPuts - 1)
        fail("%s: rank %d's last put is %ld", kNames[which], from, memory[from]);
    MPI_Win_unlock(0, window);
  }
  MPI_Win_free(&window);
  free(memory);
}

// Nonblocking collectives in flight, which rank 0 leaves to themselves while it sits in the blocking one.
static void nonblocking(collective which, int round, unsigned char *data) {
  MPI_Request requests[2];
  int one = 1, sum = 0;
  if (world_rank == 0) fill_long(data, round);
  MPI_Ibcast(data, kLong, MPI_BYTE, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
  if (world_rank != 0) MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  enter(which, round);
  if (world_rank == 0) MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  verify_long(data, round, "ibcast");
  if (sum != world_size) fail("iallreduce MPI_SUM MPI_INT count 1 around %s: %d", kNames[which], sum);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  if (world_size < 2) return skip("needs two ranks");
  unsigned char *data = malloc(kLong);
  for (int round = 0; round < (full ? 20 : light ? 2 : 4); ++round)
    for (int which = 0; which < kCollectives; ++which) {
      long_send((collective)which, round, data);
      long_receive((collective)which, round, data);
      small_synchronous((collective)which, round);
      one_sided((collective)which, round);
      nonblocking((collective)which, round, data);
    }
  free(data);
  return finish();
}
