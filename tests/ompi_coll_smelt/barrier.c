// Proves that nobody leaves a barrier before all have arrived, and that it orders memory: every rank counts its rounds
// in memory shared by all, crosses, and must see everybody's count. Ranks are late now and then, by turns. Then mixed:
// random collectives of random length, root, operation and datatype, the same sequence on all ranks, every result
// checked, so that each method meets every other one's leftovers.
//   barrier [--rounds N] [--mixed N] [--seed N]
#include "check.h"

#include <time.h>

enum { kLine = 8, kMostBytes = 200000 };  // longs per rank: a cache line

static long *shared_lines(MPI_Win *window) {
  long *mine, *first;
  MPI_Aint bytes;
  int unit;
  MPI_Win_allocate_shared(kLine * sizeof *mine, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, window);
  MPI_Win_shared_query(*window, 0, &bytes, &unit, &first);
  memset(mine, 0, kLine * sizeof *mine);
  return first;
}

// Usually nothing; sometimes a few microseconds; rarely long enough for the others to go to sleep.
static void be_late(uint64_t r) {
  if (r % 64 == 0)
    for (volatile int i = 0; i < (int)(r >> 8 & 0xFFF); ++i) {
    }
  if (r % 4096 == 1) nanosleep(&(struct timespec){0, (long)(r >> 8 & 0xFFFFF)}, NULL);
}

static void count_and_cross(long rounds, uint64_t seed) {
  MPI_Win window;
  long *lines = shared_lines(&window);
  uint64_t random = mix(seed, (uint64_t)world_rank, 3);
  MPI_Barrier(MPI_COMM_WORLD);
  for (long round = 1; round <= rounds; ++round) {
    be_late(next_random(&random));
    *(volatile long *)&lines[world_rank * kLine] = round;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int rank = 0; rank < world_size; ++rank) {
      const long seen = *(volatile long *)&lines[rank * kLine];
      if (seen < round || seen > round + 1)
        fail("barrier %ld let go while rank %d was in round %ld", round, rank, seen);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
}

typedef struct call {
  int kind, root, count, in_place, type, op, salt;
} call;

typedef struct buffers {
  guarded in, out;
} buffers;

static const char *const kKindNames[] = {"barrier", "bcast", "reduce", "allreduce"};
static const char *const kTypeNames[] = {"MPI_BYTE", "MPI_INT", "MPI_DOUBLE", "MPI_SHORT_INT"};
static const char *const kOpNames[] = {"MPI_SUM", "MPI_MAX", "MPI_MIN"};

typedef struct short_int {
  short value;
  int index;
} short_int;

static size_t extent_of(int type) { return (size_t[]){1, sizeof(int), sizeof(double), sizeof(short_int)}[type]; }

// Half of the calls repeat the last one's kind and root, so that ranks which need not wait run ahead of the others.
static call random_call(uint64_t *random, const call *last) {
  const uint64_t r = next_random(random), q = next_random(random);
  static const int limits[] = {8, 64, 512, 4096, 20000, kMostBytes};
  call c = {
      (int)(r % 4),   (int)((r >> 8) % (uint64_t)world_size), 0, r >> 16 & 1, (int)(r >> 20 & 3), (int)((r >> 24) % 3),
      (int)(q & 0xFF)};
  if (r >> 40 & 1) c.kind = last->kind, c.root = last->root;
  if (c.kind >= 2 && c.type == 0) c.type = 1;
  const int longest = (r >> 28) % 16 == 0 ? 6 : 3;  // long messages are rare
  c.count = 1 + (int)((q >> 8) % (uint64_t)limits[(r >> 32) % (uint64_t)longest] / extent_of(c.type));
  return c;
}

static int number_of(const call *c, int rank, int k) { return (rank * 13 + k * 7 + c->salt) % 251; }

static void put(int type, unsigned char *data, int k, int value, int index) {
  if (type == 0) data[k] = (unsigned char)value;
  if (type == 1) ((int *)(void *)data)[k] = value;
  if (type == 2) ((double *)(void *)data)[k] = value;
  if (type == 3) ((short_int *)(void *)data)[k].value = (short)value, ((short_int *)(void *)data)[k].index = index;
}

static int got(int type, const unsigned char *data, int k, int *index) {
  *index = 0;
  if (type == 0) return data[k];
  if (type == 1) return ((const int *)(const void *)data)[k];
  if (type == 2) return (int)((const double *)(const void *)data)[k];
  *index = ((const short_int *)(const void *)data)[k].index;
  return ((const short_int *)(const void *)data)[k].value;
}

// What the reduction of element k must be; for MPI_SHORT_INT always the greatest with its lowest rank.
static int expected(const call *c, int k, int *index) {
  int sum = 0, greatest = -1, least = 1000;
  *index = 0;
  for (int rank = 0; rank < world_size; ++rank) {
    const int value = number_of(c, rank, k);
    sum += value;
    if (value > greatest) greatest = value, *index = rank;
    if (value < least) least = value;
  }
  if (c->type == 3) return greatest;
  *index = 0;
  return c->op == 0 ? sum : c->op == 1 ? greatest : least;
}

static MPI_Datatype type_of(const call *c) {
  return (MPI_Datatype[]){MPI_BYTE, MPI_INT, MPI_DOUBLE, MPI_SHORT_INT}[c->type];
}
static MPI_Op op_of(const call *c) { return c->type == 3 ? MPI_MAXLOC : (MPI_Op[]){MPI_SUM, MPI_MAX, MPI_MIN}[c->op]; }

static void verify_call(const call *c, const guarded *data, int whose, long number) {
  int intact;
  guarded window = *data;
  window.bytes = (size_t)c->count * extent_of(c->type);
  guarded_damage(&window, &intact);
  if (!intact)
    fail("mixed %ld: %s %s count %d root %d wrote outside", number, kKindNames[c->kind], kTypeNames[c->type], c->count,
         c->root);
  for (int k = 0; k < c->count; ++k) {
    int index, wanted_index = whose;
    const int is = got(c->type, data->data, k, &index);
    const int wanted = whose >= 0 ? number_of(c, whose, k) : expected(c, k, &wanted_index);
    if (is != wanted || (c->type == 3 && index != wanted_index))
      fail("mixed %ld: %s %s %s count %d root %d%s: element %d is %d (%d) instead of %d (%d)", number,
           kKindNames[c->kind], c->type == 3 ? "MPI_MAXLOC" : kOpNames[c->op], kTypeNames[c->type], c->count, c->root,
           c->in_place ? " in place" : "", k, is, index, wanted, wanted_index);
  }
}

static void perform(const call *c, buffers *b, long number) {
  const size_t bytes = (size_t)c->count * extent_of(c->type);
  const int receives = c->kind == 3 || c->root == world_rank;
  memset(b->out.data - kGuardBytes, kFill, bytes + 2 * kGuardBytes);
  unsigned char *source = c->kind == 1 || (c->in_place && receives) ? b->out.data : b->in.data;
  for (int k = 0; (c->kind >= 2 || receives) && k < c->count; ++k)
    put(c->type, source, k, number_of(c, world_rank, k), world_rank);
  const void *in = source == b->out.data ? MPI_IN_PLACE : source;
  switch (c->kind) {
    case 0: MPI_Barrier(MPI_COMM_WORLD); return;
    case 1: MPI_Bcast(b->out.data, c->count, type_of(c), c->root, MPI_COMM_WORLD); break;
    case 2: MPI_Reduce(in, b->out.data, c->count, type_of(c), op_of(c), c->root, MPI_COMM_WORLD); break;
    default: MPI_Allreduce(in, b->out.data, c->count, type_of(c), op_of(c), MPI_COMM_WORLD);
  }
  if (c->kind == 1)
    verify_call(c, &b->out, c->root, number);
  else if (receives)
    verify_call(c, &b->out, -1, number);
}

static void mixed(long calls, uint64_t seed) {
  buffers b = {guarded_new(kMostBytes + 64), guarded_new(kMostBytes + 64)};
  uint64_t random = mix(seed, 5, 6), own = mix(seed, (uint64_t)world_rank, 7);
  call c = {0};
  for (long number = 0; number < calls; ++number) {
    c = random_call(&random, &c);
    be_late(next_random(&own));
    perform(&c, &b, number);
  }
  guarded_free(&b.in);
  guarded_free(&b.out);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  const uint64_t seed = (uint64_t)number_argument(argc, argv, "--seed", 1);
  count_and_cross(number_argument(argc, argv, "--rounds", light ? 3000 : 100000), seed);
  mixed(number_argument(argc, argv, "--mixed", full ? 200000 : light ? 3000 : 20000), seed);
  return finish();
}
