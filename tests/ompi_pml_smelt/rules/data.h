// What a message is of: nothing, data of any layout, to oneself.
#ifndef SMELT_TESTS_PML_RULES_DATA_H
#define SMELT_TESTS_PML_RULES_DATA_H

#include "common.h"

static void proc_null_and_self(void) {
  int value = 5, flag;
  MPI_Status status;
  MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, world);
  MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, world, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && value == 5);
  MPI_Iprobe(MPI_PROC_NULL, 0, world, &flag, &status);
  CHECK(flag);
  MPI_Comm comms[] = {world, MPI_COMM_SELF};
  unsigned char *out = malloc(1 << 20), *in = malloc(1 << 20);
  for (int c = 0; c < 2; ++c)
    for (int k = 0; k < kLengths; ++k) {
      int me;
      MPI_Comm_rank(comms[c], &me);
      MPI_Request requests[2];
      fill(out, me, k, (size_t)kLengthOf[k]);
      MPI_Isend(out, kLengthOf[k], MPI_BYTE, me, k, comms[c], &requests[0]);
      MPI_Probe(MPI_ANY_SOURCE, k, comms[c], &status);
      verify_status(&status, me, k, kLengthOf[k], "self");
      MPI_Irecv(in, kLengthOf[k], MPI_BYTE, me, k, comms[c], &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      verify(in, me, k, (size_t)kLengthOf[k], "self");
      MPI_Issend(out, kLengthOf[k], MPI_BYTE, me, k, comms[c], &requests[0]);
      MPI_Recv(in, kLengthOf[k], MPI_BYTE, me, k, comms[c], &status);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
  free(out);
  free(in);
}

// --- datatypes

// All have 4 ints an element, with other gaps.
static int layouts(MPI_Datatype *types) {
  int n = 0;
  MPI_Type_contiguous(4, MPI_INT, &types[n++]);
  MPI_Type_vector(2, 2, 5, MPI_INT, &types[n++]);
  const int lengths_of[] = {1, 2, 1}, places[] = {7, 0, 4};
  MPI_Type_indexed(3, lengths_of, places, MPI_INT, &types[n++]);
  MPI_Datatype inner;
  MPI_Type_create_resized(MPI_INT, 0, 12, &inner);
  MPI_Type_contiguous(4, inner, &types[n++]);
  MPI_Type_free(&inner);
  const MPI_Aint at[] = {-16, 8};  // before the buffer's address
  const int two[] = {2, 2};
  MPI_Datatype ints[] = {MPI_INT, MPI_INT};
  MPI_Type_create_struct(2, two, at, ints, &types[n++]);
  const MPI_Aint one_at = 40;  // in one piece, but not at the beginning
  const int four = 4;
  MPI_Datatype ints1[] = {MPI_INT};
  MPI_Type_create_struct(1, &four, &one_at, ints1, &inner);
  MPI_Type_create_resized(inner, 0, 64, &types[n++]);
  MPI_Type_free(&inner);
  for (int i = 0; i < n; ++i) MPI_Type_commit(&types[i]);
  return n;
}

static void datatypes(void) {
  MPI_Datatype types[8];
  const int n = layouts(types);
  static const int counts[] = {1, 3, 20, 700, 9000};
  enum { kRoom = 9000 * 80 + 256 };
  char *out = malloc(kRoom), *in = malloc(kRoom), *expected = malloc(kRoom);
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b)
      for (int c = 0; c < 5; ++c) {
        const int packed = counts[c] * 16;
        char *flat = malloc((size_t)packed);
        fill((unsigned char *)flat, before_of(world_rank), a * n + b, (size_t)packed);
        memset(in, kFill, kRoom);
        memset(expected, kFill, kRoom);
        int at = 0;
        MPI_Unpack(flat, packed, &at, expected + 128, counts[c], types[b], world);
        fill((unsigned char *)flat, world_rank, a * n + b, (size_t)packed);
        memset(out, 0x11, kRoom);
        at = 0;
        MPI_Unpack(flat, packed, &at, out + 128, counts[c], types[a], world);
        MPI_Request requests[2];
        MPI_Status status[2];
        if (c % 2) MPI_Irecv(in + 128, counts[c], types[b], before_of(world_rank), 1, world, &requests[0]);
        MPI_Isend(out + 128, counts[c], types[a], next_of(world_rank), 1, world, &requests[1]);
        if (c % 2 == 0) MPI_Irecv(in + 128, counts[c], types[b], before_of(world_rank), 1, world, &requests[0]);
        MPI_Waitall(2, requests, status);
        int got = -1;
        MPI_Get_count(&status[0], types[b], &got);
        CHECK(got == counts[c]);
        const ptrdiff_t where = first_difference(in, expected, kRoom);
        if (where >= 0) fail("layout %d to %d, %d elements: byte %td", a, b, counts[c], where - 128);
        free(flat);
      }
  // Every other way of sending, with gaps; the type is freed at once.
  MPI_Datatype gaps;
  MPI_Type_vector(3000, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  int *values = calloc(6000, sizeof *values), *read = calloc(6000, sizeof *read);
  for (int i = 0; i < 6000; ++i) values[i] = i;
  MPI_Request requests[3];
  char *attached = malloc(40000);
  MPI_Buffer_attach(attached, 40000);
  for (int way = 0; way < 3; ++way) {
    MPI_Datatype own;
    MPI_Type_dup(gaps, &own);
    memset(read, 0xff, 6000 * sizeof *read);
    MPI_Irecv(read, 1, own, before_of(world_rank), way, world, &requests[0]);
    if (way == 0) MPI_Issend(values, 1, own, next_of(world_rank), way, world, &requests[1]);
    if (way == 1) MPI_Ibsend(values, 1, own, next_of(world_rank), way, world, &requests[1]);
    if (way == 2) {
      MPI_Send_init(values, 1, own, next_of(world_rank), way, world, &requests[1]);
      MPI_Start(&requests[1]);
    }
    MPI_Type_free(&own);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (way == 2) MPI_Request_free(&requests[1]);
    for (int i = 0; i < 5999; ++i) CHECK(read[i] == (i % 2 ? -1 : i));
  }
  void *given;
  int size;
  MPI_Buffer_detach(&given, &size);
  free(attached);
  free(values);
  free(read);
  MPI_Type_free(&gaps);
  for (int i = 0; i < n; ++i) MPI_Type_free(&types[i]);
  free(out);
  free(in);
  free(expected);
}

#endif
