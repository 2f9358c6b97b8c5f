// Proves that every collective of MPI-3 is served, also where the component is the only one named (--mca coll smelt):
// each is called blocking and nonblocking (and persistent, where Open MPI 4.1 has MPIX_), in one place where it may
// be, on the world, on a dup and on MPI_COMM_SELF, and verified.
#include "check.h"

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

enum { kEach = 3 };  // elements per pair of ranks

static MPI_Comm comm;
static int me, ranks, root;
static const char *where;

static void expect(const char *what, const int *got, int count, int (*wanted)(int)) {
  for (int i = 0; i < count; ++i)
    if (got[i] != wanted(i))
      fail("%s on %s: MPI_INT count %d root %d: element %d is %d instead of %d", what, where, count, root, i, got[i],
           wanted(i));
}

// Element i of what rank r sends in gathers is 100 r + i; in alltoall, rank r sends to rank s 10000 r + 100 s + i.
static int gathered(int i) { return 100 * (i / kEach) + i % kEach; }
static int scattered(int i) { return 100 * me + i; }
static int exchanged(int i) { return 10000 * (i / kEach) + 100 * me + i % kEach; }
static int from_root(int i) { return 500 + root + i; }
static int summed(int i) { return ranks * (ranks - 1) / 2 + ranks * i; }
static int summed_block(int i) { return summed(me * kEach + i); }
static int prefix(int i) { return me * (me + 1) / 2 + (me + 1) * i; }
static int exclusive_prefix(int i) { return me * (me - 1) / 2 + me * i; }

typedef struct rows {
  int *in, *out, *counts, *at, total;
  MPI_Datatype *types;
  int *byte_at;
} rows;

static rows rows_new(void) {
  const size_t n = (size_t)ranks;
  rows r = {calloc(n * kEach + kEach, sizeof(int)),
            calloc(n * kEach, sizeof(int)),
            calloc(n, sizeof(int)),
            calloc(n, sizeof(int)),
            ranks * kEach,
            calloc(n, sizeof(MPI_Datatype)),
            calloc(n, sizeof(int))};
  for (int i = 0; i < ranks; ++i) {
    r.counts[i] = kEach, r.at[i] = i * kEach, r.types[i] = MPI_INT, r.byte_at[i] = i * kEach * (int)sizeof(int);
  }
  return r;
}

static void rows_free(rows *r) {
  free(r->in), free(r->out), free(r->counts), free(r->at), free(r->types), free(r->byte_at);
}

static void clear(rows *r) {
  for (int i = 0; i < r->total; ++i) r->out[i] = -1;
}

// Operand i of rank r in reductions is r + i.
static void operands(rows *r) {
  for (int i = 0; i < r->total; ++i) r->in[i] = me + i;
  clear(r);
}

static void own_row(rows *r) {
  for (int i = 0; i < r->total; ++i) r->in[i] = 100 * me + i;
  clear(r);
}

static void row_per_rank(rows *r) {
  for (int i = 0; i < r->total; ++i) r->in[i] = 10000 * me + 100 * (i / kEach) + i % kEach;
  clear(r);
}

// The blocking collective, then the nonblocking one, with the same arguments, each between `prepare` and `verify`.
#define BOTH(blocking, nonblocking, prepare, verify, ...) \
  do {                                                    \
    prepare;                                              \
    blocking(__VA_ARGS__);                                \
    verify;                                               \
    MPI_Request request;                                  \
    prepare;                                              \
    nonblocking(__VA_ARGS__, &request);                   \
    MPI_Wait(&request, MPI_STATUS_IGNORE);                \
    verify;                                               \
  } while (0)

static void gathers(rows *r) {
  BOTH(MPI_Allgather, MPI_Iallgather, own_row(r), expect("allgather", r->out, r->total, gathered), r->in, kEach,
       MPI_INT, r->out, kEach, MPI_INT, comm);
  BOTH(MPI_Allgatherv, MPI_Iallgatherv, own_row(r), expect("allgatherv", r->out, r->total, gathered), r->in, kEach,
       MPI_INT, r->out, r->counts, r->at, MPI_INT, comm);
  BOTH(MPI_Gather, MPI_Igather, own_row(r), if (me == root) expect("gather", r->out, r->total, gathered), r->in, kEach,
       MPI_INT, r->out, kEach, MPI_INT, root, comm);
  BOTH(MPI_Gatherv, MPI_Igatherv, own_row(r), if (me == root) expect("gatherv", r->out, r->total, gathered), r->in,
       kEach, MPI_INT, r->out, r->counts, r->at, MPI_INT, root, comm);
  own_row(r);
  memcpy(r->out + me * kEach, r->in, kEach * sizeof(int));
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, r->out, kEach, MPI_INT, comm);
  expect("allgather in place", r->out, r->total, gathered);
}

static void root_rows(rows *r) {
  for (int i = 0; i < r->total; ++i) r->in[i] = gathered(i);
  clear(r);
}

static void scatters(rows *r) {
  BOTH(MPI_Scatter, MPI_Iscatter, root_rows(r), expect("scatter", r->out, kEach, scattered), r->in, kEach, MPI_INT,
       r->out, kEach, MPI_INT, root, comm);
  BOTH(MPI_Scatterv, MPI_Iscatterv, root_rows(r), expect("scatterv", r->out, kEach, scattered), r->in, r->counts, r->at,
       MPI_INT, r->out, kEach, MPI_INT, root, comm);
}

static void exchanges(rows *r) {
  BOTH(MPI_Alltoall, MPI_Ialltoall, row_per_rank(r), expect("alltoall", r->out, r->total, exchanged), r->in, kEach,
       MPI_INT, r->out, kEach, MPI_INT, comm);
  BOTH(MPI_Alltoallv, MPI_Ialltoallv, row_per_rank(r), expect("alltoallv", r->out, r->total, exchanged), r->in,
       r->counts, r->at, MPI_INT, r->out, r->counts, r->at, MPI_INT, comm);
  BOTH(MPI_Alltoallw, MPI_Ialltoallw, row_per_rank(r), expect("alltoallw", r->out, r->total, exchanged), r->in,
       r->counts, r->byte_at, r->types, r->out, r->counts, r->byte_at, r->types, comm);
  row_per_rank(r);
  memcpy(r->out, r->in, (size_t)r->total * sizeof(int));
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, r->out, kEach, MPI_INT, comm);
  expect("alltoall in place", r->out, r->total, exchanged);
}

static void root_word(rows *r) {
  for (int i = 0; i < r->total; ++i) r->out[i] = me == root ? from_root(i) : -1;
}

static void in_place(rows *r) {
  for (int i = 0; i < r->total; ++i) r->out[i] = me + i;
}

static void reductions(rows *r) {
  BOTH(MPI_Bcast, MPI_Ibcast, root_word(r), expect("bcast", r->out, r->total, from_root), r->out, r->total, MPI_INT,
       root, comm);
  BOTH(MPI_Reduce, MPI_Ireduce, operands(r), if (me == root) expect("reduce", r->out, r->total, summed), r->in, r->out,
       r->total, MPI_INT, MPI_SUM, root, comm);
  BOTH(MPI_Allreduce, MPI_Iallreduce, operands(r), expect("allreduce", r->out, r->total, summed), r->in, r->out,
       r->total, MPI_INT, MPI_SUM, comm);
  BOTH(MPI_Allreduce, MPI_Iallreduce, in_place(r), expect("allreduce in place", r->out, r->total, summed), MPI_IN_PLACE,
       r->out, r->total, MPI_INT, MPI_SUM, comm);
  BOTH(MPI_Reduce_scatter, MPI_Ireduce_scatter, operands(r), expect("reduce_scatter", r->out, kEach, summed_block),
       r->in, r->out, r->counts, MPI_INT, MPI_SUM, comm);
  BOTH(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, operands(r),
       expect("reduce_scatter_block", r->out, kEach, summed_block), r->in, r->out, kEach, MPI_INT, MPI_SUM, comm);
  BOTH(MPI_Scan, MPI_Iscan, operands(r), expect("scan", r->out, kEach, prefix), r->in, r->out, kEach, MPI_INT, MPI_SUM,
       comm);
  BOTH(MPI_Exscan, MPI_Iexscan, operands(r), if (me > 0) expect("exscan", r->out, kEach, exclusive_prefix), r->in,
       r->out, kEach, MPI_INT, MPI_SUM, comm);
  MPI_Request request;
  MPI_Barrier(comm);
  MPI_Ibarrier(comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
static void started(MPI_Request *request) {
  MPI_Start(request);
  MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void persistent(rows *r) {
  MPI_Request sum, word, barrier;
  MPIX_Allreduce_init(r->in, r->out, r->total, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &sum);
  MPIX_Bcast_init(r->out, r->total, MPI_INT, root, comm, MPI_INFO_NULL, &word);
  MPIX_Barrier_init(comm, MPI_INFO_NULL, &barrier);
  for (int i = 0; i < 3; ++i) {
    operands(r);
    started(&sum);
    expect("persistent allreduce", r->out, r->total, summed);
    root_word(r);
    started(&word);
    expect("persistent bcast", r->out, r->total, from_root);
    started(&barrier);
  }
  MPI_Request_free(&sum);
  MPI_Request_free(&word);
  MPI_Request_free(&barrier);
}
#else
static void persistent(rows *r) { (void)r; }
#endif

static int ring_neighbour(int i) { return ((i < kEach ? me + ranks - 1 : me + 1) % ranks) * 100 + i % kEach; }

// The same row for both neighbours: on a ring of one or two ranks they are the same rank.
static void own_pair(rows *r) {
  for (int i = 0; i < 2 * kEach; ++i) r->in[i] = 100 * me + i % kEach;
}

static void neighbours(rows *r) {
  MPI_Comm ring, saved = comm;
  int out[2 * kEach];
  MPI_Cart_create(saved, 1, (int[]){ranks}, (int[]){1}, 0, &ring);
  comm = ring;
  const int counts[2] = {kEach, kEach}, at[2] = {0, kEach};
  BOTH(MPI_Neighbor_allgather, MPI_Ineighbor_allgather, own_row(r),
       expect("neighbor_allgather", out, 2 * kEach, ring_neighbour), r->in, kEach, MPI_INT, out, kEach, MPI_INT, comm);
  BOTH(MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv, own_row(r),
       expect("neighbor_allgatherv", out, 2 * kEach, ring_neighbour), r->in, kEach, MPI_INT, out, counts, at, MPI_INT,
       comm);
  BOTH(MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall, own_pair(r),
       expect("neighbor_alltoall", out, 2 * kEach, ring_neighbour), r->in, kEach, MPI_INT, out, kEach, MPI_INT, comm);
  BOTH(MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv, own_pair(r),
       expect("neighbor_alltoallv", out, 2 * kEach, ring_neighbour), r->in, counts, at, MPI_INT, out, counts, at,
       MPI_INT, comm);
  const MPI_Aint byte_at[2] = {0, kEach * sizeof(int)};
  const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  BOTH(MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, own_pair(r),
       expect("neighbor_alltoallw", out, 2 * kEach, ring_neighbour), r->in, counts, byte_at, types, out, counts,
       byte_at, types, comm);
  comm = saved;
  MPI_Comm_free(&ring);
}

static void all(MPI_Comm on, const char *name) {
  comm = on, where = name;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &ranks);
  rows r = rows_new();
  for (root = 0; root < ranks; ++root) {
    reductions(&r);
    gathers(&r);
    scatters(&r);
    exchanges(&r);
    persistent(&r);
  }
  root = 0;
  neighbours(&r);
  rows_free(&r);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  MPI_Comm copy, reversed;
  all(MPI_COMM_WORLD, "the world");
  all(MPI_COMM_SELF, "self");
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  all(copy, "a dup");
  MPI_Comm_split(copy, world_rank % 2, -world_rank, &reversed);
  all(reversed, "a reversed half");
  MPI_Comm_free(&copy);
  MPI_Comm_free(&reversed);
  return finish();
}
