// More than there is room for, many requests, and processes that fork.
#ifndef SMELT_TESTS_PML_RULES_ROOM_H
#define SMELT_TESTS_PML_RULES_ROOM_H

#include "common.h"

#include <sys/wait.h>

// --- room

// More than fits anywhere, both sides send before they receive; the sends are blocking, so that what is short must be
// stored for the receiver. Strictly no program may count on that; with Open MPI's own they can.
static void flood(void) {
  enum { kMessages = 1500, kBytes = 1000 };
  unsigned char out[kBytes], in[kBytes];
  for (int k = 0; k < kMessages; ++k) {
    fill(out, world_rank, k, kBytes);
    MPI_Send(out, k % 4 ? kBytes : 8, MPI_BYTE, next_of(world_rank), k % 3, world);
  }
  for (int tag = 2; tag >= 0; --tag)
    for (int k = tag; k < kMessages; k += 3) {
      MPI_Recv(in, kBytes, MPI_BYTE, before_of(world_rank), tag, world, MPI_STATUS_IGNORE);
      verify(in, before_of(world_rank), k, k % 4 ? kBytes : 8, "flood");
    }
}

static void many_requests(void) {
  enum { kMany = 3000 };
  MPI_Request *requests = malloc(2 * kMany * sizeof *requests);
  int *values = malloc(2 * kMany * sizeof *values);
  for (int i = 0; i < kMany; ++i) MPI_Irecv(&values[i], 1, MPI_INT, before_of(world_rank), i, world, &requests[i]);
  for (int i = kMany; i-- > 0;) {
    values[kMany + i] = i * 3 + world_rank;
    MPI_Isend(&values[kMany + i], 1, MPI_INT, next_of(world_rank), i, world, &requests[kMany + i]);
  }
  for (int left = 2 * kMany; left > 0;) {
    int done, index[64];
    MPI_Waitsome(left > 64 ? 64 : left, requests + left - (left > 64 ? 64 : left), &done, index, MPI_STATUSES_IGNORE);
    if (done == MPI_UNDEFINED) {
      left -= left > 64 ? 64 : left;
      continue;
    }
  }
  for (int i = 0; i < kMany; ++i) CHECK(values[i] == i * 3 + before_of(world_rank));
  // testany, testsome, waitany over long ones
  enum { kLong = 100000, kFew = 10 };
  unsigned char *out = malloc(kLong), *in = malloc((size_t)kFew * kLong);
  fill(out, world_rank, 9, kLong);
  for (int i = 0; i < kFew; ++i) {
    MPI_Irecv(in + (size_t)i * kLong, kLong, MPI_BYTE, before_of(world_rank), i, world, &requests[i]);
    MPI_Isend(out, kLong, MPI_BYTE, next_of(world_rank), kFew - 1 - i, world, &requests[kFew + i]);
  }
  for (int left = 2 * kFew; left > 0;) {
    int index, flag = 1;
    if (left % 2)
      MPI_Waitany(2 * kFew, requests, &index, MPI_STATUS_IGNORE);
    else
      MPI_Testany(2 * kFew, requests, &index, &flag, MPI_STATUS_IGNORE);
    if (flag && index != MPI_UNDEFINED) --left;
  }
  for (int i = 0; i < kFew; ++i) verify(in + (size_t)i * kLong, before_of(world_rank), 9, kLong, "waitany");
  free(out);
  free(in);
  free(requests);
  free(values);
}

// Children share the memory for as long as they live, and change nothing by going.
static void forked(void) {
  enum { kChildren = 3, kLong = 200000 };
  unsigned char *out = malloc(kLong), *in = malloc(kLong);
  pid_t children[kChildren];
  for (int c = 0; c < kChildren; ++c) {
    MPI_Request requests[2];
    MPI_Irecv(in, kLong, MPI_BYTE, before_of(world_rank), c, world, &requests[0]);
    fill(out, world_rank, c, kLong);
    children[c] = fork();
    if (children[c] == 0) {
      memset(out, 0xff, kLong);  // its own copies
      memset(in, 0xff, kLong);
      if (c == 0) _exit(0);
      if (c == 1) execlp("true", "true", (char *)NULL);
      usleep(50000);
      _exit(0);
    }
    CHECK(children[c] > 0);
    MPI_Isend(out, kLong, MPI_BYTE, next_of(world_rank), c, world, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    verify(in, before_of(world_rank), c, kLong, "beside a child");
    MPI_Send(out, 3000, MPI_BYTE, next_of(world_rank), kChildren, world);
    MPI_Recv(in, 3000, MPI_BYTE, before_of(world_rank), kChildren, world, MPI_STATUS_IGNORE);
    verify(in, before_of(world_rank), c, 3000, "beside a child");
  }
  for (int c = 0; c < kChildren; ++c) {
    int status = -1;
    CHECK(waitpid(children[c], &status, 0) == children[c] && WIFEXITED(status));
  }
  free(out);
  free(in);
}

#endif
