// Proves what smelt/group.h promises beyond MPI: a user-defined operation on elements of 64 bytes finds its operands at
// multiples of 64 for every length and root, so that it may use aligned vector loads. (Open MPI alone gives the place
// that malloc gives, so this is for the component only.)
#include "check.h"

enum { kWords = 8, kMostRows = 5000 };
typedef uint64_t row __attribute__((vector_size(8 * kWords)));

static int misplaced, calls;

static void add_rows(void *in, void *inout, int *length, MPI_Datatype *type) {
  (void)type;
  ++calls;
  if ((uintptr_t)in % sizeof(row) || (uintptr_t)inout % sizeof(row)) {
    ++misplaced;  // the loads below would fault, or not, as the compiler chose
    return;
  }
  const row *left = in;
  row *right = inout;
  for (int i = 0; i < *length; ++i) right[i] += left[i];
}

static void check_result(const char *what, int count, int root, const row *out) {
  if (misplaced) fail("%s of %d rows, root %d: %d operands not at multiples of 64", what, count, root, misplaced);
  for (int i = 0; out && i < count; ++i)
    for (int k = 0; k < kWords; ++k) {
      uint64_t expected = 0;
      for (int rank = 0; rank < world_size; ++rank) expected += mix((uint64_t)rank, (uint64_t)i, (uint64_t)k);
      if (out[i][k] != expected) fail("%s of %d rows, root %d: row %d is wrong", what, count, root, i);
    }
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  MPI_Datatype type;
  MPI_Op op;
  MPI_Type_contiguous(kWords, MPI_UINT64_T, &type);
  MPI_Type_commit(&type);
  MPI_Op_create(add_rows, 1, &op);
  row *in = aligned_alloc(sizeof(row), kMostRows * sizeof(row)),
      *out = aligned_alloc(sizeof(row), kMostRows * sizeof(row));
  CHECK(in && out);
  for (int i = 0; i < kMostRows; ++i)
    for (int k = 0; k < kWords; ++k) in[i][k] = mix((uint64_t)world_rank, (uint64_t)i, (uint64_t)k);
  const int counts[] = {1, 2, 3, 4, 7, 64, 65, 600, kMostRows};
  for (size_t c = 0; c < sizeof counts / sizeof counts[0]; ++c) {
    const int count = counts[c];
    for (int root = 0; root < world_size; ++root) {
      MPI_Reduce(in, world_rank == root ? out : NULL, count, type, op, root, MPI_COMM_WORLD);
      check_result("reduce", count, root, world_rank == root ? out : NULL);
    }
    MPI_Allreduce(in, out, count, type, op, MPI_COMM_WORLD);
    check_result("allreduce", count, -1, out);
    memcpy(out, in, (size_t)count * sizeof(row));
    MPI_Allreduce(MPI_IN_PLACE, out, count, type, op, MPI_COMM_WORLD);
    check_result("allreduce in place", count, -1, out);
  }
  int all = 0;
  MPI_Allreduce(&calls, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(all > 0);
  MPI_Op_free(&op);
  MPI_Type_free(&type);
  free(in);
  free(out);
  return finish();
}
