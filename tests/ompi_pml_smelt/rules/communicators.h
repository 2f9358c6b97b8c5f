// Communicators: promises, many at a time, one-sided calls beside them.
#ifndef SMELT_TESTS_PML_RULES_COMMUNICATORS_H
#define SMELT_TESTS_PML_RULES_COMMUNICATORS_H

#include "common.h"

// --- communicators

// A communicator on which the program promises all that MPI knows of. To be freed.
static MPI_Comm promising(void) {
  MPI_Info info;
  MPI_Comm comm;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_no_any_source", "true");
  MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
  MPI_Info_set(info, "mpi_assert_allow_overtaking", "true");
  MPI_Info_set(info, "mpi_assert_exact_length", "true");
  MPI_Comm_dup_with_info(world, info, &comm);
  MPI_Info_free(&info);
  return comm;
}

// Messages of every way, probed and not, receives that are taken back; promises kept.
static void promises(void) {
  MPI_Comm comm = promising();
  unsigned char *out = malloc(1 << 20), *in = malloc(1 << 20);
  const int next = next_of(world_rank), before = before_of(world_rank);
  for (int k = 0; k < 2 * kLengths; ++k) {
    const int bytes = kLengthOf[k / 2];
    MPI_Request send, receive = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag;
    MPI_Irecv(in, bytes, MPI_BYTE, before, k, comm, &receive);
    if (k % 2) {  // none is on its way: nobody sends before all are here
      MPI_Cancel(&receive);
      MPI_Wait(&receive, &status);
      MPI_Test_cancelled(&status, &flag);
      CHECK(flag);
    }
    MPI_Barrier(comm);
    fill(out, world_rank, k, (size_t)bytes);
    MPI_Isend(out, bytes, MPI_BYTE, next, k, comm, &send);
    if (k % 2) {
      MPI_Probe(before, k, comm, &status);
      verify_status(&status, before, k, bytes, "promises, probed");
      MPI_Irecv(in, bytes, MPI_BYTE, before, k, comm, &receive);
    }
    MPI_Wait(&receive, &status);
    verify_status(&status, before, k, bytes, "promises");
    verify(in, before, k, (size_t)bytes, "promises");
    MPI_Wait(&send, MPI_STATUS_IGNORE);
  }
  free(out);
  free(in);
  MPI_Comm_free(&comm);
}

// ... and broken: nothing is wrong for it.
static void broken_promises(void) {
  MPI_Comm comm = promising();
  for (int k = 0; k < 3; ++k) {
    int value = -1;
    MPI_Status status;
    MPI_Sendrecv(&world_rank, 1, MPI_INT, next_of(world_rank), k, &value, 1, MPI_INT,
                 k == 0 ? before_of(world_rank) : MPI_ANY_SOURCE, k == 1 ? k : MPI_ANY_TAG, comm, &status);
    verify_status(&status, before_of(world_rank), k, sizeof value, "broken promises");
    CHECK(value == before_of(world_rank));
  }
  MPI_Comm_free(&comm);
}

static void communicators(void) {
  // the same tag on several, received in another order
  enum { kCopies = 5 };
  MPI_Comm copies[kCopies];
  for (int i = 0; i < kCopies; ++i) MPI_Comm_dup(world, &copies[i]);
  for (int i = 0; i < kCopies; ++i) MPI_Send(&i, 1, MPI_INT, next_of(world_rank), 1, copies[i]);
  for (int i = kCopies; i-- > 0;) {
    int value;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, copies[i], MPI_STATUS_IGNORE);
    CHECK(value == i);
  }
  for (int i = 0; i < kCopies; ++i) MPI_Comm_free(&copies[i]);
  // other ranks' numbers; and context ids are used again
  for (int round = 0; round < 30; ++round) {
    MPI_Comm part;
    MPI_Comm_split(world, world_rank % 2, -world_rank, &part);
    int me, n, value;
    MPI_Comm_rank(part, &me);
    MPI_Comm_size(part, &n);
    MPI_Status status;
    MPI_Sendrecv(&world_rank, 1, MPI_INT, (me + 1) % n, round, &value, 1, MPI_INT, MPI_ANY_SOURCE, round, part,
                 &status);
    CHECK(status.MPI_SOURCE == (me + n - 1) % n && value % 2 == world_rank % 2);
    MPI_Comm_free(&part);
  }
  // an inter-communicator, and what is made of it
  MPI_Comm part, inter, merged;
  MPI_Comm_split(world, world_rank % 2, world_rank, &part);
  MPI_Intercomm_create(part, 0, world, world_rank % 2 ? 0 : 1, 3, &inter);
  int me, remote, value = -1;
  MPI_Comm_rank(inter, &me);
  MPI_Comm_remote_size(inter, &remote);
  if (me < remote) {
    MPI_Sendrecv(&world_rank, 1, MPI_INT, me, 0, &value, 1, MPI_INT, me, 0, inter, MPI_STATUS_IGNORE);
    CHECK(value == (world_rank ^ 1));
  }
  MPI_Intercomm_merge(inter, world_rank % 2, &merged);
  int sum = 0, one = 1;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, merged);
  CHECK(sum == world_size);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&part);
}

// Messages that nobody has received go with their communicator: another that gets its context id does not see them.
static void nobodys(void) {
  static const int lengths_of[] = {10, 4000};
  unsigned char out[4000], in[4000];
  for (int round = 0; round < 6; ++round) {
    MPI_Comm comm;
    MPI_Comm_dup(world, &comm);
    const int from = round % 2 ? MPI_ANY_SOURCE : before_of(world_rank);
    int flag;
    MPI_Iprobe(from, 1, comm, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Barrier(world);  // nobody sends before all have looked
    for (int k = 0; k < 2; ++k) {
      fill(out, world_rank, round, sizeof out);
      MPI_Send(out, lengths_of[k], MPI_BYTE, next_of(world_rank), 1, comm);
    }
    MPI_Send(NULL, 0, MPI_BYTE, next_of(world_rank), 2, comm);
    MPI_Recv(NULL, 0, MPI_BYTE, before_of(world_rank), 2, comm, MPI_STATUS_IGNORE);  // behind the others
    if (round >= 4) {                                                                // one of them is received
      MPI_Status status;
      MPI_Recv(in, sizeof in, MPI_BYTE, from, 1, comm, &status);
      verify_status(&status, before_of(world_rank), 1, lengths_of[0], "of this communicator");
      verify(in, before_of(world_rank), round, (size_t)lengths_of[0], "of this communicator");
    }
    MPI_Comm_free(&comm);
    MPI_Barrier(world);
  }
}

// --- one-sided: where Open MPI makes messages of it (--mca osc pt2pt), their requests call back when they are
// complete, and are freed there

static void one_sided(void) {
  if (refused) return;  // Open MPI's own osc/rdma tries for ever then, with messages of whomever
  enum { kInts = 6000, kRounds = 12 };
  static const int lengths_of[] = {1, 40, 1500, kInts};
  int *window = calloc(3 * kInts, sizeof *window), *own = malloc(kInts * sizeof *own),
      *got = malloc(kInts * sizeof *got);
  MPI_Win win;
  MPI_Win_create(window, 3 * kInts * sizeof *window, sizeof *window, MPI_INFO_NULL, world, &win);
  const int to = next_of(world_rank), from = before_of(world_rank);
  MPI_Win_fence(0, win);
  for (int round = 0; round < kRounds; ++round) {
    const int n = lengths_of[round % 4];
    for (int i = 0; i < n; ++i) own[i] = world_rank * 1000 + round + i;
    MPI_Put(own, n, MPI_INT, to, 0, n, MPI_INT, win);
    MPI_Accumulate(own, n, MPI_INT, to, kInts, n, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    MPI_Get(got, n, MPI_INT, to, 0, n, MPI_INT, win);
    for (int i = 0; i < n; ++i)
      CHECK(window[i] == from * 1000 + round + i);  // nobody writes there before the next fence
    MPI_Win_fence(0, win);
    for (int i = 0; i < n; ++i) CHECK(got[i] == own[i]);
  }
  int sum = 0;
  for (int round = 0; round < kRounds; ++round) sum += from * 1000 + round;
  CHECK(window[kInts] == sum);
  for (int round = 0; round < kRounds; ++round) {
    const int one = 1;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Accumulate(&one, 1, MPI_INT, 0, 2 * kInts, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock(0, win);
  }
  MPI_Barrier(world);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  MPI_Get(got, 1, MPI_INT, 0, 2 * kInts, 1, MPI_INT, win);
  MPI_Win_unlock(0, win);
  CHECK(got[0] == kRounds * world_size);
  MPI_Win_free(&win);
  free(window);
  free(own);
  free(got);
}

#endif
