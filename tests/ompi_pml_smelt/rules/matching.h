// Which message meets which receive: lengths, order, wildcards, probes.
#ifndef SMELT_TESTS_PML_RULES_MATCHING_H
#define SMELT_TESTS_PML_RULES_MATCHING_H

#include "common.h"

// --- lengths, posted first or not, blocking or not

static void lengths(void) {
  unsigned char *out = malloc(1 << 20), *in = malloc(1 << 20);
  for (int k = 0; k < kLengths; ++k) {
    const int bytes = kLengthOf[k];
    fill(out, world_rank, k, (size_t)bytes);
    MPI_Request requests[2];
    MPI_Status status[2];
    // posted first
    MPI_Irecv(in, bytes, MPI_BYTE, before_of(world_rank), k, world, &requests[0]);
    MPI_Barrier(world);
    MPI_Isend(out, bytes, MPI_BYTE, next_of(world_rank), k, world, &requests[1]);
    MPI_Waitall(2, requests, status);
    verify(in, before_of(world_rank), k, (size_t)bytes, "posted first");
    verify_status(&status[0], before_of(world_rank), k, bytes, "posted first");
    // the message first
    MPI_Isend(out, bytes, MPI_BYTE, next_of(world_rank), k, world, &requests[1]);
    MPI_Barrier(world);
    memset(in, 0, (size_t)bytes);
    MPI_Recv(in, bytes, MPI_BYTE, before_of(world_rank), k, world, &status[0]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    verify(in, before_of(world_rank), k, (size_t)bytes, "message first");
    verify_status(&status[0], before_of(world_rank), k, bytes, "message first");
    // blocking, and more room than there is message
    if (world_rank == 0) MPI_Send(out, bytes, MPI_BYTE, next_of(0), k, world);
    if (world_rank == next_of(0)) {
      memset(in, 0, (size_t)bytes);
      MPI_Recv(in, 1 << 20, MPI_BYTE, 0, k, world, &status[0]);
      verify(in, 0, k, (size_t)bytes, "blocking");
      verify_status(&status[0], 0, k, bytes, "blocking");
    }
    MPI_Sendrecv(out, bytes, MPI_BYTE, next_of(world_rank), 50 + k, in, bytes, MPI_BYTE, before_of(world_rank), 50 + k,
                 world, &status[0]);
    verify(in, before_of(world_rank), k, (size_t)bytes, "sendrecv");
    MPI_Sendrecv_replace(out, bytes, MPI_BYTE, next_of(world_rank), 70, before_of(world_rank), 70, world, &status[0]);
    verify(out, before_of(world_rank), k, (size_t)bytes, "sendrecv_replace");
  }
  free(out);
  free(in);
}

// --- non-overtaking

static int mixed_length(int k) { return k % 97 == 0 ? 20000 : k % 13 == 0 ? 3000 : k % 200; }

static void order(void) {
  enum { kMessages = 600, kWindow = 20 };
  enum { kSlots = kWindow + 1 };  // a long one is not done before the other side has come to it
  unsigned char *out[kSlots], *in = malloc(20000);
  for (int i = 0; i < kSlots; ++i) out[i] = malloc(20000);
  MPI_Request requests[kSlots];
  for (int i = 0; i < kSlots; ++i) requests[i] = MPI_REQUEST_NULL;
  for (int k = 0; k < kMessages + kWindow; ++k) {
    if (k < kMessages) {
      MPI_Wait(&requests[k % kSlots], MPI_STATUS_IGNORE);
      fill(out[k % kSlots], world_rank, k, (size_t)mixed_length(k));
      MPI_Isend(out[k % kSlots], mixed_length(k), MPI_BYTE, next_of(world_rank), 1, world, &requests[k % kSlots]);
    }
    if (k >= kWindow) {  // so many are unexpected
      const int got = k - kWindow, any = got % 7 == 3;
      MPI_Status status;
      MPI_Recv(in, 20000, MPI_BYTE, any ? MPI_ANY_SOURCE : before_of(world_rank), any ? MPI_ANY_TAG : 1, world,
               &status);
      verify_status(&status, before_of(world_rank), 1, mixed_length(got), "order");
      verify(in, before_of(world_rank), got, (size_t)mixed_length(got), "order");
    }
  }
  MPI_Waitall(kSlots, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kSlots; ++i) free(out[i]);
  free(in);
}

// Receives are served in the order in which they were posted, whatever they leave open.
static void posted_order(void) {
  int values[6] = {0}, k;
  MPI_Request requests[6];
  if (world_rank == 0) {
    MPI_Irecv(&values[0], 1, MPI_INT, 1, 5, world, &requests[0]);
    MPI_Irecv(&values[1], 1, MPI_INT, MPI_ANY_SOURCE, 5, world, &requests[1]);
    MPI_Irecv(&values[2], 1, MPI_INT, 1, MPI_ANY_TAG, world, &requests[2]);
    MPI_Irecv(&values[3], 1, MPI_INT, 1, 5, world, &requests[3]);
    MPI_Irecv(&values[4], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &requests[4]);
    MPI_Irecv(&values[5], 1, MPI_INT, 1, 6, world, &requests[5]);
  }
  MPI_Barrier(world);
  if (world_rank == 1) {
    for (k = 0; k < 5; ++k) MPI_Send(&k, 1, MPI_INT, 0, 5, world);
    MPI_Send(&k, 1, MPI_INT, 0, 6, world);
  }
  if (world_rank == 0) {
    MPI_Waitall(6, requests, MPI_STATUSES_IGNORE);
    for (k = 0; k < 6; ++k)
      if (values[k] != k) fail("receive %d was posted %dth and got message %d", k, k, values[k]);
  }
}

static void wildcards(void) {
  enum { kEach = 200 };
  if (world_rank != 0) {
    for (int k = 0; k < kEach; ++k) MPI_Send(&k, 1, MPI_INT, 0, k % 5, world);
    return;
  }
  int *next = calloc((size_t)world_size, sizeof *next);
  int waiting = -1;
  MPI_Request never;  // a tag that nobody sends: older than all of them, and never served
  MPI_Irecv(&waiting, 1, MPI_INT, MPI_ANY_SOURCE, 77, world, &never);
  for (int i = 0; i < kEach * (world_size - 1); ++i) {
    int value;
    MPI_Status status;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status);
    if (value != next[status.MPI_SOURCE]++ || status.MPI_TAG != value % 5)
      fail("message %d of tag %d from %d after %d", value, status.MPI_TAG, status.MPI_SOURCE, next[status.MPI_SOURCE]);
  }
  CHECK(not_complete(&never));
  MPI_Cancel(&never);
  MPI_Wait(&never, MPI_STATUS_IGNORE);
  free(next);
}

// --- probes

static void probe(void) {
  unsigned char *data = malloc(1 << 20);
  for (int k = 0; k < kLengths; ++k) {
    const int bytes = kLengthOf[k];
    if (world_rank == 0) {
      fill(data, 0, k, (size_t)bytes);
      MPI_Send(data, bytes, MPI_BYTE, 1, k, world);
    } else if (world_rank == 1) {
      MPI_Status status;
      int flag = 1;
      MPI_Iprobe(0, 1000, world, &flag, &status);
      CHECK(!flag);
      MPI_Probe(k % 2 ? 0 : MPI_ANY_SOURCE, k % 3 ? k : MPI_ANY_TAG, world, &status);
      verify_status(&status, 0, k, bytes, "probe");
      MPI_Iprobe(MPI_ANY_SOURCE, k, world, &flag, &status);
      CHECK(flag);  // it is still there
      verify_status(&status, 0, k, bytes, "iprobe");
      MPI_Recv(data, bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, world, &status);
      verify(data, 0, k, (size_t)bytes, "probe");
      MPI_Iprobe(0, k, world, &flag, &status);
      CHECK(!flag);
    }
  }
  free(data);
}

static void matched_probe(void) {
  enum { kOfEach = 3 };
  unsigned char *data = malloc(1 << 20), *own[kOfEach];
  for (int i = 0; i < kOfEach; ++i) own[i] = malloc(1 << 20);
  for (int k = 0; k < kLengths; ++k) {
    const int bytes = kLengthOf[k];
    if (world_rank == 0) {
      MPI_Request requests[kOfEach];
      for (int i = 0; i < kOfEach; ++i) {
        fill(own[i], i, k, (size_t)bytes);
        MPI_Isend(own[i], bytes, MPI_BYTE, 1, k, world, &requests[i]);
      }
      MPI_Waitall(kOfEach, requests, MPI_STATUSES_IGNORE);
    } else if (world_rank == 1) {
      MPI_Status status;
      MPI_Message first, second;
      int flag = 0;
      MPI_Improbe(0, 999, world, &flag, &first, &status);
      CHECK(!flag);
      MPI_Mprobe(k % 2 ? 0 : MPI_ANY_SOURCE, k % 3 ? k : MPI_ANY_TAG, world, &first, &status);
      verify_status(&status, 0, k, bytes, "mprobe");
      while (!flag) MPI_Improbe(0, k, world, &flag, &second, &status);
      verify_status(&status, 0, k, bytes, "improbe");
      MPI_Recv(data, bytes, MPI_BYTE, 0, k, world, &status);  // both are out of its way
      verify(data, 2, k, (size_t)bytes, "received around matched messages");
      MPI_Request request;
      MPI_Imrecv(data, bytes, MPI_BYTE, &second, &request);
      CHECK(second == MPI_MESSAGE_NULL);
      MPI_Wait(&request, &status);
      verify_status(&status, 0, k, bytes, "imrecv");
      verify(data, 1, k, (size_t)bytes, "imrecv");
      MPI_Mrecv(data, bytes, MPI_BYTE, &first, &status);
      CHECK(first == MPI_MESSAGE_NULL);
      verify_status(&status, 0, k, bytes, "mrecv");
      verify(data, 0, k, (size_t)bytes, "mrecv");
    }
  }
  MPI_Message none;
  MPI_Mprobe(MPI_PROC_NULL, 3, world, &none, MPI_STATUS_IGNORE);
  CHECK(none == MPI_MESSAGE_NO_PROC);
  MPI_Mrecv(NULL, 0, MPI_BYTE, &none, MPI_STATUS_IGNORE);
  for (int i = 0; i < kOfEach; ++i) free(own[i]);
  free(data);
}

#endif
