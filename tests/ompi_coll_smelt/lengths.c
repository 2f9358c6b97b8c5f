// Proves what becomes of ranks that disagree about a length, as some programs do: a broadcast whose root sends less
// than the others have room for leaves the rest of their buffers as it was, and everything works afterwards. With
// --all, which Open MPI's own components do not bear: of a root that sends more than there is room for, who has too
// little is told MPI_ERR_TRUNCATE, and no byte is written beyond it; allreduces, allgathers, allgathervs, gathers and
// scatters of different lengths are errors and do not hang, on communicators of one use; and of an alltoallv in which
// one rank sends another length than expected, a gatherv, or a scatterv that has less than somebody wants, who gets it
// is told so, nothing is written beyond, and everything works afterwards.
#include "check.h"

static void broadcast(MPI_Comm comm, int root, int sent, int taken) {
  const int own = world_rank == root ? sent : taken;
  guarded got = guarded_new((size_t)own * sizeof(int)), wanted = guarded_new((size_t)own * sizeof(int));
  for (int k = 0; k < own && k < sent; ++k) {
    const int value = root * 1000 + k;
    memcpy(wanted.data + (size_t)k * sizeof value, &value, sizeof value);
  }
  if (world_rank == root) memcpy(got.data, wanted.data, got.bytes);
  const int error = MPI_Bcast(got.data, own, MPI_INT, root, comm);
  int class = MPI_SUCCESS;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &class);
  if (class != (sent > own ? MPI_ERR_TRUNCATE : MPI_SUCCESS))
    fail("bcast of %d ints to places for %d, root %d: error class %d", sent, taken, root, class);
  int intact;
  const ptrdiff_t outside = guarded_damage(&got, &intact);
  if (!intact) fail("bcast of %d ints to places for %d, root %d: byte %td overwritten", sent, taken, root, outside);
  const ptrdiff_t byte = first_difference(got.data, wanted.data, got.bytes);
  if (byte >= 0)
    fail("bcast of %d ints to places for %d, root %d: byte %td is %02x instead of %02x", sent, taken, root, byte,
         got.data[byte], wanted.data[byte]);
  guarded_free(&got);
  guarded_free(&wanted);
}

static void in_step(MPI_Comm comm, int round) {
  int sum = 0, word = world_rank == 0 ? round : -1;
  MPI_Allreduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  MPI_Bcast(&word, 1, MPI_INT, 0, comm);
  MPI_Barrier(comm);
  if (sum != world_size * (world_size - 1) / 2 || word != round) fail("round %d: sum %d, word %d", round, sum, word);
}

typedef enum kind { kAllreduce, kAllgather, kAllgatherv, kGather, kScatter, kGatherv, kScatterv, kKinds } kind;
static const char *const names[] = {"allreduce", "allgather", "allgatherv", "gather", "scatter", "gatherv", "scatterv"};

// Must this rank be told that rank 0, the root, has another length than the others?
static int is_told(kind which, int mine, int others) {
  switch (which) {
    case kGather:
    case kGatherv: return world_rank == 0;
    case kScatter: return world_rank != 0;
    case kScatterv: return world_rank != 0 && others > mine;
    default: return 1;
  }
}

// Rank 0 says `mine` ints, of everything, and the others `others`.
static void differ(MPI_Comm comm, kind which, int mine, int others) {
  const int own = world_rank == 0 ? mine : others;
  const size_t ints = (size_t)own * (size_t)world_size;
  int *in = calloc(ints, sizeof *in), *counts = malloc((size_t)world_size * sizeof(int)),
      *places = malloc((size_t)world_size * sizeof(int));
  for (int i = 0; i < world_size; ++i) counts[i] = own, places[i] = i * own;
  const int one = which == kAllreduce || which == kScatter || which == kScatterv;
  guarded out = guarded_new((one ? (size_t)own : ints) * sizeof *in);
  void *const to = out.data;
  int error = MPI_SUCCESS, class = MPI_SUCCESS, intact;
  switch (which) {
    case kAllreduce: error = MPI_Allreduce(in, to, own, MPI_INT, MPI_SUM, comm); break;
    case kAllgather: error = MPI_Allgather(in, own, MPI_INT, to, own, MPI_INT, comm); break;
    case kAllgatherv: error = MPI_Allgatherv(in, own, MPI_INT, to, counts, places, MPI_INT, comm); break;
    case kGather: error = MPI_Gather(in, own, MPI_INT, to, own, MPI_INT, 0, comm); break;
    case kScatter: error = MPI_Scatter(in, own, MPI_INT, to, own, MPI_INT, 0, comm); break;
    case kGatherv: error = MPI_Gatherv(in, own, MPI_INT, to, counts, places, MPI_INT, 0, comm); break;
    default: error = MPI_Scatterv(in, counts, places, MPI_INT, to, own, MPI_INT, 0, comm);
  }
  if (error != MPI_SUCCESS) MPI_Error_class(error, &class);
  if (class != MPI_ERR_TRUNCATE && (class != MPI_SUCCESS || is_told(which, mine, others)))
    fail("%s of %d ints on rank 0 and %d elsewhere: class %d", names[which], mine, others, class);
  guarded_damage(&out, &intact);
  if (!intact) fail("%s of %d ints on rank 0 and %d elsewhere: overwritten", names[which], mine, others);
  guarded_free(&out);
  free(in), free(counts), free(places);
}

// On a communicator of its own, of which nothing is expected afterwards.
static void differ_once(kind which, int mine, int others) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int i = 0; i < 10; ++i) in_step(comm, i);  // the component serves it now
  differ(comm, which, mine, others);
  MPI_Comm_free(&comm);
}

// Everybody has `own` ints for everybody, and expects `others`, or as many as it has itself.
static void alltoallv(MPI_Comm comm, int mine, int others) {
  const int own = world_rank == 0 ? mine : others;
  int *counts = malloc((size_t)world_size * sizeof(int)), *places = malloc((size_t)world_size * sizeof(int));
  for (int i = 0; i < world_size; ++i) counts[i] = own, places[i] = i * own;
  const size_t ints = (size_t)world_size * (size_t)own;
  int *in = malloc(ints * sizeof *in);
  for (size_t i = 0; i < ints; ++i) in[i] = world_rank;
  guarded out = guarded_new(ints * sizeof *in);
  const int error = MPI_Alltoallv(in, counts, places, MPI_INT, out.data, counts, places, MPI_INT, comm);
  int class = MPI_SUCCESS, intact;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &class);
  if (class != MPI_ERR_TRUNCATE) fail("alltoallv of %d ints from rank 0, %d elsewhere: class %d", mine, others, class);
  guarded_damage(&out, &intact);
  if (!intact) fail("alltoallv of %d ints from rank 0, %d elsewhere: overwritten", mine, others);
  for (int from = world_rank == 0 ? world_size : 1; from < world_size; ++from)  // which are as expected
    for (int i = 0; i < own; ++i) {
      int got;
      memcpy(&got, out.data + ((size_t)from * (size_t)own + (size_t)i) * sizeof got, sizeof got);
      if (got != from) fail("alltoallv of %d ints from rank 0, %d elsewhere: %d from %d", mine, others, got, from);
    }
  guarded_free(&out);
  free(in), free(counts), free(places);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  const int all = has_argument(argc, argv, "--all");
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  // One line, several, inline and not, pieces, single copy.
  static const int lengths[] = {1, 10, 70, 71, 500, 3000, 50000, 100000};
  enum { kLengths = sizeof lengths / sizeof *lengths };
  // The first calls of a communicator are Open MPI's own, which need not bear every pair.
  for (int i = 0; i < 10; ++i) in_step(comm, i);
  int round = 0;
  for (int sent = 0; sent < kLengths; ++sent)
    for (int taken = all ? 0 : sent; taken < kLengths; ++taken) {
      for (int root = 0; root < world_size; ++root) broadcast(comm, root, lengths[sent], lengths[taken]);
      in_step(comm, ++round);
    }
  for (int mine = 0; all && mine < kLengths; ++mine)
    for (int others = 0; others < kLengths; ++others)
      if (mine != others) {
        alltoallv(comm, lengths[mine], lengths[others]);
        in_step(comm, ++round);
        differ(comm, kGatherv, lengths[mine], lengths[others]);
        in_step(comm, ++round);
        differ(comm, kScatterv, lengths[mine], lengths[others]);
        in_step(comm, ++round);
      }
  MPI_Comm_free(&comm);
  for (int mine = 0; all && mine < kLengths; ++mine)
    for (int others = 0; others < kLengths; ++others)
      for (kind which = kAllreduce; mine != others && which <= kScatter; ++which)
        differ_once(which, lengths[mine], lengths[others]);
  return finish();
}
