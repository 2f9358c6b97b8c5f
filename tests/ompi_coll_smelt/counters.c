// Proves that the component serves, or does not: MPI_T's performance variables coll_smelt_*_served are listed, and
// those of the collectives must rise by exactly the calls made here, blocking, nonblocking and persistent ("used"), or
// not at all ("unused", where the variables may be missing altogether). "refused": nothing is served, and the variable
// of refused groups is not zero.
#include "check.h"

#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define INIT(name) MPIX_##name##_init
#else
#define INIT(name) MPI_##name##_init
#endif

enum { kFirst = 20, kCalls = 100, kMost = 256 };

typedef struct variable {
  char name[128];
  unsigned long long before, after;
} variable;

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[kMost];
static variable variables[kMost];
static int found;

static void list_variables(void) {
  int total;
  MPI_T_pvar_get_num(&total);
  for (int i = 0; i < total && found < kMost; ++i) {
    char name[128], help[512];
    int name_bytes = sizeof name, help_bytes = sizeof help, verbosity, class, bind, read_only, continuous, atomic,
        count;
    MPI_Datatype type;
    MPI_T_enum values;
    if (MPI_T_pvar_get_info(i, name, &name_bytes, &verbosity, &class, &type, &values, help, &help_bytes, &bind,
                            &read_only, &continuous, &atomic) != MPI_SUCCESS ||
        strncmp(name, "coll_smelt_", 11) != 0)
      continue;
    CHECK(type == MPI_UNSIGNED_LONG_LONG && bind == MPI_T_BIND_NO_OBJECT);
    CHECK(MPI_T_pvar_handle_alloc(session, i, NULL, &handles[found], &count) == MPI_SUCCESS && count == 1);
    strcpy(variables[found].name, name);
    if (world_rank == 0) printf("%s: %s\n", name, help);
    ++found;
  }
}

static unsigned long long value_of(int i) {
  unsigned long long value = 0;
  CHECK(MPI_T_pvar_read(session, handles[i], &value) == MPI_SUCCESS);
  return value;
}

static variable *named(const char *name) {
  for (int i = 0; i < found; ++i)
    if (strcmp(variables[i].name, name) == 0) return &variables[i];
  return NULL;
}

static void verify(const char *form, int sum, int word, const int *ranks, int *rows) {
  const int last = world_size - 1;
  for (int i = 0; i < 3; ++i)
    if (rows[i * world_size + last] != last)
      fail("%s alltoall, v or w (%d) of an int: %d", form, i, rows[i * world_size + last]);
  if (sum != world_size || word != 5 || ranks[last] != last)
    fail("%s allreduce, bcast or allgather of an int: %d, %d, %d", form, sum, word, ranks[last]);
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

static void call_all(int calls) {
  enum { kForms = 8 };
  const MPI_Comm world = MPI_COMM_WORLD;
  int one = 1, sum = 0, all = 0, word = 5;
  int *const ranks = calloc((size_t)world_size, sizeof *ranks), *const row = malloc((size_t)world_size * sizeof *row);
  int *const rows = calloc(3 * (size_t)world_size, sizeof *rows);
  int *const ones = malloc((size_t)world_size * sizeof *ones), *const places =
                                                                   malloc((size_t)world_size * sizeof *ones);
  int *const bytes = malloc((size_t)world_size * sizeof *bytes);
  MPI_Datatype *const types = malloc((size_t)world_size * sizeof *types);
  for (int i = 0; i < world_size; ++i)
    row[i] = world_rank, ones[i] = 1, places[i] = i, bytes[i] = i * (int)sizeof(int), types[i] = MPI_INT;
  MPI_Request r[kForms];
  for (int i = 0; i < calls; ++i) {
    const int root = i % world_size;
    MPI_Barrier(world);
    MPI_Bcast(&word, 1, MPI_INT, root, world);
    MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, root, world);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world);
    MPI_Allgather(&world_rank, 1, MPI_INT, ranks, 1, MPI_INT, world);
    MPI_Alltoall(row, 1, MPI_INT, rows, 1, MPI_INT, world);
    MPI_Alltoallv(row, ones, places, MPI_INT, rows + world_size, ones, places, MPI_INT, world);
    MPI_Alltoallw(row, ones, bytes, types, rows + 2 * world_size, ones, bytes, types, world);
    verify("blocking", sum, word, ranks, rows);
    all = 0, ranks[world_size - 1] = -1, word = world_rank == root ? 5 : 0;
    MPI_Ibarrier(world, &r[0]);
    MPI_Ibcast(&word, 1, MPI_INT, root, world, &r[1]);
    MPI_Ireduce(&one, &sum, 1, MPI_INT, MPI_SUM, root, world, &r[2]);
    MPI_Iallreduce(&one, &all, 1, MPI_INT, MPI_SUM, world, &r[3]);
    MPI_Iallgather(&world_rank, 1, MPI_INT, ranks, 1, MPI_INT, world, &r[4]);
    MPI_Ialltoall(row, 1, MPI_INT, rows, 1, MPI_INT, world, &r[5]);
    MPI_Ialltoallv(row, ones, places, MPI_INT, rows + world_size, ones, places, MPI_INT, world, &r[6]);
    MPI_Ialltoallw(row, ones, bytes, types, rows + 2 * world_size, ones, bytes, types, world, &r[7]);
    MPI_Waitall(kForms, r, MPI_STATUSES_IGNORE);
    verify("nonblocking", all, word, ranks, rows);
    all = 0, ranks[world_size - 1] = -1, word = world_rank == root ? 5 : 0;
    INIT(Barrier)(world, MPI_INFO_NULL, &r[0]);
    INIT(Bcast)(&word, 1, MPI_INT, root, world, MPI_INFO_NULL, &r[1]);
    INIT(Reduce)(&one, &sum, 1, MPI_INT, MPI_SUM, root, world, MPI_INFO_NULL, &r[2]);
    INIT(Allreduce)(&one, &all, 1, MPI_INT, MPI_SUM, world, MPI_INFO_NULL, &r[3]);
    INIT(Allgather)(&world_rank, 1, MPI_INT, ranks, 1, MPI_INT, world, MPI_INFO_NULL, &r[4]);
    INIT(Alltoall)(row, 1, MPI_INT, rows, 1, MPI_INT, world, MPI_INFO_NULL, &r[5]);
    INIT(Alltoallv)(row, ones, places, MPI_INT, rows + world_size, ones, places, MPI_INT, world, MPI_INFO_NULL, &r[6]);
    INIT(Alltoallw)(row, ones, bytes, types, rows + 2 * world_size, ones, bytes, types, world, MPI_INFO_NULL, &r[7]);
    MPI_Startall(kForms, r);
    MPI_Waitall(kForms, r, MPI_STATUSES_IGNORE);
    for (int k = 0; k < kForms; ++k) MPI_Request_free(&r[k]);
    verify("persistent", all, word, ranks, rows);
  }
  free(ranks);
  free(row);
  free(rows);
  free(ones), free(places), free(bytes), free(types);
}

// `form`: of the collective's name.
static void judge(const char *form, const char *collective, unsigned long long wanted) {
  char called[32], name[64];
  snprintf(called, sizeof called, form, collective);
  snprintf(name, sizeof name, "coll_smelt_%s_served", called);
  const variable *v = named(name);
  if (v == NULL && wanted > 0) fail("no performance variable %s", name);
  if (v != NULL && v->after - v->before != wanted)
    fail("%s rose by %llu in %llu calls", name, v->after - v->before, wanted);
}

int main(int argc, char **argv) {
  int provided;
  start(&argc, &argv);
  const int used = has_argument(argc, argv, "used"), refused = has_argument(argc, argv, "refused");
  CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
  CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
  list_variables();
  MPI_Cart_create(MPI_COMM_WORLD, 1, &world_size, (int[]){1}, 0, &ring);
  call_neighbours(kFirst);
  call_all(kFirst);  // a new communicator's first calls may go elsewhere (SMELT_PATIENCE)
  for (int i = 0; i < found; ++i) variables[i].before = value_of(i);
  call_all(kCalls);
  call_neighbours(kCalls);
  for (int i = 0; i < found; ++i) variables[i].after = value_of(i);
  static const char *const collectives[] = {"barrier",
                                            "bcast",
                                            "reduce",
                                            "allreduce",
                                            "allgather",
                                            "alltoall",
                                            "alltoallv",
                                            "alltoallw",
                                            "neighbor_allgather",
                                            "neighbor_allgatherv",
                                            "neighbor_alltoall",
                                            "neighbor_alltoallv",
                                            "neighbor_alltoallw"};
  static const char *const forms[] = {"%s", "i%s", "%s_init"};
  for (size_t i = 0; i < sizeof collectives / sizeof *collectives; ++i)
    for (int form = 0; form < 3; ++form) judge(forms[form], collectives[i], used ? kCalls : 0);
  const variable *refusals = named("coll_smelt_groups_refused");
  if (refused && (refusals == NULL || refusals->after == 0)) fail("no refused group was counted");
  if (used && refusals != NULL && refusals->after != 0) fail("%llu groups were refused", refusals->after);
  for (int i = 0; i < found; ++i) MPI_T_pvar_handle_free(session, &handles[i]);
  MPI_Comm_free(&ring);
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
  return finish();
}
