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

// What rank 0 .. n-1 sent, or was sent, one int each; and what the others have of that.
static void verify(const char *form, const char *collective, int got, int wanted) {
  if (got != wanted) fail("%s %s of an int: %d instead of %d", form, collective, got, wanted);
}

typedef struct results {
  int one, sum, all, word, block, own;
  int *ranks, *gathered, *vector, *to_root;
  int *ones, *at;  // counts and displacements
} results;

static void clear(results *r, int root) {
  r->sum = r->all = 0;
  r->word = world_rank == root ? 5 : 0;
  r->block = r->own = -1;
  for (int i = 0; i < world_size; ++i) r->ranks[i] = r->gathered[i] = r->vector[i] = r->to_root[i] = -1;
}

static void verify_all(const char *form, const results *r, int root) {
  const int last = world_size - 1;
  verify(form, "bcast", r->word, 5);
  if (world_rank == root) verify(form, "reduce", r->sum, world_size);
  verify(form, "allreduce", r->all, world_size);
  verify(form, "allgather", r->ranks[last], last);
  verify(form, "allgatherv", r->vector[last], last);
  if (world_rank == root) verify(form, "gather", r->gathered[last], last);
  verify(form, "scatter", r->block, world_rank);
  verify(form, "scatterv", r->own, world_rank);
  if (world_rank == root) verify(form, "gatherv", r->to_root[last], last);
}

static void call_all(int calls) {
  enum { kForms = 10 };
  const MPI_Comm world = MPI_COMM_WORLD;
  results v = {.one = 1};
  int *const row = calloc(7 * (size_t)world_size, sizeof *row);
  v.ranks = row + world_size, v.gathered = row + 2 * world_size, v.vector = row + 3 * world_size;
  v.ones = row + 4 * world_size, v.at = row + 5 * world_size, v.to_root = row + 6 * world_size;
  for (int i = 0; i < world_size; ++i) row[i] = v.at[i] = i, v.ones[i] = 1;
  MPI_Request r[kForms];
  for (int i = 0; i < calls; ++i) {
    const int root = i % world_size;
    clear(&v, root);
    MPI_Barrier(world);
    MPI_Bcast(&v.word, 1, MPI_INT, root, world);
    MPI_Reduce(&v.one, &v.sum, 1, MPI_INT, MPI_SUM, root, world);
    MPI_Allreduce(&v.one, &v.all, 1, MPI_INT, MPI_SUM, world);
    MPI_Allgather(&world_rank, 1, MPI_INT, v.ranks, 1, MPI_INT, world);
    MPI_Gather(&world_rank, 1, MPI_INT, v.gathered, 1, MPI_INT, root, world);
    MPI_Scatter(row, 1, MPI_INT, &v.block, 1, MPI_INT, root, world);
    MPI_Allgatherv(&world_rank, 1, MPI_INT, v.vector, v.ones, v.at, MPI_INT, world);
    MPI_Scatterv(row, v.ones, v.at, MPI_INT, &v.own, 1, MPI_INT, root, world);
    MPI_Gatherv(&world_rank, 1, MPI_INT, v.to_root, v.ones, v.at, MPI_INT, root, world);
    verify_all("blocking", &v, root);
    clear(&v, root);
    MPI_Ibarrier(world, &r[0]);
    MPI_Ibcast(&v.word, 1, MPI_INT, root, world, &r[1]);
    MPI_Ireduce(&v.one, &v.sum, 1, MPI_INT, MPI_SUM, root, world, &r[2]);
    MPI_Iallreduce(&v.one, &v.all, 1, MPI_INT, MPI_SUM, world, &r[3]);
    MPI_Iallgather(&world_rank, 1, MPI_INT, v.ranks, 1, MPI_INT, world, &r[4]);
    MPI_Igather(&world_rank, 1, MPI_INT, v.gathered, 1, MPI_INT, root, world, &r[5]);
    MPI_Iscatter(row, 1, MPI_INT, &v.block, 1, MPI_INT, root, world, &r[6]);
    MPI_Iallgatherv(&world_rank, 1, MPI_INT, v.vector, v.ones, v.at, MPI_INT, world, &r[7]);
    MPI_Iscatterv(row, v.ones, v.at, MPI_INT, &v.own, 1, MPI_INT, root, world, &r[8]);
    MPI_Igatherv(&world_rank, 1, MPI_INT, v.to_root, v.ones, v.at, MPI_INT, root, world, &r[9]);
    MPI_Waitall(kForms, r, MPI_STATUSES_IGNORE);
    verify_all("nonblocking", &v, root);
    clear(&v, root);
    INIT(Barrier)(world, MPI_INFO_NULL, &r[0]);
    INIT(Bcast)(&v.word, 1, MPI_INT, root, world, MPI_INFO_NULL, &r[1]);
    INIT(Reduce)(&v.one, &v.sum, 1, MPI_INT, MPI_SUM, root, world, MPI_INFO_NULL, &r[2]);
    INIT(Allreduce)(&v.one, &v.all, 1, MPI_INT, MPI_SUM, world, MPI_INFO_NULL, &r[3]);
    INIT(Allgather)(&world_rank, 1, MPI_INT, v.ranks, 1, MPI_INT, world, MPI_INFO_NULL, &r[4]);
    INIT(Gather)(&world_rank, 1, MPI_INT, v.gathered, 1, MPI_INT, root, world, MPI_INFO_NULL, &r[5]);
    INIT(Scatter)(row, 1, MPI_INT, &v.block, 1, MPI_INT, root, world, MPI_INFO_NULL, &r[6]);
    INIT(Allgatherv)(&world_rank, 1, MPI_INT, v.vector, v.ones, v.at, MPI_INT, world, MPI_INFO_NULL, &r[7]);
    INIT(Scatterv)(row, v.ones, v.at, MPI_INT, &v.own, 1, MPI_INT, root, world, MPI_INFO_NULL, &r[8]);
    INIT(Gatherv)(&world_rank, 1, MPI_INT, v.to_root, v.ones, v.at, MPI_INT, root, world, MPI_INFO_NULL, &r[9]);
    MPI_Startall(kForms, r);
    MPI_Waitall(kForms, r, MPI_STATUSES_IGNORE);
    for (int k = 0; k < kForms; ++k) MPI_Request_free(&r[k]);
    verify_all("persistent", &v, root);
  }
  free(row);
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
  call_all(kFirst);  // a new communicator's first calls may go elsewhere (SMELT_PATIENCE)
  for (int i = 0; i < found; ++i) variables[i].before = value_of(i);
  call_all(kCalls);
  for (int i = 0; i < found; ++i) variables[i].after = value_of(i);
  static const char *const collectives[] = {"barrier", "bcast",   "reduce",     "allreduce", "allgather",
                                            "gather",  "scatter", "allgatherv", "scatterv",  "gatherv"};
  static const char *const forms[] = {"%s", "i%s", "%s_init"};
  for (size_t i = 0; i < sizeof collectives / sizeof *collectives; ++i)
    for (int form = 0; form < 3; ++form) judge(forms[form], collectives[i], used ? kCalls : 0);
  const variable *refusals = named("coll_smelt_groups_refused");
  if (refused && (refusals == NULL || refusals->after == 0)) fail("no refused group was counted");
  if (used && refusals != NULL && refusals->after != 0) fail("%llu groups were refused", refusals->after);
  for (int i = 0; i < found; ++i) MPI_T_pvar_handle_free(session, &handles[i]);
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
  return finish();
}
