// How a message is sent: synchronous, buffered, ready, persistent.
#ifndef SMELT_TESTS_PML_RULES_MODES_H
#define SMELT_TESTS_PML_RULES_MODES_H

#include "common.h"

// --- send modes

static void synchronous(void) {
  static const int lengths_of[] = {0, 8, 1000, 100000};
  unsigned char *data = calloc(1, 100000);
  for (int i = 0; i < 4; ++i) {
    if (world_rank == 0) {
      MPI_Request request;
      MPI_Issend(data, lengths_of[i], MPI_BYTE, 1, 0, world, &request);
      pass_time(0.02);
      CHECK(not_complete(&request));
      MPI_Send(NULL, 0, MPI_BYTE, 1, 1, world);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Ssend(data, lengths_of[i], MPI_BYTE, 1, 2, world);
    } else if (world_rank == 1) {
      MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, world, MPI_STATUS_IGNORE);  // the other one waits here, unmatched
      MPI_Recv(data, lengths_of[i], MPI_BYTE, 0, 0, world, MPI_STATUS_IGNORE);
      MPI_Recv(data, lengths_of[i], MPI_BYTE, 0, 2, world, MPI_STATUS_IGNORE);
    }
  }
  // More than there are words for answers, matched in reverse.
  enum { kMany = 150 };
  MPI_Request requests[kMany];
  int values[kMany];
  for (int i = 0; i < kMany; ++i) {
    values[i] = i;
    if (world_rank == 0) MPI_Issend(&values[i], 1, MPI_INT, 1, 100 + i, world, &requests[i]);
  }
  if (world_rank == 1)
    for (int i = kMany; i-- > 0;) {
      int value;
      MPI_Recv(&value, 1, MPI_INT, 0, 100 + i, world, MPI_STATUS_IGNORE);
      CHECK(value == i);
    }
  if (world_rank == 0) MPI_Waitall(kMany, requests, MPI_STATUSES_IGNORE);
  free(data);
}

static void buffered(void) {
  enum { kMessages = 40, kLong = 30000 };
  const int room = kMessages * (kLong + MPI_BSEND_OVERHEAD);
  void *attached = malloc((size_t)room);
  unsigned char *data = malloc(kLong);
  MPI_Buffer_attach(attached, room);
  if (world_rank == 0) {
    for (int k = 0; k < kMessages; ++k) {
      const int bytes = k % 3 == 0 ? kLong : k % 3 == 1 ? 100 : 3000;
      fill(data, 0, k, (size_t)bytes);
      if (k % 2) {
        MPI_Bsend(data, bytes, MPI_BYTE, 1, 3, world);
      } else {
        MPI_Request request;
        MPI_Ibsend(data, bytes, MPI_BYTE, 1, 3, world, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);  // nobody has received anything yet
      }
      memset(data, 0, kLong);
    }
    MPI_Ssend(NULL, 0, MPI_BYTE, 1, 4, world);
  } else if (world_rank == 1) {
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 4, world, MPI_STATUS_IGNORE);
    for (int k = 0; k < kMessages; ++k) {
      const int bytes = k % 3 == 0 ? kLong : k % 3 == 1 ? 100 : 3000;
      MPI_Recv(data, kLong, MPI_BYTE, 0, 3, world, MPI_STATUS_IGNORE);
      verify(data, 0, k, (size_t)bytes, "buffered");
    }
  }
  void *given;
  int size;
  MPI_Buffer_detach(&given, &size);
  CHECK(given == attached && size == room);
  free(attached);
  free(data);
}

// A buffer that is too small is an error, and nothing is sent. (Open MPI 4.1's own ob1 receives nothing more then.)
static void buffer_too_small(void) {
  enum { kLong = 30000, kRoom = 2000 };
  if (!served) return;
  void *attached = malloc(kRoom), *given;
  unsigned char *data = calloc(1, kLong);
  int size;
  MPI_Comm comm = returning_errors();
  MPI_Buffer_attach(attached, kRoom);
  if (world_rank == 0) {
    CHECK(MPI_Bsend(data, kLong, MPI_BYTE, 1, 5, comm) != MPI_SUCCESS);
    MPI_Send(data, 1, MPI_BYTE, 1, 5, comm);
  } else if (world_rank == 1) {
    MPI_Status status;
    MPI_Recv(data, kLong, MPI_BYTE, 0, 5, comm, &status);
    verify_status(&status, 0, 5, 1, "after a buffer that was too small");
  }
  MPI_Buffer_detach(&given, &size);
  MPI_Comm_free(&comm);
  free(attached);
  free(data);
}

static void ready(void) {
  unsigned char *data = malloc(70000);
  for (int k = 0; k < 4; ++k) {
    static const int lengths_of[] = {0, 100, 5000, 70000};
    MPI_Request request;
    if (world_rank == 1) MPI_Irecv(data, 70000, MPI_BYTE, 0, k, world, &request);
    MPI_Barrier(world);
    fill(data, 0, k, world_rank == 0 ? (size_t)lengths_of[k] : 0);
    if (world_rank == 0) MPI_Rsend(data, lengths_of[k], MPI_BYTE, 1, k, world);
    if (world_rank == 1) {
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      verify(data, 0, k, (size_t)lengths_of[k], "ready");
    }
  }
  free(data);
}

static void persistent(void) {
  enum { kModes = 4, kRounds = 20, kLong = 9000 };
  unsigned char out[kModes][kLong], in[kModes][kLong];
  MPI_Request requests[2 * kModes + 2];
  char attached[kModes * kRounds * 300];
  MPI_Buffer_attach(attached, sizeof attached);
  const int to = next_of(world_rank), from = before_of(world_rank);
  for (int m = 0; m < kModes; ++m)
    MPI_Recv_init(in[m], kLong, MPI_BYTE, m % 2 ? from : MPI_ANY_SOURCE, m, world, &requests[m]);
  MPI_Send_init(out[0], kLong, MPI_BYTE, to, 0, world, &requests[kModes]);
  MPI_Ssend_init(out[1], 500, MPI_BYTE, to, 1, world, &requests[kModes + 1]);
  MPI_Bsend_init(out[2], 100, MPI_BYTE, to, 2, world, &requests[kModes + 2]);
  MPI_Rsend_init(out[3], kLong, MPI_BYTE, to, 3, world, &requests[kModes + 3]);
  MPI_Send_init(out[0], 1, MPI_BYTE, MPI_PROC_NULL, 0, world, &requests[2 * kModes]);
  MPI_Recv_init(in[0], 1, MPI_BYTE, MPI_PROC_NULL, 0, world, &requests[2 * kModes + 1]);
  static const int bytes_of[] = {kLong, 500, 100, kLong};
  for (int round = 0; round < kRounds; ++round) {
    for (int m = 0; m < kModes; ++m) fill(out[m], world_rank, round * kModes + m, kLong);
    MPI_Startall(kModes, requests);
    MPI_Barrier(world);  // rsend
    MPI_Startall(kModes + 2, requests + kModes);
    MPI_Status status[2 * kModes + 2];
    if (round % 2) {
      MPI_Waitall(2 * kModes + 2, requests, status);
    } else {
      for (int i = 0; i < 2 * kModes + 2; ++i) MPI_Wait(&requests[i], &status[i]);
    }
    for (int m = 0; m < kModes; ++m) {
      verify(in[m], from, round * kModes + m, (size_t)bytes_of[m], "persistent");
      verify_status(&status[m], from, m, bytes_of[m], "persistent");
    }
    for (int i = 0; i < 2 * kModes + 2; ++i) CHECK(requests[i] != MPI_REQUEST_NULL);
  }
  MPI_Status status;  // inactive: complete, and empty
  MPI_Wait(&requests[0], &status);
  CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
  for (int i = 0; i < 2 * kModes + 2; ++i) MPI_Request_free(&requests[i]);
  void *given;
  int size;
  MPI_Buffer_detach(&given, &size);
}

#endif
