// Collectives of communicators that span several nodes, against what the program itself computes: the promised order
// of a reduction's operands (rails/nodes/reductions.c), to the bit, from a communicator's first call on;
// operations that do not commute; types with gaps; messages of several pieces; any root; ranks in any order; every
// block of an allgather; and a barrier that nobody leaves before all have come (the pretended nodes share a clock).
//   several_nodes [--any-order]
// --any-order: the component is absent, so bits are not compared.
#include "check.h"

#include <time.h>

// kMany: from there on, only to the last rank.
enum { kMostRanks = 64, kBlock = 16, kMany = 100000 };

static int any_order;
static int size, rank, node_of[kMostRanks], nodes;  // of the communicator that is tested

// Nodes in the order of their lowest ranks.
static void find_nodes(MPI_Comm comm) {
  char mine[MPI_MAX_PROCESSOR_NAME] = "", all[kMostRanks][MPI_MAX_PROCESSOR_NAME];
  int length;
  MPI_Get_processor_name(mine, &length);
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  CHECK(size <= kMostRanks);
  MPI_Request request;
  MPI_Iallgather(mine, sizeof mine, MPI_CHAR, all, sizeof mine, MPI_CHAR, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  nodes = 0;
  for (int i = 0; i < size; ++i) {
    node_of[i] = -1;
    for (int k = 0; k < i && node_of[i] < 0; ++k)
      if (strcmp(all[i], all[k]) == 0) node_of[i] = node_of[k];
    if (node_of[i] < 0) node_of[i] = nodes++;
  }
}

// --- doubles in the promised order

static double operand(int of, int element, int salt) {
  return (double)(int64_t)mix((uint64_t)of, (uint64_t)element, (uint64_t)salt) / 1e9;
}

// a_0 op (a_1 op ...), and more than kBlock of them in blocks.
static double in_order(const double *a, int n) {
  double result = 0;
  for (int block = (n - 1) / kBlock; block >= 0; --block) {
    const int first = block * kBlock, last = first + kBlock < n ? first + kBlock - 1 : n - 1;
    double sum = a[last];
    for (int i = last - 1; i >= first; --i) sum = a[i] + sum;
    result = block == (n - 1) / kBlock ? sum : sum + result;
  }
  return result;
}

static double promised(int element, int salt) {
  double partial[kMostRanks] = {0};
  for (int node = 0; node < nodes; ++node) {
    double of_node[kMostRanks];
    int n = 0;
    for (int i = 0; i < size; ++i)
      if (node_of[i] == node) of_node[n++] = operand(i, element, salt);
    partial[node] = in_order(of_node, n);
  }
  double result = partial[nodes - 1];
  for (int node = nodes - 2; node >= 0; --node) result = partial[node] + result;
  return result;
}

static void expect_promised(const char *what, const double *got, int count, int salt) {
  for (int k = 0; k < count; ++k) {
    const double wanted = promised(k, salt);
    const double off = got[k] > wanted ? got[k] - wanted : wanted - got[k];
    if (any_order ? off > 1e-3 : memcmp(&got[k], &wanted, sizeof wanted) != 0)
      fail("%s of %d doubles, %d ranks on %d nodes: element %d is %a, in the promised order %a", what, count, size,
           nodes, k, got[k], wanted);
  }
}

static void doubles(MPI_Comm comm, int count, int salt) {
  double *in = malloc((size_t)count * sizeof *in), *out = malloc((size_t)count * sizeof *out);
  for (int k = 0; k < count; ++k) in[k] = operand(rank, k, salt);
  MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, comm);
  expect_promised("allreduce", out, count, salt);
  memcpy(out, in, (size_t)count * sizeof *in);
  MPI_Allreduce(MPI_IN_PLACE, out, count, MPI_DOUBLE, MPI_SUM, comm);
  expect_promised("allreduce in place", out, count, salt);
  for (int root = count < kMany ? 0 : size - 1; root < size; ++root) {
    memcpy(out, in, (size_t)count * sizeof *in);
    MPI_Reduce(rank == root ? MPI_IN_PLACE : in, out, count, MPI_DOUBLE, MPI_SUM, root, comm);
    if (rank == root)
      expect_promised("reduce", out, count, salt);
    else if (memcmp(in, out, (size_t)count * sizeof *in) != 0)
      fail("reduce to %d wrote on rank %d", root, rank);
  }
  free(in);
  free(out);
}

// --- an operation that does not commute, on a type with a gap

// x -> a x + b modulo 2^32; composing two is associative. The gap is never to be touched by MPI.
typedef struct affine {
  uint32_t a, gap, b;
} affine;
enum { kGap = 0x77777777 };

static void compose(void *left, void *right, int *count, MPI_Datatype *type) {
  const affine *l = left;
  affine *r = right;
  MPI_Aint lower, extent;
  MPI_Type_get_extent(*type, &lower, &extent);
  CHECK(extent == sizeof *l);
  for (int i = 0; i < *count; ++i) r[i] = (affine){l[i].a * r[i].a, r[i].gap, l[i].a * r[i].b + l[i].b};
}

static affine function(int of, int element, int salt) {
  const uint64_t x = mix((uint64_t)of, (uint64_t)element, (uint64_t)salt + 1000);
  return (affine){(uint32_t)x | 1, kGap, (uint32_t)(x >> 32)};
}

static void expect_composed(const char *what, const affine *got, int count, int salt) {
  for (int k = 0; k < count; ++k) {
    affine wanted = function(size - 1, k, salt);
    for (int i = size - 2; i >= 0; --i) {
      const affine left = function(i, k, salt);
      wanted = (affine){left.a * wanted.a, kGap, left.a * wanted.b + left.b};
    }
    if (memcmp(&got[k], &wanted, sizeof wanted) != 0)
      fail("%s of %d functions, %d ranks on %d nodes: element %d is %x %x %x instead of %x %x %x", what, count, size,
           nodes, k, got[k].a, got[k].gap, got[k].b, wanted.a, wanted.gap, wanted.b);
  }
}

static void ordered(MPI_Comm comm, MPI_Datatype type, MPI_Op op, int count, int salt) {
  affine *in = malloc((size_t)count * sizeof *in), *out = malloc((size_t)count * sizeof *out);
  for (int k = 0; k < count; ++k) {
    in[k] = function(rank, k, salt);
    out[k] = (affine){0, kGap, 0};
  }
  MPI_Allreduce(in, out, count, type, op, comm);
  expect_composed("allreduce", out, count, salt);
  for (int root = count < kMany ? 0 : size - 1; root < size; ++root) {
    for (int k = 0; k < count; ++k) out[k] = (affine){0, kGap, 0};
    MPI_Reduce(in, out, count, type, op, root, comm);
    if (rank == root) expect_composed("reduce", out, count, salt);
  }
  free(in);
  free(out);
}

// --- integers, and a pair type with a gap

static void integers(MPI_Comm comm, int count, int salt) {
  int64_t *in = malloc((size_t)count * sizeof *in), *out = malloc((size_t)count * sizeof *out);
  for (int k = 0; k < count; ++k) in[k] = (int64_t)rank * salt + k;
  const int64_t ranks = (int64_t)size * (size - 1) / 2 * salt;
  MPI_Allreduce(in, out, count, MPI_INT64_T, MPI_SUM, comm);
  for (int k = 0; k < count; ++k)
    if (out[k] != ranks + (int64_t)size * k) fail("allreduce of %d integers: element %d", count, k);
  for (int root = count < kMany ? 0 : size - 1; root < size; ++root) {
    memset(out, 0, (size_t)count * sizeof *out);
    MPI_Reduce(in, out, count, MPI_INT64_T, MPI_SUM, root, comm);
    for (int k = 0; rank == root && k < count; ++k)
      if (out[k] != ranks + (int64_t)size * k) fail("reduce to %d of %d integers: element %d", root, count, k);
  }
  free(in);
  free(out);
  struct pair {
    short value;
    int place;
  } *pairs = calloc((size_t)count, sizeof *pairs);
  for (int k = 0; k < count; ++k) pairs[k] = (struct pair){(short)((rank + k) % size), rank};
  MPI_Allreduce(MPI_IN_PLACE, pairs, count, MPI_SHORT_INT, MPI_MAXLOC, comm);
  for (int k = 0; k < count; ++k)
    if (pairs[k].value != size - 1 || (pairs[k].place + k) % size != size - 1)
      fail("allreduce of %d MPI_SHORT_INT: element %d is (%d, %d)", count, k, pairs[k].value, pairs[k].place);
  free(pairs);
}

// Sums of single bytes wrap, within a node and between nodes. Open MPI's op/avx saturates them in the operation's form
// with two operands, from 16 elements on, and wraps in the form with three: whoever takes now one, now the other, has
// sums that depend on the length.
static void single_bytes(MPI_Comm comm, int count) {
  if (any_order) return;
  uint8_t *in = malloc((size_t)count), *out = malloc((size_t)count);
  for (int k = 0; k < count; ++k) in[k] = 200;
  const uint8_t wanted = (uint8_t)(200 * size);
  MPI_Allreduce(in, out, count, MPI_UINT8_T, MPI_SUM, comm);
  for (int k = 0; k < count; ++k)
    if (out[k] != wanted) fail("allreduce of %d bytes: element %d is %d instead of %d", count, k, out[k], wanted);
  MPI_Reduce(in, out, count, MPI_UINT8_T, MPI_SUM, size - 1, comm);
  for (int k = 0; rank == size - 1 && k < count; ++k)
    if (out[k] != wanted) fail("reduce of %d bytes: element %d is %d instead of %d", count, k, out[k], wanted);
  free(in);
  free(out);
}

// --- broadcasts

// The root's layout and the others' differ: ints with a gap after each, and ints without.
static void broadcasts(MPI_Comm comm, MPI_Datatype spaced, int count, int salt) {
  int *memory = malloc(2 * (size_t)count * sizeof *memory);
  for (int root = count < kMany ? 0 : size - 1; root < size; ++root)
    for (int gaps = 0; gaps < 4; ++gaps) {
      const int step = (rank == root ? gaps & 1 : gaps >> 1) ? 2 : 1;
      for (int k = 0; k < 2 * count; ++k) memory[k] = -1;
      for (int k = 0; rank == root && k < count; ++k) memory[k * step] = salt + root + k;
      MPI_Bcast(memory, count, step == 2 ? spaced : MPI_INT, root, comm);
      for (int k = 0; k < 2 * count; ++k) {
        const int wanted = k % step == 0 && k / step < count ? salt + root + k / step : -1;
        if (memory[k] != wanted)
          fail("bcast of %d ints, root %d, step %d, %d ranks on %d nodes: place %d is %d instead of %d", count, root,
               step, size, nodes, k, memory[k], wanted);
      }
    }
  free(memory);
}

// --- allgather

// Senders' and receivers' layouts differ, from rank to rank too: ints with a gap after each, and ints without. `gaps`:
// bit 0, what even ranks receive; bit 1, what odd ones do; bit 2: in place, else bit 3, what all send.
static void allgathers(MPI_Comm comm, MPI_Datatype spaced, int count, int salt) {
  const size_t n = (size_t)size * (size_t)count;
  int *in = malloc(2 * (size_t)count * sizeof *in), *out = malloc(2 * n * sizeof *out);
  for (int gaps = 0; gaps < 16; ++gaps) {
    if (count >= kMany && gaps != 0 && gaps != 1 && gaps != 6) continue;
    const int in_place = (gaps & 4) != 0, step = gaps >> rank % 2 & 1 ? 2 : 1, in_step = gaps & 8 ? 2 : 1;
    for (size_t k = 0; k < 2 * n; ++k) out[k] = -1;
    for (int k = 0; k < count; ++k) {
      const int value = salt + 1000 * rank + k;
      in[k * in_step] = value;
      if (in_place) out[((size_t)rank * (size_t)count + (size_t)k) * (size_t)step] = value;
    }
    MPI_Allgather(in_place ? MPI_IN_PLACE : in, count, in_step == 2 ? spaced : MPI_INT, out, count,
                  step == 2 ? spaced : MPI_INT, comm);
    for (size_t k = 0; k < 2 * n; ++k) {
      const size_t at = k / (size_t)step;
      const int of = (int)(at / (size_t)count), element = (int)(at % (size_t)count);
      const int wanted = k % (size_t)step == 0 && at < n ? salt + 1000 * of + element : -1;
      if (out[k] != wanted)
        fail("allgather of %d ints, %d, %d ranks on %d nodes: place %zu is %d instead of %d", count, gaps, size, nodes,
             k, out[k], wanted);
    }
  }
  free(in);
  free(out);
}

// --- barrier

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

// Whoever comes last is seen to have come before anybody leaves.
static void barriers(MPI_Comm comm, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    if (rank == round % size) usleep(2000);
    double times[2] = {now(), 0}, all[kMostRanks][2];
    MPI_Barrier(comm);
    times[1] = now();
    MPI_Request request;
    MPI_Iallgather(times, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < size; ++i)
      if (all[i][0] > times[1]) fail("barrier %d: left %g s before rank %d came", round, all[i][0] - times[1], i);
  }
}

static void nothing(MPI_Comm comm) {
  char untouched = 1;
  MPI_Bcast(&untouched, 0, MPI_CHAR, 0, comm);
  MPI_Allreduce(&untouched, &untouched, 0, MPI_CHAR, MPI_SUM, comm);
  MPI_Reduce(&untouched, &untouched, 0, MPI_CHAR, MPI_SUM, size - 1, comm);
  MPI_Allgather(&untouched, 0, MPI_CHAR, &untouched, 0, MPI_CHAR, comm);
  CHECK(untouched == 1);
}

// The first calls, when nobody serves yet, are tested like the rest. `longest`: up to several pieces, on several rails.
static void exercise(MPI_Comm comm, MPI_Datatype gap, MPI_Datatype spaced, MPI_Op op, int longest) {
  static const int counts[] = {1, 3, 100, 3000, 40000, 300000};
  find_nodes(comm);
  nothing(comm);
  for (int pass = 0; pass < 2; ++pass)
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
      if (counts[i] > longest || (light && pass == 0 && i >= 3)) break;
      doubles(comm, counts[i], pass + 1);
      ordered(comm, gap, op, counts[i], pass);
      integers(comm, counts[i], pass + 3);
      single_bytes(comm, counts[i]);
      broadcasts(comm, spaced, counts[i], pass);
      allgathers(comm, spaced, counts[i], pass);
      barriers(comm, 3);
    }
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  any_order = has_argument(argc, argv, "--any-order");
  MPI_Datatype vector, spaced;
  MPI_Type_vector(2, 1, 2, MPI_UINT32_T, &vector);
  MPI_Datatype gap = resized(vector, 0, sizeof(affine));
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spaced);
  MPI_Type_commit(&spaced);
  MPI_Op op;
  MPI_Op_create(compose, 0, &op);
  exercise(MPI_COMM_WORLD, gap, spaced, op, 40000);
  allgathers(MPI_COMM_WORLD, spaced, 300000, 9);  // rows of several pieces, without scratch memory by slot
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comm);  // reversed
  exercise(comm, gap, spaced, op, 3000);
  MPI_Comm_free(&comm);
  MPI_Comm_split(MPI_COMM_WORLD, 0, (int)(mix(5, (uint64_t)world_rank, 0) % 1000), &comm);  // shuffled
  exercise(comm, gap, spaced, op, 300000);
  MPI_Comm_free(&comm);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank == 0 ? MPI_UNDEFINED : 0, 0, &comm);  // without rank 0
  if (comm != MPI_COMM_NULL) {
    exercise(comm, gap, spaced, op, 3000);
    MPI_Comm_free(&comm);
  }
  MPI_Type_free(&gap);
  MPI_Type_free(&spaced);
  MPI_Op_free(&op);
  return finish();
}
