/* mpi FIGURE...: the times of MPI's calls between two ranks, and of the same exchanges by hand. Prints a line "FIGURE
 * ns ns" for each: MPI's time, and that by hand, with as few messages as do it, in memory that the same two ranks
 * share.
 *
 * Batches of the one and of the other take turns. A figure is CALL-BYTES. After each broadcast and reduction the ranks
 * meet by hand in both, so the time is that of the rank which is through last. A halo is two messages each way. Calls
 * of up to 1 KiB are skewed: each rank stays away for a time of its own first, and only the time after the longer stay
 * counts (guarded/timing.h). Messages are half of a round trip, and are not skewed. By hand long data go through a ring
 * of slots, which both copy at the same time. bench/limit runs this.
 */
#include <mpi.h>
#include <stdbool.h>
#include <string.h>

#include "line.h"

enum { kSlot = 16384, kSlots = 8, kMostBytes = 4 << 20, kMostCalls = 1000 };
#define MOST_AWAY_NS 300.0

struct ring {
  line full[kSlots], freed;
  _Alignas(4096) char slot[kSlots][kSlot];
};
static struct shared {
  line meeting[2], pair[2][2];
  struct ring ring[2]; /* to rank 1, to rank 0 */
} * shared;

static int me;
static double *mine, *theirs;
static uint32_t* stays;

static void expect(double got, double wanted, const char* what) {
  if (got == wanted) return;
  fprintf(stderr, "%s: %g instead of %g\n", what, got, wanted);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void meet(void) {
  static uint64_t epoch;
  post(shared->meeting + me, ++epoch);
  await(shared->meeting + 1 - me, epoch);
}

static void put(const void* data, size_t bytes) {
  static uint64_t position;
  struct ring* const ring = shared->ring + me;
  for (size_t at = 0; at < bytes; at += kSlot) {
    if (++position > kSlots) await(&ring->freed, position - kSlots);
    memcpy(ring->slot[position % kSlots], (const char*)data + at, bytes - at < kSlot ? bytes - at : kSlot);
    post(ring->full + position % kSlots, position);
  }
}

/* Copied, or added to `operand`. */
static void get(void* data, const double* operand, size_t bytes) {
  static uint64_t position;
  struct ring* const ring = shared->ring + 1 - me;
  for (size_t at = 0; at < bytes; at += kSlot) {
    const size_t length = bytes - at < kSlot ? bytes - at : kSlot;
    char* const to = (char*)data + at;
    ++position;
    await(ring->full + position % kSlots, position);
    if (operand) {
      const double* const from = (const double*)ring->slot[position % kSlots];
      for (size_t k = 0; k < length / sizeof *from; k++) ((double*)to)[k] = from[k] + operand[at / sizeof *from + k];
    } else {
      memcpy(to, ring->slot[position % kSlots], length);
    }
    post(&ring->freed, position);
  }
}

/* Every call has contents of its own, in its first element and in its last. */
static void stamp(double* data, size_t bytes, double value) { data[0] = data[bytes / sizeof *data - 1] = value; }
static void check(const double* data, size_t bytes, double value, const char* what) {
  expect(data[0], value, what);
  expect(data[bytes / sizeof *data - 1], value, what);
}

static void barrier_mpi(size_t bytes, int i) {
  (void)bytes, (void)i;
  MPI_Barrier(MPI_COMM_WORLD);
}
static void barrier_hand(size_t bytes, int i) {
  (void)bytes, (void)i;
  meet();
}

static void bcast_mpi(size_t bytes, int i) {
  if (me == 0) stamp(mine, bytes, i);
  MPI_Bcast(mine, (int)(bytes / sizeof *mine), MPI_DOUBLE, 0, MPI_COMM_WORLD);
  check(mine, bytes, i, "broadcast");
  meet();
}
static void bcast_hand(size_t bytes, int i) {
  if (me == 0) {
    stamp(mine, bytes, i);
    put(mine, bytes);
  } else {
    get(mine, NULL, bytes);
  }
  check(mine, bytes, i, "broadcast by hand");
  meet();
}

static void reduce_mpi(size_t bytes, int i) {
  stamp(mine, bytes, i + me);
  MPI_Reduce(mine, theirs, (int)(bytes / sizeof *mine), MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (me == 0) check(theirs, bytes, 2 * i + 1, "reduction");
  meet();
}
static void reduce_hand(size_t bytes, int i) {
  stamp(mine, bytes, i + me);
  if (me == 1)
    put(mine, bytes);
  else
    get(theirs, mine, bytes);
  if (me == 0) check(theirs, bytes, 2 * i + 1, "reduction by hand");
  meet();
}

static void allreduce_mpi(size_t bytes, int i) {
  stamp(mine, bytes, i + me);
  MPI_Allreduce(mine, theirs, (int)(bytes / sizeof *mine), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  check(theirs, bytes, 2 * i + 1, "allreduce");
}
/* Of one double: both tell each other. Longer ones: each adds half of every piece, and has the other half back. */
static void allreduce_hand(size_t bytes, int i) {
  static uint64_t epoch;
  stamp(mine, bytes, i + me);
  if (bytes == sizeof *mine) {
    line* const pair = shared->pair[++epoch & 1];
    pair[me].value = mine[0];
    post(pair + me, epoch);
    await(pair + 1 - me, epoch);
    theirs[0] = mine[0] + pair[1 - me].value;
  } else {
    for (size_t at = 0; at < bytes; at += kSlot) {
      const size_t length = bytes - at < kSlot ? bytes - at : kSlot, half = length / 2, own = me ? half : 0;
      put((char*)mine + at + half - own, half);
      get((char*)theirs + at + own, (double*)((char*)mine + at + own), half);
      put((char*)theirs + at + own, half);
      get((char*)theirs + at + half - own, NULL, half);
    }
  }
  check(theirs, bytes, 2 * i + 1, "allreduce by hand");
}

static void message_mpi(size_t bytes, int i) {
  const int count = (int)(bytes / sizeof *mine);
  if (me == 0) stamp(mine, bytes, i);
  if (me == 0) MPI_Send(mine, count, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
  MPI_Recv(theirs, count, MPI_DOUBLE, 1 - me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (me == 1) MPI_Send(theirs, count, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
  check(theirs, bytes, i, "message");
}
static void message_hand(size_t bytes, int i) {
  if (me == 0) stamp(mine, bytes, i);
  if (me == 0) put(mine, bytes);
  get(theirs, NULL, bytes);
  if (me == 1) put(theirs, bytes);
  check(theirs, bytes, i, "message by hand");
}

/* Both neighbours are the other rank: two messages there, two back, at the same time. */
static void halo_mpi(size_t bytes, int i) {
  const int count = (int)(bytes / sizeof *mine);
  double* const second = theirs + count;
  MPI_Request requests[4];
  stamp(mine, bytes, i + me);
  for (int k = 0; k < 2; k++)
    MPI_Irecv(k ? second : theirs, count, MPI_DOUBLE, 1 - me, k, MPI_COMM_WORLD, requests + k);
  for (int k = 0; k < 2; k++) MPI_Isend(mine, count, MPI_DOUBLE, 1 - me, k, MPI_COMM_WORLD, requests + 2 + k);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  check(theirs, bytes, i + 1 - me, "halo");
  check(second, bytes, i + 1 - me, "halo");
}
static void halo_hand(size_t bytes, int i) {
  double* const second = theirs + bytes / sizeof *theirs;
  stamp(mine, bytes, i + me);
  put(mine, bytes);
  put(mine, bytes);
  get(theirs, NULL, bytes);
  get(second, NULL, bytes);
  check(theirs, bytes, i + 1 - me, "halo by hand");
  check(second, bytes, i + 1 - me, "halo by hand");
}

static const struct call {
  const char* name;
  void (*mpi)(size_t bytes, int i);
  void (*hand)(size_t bytes, int i);
  bool is_skewed;
  double share; /* of the time */
} calls[] = {{"barrier", barrier_mpi, barrier_hand, true, 1},    {"bcast", bcast_mpi, bcast_hand, true, 1},
             {"reduce", reduce_mpi, reduce_hand, true, 1},       {"allreduce", allreduce_mpi, allreduce_hand, true, 1},
             {"message", message_mpi, message_hand, false, 0.5}, {"halo", halo_mpi, halo_hand, true, 1}};

static double batch(const struct call* call, size_t bytes, int count, bool by_hand) {
  const bool is_skewed = call->is_skewed && bytes <= 1024;
  const uint32_t* const own = stays + me * kMostCalls;
  meet();
  const uint64_t start = ticks();
  for (int i = 0; i < count; i++) {
    if (is_skewed) stay_away(own[i]);
    (by_hand ? call->hand : call->mpi)(bytes, i);
  }
  meet();
  const double taken = (double)(ticks() - start) - (is_skewed ? longest_stays(stays, stays + kMostCalls, count) : 0);
  return taken * call->share / count / ticks_per_ns;
}

static bool measure(const char* name) {
  const char* const dash = strchr(name, '-');
  const size_t bytes = dash ? strtoul(dash + 1, NULL, 10) : sizeof *mine;
  const bool is_whole = bytes == sizeof *mine || bytes % (2 * sizeof *mine) == 0;
  if (bytes < sizeof *mine || bytes > kMostBytes || !is_whole) return false;
  const int count = bytes <= 1024 ? kMostCalls : bytes <= 65536 ? 100 : bytes <= 1 << 20 ? 10 : 4;
  for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
    const size_t length = dash ? (size_t)(dash - name) : strlen(name);
    if (strlen(calls[c].name) != length || strncmp(name, calls[c].name, length) != 0) continue;
    double mpi[kBatches], hand[kBatches];
    for (int i = -2; i < kBatches; i++) { /* those below 0 warm up */
      const double one = batch(calls + c, bytes, count, false), other = batch(calls + c, bytes, count, true);
      if (i >= 0) mpi[i] = one, hand[i] = other;
    }
    if (me == 0) printf("%s %.2f %.2f\n", name, lower_quartile(mpi), lower_quartile(hand));
    return true;
  }
  return false;
}

int main(int argc, char** argv) {
  int ranks, unit;
  void* base;
  MPI_Aint size;
  MPI_Win window;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  expect(ranks, 2, "ranks");
  MPI_Win_allocate_shared(me == 0 ? sizeof *shared + 4096 : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  MPI_Win_shared_query(window, 0, &size, &unit, &base);
  shared = (struct shared*)(((uintptr_t)base + 4095) & ~(uintptr_t)4095);
  mine = aligned_alloc(4096, kMostBytes), theirs = aligned_alloc(4096, 2 * kMostBytes);
  if (!mine || !theirs) expect(0, 1, "memory");
  memset(mine, 0, kMostBytes), memset(theirs, 0, 2 * kMostBytes);
  find_ticks_per_ns();
  MPI_Bcast(&ticks_per_ns, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD); /* the stays are the same in both */
  stays = draw_stays(kMostCalls, 2, MOST_AWAY_NS);
  for (int i = 1; i < argc; i++) {
    if (measure(argv[i])) continue;
    fprintf(stderr, "there is no figure %s\n", argv[i]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
