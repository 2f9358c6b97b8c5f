/* mpi FIGURE...: the costs of collectives and messages between two ranks. Rank 0 prints a line "FIGURE ns" for each.
 *
 * This is an ordinary MPI program; bench/guard runs it with the components of two builds in turn. A batch is a loop
 * that ends with a barrier, so its time ends when both ranks are through. Every call checks what it has received.
 */
#include <mpi.h>
#include <string.h>

#include "timing.h"

enum { kSmall = 1, kLarge = 8192, kLongest = 131072 }; /* doubles: 8 B, 64 KiB, 1 MiB */
enum { kReductions = 10 };                             /* in a communicator */
#define MOST_AWAY_NS 300.0

static int me;
static double mine[kLongest], theirs[kLongest];

static void expect(double got, double wanted, const char* what) {
  if (got == wanted) return;
  fprintf(stderr, "%s: %g instead of %g\n", what, got, wanted);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Every call has contents of its own, in its first element and in its last. */
static void stamp(double* data, int length, double value) { data[0] = data[length - 1] = value; }

static void expect_stamp(const double* data, int length, double value, const char* what) {
  expect(data[0], value, what);
  expect(data[length - 1], value, what);
}

/* Each is one call, of `length` doubles, the `i`th of its batch. */

static void barrier(int length, int i) {
  (void)length, (void)i;
  MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(int length, int i) {
  stamp(mine, length, i + me);
  MPI_Allreduce(mine, theirs, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  expect_stamp(theirs, length, 2 * i + 1, "allreduce");
}

static void bcast(int length, int i) {
  if (me == 0) stamp(mine, length, i);
  MPI_Bcast(mine, length, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  expect_stamp(mine, length, i, "bcast");
}

static void reduce(int length, int i) {
  stamp(mine, length, i + me);
  MPI_Reduce(mine, theirs, length, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (me == 0) expect_stamp(theirs, length, 2 * i + 1, "reduce");
}

/* A communicator that is used for a few calls only. */
static void communicator(int length, int i) {
  MPI_Comm some;
  MPI_Comm_dup(MPI_COMM_WORLD, &some);
  for (int k = 0; k < kReductions; k++) {
    stamp(mine, length, i + k + me);
    MPI_Allreduce(mine, theirs, length, MPI_DOUBLE, MPI_SUM, some);
    expect_stamp(theirs, length, 2 * (i + k) + 1, "allreduce of a new communicator");
  }
  MPI_Comm_free(&some);
}

/* There and back. */
static void message(int length, int i) {
  if (me == 0) {
    stamp(mine, length, i);
    MPI_Send(mine, length, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
  }
  MPI_Recv(theirs, length, MPI_DOUBLE, 1 - me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (me == 1) MPI_Send(theirs, length, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
  expect_stamp(theirs, length, i, "message");
}

/* Both neighbours are the other rank. */
static void halo(int length, int i) {
  MPI_Request requests[4];
  stamp(mine, length, i + me);
  for (int k = 0; k < 2; k++)
    MPI_Irecv(theirs + k * length, length, MPI_DOUBLE, 1 - me, k, MPI_COMM_WORLD, requests + k);
  for (int k = 0; k < 2; k++) MPI_Isend(mine, length, MPI_DOUBLE, 1 - me, k, MPI_COMM_WORLD, requests + 2 + k);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  for (int k = 0; k < 2; k++) expect_stamp(theirs + k * length, length, i + 1 - me, "halo");
}

static const struct figure {
  const char* name;
  void (*call)(int length, int i);
  int length, count; /* doubles, calls in a batch */
  double away_ns;    /* at most, before each call; 0: a tight loop */
} figures[] = {{"barrier", barrier, 0, 2000, 0},
               {"barrier-skewed", barrier, 0, 1000, MOST_AWAY_NS},
               {"allreduce-8", allreduce, kSmall, 1500, 0},
               {"allreduce-8-skewed", allreduce, kSmall, 1000, MOST_AWAY_NS},
               {"bcast-8", bcast, kSmall, 2000, 0},
               {"reduce-8", reduce, kSmall, 1500, 0},
               {"allreduce-64K", allreduce, kLarge, 20, 0},
               {"bcast-64K", bcast, kLarge, 20, 0},
               {"reduce-64K", reduce, kLarge, 20, 0},
               {"allreduce-1M", allreduce, kLongest, 10, 0},
               {"bcast-1M", bcast, kLongest, 10, 0},
               {"communicator", communicator, kSmall, 10, 0},
               {"message-8", message, kSmall, 1000, 0},
               {"message-1K", message, 128, 500, 0},
               {"message-64K", message, kLarge, 20, 0},
               {"halo-8", halo, kSmall, 1000, 0},
               {"halo-2K", halo, 256, 500, 0}};

static double batch(const struct figure* figure, const uint32_t* stays) {
  MPI_Barrier(MPI_COMM_WORLD);
  const uint64_t start = ticks();
  for (int i = 0; i < figure->count; i++) {
    if (stays) stay_away(stays[me * figure->count + i]);
    figure->call(figure->length, i);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return (double)(ticks() - start);
}

static void measure(const struct figure* figure) {
  uint32_t* stays = figure->away_ns > 0 ? draw_stays(figure->count, 2, figure->away_ns) : NULL;
  const double longest = stays ? longest_stays(stays, stays + figure->count, figure->count) : 0;
  double ns[kBatches];
  for (int i = -2; i < kBatches; i++) { /* those below 0 warm up */
    const double taken = (batch(figure, stays) - longest) / figure->count / ticks_per_ns;
    if (i >= 0) ns[i] = taken;
  }
  if (me == 0) printf("%s %.2f\n", figure->name, lower_quartile(ns));
  free(stays);
}

int main(int argc, char** argv) {
  int ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  expect(ranks, 2, "ranks");
  find_ticks_per_ns();
  MPI_Bcast(&ticks_per_ns, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD); /* the stays are the same in both */
  for (int i = 1; i < argc; i++) {
    const struct figure* figure = figures;
    const struct figure* const end = figures + sizeof figures / sizeof *figures;
    while (figure < end && strcmp(argv[i], figure->name) != 0) figure++;
    if (figure == end) {
      fprintf(stderr, "there is no figure %s\n", argv[i]);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    measure(figure);
  }
  MPI_Finalize();
  return 0;
}
