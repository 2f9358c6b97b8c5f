// Which reductions go along the tree and which keep the order, seen from who waits for whom: rank n - 1 holds back, and
// SMELT_TUNE=pattern=knomial:1 makes the tree the chain 0 - 1 - ... - (n - 1). Along it nobody is through before that
// rank has come; in the fixed order only the root waits. Whether the results are right is reductions.c's.
//   reduce_order [--tree]: with --tree (SMELT_REDUCE_ORDER=tree) everything that commutes is expected along the chain
#include "predefined.h"

#include <stdatomic.h>

enum { kLongBytes = 600, kMost = 4096, kThrough = 3 };

static atomic_int *joined;  // set by rank n - 1 before it joins; in memory of all ranks

static void reduce(const char *operation, const char *name, MPI_Datatype type, MPI_Op op, int count, int along) {
  static _Alignas(64) unsigned char send[kMost], receive[kMost];
  const int last = world_size - 1;
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank == last) atomic_store(joined, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank == last) {
    // In the fixed order the ranks between are through without us, and say so. Along the chain they would wait for
    // ever.
    for (int rank = 1; rank < last && !along; ++rank)
      MPI_Recv(NULL, 0, MPI_BYTE, rank, kThrough, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (along) usleep(2000);
    atomic_store(joined, 1);
  }
  MPI_Reduce(send, receive, count, type, op, 0, MPI_COMM_WORLD);
  if ((along || world_rank == 0) && !atomic_load(joined))
    fail("%s of %d %s: through before rank %d came, so not along the tree", operation, count, name, last);
  if (world_rank > 0 && world_rank < last && !along) MPI_Send(NULL, 0, MPI_BYTE, last, kThrough, MPI_COMM_WORLD);
}

static void both_lengths(const char *operation, const char *name, MPI_Datatype type, MPI_Op op, int along) {
  int bytes;
  MPI_Type_size(type, &bytes);
  reduce(operation, name, type, op, 1, along);
  reduce(operation, name, type, op, kLongBytes / bytes, along);
}

static void maximum(void *left, void *right, int *count, MPI_Datatype *type) {
  (void)type;
  for (int i = 0; i < *count; ++i)
    if (((int *)left)[i] > ((int *)right)[i]) ((int *)right)[i] = ((int *)left)[i];
}

// Integers and what is like them. Sums of bytes saturate here and wrap there in Open MPI's op/avx.
static int any_order(const predefined_type *type, MPI_Op op) {
  if (is_floating(type) || type->group == kFloating || type->group == kComplex) return 0;
  return !(op == MPI_SUM && type->extent == 1);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  const int tree = has_argument(argc, argv, "--tree");
  CHECK(world_size >= 3);
  MPI_Win window;
  MPI_Aint bytes;
  int unit;
  MPI_Win_allocate_shared(world_rank == 0 ? sizeof(atomic_int) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &joined, &window);
  MPI_Win_shared_query(window, 0, &bytes, &unit, &joined);
  // Until the communicator is served; and the first long message asks everybody for memory.
  int in[200] = {0}, out[200];
  for (int i = 0; i < 20; ++i) MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 2; ++i) MPI_Reduce(in, out, 200, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);

  const int ordered = kInteger | kFortranInteger | kFloating | kMulti,
            bits = kInteger | kFortranInteger | kByte | kMulti;
  const int logical = kInteger | kLogical;
  const struct {
    const char *name;
    MPI_Op op;
    int groups;
  } operations[] = {{"MPI_MAX", MPI_MAX, ordered},
                    {"MPI_MIN", MPI_MIN, ordered},
                    {"MPI_SUM", MPI_SUM, ordered | kComplex},
                    {"MPI_PROD", MPI_PROD, ordered | kComplex},
                    {"MPI_LAND", MPI_LAND, logical},
                    {"MPI_LOR", MPI_LOR, logical},
                    {"MPI_LXOR", MPI_LXOR, logical},
                    {"MPI_BAND", MPI_BAND, bits},
                    {"MPI_BOR", MPI_BOR, bits},
                    {"MPI_BXOR", MPI_BXOR, bits},
                    {"MPI_MAXLOC", MPI_MAXLOC, kPair},
                    {"MPI_MINLOC", MPI_MINLOC, kPair}};
  predefined_type types[64];
  const int count = predefined_types(types);
  for (int t = 0; t < count; ++t)
    for (size_t o = 0; o < sizeof operations / sizeof *operations; ++o)
      if (operations[o].groups & types[t].group)
        both_lengths(operations[o].name, types[t].name, types[t].type, operations[o].op,
                     tree || any_order(&types[t], operations[o].op));

  for (int commutes = 0; commutes < 2; ++commutes) {
    MPI_Op op;
    MPI_Op_create(maximum, commutes, &op);
    both_lengths(commutes ? "an operation that commutes" : "an operation that does not commute", "MPI_INT", MPI_INT, op,
                 tree && commutes);
    MPI_Op_free(&op);
  }
  MPI_Win_free(&window);
  return finish();
}
