// Proves that a young communicator's results are those of an old one, and that it costs no shared memory: the first
// reductions of fresh communicators have the bits of the order that smelt/group.h promises (sums of doubles of wildly
// different magnitude, operations that do not commute, types with gaps, NaNs), from call to call until long after the
// component has begun to serve. With --patience, as many calls as SMELT_TUNE=patience says create no group, and the
// next does.
#include "check.h"
#include "ordered_sums.h"

enum { kPatience = 8, kCalls = 3 * kPatience };

typedef struct map {
  uint32_t a, b;  // x -> a x + b
} map;
typedef struct wide_map {
  uint32_t a, gap, b;
} wide_map;

static void compose(void *left, void *right, int *count, MPI_Datatype *type) {
  const map *l = left;
  map *r = right;
  (void)type;
  for (int i = 0; i < *count; ++i) r[i] = (map){l[i].a * r[i].a, l[i].a * r[i].b + l[i].b};
}
static void compose_wide(void *left, void *right, int *count, MPI_Datatype *type) {
  const wide_map *l = left;
  wide_map *r = right;
  (void)type;
  for (int i = 0; i < *count; ++i) r[i] = (wide_map){l[i].a * r[i].a, r[i].gap, l[i].a * r[i].b + l[i].b};
}
static map map_of(int rank, int k) { return (map){(uint32_t)(2 * (rank * 7 + k) + 1), (uint32_t)(rank * 1000003 + k)}; }
static map composed(int k) {
  map all = map_of(0, k);
  for (int rank = 1; rank < world_size; ++rank) {
    const map next = map_of(rank, k);
    all = (map){all.a * next.a, all.a * next.b + all.b};
  }
  return all;
}

// A collective on `comm`, the call-th there, and its check; `count` elements.
static void sum(MPI_Comm comm, int call, int count) {
  double *in = malloc((size_t)count * sizeof *in), *out = malloc((size_t)count * sizeof *out);
  const int root = call % world_size, for_all = call / 2 % 2, in_place = call % 3 == 0;
  for (int k = 0; k < count; ++k) in[k] = number(world_rank, (size_t)(k + call)), out[k] = in[k];
  if (for_all)
    MPI_Allreduce(in_place ? MPI_IN_PLACE : in, out, count, MPI_DOUBLE, MPI_SUM, comm);
  else
    MPI_Reduce(in_place && world_rank == root ? MPI_IN_PLACE : in, out, count, MPI_DOUBLE, MPI_SUM, root, comm);
  for (int k = 0; k < count && (for_all || world_rank == root); ++k) {
    const double wanted = ordered_sum(0, (size_t)(k + call));
    if (memcmp(&out[k], &wanted, sizeof wanted) != 0)
      fail("%s MPI_SUM MPI_DOUBLE count %d, call %d of a communicator: element %d is %a, in the promised order %a",
           for_all ? "allreduce" : "reduce", count, call, k, out[k], wanted);
  }
  free(in);
  free(out);
}

// Scans and reduce_scatters of the same numbers.
static void prefixes(MPI_Comm comm, int call, int count) {
  double *in = malloc((size_t)count * sizeof *in), *out = malloc((size_t)count * sizeof *out);
  const int exclusive = call % 2, ranks = world_rank + 1 - exclusive;
  for (int k = 0; k < count; ++k) in[k] = number(world_rank, (size_t)(k + call));
  if (exclusive)
    MPI_Exscan(in, out, count, MPI_DOUBLE, MPI_SUM, comm);
  else
    MPI_Scan(in, out, count, MPI_DOUBLE, MPI_SUM, comm);
  for (int k = 0; k < count && ranks > 0; ++k) {
    const double wanted = sum_from_left(0, ranks, (size_t)(k + call));
    if (memcmp(&out[k], &wanted, sizeof wanted) != 0)
      fail("%s MPI_SUM MPI_DOUBLE count %d, call %d of a communicator: element %d is %a, in the promised order %a",
           exclusive ? "exscan" : "scan", count, call, k, out[k], wanted);
  }
  free(in);
  free(out);
}
static void blocks(MPI_Comm comm, int call, int count) {
  const int row = count * world_size, first = count * world_rank, even = call % 2;
  double *in = malloc((size_t)row * sizeof *in), *out = malloc((size_t)count * sizeof *out);
  int *counts = malloc((size_t)world_size * sizeof *counts);
  for (int i = 0; i < world_size; ++i) counts[i] = count;
  for (int k = 0; k < row; ++k) in[k] = number(world_rank, (size_t)(k + call));
  if (even)
    MPI_Reduce_scatter_block(in, out, count, MPI_DOUBLE, MPI_SUM, comm);
  else
    MPI_Reduce_scatter(in, out, counts, MPI_DOUBLE, MPI_SUM, comm);
  for (int k = 0; k < count; ++k) {
    const double wanted = ordered_sum(0, (size_t)(first + k + call));
    if (memcmp(&out[k], &wanted, sizeof wanted) != 0)
      fail("%s MPI_SUM MPI_DOUBLE count %d, call %d of a communicator: element %d is %a, in the promised order %a",
           even ? "reduce_scatter_block" : "reduce_scatter", count, call, k, out[k], wanted);
  }
  free(counts);
  free(in);
  free(out);
}
static void integer_prefixes(MPI_Comm comm, int call) {
  int in = world_rank + call, upto = 0, before = 0;
  MPI_Scan(&in, &upto, 1, MPI_INT, MPI_SUM, comm);
  MPI_Exscan(&in, &before, 1, MPI_INT, MPI_SUM, comm);
  const int wanted = world_rank * (world_rank - 1) / 2 + call * world_rank;
  if (upto != wanted + in || (world_rank > 0 && before != wanted))
    fail("scan or exscan MPI_SUM MPI_INT, call %d of a communicator: %d, %d", call, upto, before);
}

static void compositions(MPI_Comm comm, int call, MPI_Op op, MPI_Op wide_op, MPI_Datatype type,
                         MPI_Datatype wide_type) {
  enum { kMaps = 5 };
  map in[kMaps], out[kMaps];
  wide_map wide_in[kMaps], wide_out[kMaps];
  const int root = (call + 1) % world_size;
  for (int k = 0; k < kMaps; ++k) {
    in[k] = map_of(world_rank, k + call), out[k] = (map){0, 0};
    wide_in[k] = (wide_map){in[k].a, 77, in[k].b}, wide_out[k] = (wide_map){0, 88, 0};
  }
  MPI_Allreduce(in, out, kMaps, type, op, comm);
  MPI_Reduce(wide_in, wide_out, kMaps, wide_type, wide_op, root, comm);
  for (int k = 0; k < kMaps; ++k) {
    const map wanted = composed(k + call);
    if (memcmp(&out[k], &wanted, sizeof wanted) != 0)
      fail("allreduce of maps, call %d of a communicator: element %d", call, k);
    if (world_rank != root) continue;
    if (wide_out[k].a != wanted.a || wide_out[k].b != wanted.b || wide_out[k].gap != 88)
      fail("reduce of maps with a gap, call %d of a communicator: element %d, gap %u", call, k, wide_out[k].gap);
  }
}

// Each rank's own NaN. Which of them the sum is, depends on the order; but all ranks have the same, always.
static void nans(MPI_Comm comm, uint64_t *first) {
  const uint64_t bits = 0x7FF8000000000000u + (uint64_t)world_rank + 1 + ((uint64_t)(world_rank & 1) << 63);
  double in, out;
  uint64_t sum_bits, all[2], pair[2];
  memcpy(&in, &bits, sizeof in);
  MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, comm);
  memcpy(&sum_bits, &out, sizeof out);
  if (*first == 0) *first = sum_bits;
  if (sum_bits != *first)
    fail("a sum of NaNs is %llx, and was %llx", (unsigned long long)sum_bits, (unsigned long long)*first);
  pair[0] = sum_bits, pair[1] = ~sum_bits;
  MPI_Allreduce(pair, all, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  if (all[0] != sum_bits || ~all[1] != sum_bits) fail("a sum of NaNs has other bits on another rank");
}

static void integers(MPI_Comm comm, int call) {
  int in[3] = {world_rank, call, -world_rank}, out[3];
  MPI_Allreduce(in, out, 3, MPI_INT, MPI_SUM, comm);
  const int ranks = world_size * (world_size - 1) / 2;
  if (out[0] != ranks || out[1] != call * world_size || out[2] != -ranks)
    fail("allreduce MPI_SUM MPI_INT, call %d of a communicator: %d, %d, %d", call, out[0], out[1], out[2]);
}

static MPI_Comm fresh(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  return comm;
}

// --- what it costs

static MPI_T_pvar_session session;
static MPI_T_pvar_handle created;

static void find_counter(void) {
  int total, provided;
  CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
  CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
  MPI_T_pvar_get_num(&total);
  for (int i = 0; i < total; ++i) {
    char name[128];
    int bytes = sizeof name, verbosity, class, bind, read_only, continuous, atomic, count;
    MPI_Datatype type;
    MPI_T_enum values;
    if (MPI_T_pvar_get_info(i, name, &bytes, &verbosity, &class, &type, &values, NULL, NULL, &bind, &read_only,
                            &continuous, &atomic) == MPI_SUCCESS &&
        strcmp(name, "coll_smelt_groups_created") == 0)
      CHECK(MPI_T_pvar_handle_alloc(session, i, NULL, &created, &count) == MPI_SUCCESS);
  }
  CHECK(created != MPI_T_PVAR_HANDLE_NULL);
}
static unsigned long long groups(void) {
  unsigned long long value = 0;
  CHECK(MPI_T_pvar_read(session, created, &value) == MPI_SUCCESS);
  return value;
}

static void patience(void) {
  find_counter();
  for (int kind = 0; kind < 3; ++kind) {
    const unsigned long long before = groups();
    MPI_Comm comm = fresh();
    for (int call = 0; call <= kPatience; ++call) {
      if (groups() != before) fail("kind %d: a group after %d calls", kind, call);
      if (kind == 0) sum(comm, call, 10);
      if (kind == 1) integers(comm, call);
      if (kind == 2) MPI_Barrier(comm);
    }
    if (groups() != before + 1) fail("kind %d: %llu groups after more calls", kind, groups() - before);
    MPI_Comm_free(&comm);
  }
  const unsigned long long before = groups();
  MPI_Comm comm = fresh();
  sum(comm, 3, 100000);  // an allreduce
  if (groups() != before + 1) fail("no group for a long sum");
  MPI_Comm_free(&comm);
  comm = fresh();
  integer_prefixes(comm, 0);
  if (groups() != before + 1) fail("a group for a scan of integers");
  prefixes(comm, 0, 1);
  if (groups() != before + 2) fail("no group for a scan of doubles");
  MPI_Comm_free(&comm);
  MPI_T_pvar_handle_free(session, &created);
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  MPI_Datatype type, wide_type;
  MPI_Op op, wide_op;
  MPI_Type_contiguous(2, MPI_UINT32_T, &type);
  type = committed(type);
  MPI_Type_vector(2, 1, 2, MPI_UINT32_T, &wide_type);
  wide_type = committed(wide_type);
  MPI_Op_create(compose, 0, &op);
  MPI_Op_create(compose_wide, 0, &wide_op);
  static const int counts[] = {1, 2, 3, 35, 36, 100, 1000, 30000};
  uint64_t nan_sum = 0;
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    MPI_Comm comm = fresh(), maps = fresh(), mixed = fresh();
    for (int call = 0; call < kCalls; ++call) {
      sum(comm, call, counts[i]);
      compositions(maps, call, op, wide_op, type, wide_type);
      nans(mixed, &nan_sum);
      integers(mixed, call);
    }
    MPI_Comm scanned = fresh(), scattered = fresh(), integral = fresh();
    for (int call = 0; call < kPatience; ++call) {
      prefixes(scanned, call, counts[i]);
      blocks(scattered, call, counts[i]);
    }
    for (int call = 0; call < kCalls; ++call) integer_prefixes(integral, call);
    MPI_Comm_free(&scanned);
    MPI_Comm_free(&scattered);
    MPI_Comm_free(&integral);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&maps);
    MPI_Comm_free(&mixed);
  }
  MPI_Type_free(&type);
  MPI_Type_free(&wide_type);
  MPI_Op_free(&op);
  MPI_Op_free(&wide_op);
  if (has_argument(argc, argv, "--patience")) patience();
  return finish();
}
