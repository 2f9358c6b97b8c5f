// Proves that the component serves, or does not: MPI_T's performance variables coll_smelt_*_served are listed, and
// those of the collectives must rise by exactly the calls made here, blocking, nonblocking and persistent ("used"), or
// not at all ("unused", where the variables may be missing altogether). "refused": nothing is served, and the variable
// of refused groups is not zero.
//   counters used|unused|refused [--calls N]
#include "counting.h"

#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define INIT(name) MPIX_##name##_init
#else
#define INIT(name) MPI_##name##_init
#endif

enum { kFirst = 20 };

typedef struct variable {
  unsigned long long before, after;
} variable;

static variable variables[kMostCounters];

static variable *named(const char *name) {
  for (int i = 0; i < counter_count; ++i)
    if (strcmp(counter_names[i], name) == 0) return &variables[i];
  return NULL;
}

// What a round leaves behind.
typedef struct results {
  int sum, word, block, part, upto, before;
  int *ranks;
} results;

static void forget(results *r, int root) {
  r->sum = r->block = r->part = r->upto = r->before = 0;
  r->ranks[world_size - 1] = -1;
  r->word = world_rank == root ? 5 : 0;
}

static void verify(const char *form, const results *r) {
  if (r->sum != world_size || r->word != 5 || r->ranks[world_size - 1] != world_size - 1)
    fail("%s allreduce, bcast or allgather of an int: %d, %d, %d", form, r->sum, r->word, r->ranks[world_size - 1]);
  if (r->block != world_size || r->part != world_size || r->upto != world_rank + 1 || r->before != world_rank)
    fail("%s reduce_scatter_block, reduce_scatter, scan or exscan of ones: %d, %d, %d, %d", form, r->block, r->part,
         r->upto, r->before);
}

static void call_all(int calls) {
  enum { kForms = 9 };
  const MPI_Comm world = MPI_COMM_WORLD;
  const MPI_Info none = MPI_INFO_NULL;
  int to_root = 0;
  int *const ones = malloc((size_t)world_size * sizeof *ones);
  for (int i = 0; i < world_size; ++i) ones[i] = 1;
  results r = {.word = 5, .ranks = calloc((size_t)world_size, sizeof(int))};
  MPI_Request q[kForms];
  for (int i = 0; i < calls; ++i) {
    const int root = i % world_size;
    forget(&r, root);
    MPI_Barrier(world);
    MPI_Bcast(&r.word, 1, MPI_INT, root, world);
    MPI_Reduce(ones, &to_root, 1, MPI_INT, MPI_SUM, root, world);
    MPI_Allreduce(ones, &r.sum, 1, MPI_INT, MPI_SUM, world);
    MPI_Allgather(&world_rank, 1, MPI_INT, r.ranks, 1, MPI_INT, world);
    MPI_Reduce_scatter_block(ones, &r.block, 1, MPI_INT, MPI_SUM, world);
    MPI_Reduce_scatter(ones, &r.part, ones, MPI_INT, MPI_SUM, world);
    MPI_Scan(ones, &r.upto, 1, MPI_INT, MPI_SUM, world);
    MPI_Exscan(ones, &r.before, 1, MPI_INT, MPI_SUM, world);
    verify("blocking", &r);
    forget(&r, root);
    MPI_Ibarrier(world, &q[0]);
    MPI_Ibcast(&r.word, 1, MPI_INT, root, world, &q[1]);
    MPI_Ireduce(ones, &to_root, 1, MPI_INT, MPI_SUM, root, world, &q[2]);
    MPI_Iallreduce(ones, &r.sum, 1, MPI_INT, MPI_SUM, world, &q[3]);
    MPI_Iallgather(&world_rank, 1, MPI_INT, r.ranks, 1, MPI_INT, world, &q[4]);
    MPI_Ireduce_scatter_block(ones, &r.block, 1, MPI_INT, MPI_SUM, world, &q[5]);
    MPI_Ireduce_scatter(ones, &r.part, ones, MPI_INT, MPI_SUM, world, &q[6]);
    MPI_Iscan(ones, &r.upto, 1, MPI_INT, MPI_SUM, world, &q[7]);
    MPI_Iexscan(ones, &r.before, 1, MPI_INT, MPI_SUM, world, &q[8]);
    MPI_Waitall(kForms, q, MPI_STATUSES_IGNORE);
    verify("nonblocking", &r);
    forget(&r, root);
    INIT(Barrier)(world, none, &q[0]);
    INIT(Bcast)(&r.word, 1, MPI_INT, root, world, none, &q[1]);
    INIT(Reduce)(ones, &to_root, 1, MPI_INT, MPI_SUM, root, world, none, &q[2]);
    INIT(Allreduce)(ones, &r.sum, 1, MPI_INT, MPI_SUM, world, none, &q[3]);
    INIT(Allgather)(&world_rank, 1, MPI_INT, r.ranks, 1, MPI_INT, world, none, &q[4]);
    INIT(Reduce_scatter_block)(ones, &r.block, 1, MPI_INT, MPI_SUM, world, none, &q[5]);
    INIT(Reduce_scatter)(ones, &r.part, ones, MPI_INT, MPI_SUM, world, none, &q[6]);
    INIT(Scan)(ones, &r.upto, 1, MPI_INT, MPI_SUM, world, none, &q[7]);
    INIT(Exscan)(ones, &r.before, 1, MPI_INT, MPI_SUM, world, none, &q[8]);
    MPI_Startall(kForms, q);
    MPI_Waitall(kForms, q, MPI_STATUSES_IGNORE);
    for (int k = 0; k < kForms; ++k) MPI_Request_free(&q[k]);
    verify("persistent", &r);
  }
  free(r.ranks);
  free(ones);
}

static void expect_rows(const char *form, int *rows) {
  const int last = world_size - 1;
  for (int i = 0; i < 3; ++i)
    if (rows[i * world_size + last] != last)
      fail("%s alltoall, v or w (%d) of an int: %d", form, i, rows[i * world_size + last]);
  for (int i = 0; i < 3 * world_size; ++i) rows[i] = -1;
}

// To both neighbours of a ring, from both: their ranks.
enum { kNeighbours = 5 };
static MPI_Comm ring;
static void verify_ring(const char *form, int (*got)[2]) {
  const int below = (world_rank + world_size - 1) % world_size, above = (world_rank + 1) % world_size;
  for (int i = 0; i < kNeighbours; ++i) {
    if (got[i][0] != below || got[i][1] != above) fail("%s, of neighbours (%d): %d, %d", form, i, got[i][0], got[i][1]);
    got[i][0] = got[i][1] = -1;
  }
}

static void call_neighbours(int calls) {
  const int me[] = {world_rank, world_rank}, ones[] = {1, 1}, places[] = {0, 1};
  const MPI_Aint far[] = {0, sizeof(int)};
  const MPI_Datatype types[] = {MPI_INT, MPI_INT};
  int got[kNeighbours][2];
  MPI_Request r[kNeighbours];
  for (int i = 0; i < calls; ++i) {
    MPI_Neighbor_allgather(me, 1, MPI_INT, got[0], 1, MPI_INT, ring);
    MPI_Neighbor_allgatherv(me, 1, MPI_INT, got[1], ones, places, MPI_INT, ring);
    MPI_Neighbor_alltoall(me, 1, MPI_INT, got[2], 1, MPI_INT, ring);
    MPI_Neighbor_alltoallv(me, ones, places, MPI_INT, got[3], ones, places, MPI_INT, ring);
    MPI_Neighbor_alltoallw(me, ones, far, types, got[4], ones, far, types, ring);
    verify_ring("blocking", got);
    MPI_Ineighbor_allgather(me, 1, MPI_INT, got[0], 1, MPI_INT, ring, &r[0]);
    MPI_Ineighbor_allgatherv(me, 1, MPI_INT, got[1], ones, places, MPI_INT, ring, &r[1]);
    MPI_Ineighbor_alltoall(me, 1, MPI_INT, got[2], 1, MPI_INT, ring, &r[2]);
    MPI_Ineighbor_alltoallv(me, ones, places, MPI_INT, got[3], ones, places, MPI_INT, ring, &r[3]);
    MPI_Ineighbor_alltoallw(me, ones, far, types, got[4], ones, far, types, ring, &r[4]);
    MPI_Waitall(kNeighbours, r, MPI_STATUSES_IGNORE);
    verify_ring("nonblocking", got);
    INIT(Neighbor_allgather)(me, 1, MPI_INT, got[0], 1, MPI_INT, ring, MPI_INFO_NULL, &r[0]);
    INIT(Neighbor_allgatherv)(me, 1, MPI_INT, got[1], ones, places, MPI_INT, ring, MPI_INFO_NULL, &r[1]);
    INIT(Neighbor_alltoall)(me, 1, MPI_INT, got[2], 1, MPI_INT, ring, MPI_INFO_NULL, &r[2]);
    INIT(Neighbor_alltoallv)(me, ones, places, MPI_INT, got[3], ones, places, MPI_INT, ring, MPI_INFO_NULL, &r[3]);
    INIT(Neighbor_alltoallw)(me, ones, far, types, got[4], ones, far, types, ring, MPI_INFO_NULL, &r[4]);
    MPI_Startall(kNeighbours, r);
    MPI_Waitall(kNeighbours, r, MPI_STATUSES_IGNORE);
    for (int k = 0; k < kNeighbours; ++k) MPI_Request_free(&r[k]);
    verify_ring("persistent", got);
  }
}

static void call_rows(int calls) {
  enum { kForms = 3 };
  const MPI_Comm world = MPI_COMM_WORLD;
  const MPI_Info none = MPI_INFO_NULL;
  const size_t n = (size_t)world_size;
  int *const row = malloc(n * sizeof *row), *const rows = calloc(3 * n, sizeof *rows);
  int *const ones = malloc(n * sizeof *ones), *const places = malloc(n * sizeof *places);
  int *const bytes = malloc(n * sizeof *bytes);
  MPI_Datatype *const types = malloc(n * sizeof *types);
  for (int i = 0; i < world_size; ++i)
    row[i] = world_rank, ones[i] = 1, places[i] = i, bytes[i] = i * (int)sizeof(int), types[i] = MPI_INT;
  int *const second = rows + n, *const third = rows + 2 * n;
  MPI_Request q[kForms];
  for (int i = 0; i < calls; ++i) {
    MPI_Alltoall(row, 1, MPI_INT, rows, 1, MPI_INT, world);
    MPI_Alltoallv(row, ones, places, MPI_INT, second, ones, places, MPI_INT, world);
    MPI_Alltoallw(row, ones, bytes, types, third, ones, bytes, types, world);
    expect_rows("blocking", rows);
    MPI_Ialltoall(row, 1, MPI_INT, rows, 1, MPI_INT, world, &q[0]);
    MPI_Ialltoallv(row, ones, places, MPI_INT, second, ones, places, MPI_INT, world, &q[1]);
    MPI_Ialltoallw(row, ones, bytes, types, third, ones, bytes, types, world, &q[2]);
    MPI_Waitall(kForms, q, MPI_STATUSES_IGNORE);
    expect_rows("nonblocking", rows);
    INIT(Alltoall)(row, 1, MPI_INT, rows, 1, MPI_INT, world, none, &q[0]);
    INIT(Alltoallv)(row, ones, places, MPI_INT, second, ones, places, MPI_INT, world, none, &q[1]);
    INIT(Alltoallw)(row, ones, bytes, types, third, ones, bytes, types, world, none, &q[2]);
    MPI_Startall(kForms, q);
    MPI_Waitall(kForms, q, MPI_STATUSES_IGNORE);
    for (int k = 0; k < kForms; ++k) MPI_Request_free(&q[k]);
    expect_rows("persistent", rows);
  }
  free(row), free(rows), free(ones), free(places), free(bytes), free(types);
}

// What gather and its relatives leave behind; `ranks`: of gather, gatherv, allgatherv.
enum { kRows = 3 };
typedef struct rooted {
  int block, own;
  int *ranks[kRows];
} rooted;

static void verify_rooted(const char *form, rooted *r, int root) {
  const int last = world_size - 1;
  for (int i = 0; i < kRows; ++i) {
    if ((i == kRows - 1 || world_rank == root) && r->ranks[i][last] != last)
      fail("%s gather, gatherv or allgatherv (%d) of an int: %d", form, i, r->ranks[i][last]);
    r->ranks[i][last] = -1;
  }
  if (r->block != world_rank || r->own != world_rank)
    fail("%s scatter or scatterv of an int: %d, %d", form, r->block, r->own);
  r->block = r->own = -1;
}

static void call_rooted(int calls) {
  enum { kForms = 5 };
  const MPI_Comm world = MPI_COMM_WORLD;
  const MPI_Info none = MPI_INFO_NULL;
  const size_t n = (size_t)world_size;
  int *const row = malloc(n * sizeof *row), *const ones = malloc(n * sizeof *ones), *const me = &world_rank;
  int *const results = calloc(kRows * n, sizeof *results);
  for (int i = 0; i < world_size; ++i) row[i] = i, ones[i] = 1;
  rooted r = {-1, -1, {results, results + n, results + 2 * n}};
  MPI_Request q[kForms];
  for (int i = 0; i < calls; ++i) {
    const int root = i % world_size;
    MPI_Gather(me, 1, MPI_INT, r.ranks[0], 1, MPI_INT, root, world);
    MPI_Gatherv(me, 1, MPI_INT, r.ranks[1], ones, row, MPI_INT, root, world);
    MPI_Allgatherv(me, 1, MPI_INT, r.ranks[2], ones, row, MPI_INT, world);
    MPI_Scatter(row, 1, MPI_INT, &r.block, 1, MPI_INT, root, world);
    MPI_Scatterv(row, ones, row, MPI_INT, &r.own, 1, MPI_INT, root, world);
    verify_rooted("blocking", &r, root);
    MPI_Igather(me, 1, MPI_INT, r.ranks[0], 1, MPI_INT, root, world, &q[0]);
    MPI_Igatherv(me, 1, MPI_INT, r.ranks[1], ones, row, MPI_INT, root, world, &q[1]);
    MPI_Iallgatherv(me, 1, MPI_INT, r.ranks[2], ones, row, MPI_INT, world, &q[2]);
    MPI_Iscatter(row, 1, MPI_INT, &r.block, 1, MPI_INT, root, world, &q[3]);
    MPI_Iscatterv(row, ones, row, MPI_INT, &r.own, 1, MPI_INT, root, world, &q[4]);
    MPI_Waitall(kForms, q, MPI_STATUSES_IGNORE);
    verify_rooted("nonblocking", &r, root);
    INIT(Gather)(me, 1, MPI_INT, r.ranks[0], 1, MPI_INT, root, world, none, &q[0]);
    INIT(Gatherv)(me, 1, MPI_INT, r.ranks[1], ones, row, MPI_INT, root, world, none, &q[1]);
    INIT(Allgatherv)(me, 1, MPI_INT, r.ranks[2], ones, row, MPI_INT, world, none, &q[2]);
    INIT(Scatter)(row, 1, MPI_INT, &r.block, 1, MPI_INT, root, world, none, &q[3]);
    INIT(Scatterv)(row, ones, row, MPI_INT, &r.own, 1, MPI_INT, root, world, none, &q[4]);
    MPI_Startall(kForms, q);
    MPI_Waitall(kForms, q, MPI_STATUSES_IGNORE);
    for (int k = 0; k < kForms; ++k) MPI_Request_free(&q[k]);
    verify_rooted("persistent", &r, root);
  }
  free(row), free(ones), free(results);
}

// `form`: of the collective's name.
static void judge(const char *form, const char *collective, unsigned long long wanted) {
  char called[48], name[96];
  snprintf(called, sizeof called, form, collective);
  snprintf(name, sizeof name, "coll_smelt_%s_served", called);
  const variable *v = named(name);
  if (v == NULL && wanted > 0) fail("no performance variable %s", name);
  if (v != NULL && v->after - v->before != wanted)
    fail("%s rose by %llu in %llu calls", name, v->after - v->before, wanted);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  const int used = has_argument(argc, argv, "used"), refused = has_argument(argc, argv, "refused");
  const int calls = (int)number_argument(argc, argv, "--calls", 100);
  begin_counting("coll_smelt_", "");
  MPI_Cart_create(MPI_COMM_WORLD, 1, &world_size, (int[]){1}, 0, &ring);
  call_neighbours(kFirst);
  call_all(kFirst);  // a new communicator's first calls may go elsewhere (SMELT_TUNE=patience)
  call_rows(kFirst);
  call_rooted(kFirst);
  for (int i = 0; i < counter_count; ++i) variables[i].before = value_of(i);
  call_all(calls);
  call_rows(calls);
  call_rooted(calls);
  call_neighbours(calls);
  for (int i = 0; i < counter_count; ++i) variables[i].after = value_of(i);
  static const char *const collectives[] = {
#define SMELT_COLLECTIVE(NAME, name, mpi, ...) #mpi,
#include <smelt/collectives.def>
#undef SMELT_COLLECTIVE
  };
  static const char *const forms[] = {"%s", "i%s", "%s_init"};
  for (size_t i = 0; i < sizeof collectives / sizeof *collectives; ++i)
    for (int form = 0; form < 3; ++form) judge(forms[form], collectives[i], used ? (unsigned long long)calls : 0);
  const variable *refusals = named("coll_smelt_groups_refused");
  if (refused && (refusals == NULL || refusals->after == 0)) fail("no refused group was counted");
  if (used && refusals != NULL && refusals->after != 0) fail("%llu groups were refused", refusals->after);
  MPI_Comm_free(&ring);
  end_counting();
  return finish();
}
