// Proves what smelt/group.h promises of results: operands are always combined in one order, whatever the length, the
// root, the method, the binding. Random numbers of wildly different magnitude, so that nearly every other order gives
// other bits:
//   - every rank has the same bits, and every repetition, reduce to every root, and the blocks of reduce_scatter;
//   - element k of a long vector has the bits of an allreduce of that element alone;
//   - sums of single bytes wrap at every length: Open MPI's op/avx saturates them from 16 elements on, but for its form
//     with three operands;
//   - with --order, the bits are those of  B_0 + (B_1 + ...),  B_j = a_16j + (a_16j+1 + ... a_16j+15), and a
//     scan's those of  (a_0 + a_1) + a_2 ...
// Prints a checksum of everything, which must not change with settings or binding.
#include "check.h"
#include "ordered_sums.h"

static uint64_t checksum;

typedef struct number_kind {
  const char *name;
  MPI_Datatype type;
  size_t bytes;
} number_kind;

static void fill(const number_kind *kind, int rank, size_t count, void *to) {
  for (size_t k = 0; k < count; ++k) {
    if (kind->type == MPI_FLOAT)
      ((float *)to)[k] = (float)number(rank, k);
    else
      ((double *)to)[k] = number(rank, k);
  }
}

static void verify_order(const number_kind *kind, const void *got, size_t count) {
  for (size_t k = 0; k < count; ++k) {
    const double is = kind->type == MPI_FLOAT ? ((const float *)got)[k] : ((const double *)got)[k];
    const double wanted = ordered_sum(kind->type == MPI_FLOAT, k);
    if (memcmp(&is, &wanted, sizeof is) != 0)
      fail("allreduce MPI_SUM %s count %zu: element %zu is %a, in the documented order %a", kind->name, count, k, is,
           wanted);
  }
}

static void same_everywhere(const number_kind *kind, const void *got, size_t count) {
  uint64_t own = 0, others[2], pair[2];
  for (size_t i = 0; i < count * kind->bytes; ++i) own = mix(own, ((const unsigned char *)got)[i], i);
  pair[0] = own, pair[1] = ~own;
  MPI_Allreduce(pair, others, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  if (others[0] != own || ~others[1] != own)
    fail("allreduce MPI_SUM %s count %zu: other bits than on another rank", kind->name, count);
  checksum = mix(checksum, own, count);
}

static void compare(const number_kind *kind, const char *what, size_t count, const void *got, const void *wanted) {
  const ptrdiff_t byte = first_difference(got, wanted, count * kind->bytes);
  if (byte >= 0)
    fail("%s %s count %zu: other bits at element %zu", what, kind->name, count, (size_t)byte / kind->bytes);
}

// Blocks of the row whose sum is `all`: of one length, then each longer than the one before.
static void scattered(const number_kind *kind, const void *in, const unsigned char *all, size_t count) {
  const size_t n = (size_t)world_size, me = (size_t)world_rank, each = count / n;
  unsigned char *own = malloc(count * kind->bytes + 1);
  int *counts = malloc(n * sizeof *counts);
  for (size_t i = 0; i < n; ++i) counts[i] = (int)(count * (i + 1) * (i + 1) / (n * n) - count * i * i / (n * n));
  MPI_Reduce_scatter_block(in, own, (int)each, kind->type, MPI_SUM, MPI_COMM_WORLD);
  compare(kind, "reduce_scatter_block MPI_SUM against allreduce", each, own, all + me * each * kind->bytes);
  MPI_Reduce_scatter(in, own, counts, kind->type, MPI_SUM, MPI_COMM_WORLD);
  compare(kind, "reduce_scatter MPI_SUM against allreduce", (size_t)counts[world_rank], own,
          all + count * me * me / (n * n) * kind->bytes);
  free(counts);
  free(own);
}

static void verify_scan(const number_kind *kind, const void *in, size_t count, size_t known) {
  const size_t compared = count < known ? count : known;
  for (int exclusive = 0; exclusive < 2; ++exclusive) {
    void *got = malloc(count * kind->bytes);
    if (exclusive)
      MPI_Exscan(in, got, (int)count, kind->type, MPI_SUM, MPI_COMM_WORLD);
    else
      MPI_Scan(in, got, (int)count, kind->type, MPI_SUM, MPI_COMM_WORLD);
    for (size_t k = 0; k < compared && world_rank + 1 > exclusive; ++k) {
      const double is = kind->type == MPI_FLOAT ? ((const float *)got)[k] : ((const double *)got)[k];
      const double wanted = sum_from_left(kind->type == MPI_FLOAT, world_rank + 1 - exclusive, k);
      if (memcmp(&is, &wanted, sizeof is) != 0)
        fail("%s MPI_SUM %s count %zu: element %zu is %a, in the documented order %a", exclusive ? "exscan" : "scan",
             kind->name, count, k, is, wanted);
    }
    free(got);
  }
}

// `singles`: the result of each element, found alone. Every length gives a prefix of it.
static void one_count(const number_kind *kind, size_t count, const void *in, void *out, const void *singles,
                      size_t known) {
  const size_t compared = count < known ? count : known;
  MPI_Allreduce(in, out, (int)count, kind->type, MPI_SUM, MPI_COMM_WORLD);
  compare(kind, "allreduce MPI_SUM against single elements", compared, out, singles);
  same_everywhere(kind, out, count);
  scattered(kind, in, out, count);
  void *again = malloc(count * kind->bytes);
  for (int repetition = 0; repetition < 3; ++repetition) {
    memcpy(again, in, count * kind->bytes);
    MPI_Allreduce(MPI_IN_PLACE, again, (int)count, kind->type, MPI_SUM, MPI_COMM_WORLD);
    compare(kind, "allreduce MPI_SUM repeated", count, again, out);
  }
  for (int root = 0; root < world_size; ++root) {
    MPI_Reduce(in, again, (int)count, kind->type, MPI_SUM, root, MPI_COMM_WORLD);
    if (world_rank == root) compare(kind, "reduce MPI_SUM against allreduce", count, again, out);
  }
  free(again);
}

static void one_kind(const number_kind *kind, int order) {
  int counts[kMostCounts];
  const size_t most = (4 << 20) / kind->bytes, known = light ? 2048 : 20000;
  void *in = malloc(most * kind->bytes), *out = malloc(most * kind->bytes);
  unsigned char *singles = malloc(known * kind->bytes);
  fill(kind, world_rank, most, in);
  for (size_t k = 0; k < known; ++k)
    MPI_Allreduce((unsigned char *)in + k * kind->bytes, singles + k * kind->bytes, 1, kind->type, MPI_SUM,
                  MPI_COMM_WORLD);
  if (order) verify_order(kind, singles, known);
  const int n = counts_of(kind->bytes, full || !light ? 2 : 1, counts);
  for (int i = 0; i < n; ++i) {
    one_count(kind, (size_t)counts[i], in, out, singles, known);
    if (order) verify_scan(kind, in, (size_t)counts[i], known);
    if (order && i == n - 1) verify_order(kind, out, (size_t)counts[i]);
  }
  free(in);
  free(out);
  free(singles);
}

static void expect_bytes(const char *what, int count, const uint8_t *got, int operands) {
  const uint8_t wanted = (uint8_t)(200 * operands);
  for (int k = 0; k < count; ++k)
    if (got[k] != wanted) fail("%s of %d bytes: element %d is %d instead of %d", what, count, k, got[k], wanted);
}

static void single_bytes(int count) {
  const size_t all = (size_t)count * (size_t)world_size;
  uint8_t *in = malloc(all), *out = malloc((size_t)count);
  memset(in, 200, all);
  MPI_Allreduce(in, out, count, MPI_UINT8_T, MPI_SUM, MPI_COMM_WORLD);
  expect_bytes("allreduce", count, out, world_size);
  for (int k = 0; k < count; ++k) out[k] = 200;
  MPI_Allreduce(MPI_IN_PLACE, out, count, MPI_UINT8_T, MPI_SUM, MPI_COMM_WORLD);
  expect_bytes("allreduce in place", count, out, world_size);
  for (int root = 0; root < world_size; ++root) {
    MPI_Reduce(in, out, count, MPI_UINT8_T, MPI_SUM, root, MPI_COMM_WORLD);
    if (world_rank == root) expect_bytes("reduce", count, out, world_size);
  }
  MPI_Reduce_scatter_block(in, out, count, MPI_UINT8_T, MPI_SUM, MPI_COMM_WORLD);
  expect_bytes("reduce_scatter_block", count, out, world_size);
  MPI_Scan(in, out, count, MPI_UINT8_T, MPI_SUM, MPI_COMM_WORLD);
  expect_bytes("scan", count, out, world_rank + 1);
  MPI_Exscan(in, out, count, MPI_UINT8_T, MPI_SUM, MPI_COMM_WORLD);
  if (world_rank > 0) expect_bytes("exscan", count, out, world_rank);
  free(in);
  free(out);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  const number_kind kinds[] = {{"MPI_DOUBLE", MPI_DOUBLE, 8}, {"MPI_FLOAT", MPI_FLOAT, 4}};
  for (int i = 0; i < 2; ++i) one_kind(&kinds[i], has_argument(argc, argv, "--order"));
  const int counts[] = {1, 15, 100, 5000, 300000};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) single_bytes(counts[i]);
  if (world_rank == 0) printf("checksum %016llx\n", (unsigned long long)checksum);
  return finish();
}
