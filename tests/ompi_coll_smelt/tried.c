// Long collectives of every size, over and over on one communicator, so that two ranks try both methods for them and go
// on with one; every result is checked. Which methods ran is in Smelt's lines; the driver reads them. Where the kernel
// does not permit single copy that is said: "no single copy".
#include "check.h"

#include <sys/uio.h>

enum { kCalls = 40, kMostWords = 1 << 16 };

static uint64_t in[2 * kMostWords], out[2 * kMostWords];

static uint64_t word(int from, int to, int i, int round) {
  return mix((uint64_t)from, (uint64_t)(i * 7 + to), (uint64_t)round) >> 8;
}
static void fill(uint64_t *to, int block, int words, int round) {
  for (int i = 0; i < words; ++i) to[i] = word(world_rank, block, i, round);
}
static void expect(const char *name, const uint64_t *got, int from, int to, int words, int round) {
  for (int i = 0; i < words; ++i)
    if (got[i] != word(from, to, i, round)) fail("%s of %d words, round %d: word %d is wrong", name, words, round, i);
}
static void expect_sum(const char *name, int words, int round) {
  for (int i = 0; i < words; ++i) {
    uint64_t sum = 0;
    for (int rank = 0; rank < world_size; ++rank) sum += word(rank, 0, i, round);
    if (out[i] != sum) fail("%s of %d words, round %d: word %d is wrong", name, words, round, i);
  }
}

static void calls(MPI_Comm comm, int words, int round) {
  const int root = round % world_size;
  memset(out, 0, sizeof out);
  if (world_rank == root) fill(out, 0, words, round);
  CHECK(MPI_Bcast(out, words, MPI_UINT64_T, root, comm) == MPI_SUCCESS);
  expect("broadcast", out, root, 0, words, round);
  fill(in, 0, words, round);
  CHECK(MPI_Reduce(in, out, words, MPI_UINT64_T, MPI_SUM, root, comm) == MPI_SUCCESS);
  if (world_rank == root) expect_sum("reduce", words, round);
  CHECK(MPI_Allreduce(in, out, words, MPI_UINT64_T, MPI_SUM, comm) == MPI_SUCCESS);
  expect_sum("allreduce", words, round);
  MPI_Request request;
  memset(out, 0, sizeof out);
  CHECK(MPI_Iallreduce(in, out, words, MPI_UINT64_T, MPI_SUM, comm, &request) == MPI_SUCCESS);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  expect_sum("iallreduce", words, round);
  if (world_size > 2) return;
  for (int to = 0; to < world_size; ++to) fill(in + to * words, to, words, round);
  CHECK(MPI_Alltoall(in, words, MPI_UINT64_T, out, words, MPI_UINT64_T, comm) == MPI_SUCCESS);
  for (int from = 0; from < world_size; ++from) expect("alltoall", out + from * words, from, world_rank, words, round);
  CHECK(MPI_Allgather(in, words, MPI_UINT64_T, out, words, MPI_UINT64_T, comm) == MPI_SUCCESS);
  for (int from = 0; from < world_size; ++from) expect("allgather", out + from * words, from, 0, words, round);
  memset(out, 0, sizeof out);
  CHECK(MPI_Gather(in, words, MPI_UINT64_T, out, words, MPI_UINT64_T, root, comm) == MPI_SUCCESS);
  for (int from = 0; world_rank == root && from < world_size; ++from)
    expect("gather", out + from * words, from, 0, words, round);
  memset(out, 0, sizeof out);
  CHECK(MPI_Scatter(in, words, MPI_UINT64_T, out, words, MPI_UINT64_T, root, comm) == MPI_SUCCESS);
  expect("scatter", out, root, world_rank, words, round);
}

// May rank 0 read rank 1's memory, and the other way round?
static int may_read(void) {
  static const uint64_t value = 4711;
  const uint64_t mine[2] = {(uint64_t)getpid(), (uint64_t)(uintptr_t)&value};
  uint64_t theirs[2], found = 0;
  CHECK(MPI_Sendrecv(mine, 2, MPI_UINT64_T, 1 - world_rank, 1, theirs, 2, MPI_UINT64_T, 1 - world_rank, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  const struct iovec here = {&found, sizeof found}, there = {(void *)(uintptr_t)theirs[1], sizeof found};
  int permitted = process_vm_readv((pid_t)theirs[0], &here, 1, &there, 1, 0) == (ssize_t)sizeof found && found == value;
  CHECK(MPI_Allreduce(MPI_IN_PLACE, &permitted, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) == MPI_SUCCESS);
  return permitted;
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  if (world_size == 2 && !may_read() && world_rank == 0) puts("no single copy");
  MPI_Comm comm;
  CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
  static const int kWords[] = {1 << 9, 1 << 10, 1 << 13, kMostWords};
  for (int round = 0; round < kCalls; ++round)
    for (size_t i = 0; i < sizeof kWords / sizeof *kWords; ++i) calls(comm, kWords[i], round);
  CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
  return finish();
}
