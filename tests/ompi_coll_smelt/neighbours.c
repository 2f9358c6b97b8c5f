// Proves that the collectives of neighbours bring every block to whom it is for: over grids with and without ends,
// rings of two and of one among them, graphs, and distributed graphs with several edges between the same two and to
// oneself; at all lengths, whatever datatypes describe the two sides (layouts.h). Where there is no neighbour, and in
// gaps and guards, everything stays as it was.
//   neighbours [--forms]
// --forms: nonblocking from a communicator's first call on, then blocking, nonblocking and persistent by turns, and
// persistent ones that ranks start in different orders. Open MPI before 6 fails by itself: in rings of two and of one
// its nonblocking and persistent forms bring each block to the place of the other (ompi#14430).
#include "layouts.h"

#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define INIT(name) MPIX_##name##_init
#else
#define INIT(name) MPI_##name##_init
#endif

enum { kMost = 64, kEdges = 40 };

// Who is behind each of our blocks, and which of theirs it is; -1: nobody.
typedef struct topology {
  char name[40];
  MPI_Comm comm;
  int rank, outs, ins;
  int source[kMost], source_block[kMost];
} topology;

static layout layouts[kLayouts];

static topology of_grid(int dimensions, const int *extents, const int *periods) {
  topology t = {.outs = 2 * dimensions, .ins = 2 * dimensions};
  snprintf(t.name, sizeof t.name, "grid of %d%s, %d dimensions", extents[0], periods[0] ? ", a ring" : "", dimensions);
  MPI_Cart_create(MPI_COMM_WORLD, dimensions, extents, periods, 0, &t.comm);
  if (t.comm == MPI_COMM_NULL) return t;
  MPI_Comm_rank(t.comm, &t.rank);
  for (int d = 0; d < dimensions; ++d) {
    int below, above;
    MPI_Cart_shift(t.comm, d, 1, &below, &above);
    t.source[2 * d] = below == MPI_PROC_NULL ? -1 : below;
    t.source[2 * d + 1] = above == MPI_PROC_NULL ? -1 : above;
    // What goes up comes from below.
    t.source_block[2 * d] = 2 * d + 1;
    t.source_block[2 * d + 1] = 2 * d;
  }
  return t;
}

static int are_joined(int a, int b) { return a != b && mix((uint64_t)(a + b), (uint64_t)(a * b), 1) % 3 != 0; }
static int neighbours_before(int of, int upto) {
  int count = 0;
  for (int i = 0; i < upto; ++i) count += are_joined(of, i);
  return count;
}
static topology of_graph(void) {
  topology t = {.name = "graph"};
  int index[kMost], edges[kMost * kMost], count = 0;
  for (int i = 0; i < world_size; ++i) {
    for (int j = 0; j < world_size; ++j)
      if (are_joined(i, j)) edges[count++] = j;
    index[i] = count;
  }
  MPI_Graph_create(MPI_COMM_WORLD, world_size, index, edges, 0, &t.comm);
  MPI_Comm_rank(t.comm, &t.rank);
  for (int j = 0; j < world_size; ++j)
    if (are_joined(t.rank, j)) {
      t.source[t.ins] = j;
      t.source_block[t.ins++] = neighbours_before(j, t.rank);
    }
  t.outs = t.ins;
  return t;
}

static topology of_edges(uint64_t seed) {
  topology t = {.rank = world_rank};
  snprintf(t.name, sizeof t.name, "distributed graph %d", (int)seed);
  int to[kEdges], from[kEdges], blocks[kMost] = {0}, weights[kEdges] = {0};
  for (uint64_t e = 0; e < kEdges; ++e) {
    const int a = (int)(mix(e, seed, 2) % (uint64_t)world_size), b = (int)(mix(e, seed, 3) % (uint64_t)world_size);
    if (a == world_rank) to[t.outs++] = b;
    if (b == world_rank) {
      from[t.ins] = a;
      t.source[t.ins] = a;
      t.source_block[t.ins++] = blocks[a];
    }
    ++blocks[a];
  }
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, t.ins, from, weights, t.outs, to, weights, MPI_INFO_NULL, 0, &t.comm);
  return t;
}

// --- calls

typedef enum call { kAllgather, kAllgatherv, kAlltoall, kAlltoallv, kAlltoallw, kCalls } call;
static const char *const names[] = {"allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"};

static int units_of(call which, int units, int rank, int block, int salt) {
  if (which == kAllgather || which == kAlltoall) return units;
  return (int)(mix((uint64_t)rank, (uint64_t)block, (uint64_t)salt) % (uint64_t)(units + 1));
}

static enum { kBlocking, kNonblocking, kPersistent } form;  // of the next call

// A persistent one is started twice.
#define CALL(name, ...)                                                             \
  do {                                                                              \
    MPI_Request request = MPI_REQUEST_NULL;                                         \
    if (form == kBlocking) MPI_Neighbor_##name(__VA_ARGS__, t->comm);               \
    if (form == kNonblocking) MPI_Ineighbor_##name(__VA_ARGS__, t->comm, &request); \
    if (form == kPersistent) {                                                      \
      INIT(Neighbor_##name)(__VA_ARGS__, t->comm, MPI_INFO_NULL, &request);         \
      MPI_Start(&request);                                                          \
      MPI_Wait(&request, MPI_STATUS_IGNORE);                                        \
      MPI_Start(&request);                                                          \
    }                                                                               \
    MPI_Wait(&request, MPI_STATUS_IGNORE);                                          \
    if (form == kPersistent) MPI_Request_free(&request);                            \
  } while (0)

static void exchange(const topology *t, call which, const layout *from, const layout *to, int units, int salt) {
  const int one = which == kAllgather || which == kAllgatherv, outs = one ? 1 : t->outs;
  const variant in_how = which == kAlltoallw ? kW : which == kAllgather || which == kAlltoall ? kPlain : kV;
  const variant out_how = one ? kPlain : in_how;
  int sent[kMost], received[kMost];
  for (int i = 0; i < outs; ++i) sent[i] = units_of(which, units, t->rank, i, salt);
  for (int i = 0; i < t->ins; ++i)
    received[i] = t->source[i] < 0 ? units : units_of(which, units, t->source[i], one ? 0 : t->source_block[i], salt);
  side out = side_new(out_how, layouts, from, outs, sent), in = side_new(in_how, layouts, to, t->ins, received);
  side wanted = side_new(in_how, layouts, to, t->ins, received);
  for (int i = 0; i < outs; ++i) put_block(&out, i, t->rank * 1000 + i, salt);
  for (int i = 0; i < t->ins; ++i)
    if (t->source[i] >= 0) put_block(&wanted, i, t->source[i] * 1000 + (one ? 0 : t->source_block[i]), salt);
  const void *const a = side_buffer(&out);
  void *const b = side_buffer(&in);
  const int send = units_of(which, units, t->rank, 0, salt) * kUnit / from->unit, receive = units * kUnit / to->unit;
  if (which == kAllgather) CALL(allgather, a, send, from->type, b, receive, to->type);
  if (which == kAllgatherv) CALL(allgatherv, a, send, from->type, b, in.counts, in.places, to->type);
  if (which == kAlltoall) CALL(alltoall, a, send, from->type, b, receive, to->type);
  if (which == kAlltoallv) CALL(alltoallv, a, out.counts, out.places, from->type, b, in.counts, in.places, to->type);
  if (which == kAlltoallw) CALL(alltoallw, a, out.counts, out.far, out.types, b, in.counts, in.far, in.types);
  const ptrdiff_t at = first_difference(in.memory.data, wanted.memory.data, in.memory.bytes);
  int intact;
  const ptrdiff_t damage = guarded_damage(&in.memory, &intact);
  if (at >= 0 || !intact)
    fail("%s: %sneighbor_%s%s of %d x 48 bytes, %s to %s: byte %td", t->name, form == kNonblocking ? "i" : "",
         names[which], form == kPersistent ? "_init" : "", units, from->name, to->name, at >= 0 ? at : damage);
  side_free(&out);
  side_free(&in);
  side_free(&wanted);
}

static void all_calls(topology t) {
  if (t.comm == MPI_COMM_NULL) return;
  // In units of 48 bytes: nothing, one line, several, the longest inline, pieces, single copy.
  const int units[] = {0, 1, 2, 4, 5, 43, 200, 700, 8000};
  int salt = 0;
  for (size_t u = 0; u < sizeof units / sizeof *units; ++u) {
    if (light && units[u] > 700) continue;
    for (call which = 0; which < kCalls; ++which)
      for (int from = 0; from < kLayouts; ++from)
        for (int to = 0; to < kLayouts; ++to)
          if (full || (from + to) % (units[u] > 200 || light ? 4 : 2) == 0)
            exchange(&t, which, &layouts[from], &layouts[to], units[u], ++salt);
  }
  // Again and again: nobody is overtaken.
  for (int i = 0; i < (light ? 100 : 1000); ++i)
    exchange(&t, (call)(i % kCalls), &layouts[0], &layouts[1], 1 + i % 7, ++salt);
  MPI_Comm_free(&t.comm);
}

// Several at once, of which the persistent ones are started in an order of each rank's own.
static void overlapping(const topology *t) {
  enum { kAtOnce = 6 };
  int sent[kAtOnce][kMost], received[kAtOnce][kMost];
  MPI_Request requests[kAtOnce];
  for (int r = 0; r < kAtOnce; ++r) {
    for (int i = 0; i < t->outs; ++i) sent[r][i] = t->rank * 1000 + i * 10 + r;
    for (int i = 0; i < t->ins; ++i) received[r][i] = -1;
    if (r % 2)
      MPI_Ineighbor_alltoall(sent[r], 1, MPI_INT, received[r], 1, MPI_INT, t->comm, &requests[r]);
    else
      INIT(Neighbor_alltoall)(sent[r], 1, MPI_INT, received[r], 1, MPI_INT, t->comm, MPI_INFO_NULL, &requests[r]);
  }
  for (int k = 0; k < kAtOnce; k += 2) MPI_Start(&requests[t->rank % 2 ? kAtOnce - 2 - k : k]);
  MPI_Barrier(t->comm);
  MPI_Waitall(kAtOnce, requests, MPI_STATUSES_IGNORE);
  for (int r = 0; r < kAtOnce; ++r) {
    if (r % 2 == 0) MPI_Request_free(&requests[r]);
    for (int i = 0; i < t->ins; ++i) {
      const int wanted = t->source[i] < 0 ? -1 : t->source[i] * 1000 + t->source_block[i] * 10 + r;
      if (received[r][i] != wanted) fail("%s: overlapping, block %d of request %d", t->name, i, r);
    }
  }
}

static void all_forms(topology t) {
  int salt = 0;
  form = kNonblocking;
  for (int i = 0; i < 30; ++i)
    exchange(&t, (call)(kAlltoall + i % 3), &layouts[i % kLayouts], &layouts[0], 1 + i, ++salt);
  overlapping(&t);
  for (int i = 0; i < 150; ++i) {
    form = i % 3;
    exchange(&t, (call)(i / 3 % kCalls), &layouts[i % kLayouts], &layouts[i / 5 % kLayouts], i % 50 == 0 ? 3000 : i % 7,
             ++salt);
  }
  overlapping(&t);
  // Freed before it is complete.
  int sent[kMost] = {0}, received[kMost];
  MPI_Request last;
  MPI_Ineighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, t.comm, &last);
  MPI_Comm_free(&t.comm);
  MPI_Wait(&last, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  make_layouts(layouts);
  if (has_argument(argc, argv, "--forms")) {
    int line[] = {world_size}, sides[] = {0, 0};
    all_forms(of_grid(1, line, (int[]){1}));
    all_forms(of_grid(3, (int[]){1, world_size, 1}, (int[]){1, 0, 1}));
    if (world_size % 2 == 0) {
      MPI_Dims_create(world_size, 2, sides);
      all_forms(of_grid(2, sides, (int[]){1, 1}));
    }
    all_forms(of_graph());
    all_forms(of_edges(1));
    return finish();
  }
  int all[] = {world_size, 1, 1}, two[] = {0, 0}, ring_of_two[] = {2, 0};
  all_calls(of_grid(1, all, (int[]){0}));
  all_calls(of_grid(3, all, (int[]){1, 1, 0}));
  MPI_Dims_create(world_size, 2, two);
  all_calls(of_grid(2, two, (int[]){0, 1}));
  if (world_size % 2 == 0) {
    MPI_Dims_create(world_size, 2, ring_of_two);
    all_calls(of_grid(2, ring_of_two, (int[]){1, 1}));
  }
  all_calls(of_graph());
  for (uint64_t seed = 0; seed < 3; ++seed) all_calls(of_edges(seed));
  return finish();
}
