// Proves that communicators and persistent requests may be short-lived, many and of any ranks: of 1 to 20 calls each,
// of different kinds and lengths, one after the other, of the same ranks and of others in another order, several alive,
// every result checked; and that hundreds that stay alive take memory and address space in proportion. With --time KIND
// NUMBER it says what one takes, so that the driver can compare: the least of several rows, in µs.
//   lives --time dup N      dup, N allreduces of a long, free
//   lives --time starts N   a persistent allreduce, N starts, free
//   lives --time alive N    split, 10 allreduces, N times; none is freed before all are there
#include "check.h"

#include <mpi-ext.h>

static int allreduce_init(const long *in, long *out, int count, MPI_Comm comm, MPI_Request *request) {
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
  return MPIX_Allreduce_init(in, out, count, MPI_LONG, MPI_SUM, comm, MPI_INFO_NULL, request);
#else
  return MPI_Allreduce_init(in, out, count, MPI_LONG, MPI_SUM, comm, MPI_INFO_NULL, request);
#endif
}

enum { kMost = 40000 };
static long *in, *out;

static int length_of(unsigned i) {
  static const int lengths[] = {1, 3, 20, 60, 500, 6000, kMost};
  return lengths[i % 7];
}

// The call-th collective of a communicator; `salt` makes its data differ from those of all others.
static void call_one(MPI_Comm comm, unsigned call, unsigned salt, int most) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const unsigned which = (call * 7 + salt) % 5;
  const int root = (int)((call + salt) % (unsigned)size), n = length_of((call + salt) % (unsigned)most);
  for (int i = 0; i < n; ++i) in[i] = (long)salt * 1000 + call + (long)i * (rank + 1), out[i] = -1;
  const long ranks = (long)size * (size + 1) / 2, base = ((long)salt * 1000 + call) * size;
  if (which == 0) {
    MPI_Barrier(comm);
    return;
  }
  if (which == 1) {
    MPI_Bcast(rank == root ? in : out, n, MPI_LONG, root, comm);
    for (int i = 0; i < n && rank != root; ++i)
      if (out[i] != (long)salt * 1000 + call + (long)i * (root + 1))
        fail("bcast MPI_LONG count %d root %d, call %u of life %u: element %d is %ld", n, root, call, salt, i, out[i]);
    return;
  }
  if (which == 2)
    MPI_Reduce(in, out, n, MPI_LONG, MPI_SUM, root, comm);
  else if (which == 3)
    MPI_Allreduce(in, out, n, MPI_LONG, MPI_SUM, comm);
  else
    MPI_Scan(in, out, n, MPI_LONG, MPI_SUM, comm);
  for (int i = 0; i < n; ++i) {
    const long expected = which == 4 ? ((long)salt * 1000 + call) * (rank + 1) + i * ((long)(rank + 1) * (rank + 2) / 2)
                                     : base + i * ranks;
    if ((which != 2 || rank == root) && out[i] != expected)
      fail("%s MPI_LONG count %d root %d, call %u of life %u: element %d is %ld instead of %ld",
           which == 2   ? "reduce"
           : which == 3 ? "allreduce"
                        : "scan",
           n, root, call, salt, i, out[i], expected);
  }
}

// The ranks in another order, or some of them: each is in exactly one.
static MPI_Comm some(unsigned life) {
  MPI_Comm comm;
  const int colour = life % 3 == 0 ? 0 : (world_rank + (int)life) % 2, turn = (int)(life / 3) % world_size;
  MPI_Comm_split(MPI_COMM_WORLD, colour, life % 2 ? -world_rank : (world_rank + turn) % world_size, &comm);
  return comm;
}

static void starts(MPI_Comm comm, unsigned calls, unsigned salt) {
  int size;
  MPI_Comm_size(comm, &size);
  long mine[3], sum[3];
  MPI_Request request;
  CHECK(allreduce_init(mine, sum, 3, comm, &request) == MPI_SUCCESS);
  for (unsigned call = 0; call < calls; ++call) {
    for (int i = 0; i < 3; ++i) mine[i] = (long)salt * 10 + call + i, sum[i] = -1;
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 3; ++i)
      if (sum[i] != ((long)salt * 10 + call + i) * size)
        fail("persistent allreduce MPI_LONG, start %u of life %u: element %d is %ld", call, salt, i, sum[i]);
  }
  MPI_Request_free(&request);
}

static void lives(unsigned rounds) {
  MPI_Comm kept[3] = {MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL};
  for (unsigned life = 0; life < rounds; ++life) {
    MPI_Comm comm;
    if (life % 2)
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    else
      comm = some(life / 2);
    for (unsigned call = 0; call < 1 + life % 20; ++call) call_one(comm, call, life, life % 11 ? 4 : 7);
    if (life % 5 == 0) starts(comm, life % 13, life);
    const unsigned place = life * 5 % 3;
    if (kept[place] != MPI_COMM_NULL) {
      call_one(kept[place], 3, life, 4);
      MPI_Comm_free(&kept[place]);
    }
    if (life % 4 == 1)
      kept[place] = comm;
    else
      MPI_Comm_free(&comm);
  }
  for (int i = 0; i < 3; ++i)
    if (kept[i] != MPI_COMM_NULL) MPI_Comm_free(&kept[i]);
}

static long status_kib(const char *name) {
  long value = -1;
  char line[256];
  FILE *file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file))
    if (strncmp(line, name, strlen(name)) == 0) value = strtol(line + strlen(name), NULL, 10);
  if (file) fclose(file);
  return value;
}

// Two ranks: 40 KiB of memory and 4.5 MiB of address space each before groups came from a pool.
static void memory_of_many(int n) {
  MPI_Comm *all = malloc((size_t)n * sizeof *all);
  long resident = 0, mapped = 0;
  for (int i = 0; i < n; ++i) {
    if (i == 100) resident = status_kib("VmRSS:"), mapped = status_kib("VmSize:");
    MPI_Comm_dup(MPI_COMM_WORLD, &all[i]);
    for (unsigned call = 0; call < 12; ++call) call_one(all[i], call, (unsigned)i, 2);
  }
  resident = status_kib("VmRSS:") - resident, mapped = status_kib("VmSize:") - mapped;
  const long counted = n - 100;
  if (resident > counted * (24 + 16 * world_size)) fail("%ld communicators hold %ld KiB", counted, resident);
  if (mapped > counted * (400 + 16 * world_size) + 8192) fail("%ld communicators map %ld KiB", counted, mapped);
  for (int i = 0; i < n; ++i) MPI_Comm_free(&all[i]);
  free(all);
}

// --- what one takes

static void time_dups(int calls, int count) {
  long one = 1, sum;
  for (int i = 0; i < count; ++i) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int call = 0; call < calls; ++call) MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, comm);
    MPI_Comm_free(&comm);
  }
}
static void time_starts(int calls, int count) {
  long one = 1, sum;
  for (int i = 0; i < count; ++i) {
    MPI_Request request;
    allreduce_init(&one, &sum, 1, MPI_COMM_WORLD, &request);
    for (int call = 0; call < calls; ++call) {
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
  }
}
static void time_alive(int calls, int count) {
  int one = 1, sum;
  MPI_Comm *all = malloc((size_t)count * sizeof *all);
  for (int i = 0; i < count; ++i) {
    MPI_Comm_split(MPI_COMM_WORLD, 0, world_rank, &all[i]);
    for (int call = 0; call < calls; ++call) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all[i]);
  }
  for (int i = 0; i < count; ++i) MPI_Comm_free(&all[i]);
  free(all);
}

static void time_one(const char *kind, int number) {
  const int alive = strcmp(kind, "alive") == 0, count = alive ? number : 50, rows = alive ? 5 : 20;
  double least = 1e9;
  for (int row = 0; row < rows; ++row) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (strcmp(kind, "dup") == 0) time_dups(number, count);
    if (strcmp(kind, "starts") == 0) time_starts(number, count);
    if (alive) time_alive(10, count);
    const double took = (MPI_Wtime() - begin) / count * 1e6;
    if (took < least) least = took;
  }
  if (world_rank == 0) printf("us %.2f\n", least);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  if (argc == 4 && strcmp(argv[1], "--time") == 0) {
    time_one(argv[2], (int)strtol(argv[3], NULL, 10));
    return finish();
  }
  in = malloc(kMost * sizeof *in), out = malloc(kMost * sizeof *out);
  lives(full ? 20000 : light ? 400 : 2000);
  if (!has_argument(argc, argv, "--stock")) memory_of_many(light ? 200 : 500);
  free(in);
  free(out);
  return finish();
}
