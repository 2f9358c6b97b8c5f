// A job that dies in the midst of collectives, for the driver to look at what is left.
//   crash HOW             several collectives on several communicators; after some rounds the last rank kills itself
//                         ("kill"), calls MPI_Abort ("abort"), or leaves without MPI_Finalize ("leave"), while the
//                         others go on until mpirun ends them. Or nobody dies, and communicators are never freed
//                         ("forget")
//   crash HOW COLLECTIVE  that one alone, of all lengths; at any moment, wherever it is, the last rank is killed
//                         ("kill"), stopped for good ("stop"), or stopped for a while ("pause"): then all go on and
//                         end well, with the right results
//   crash list            the collectives
#include "check.h"

#include <signal.h>

enum { kRoundOfDeath = 1500, kCommunicators = 3, kInts = 30000, kWarmUp = 30, kNeighbours = 2 };

static void die(const char *how) {
  if (strcmp(how, "kill") == 0) raise(SIGKILL);
  if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
  if (strcmp(how, "leave") == 0) _Exit(0);
}

static int mixed(const char *how) {
  const int forgets = strcmp(how, "forget") == 0;
  MPI_Comm comms[kCommunicators];
  int *in = calloc(kInts, sizeof *in), *out = calloc(kInts, sizeof *out);
  for (int i = 0; i < kCommunicators; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int round = 0; !forgets || round < kRoundOfDeath; ++round) {
    MPI_Comm comm = comms[round % kCommunicators];
    const int count = round % 50 == 0 ? kInts : 1 + round % 100;
    MPI_Barrier(comm);
    MPI_Bcast(in, count, MPI_INT, round % world_size, comm);
    if (round == kRoundOfDeath && world_rank == world_size - 1) die(how);
    MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm);
    MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, round % world_size, comm);
  }
  return finish();
}

// --- one collective. Every int that is sent is `round`.

static MPI_Comm comm;  // a ring
static int *in, *out, *counts, *places, *bytes, root;
static MPI_Aint *far;
static MPI_Datatype *types;

// Each returns how many ints arrive; or minus as many where they are the sum over `ranks` of them.
static int ranks;
static int sums(int n, int of) { return ranks = of, -n; }
static int at_root(int n) { return world_rank == root ? n : 0; }

static int call_barrier(int n) { return MPI_Barrier(comm), 0 * n; }
static int call_bcast(int n) {
  int *const buffer = world_rank == root ? in : out;
  MPI_Bcast(buffer, n, MPI_INT, root, comm);
  return world_rank == root ? 0 : n;
}
static int call_reduce(int n) {
  MPI_Reduce(in, out, n, MPI_INT, MPI_SUM, root, comm);
  return sums(at_root(n), world_size);
}
static int call_allreduce(int n) {
  MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm);
  return sums(n, world_size);
}
static int call_allgather(int n) {
  MPI_Allgather(in, n, MPI_INT, out, n, MPI_INT, comm);
  return n * world_size;
}
static int call_reduce_scatter_block(int n) {
  MPI_Reduce_scatter_block(in, out, n, MPI_INT, MPI_SUM, comm);
  return sums(n, world_size);
}
static int call_reduce_scatter(int n) {
  MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, comm);
  return sums(n, world_size);
}
static int call_scan(int n) {
  MPI_Scan(in, out, n, MPI_INT, MPI_SUM, comm);
  return sums(n, world_rank + 1);
}
static int call_exscan(int n) {
  MPI_Exscan(in, out, n, MPI_INT, MPI_SUM, comm);
  return world_rank > 0 ? sums(n, world_rank) : 0;
}
static int call_alltoall(int n) {
  MPI_Alltoall(in, n, MPI_INT, out, n, MPI_INT, comm);
  return n * world_size;
}
static int call_alltoallv(int n) {
  MPI_Alltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, comm);
  return n * world_size;
}
static int call_alltoallw(int n) {
  MPI_Alltoallw(in, counts, bytes, types, out, counts, bytes, types, comm);
  return n * world_size;
}
static int call_neighbor_allgather(int n) {
  MPI_Neighbor_allgather(in, n, MPI_INT, out, n, MPI_INT, comm);
  return n * kNeighbours;
}
static int call_neighbor_allgatherv(int n) {
  MPI_Neighbor_allgatherv(in, n, MPI_INT, out, counts, places, MPI_INT, comm);
  return n * kNeighbours;
}
static int call_neighbor_alltoall(int n) {
  MPI_Neighbor_alltoall(in, n, MPI_INT, out, n, MPI_INT, comm);
  return n * kNeighbours;
}
static int call_neighbor_alltoallv(int n) {
  MPI_Neighbor_alltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, comm);
  return n * kNeighbours;
}
static int call_neighbor_alltoallw(int n) {
  MPI_Neighbor_alltoallw(in, counts, far, types, out, counts, far, types, comm);
  return n * kNeighbours;
}
static int call_gather(int n) {
  MPI_Gather(in, n, MPI_INT, out, n, MPI_INT, root, comm);
  return at_root(n * world_size);
}
static int call_scatter(int n) { return MPI_Scatter(in, n, MPI_INT, out, n, MPI_INT, root, comm), n; }
static int call_allgatherv(int n) {
  MPI_Allgatherv(in, n, MPI_INT, out, counts, places, MPI_INT, comm);
  return n * world_size;
}
static int call_scatterv(int n) {
  MPI_Scatterv(in, counts, places, MPI_INT, out, n, MPI_INT, root, comm);
  return n;
}
static int call_gatherv(int n) {
  MPI_Gatherv(in, n, MPI_INT, out, counts, places, MPI_INT, root, comm);
  return at_root(n * world_size);
}

static const struct collective {
  const char *name;
  int (*call)(int n);
} collectives[] = {
#define SMELT_COLLECTIVE(NAME, name, mpi, ...) {#mpi, call_##mpi},
#include <smelt/collectives.def>
#undef SMELT_COLLECTIVE
};
enum { kCollectives = sizeof collectives / sizeof *collectives };

static void run(const struct collective *collective, int round) {
  const int n = round % 10 == 0 ? kInts : round % 10 == 5 ? 3000 : 1 + round % 50, room = world_size * kInts;
  root = round % world_size;
  for (int i = 0; i < world_size + kNeighbours; ++i) {
    counts[i] = n, places[i] = i * n;
    bytes[i] = places[i] * (int)sizeof(int), far[i] = bytes[i];
  }
  for (int i = 0; i < room; ++i) in[i] = round, out[i] = -1;
  ranks = 1;
  const int arrived = collective->call(n);
  for (int i = 0; i < abs(arrived); ++i)
    if (out[i] != ranks * round)
      fail("%s of %d, round %d: element %d is %d instead of %d", collective->name, n, round, i, out[i], ranks * round);
}

static volatile sig_atomic_t goes_on;
static void note_that(int number) { goes_on = number; }

// A process of its own, so that it comes from outside, wherever this one is.
static void send_fate(const char *how) {
  const pid_t victim = getpid();
  signal(SIGCHLD, SIG_IGN);
  signal(SIGUSR1, note_that);
  if (fork() != 0) return;
  usleep(1000 + (unsigned)victim % 20 * 1000);
  kill(victim, strcmp(how, "kill") == 0 ? SIGKILL : SIGSTOP);
  if (strcmp(how, "pause") == 0) {
    usleep(200000);
    kill(victim, SIGCONT);
    kill(victim, SIGUSR1);
  }
  _exit(0);
}

static int of_one(const struct collective *collective, const char *how) {
  const size_t room = (size_t)(world_size + kNeighbours);
  in = malloc(room * kInts * sizeof *in), out = malloc(room * kInts * sizeof *out);
  counts = malloc(room * sizeof *counts), places = malloc(room * sizeof *places);
  bytes = malloc(room * sizeof *bytes), far = malloc(room * sizeof *far), types = malloc(room * sizeof *types);
  for (size_t i = 0; i < room; ++i) types[i] = MPI_INT;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &world_size, (int[]){1}, 0, &comm);
  int round = 0, over = 0;
  for (; round < kWarmUp; ++round) run(collective, round);
  if (world_rank == world_size - 1) send_fate(how);
  for (; !over; ++round) {
    run(collective, round);
    if (round % 50 == 0) {
      const int mine = goes_on != 0;
      MPI_Allreduce(&mine, &over, 1, MPI_INT, MPI_MAX, comm);
    }
  }
  return finish();
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "list") == 0) {
    for (int i = 0; i < kCollectives; ++i) puts(collectives[i].name);
    return 0;
  }
  start(&argc, &argv);
  CHECK(argc > 1);
  if (argc == 2) return mixed(argv[1]);
  for (int i = 0; i < kCollectives; ++i)
    if (strcmp(argv[2], collectives[i].name) == 0) return of_one(&collectives[i], argv[1]);
  fail("there is no %s", argv[2]);
}
