// How a message ends otherwise: cancelled, truncated, its request or communicator freed.
#ifndef SMELT_TESTS_PML_RULES_ENDS_H
#define SMELT_TESTS_PML_RULES_ENDS_H

#include "common.h"

// --- cancelled, truncated, freed

static void cancel(void) {
  if (world_rank < 2) {
    const int other = 1 - world_rank;
    int values[3] = {-1, -1, -1};
    MPI_Request requests[3];
    MPI_Status status;
    int flag;
    for (int any = 0; any < 2; ++any) {
      const int from = any ? MPI_ANY_SOURCE : other;
      for (int i = 0; i < 3; ++i) MPI_Irecv(&values[i], 1, MPI_INT, from, 8, world, &requests[i]);
      MPI_Cancel(&requests[1]);
      MPI_Wait(&requests[1], &status);
      MPI_Test_cancelled(&status, &flag);
      CHECK(flag);
      for (int i = 0; i < 2; ++i) MPI_Sendrecv(&i, 1, MPI_INT, other, 9, &flag, 1, MPI_INT, other, 9, world, &status);
      for (int i = 10; i < 12; ++i) MPI_Send(&i, 1, MPI_INT, other, 8, world);
      MPI_Wait(&requests[0], &status);
      MPI_Cancel(&requests[2]);  // too late, or not; if it is not, the message is for somebody else
      MPI_Wait(&requests[2], &status);
      MPI_Test_cancelled(&status, &flag);
      if (flag) MPI_Recv(&values[2], 1, MPI_INT, other, 8, world, &status);
      CHECK(values[0] == 10 && values[1] == -1 && values[2] == 11);
      MPI_Sendrecv(&any, 1, MPI_INT, other, 9, &flag, 1, MPI_INT, other, 9, world, &status);
    }
    // one that is persistent, several times; with gaps, too
    MPI_Datatype gaps;
    MPI_Type_vector(2, 1, 2, MPI_BYTE, &gaps);
    MPI_Type_commit(&gaps);
    MPI_Recv_init(values, 1, gaps, other, 12, world, &requests[0]);
    MPI_Type_free(&gaps);
    for (int i = 0; i < 3; ++i) {
      MPI_Start(&requests[0]);
      MPI_Cancel(&requests[0]);
      MPI_Wait(&requests[0], &status);
      MPI_Test_cancelled(&status, &flag);
      CHECK(flag);
    }
    MPI_Request_free(&requests[0]);
  }
}

static void truncation(void) {
  MPI_Comm comm = returning_errors();
  static const int sent[] = {100, 5000, 90000};
  for (int i = 0; i < 3; ++i)
    for (int way = 0; way < 4; ++way) {
      if (world_rank == 0) {
        unsigned char *data = malloc((size_t)sent[i]);
        fill(data, 0, i, (size_t)sent[i]);
        MPI_Send(data, sent[i], MPI_BYTE, 1, 1, comm);
        MPI_Send(data, 60, MPI_BYTE, 1, 1, comm);
        free(data);
      } else if (world_rank == 1) {
        guarded in = guarded_new(60);
        MPI_Request request;
        MPI_Status status;
        int error, intact;
        MPI_Datatype gaps;
        MPI_Type_vector(30, 1, 2, MPI_BYTE, &gaps);
        MPI_Type_commit(&gaps);
        if (way == 0) {
          error = MPI_Recv(in.data, 60, MPI_BYTE, 0, 1, comm, &status);
        } else if (way == 1) {
          MPI_Irecv(in.data, 60, MPI_BYTE, 0, 1, comm, &request);
          error = MPI_Wait(&request, &status);
        } else if (way == 2) {
          error = MPI_Recv(in.data, 1, gaps, 0, 1, comm, &status);  // room for 30
          for (int k = 0; k < 30; ++k) CHECK(in.data[2 * k] == byte_of(0, i, (size_t)k));
          for (int k = 0; k < 30; ++k) CHECK(in.data[2 * k + 1] == kFill);
        } else {
          MPI_Message message;
          MPI_Mprobe(0, 1, comm, &message, &status);
          error = MPI_Mrecv(in.data, 60, MPI_BYTE, &message, &status);
        }
        int class = -1;
        MPI_Error_class(error, &class);
        if (class != MPI_ERR_TRUNCATE) fail("%d bytes into 60, way %d: error class %d", sent[i], way, class);
        const ptrdiff_t damage = guarded_damage(&in, &intact);
        if (!intact) fail("%d bytes into 60: byte %td was written", sent[i], damage);
        if (way != 2) verify(in.data, 0, i, 60, "cut off");
        MPI_Recv(in.data, 60, MPI_BYTE, 0, 1, comm, &status);
        verify_status(&status, 0, 1, 60, "after one that was cut off");
        verify(in.data, 0, i, 60, "after one that was cut off");
        MPI_Type_free(&gaps);
        guarded_free(&in);
      }
    }
  MPI_Comm_free(&comm);
}

static void freed(void) {
  enum { kLong = 200000, kMany = 30 };
  unsigned char *out = malloc(kLong), *in = calloc(kMany, kLong);
  fill(out, world_rank, 1, kLong);
  MPI_Comm comm;
  MPI_Comm_dup(world, &comm);
  for (int k = 0; k < kMany; ++k) {
    const int bytes = k % 3 == 0 ? kLong : k % 3 == 1 ? 4000 : 10;
    MPI_Request request;
    MPI_Irecv(in + (size_t)k * kLong, bytes, MPI_BYTE, before_of(world_rank), 1, comm, &request);
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL);
    MPI_Isend(out, bytes, MPI_BYTE, next_of(world_rank), 1, comm, &request);
    MPI_Request_free(&request);
  }
  MPI_Send(NULL, 0, MPI_BYTE, next_of(world_rank), 1, comm);
  MPI_Recv(NULL, 0, MPI_BYTE, before_of(world_rank), 1, comm, MPI_STATUS_IGNORE);  // behind all the others
  // They have met their receives; nobody says when they are there, nor which piece of one comes last.
  unsigned char *const all = malloc(kLong);
  fill(all, before_of(world_rank), 1, kLong);
  for (const double end = seconds() + 60; seconds() < end;) {
    int missing = 0;
    for (int k = 0; k < kMany; k += 3) missing += memcmp(in + (size_t)k * kLong, all, kLong) != 0;
    if (!missing) break;
    pass_time(0.002);
  }
  MPI_Barrier(world);
  for (int k = 0; k < kMany; ++k)
    verify(in + (size_t)k * kLong, before_of(world_rank), 1, k % 3 == 0 ? kLong : k % 3 == 1 ? 4000 : 10, "freed");
  // the communicator may go while something is under way
  MPI_Request requests[2];
  memset(in, 0, kLong);
  MPI_Irecv(in, kLong, MPI_BYTE, before_of(world_rank), 2, comm, &requests[0]);
  MPI_Isend(out, kLong, MPI_BYTE, next_of(world_rank), 2, comm, &requests[1]);
  MPI_Comm_free(&comm);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  verify(in, before_of(world_rank), 1, kLong, "freed communicator");
  free(all);
  free(out);
  free(in);
}

#endif
