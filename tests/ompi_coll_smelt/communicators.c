// Proves that collectives work on every kind of communicator, and that communicators cost nothing that stays: split
// (odd and even, reversed, one member), dup, subsets, overlapping ones, an intercommunicator, neighbours on Cartesian
// and graph communicators, MPI_COMM_SELF; then thousands of dup + collective + free, after which the process has no
// more memory maps, open files, /dev/shm entries or memory than after the first few hundred.
#include "check.h"

#include <dirent.h>
#include <sys/wait.h>

// All four collectives over `comm`, every root.
static void exercise(MPI_Comm comm, const char *name) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Barrier(comm);
  for (int count = 1; count <= 3000; count = count * 54 + 1) {
    int *in = malloc((size_t)count * sizeof *in), *out = malloc((size_t)count * sizeof *out);
    for (int root = 0; root < size; ++root) {
      for (int k = 0; k < count; ++k) in[k] = rank + k, out[k] = rank == root ? root * 7 + k : -1;
      MPI_Bcast(out, count, MPI_INT, root, comm);
      for (int k = 0; k < count; ++k)
        if (out[k] != root * 7 + k)
          fail("%s: bcast MPI_INT count %d root %d: element %d is %d", name, count, root, k, out[k]);
      MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, root, comm);
      for (int k = 0; k < count; ++k)
        if (rank == root && out[k] != size * k + size * (size - 1) / 2)
          fail("%s: reduce MPI_SUM MPI_INT count %d root %d: element %d is %d", name, count, root, k, out[k]);
    }
    MPI_Allreduce(in, out, count, MPI_INT, MPI_MAX, comm);
    for (int k = 0; k < count; ++k)
      if (out[k] != size - 1 + k)
        fail("%s: allreduce MPI_MAX MPI_INT count %d: element %d is %d", name, count, k, out[k]);
    free(in);
    free(out);
  }
  MPI_Barrier(comm);
}

static void exercise_and_free(MPI_Comm comm, const char *name) {
  if (comm == MPI_COMM_NULL) return;
  exercise(comm, name);
  MPI_Comm_free(&comm);
}

static void splits(void) {
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &comm);
  exercise_and_free(comm, "odd or even");
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comm);
  int rank;
  MPI_Comm_rank(comm, &rank);
  if (rank != world_size - 1 - world_rank) fail("reversed: rank %d", rank);
  exercise_and_free(comm, "reversed");
  MPI_Comm_split(MPI_COMM_WORLD, world_rank, 0, &comm);
  exercise_and_free(comm, "one member");
  MPI_Comm_split(MPI_COMM_WORLD, world_rank == 0 ? MPI_UNDEFINED : 1, 0, &comm);
  exercise_and_free(comm, "all but rank 0");
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
  exercise_and_free(comm, "shared memory");
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm again;
  MPI_Comm_dup(comm, &again);
  MPI_Comm_free(&comm);  // the copy outlives its original
  exercise_and_free(again, "dup of a dup");
  exercise(MPI_COMM_SELF, "MPI_COMM_SELF");
}

// The first half as a subset, and every pair of neighbours as communicators that overlap and are used in turns.
static void subsets(void) {
  MPI_Group world, half;
  MPI_Comm comm;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_range_incl(world, 1, (int[][3]){{0, (world_size - 1) / 2, 1}}, &half);
  MPI_Comm_create(MPI_COMM_WORLD, half, &comm);
  exercise_and_free(comm, "first half");
  if (world_rank <= (world_size - 1) / 2) {
    MPI_Comm_create_group(MPI_COMM_WORLD, half, 3, &comm);
    exercise_and_free(comm, "first half, by its members");
  }
  MPI_Group_free(&half);
  MPI_Group_free(&world);
  MPI_Comm pairs[2];
  for (int parity = 0; parity < 2; ++parity)
    MPI_Comm_split(MPI_COMM_WORLD, (world_rank + parity) / 2, world_rank, &pairs[parity]);
  for (int round = 0; round < 20; ++round) {
    exercise(pairs[round % 2], "overlapping pairs");
    if (round % 5 == 0) exercise(MPI_COMM_WORLD, "world between pairs");
  }
  for (int parity = 0; parity < 2; ++parity) MPI_Comm_free(&pairs[parity]);
}

// Evens on one side, odds on the other: results come from the other side.
static void intercommunicator(void) {
  if (world_size < 2) return;
  MPI_Comm local, inter;
  const int side = world_rank % 2;
  int remote, sum, one = 1, word = world_rank;
  MPI_Comm_split(MPI_COMM_WORLD, side, world_rank, &local);
  MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - side, 5, &inter);
  MPI_Comm_remote_size(inter, &remote);
  for (int round = 0; round < 10; ++round) {
    MPI_Barrier(inter);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
    if (sum != remote) fail("intercommunicator: allreduce MPI_SUM MPI_INT is %d instead of %d", sum, remote);
    const int root = world_rank == 0 ? MPI_ROOT : side == 0 ? MPI_PROC_NULL : 0;
    word = world_rank == 0 ? 77 + round : -1;
    MPI_Bcast(&word, 1, MPI_INT, root, inter);
    if (side == 1 && word != 77 + round) fail("intercommunicator: bcast MPI_INT root 0 is %d", word);
    exercise(local, "local side");
  }
  MPI_Comm merged;
  MPI_Intercomm_merge(inter, side, &merged);
  exercise_and_free(merged, "merged");
  MPI_Comm_free(&inter);
  MPI_Comm_free(&local);
}

static void neighbours(void) {
  MPI_Comm ring, graph;
  MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){world_size}, (int[]){1}, 0, &ring);
  int from[2] = {-1, -1}, me = world_rank;
  const int left = (me + world_size - 1) % world_size, right = (me + 1) % world_size;
  MPI_Neighbor_allgather(&me, 1, MPI_INT, from, 1, MPI_INT, ring);
  if (from[0] != left || from[1] != right) fail("neighbor_allgather on a ring: %d and %d", from[0], from[1]);
  exercise_and_free(ring, "Cartesian");
  const int weight = 1;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, &weight, 1, &right, &weight, MPI_INFO_NULL, 0, &graph);
  MPI_Neighbor_alltoall(&me, 1, MPI_INT, from, 1, MPI_INT, graph);
  if (from[0] != left) fail("neighbor_alltoall on a graph: %d", from[0]);
  exercise_and_free(graph, "graph");
}

// A child that runs another program, or leaves at once, must not disturb its parent's communicators.
static void with_children(void) {
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    if (child == 0 && i == 0) execlp("true", "true", (char *)NULL);
    if (child == 0) _exit(0);
    exercise(MPI_COMM_WORLD, "while a child runs");
    CHECK(child > 0 && waitpid(child, NULL, 0) == child);
    exercise(MPI_COMM_WORLD, "after a child");
  }
}

typedef struct usage {
  long maps, files, shared_files, resident_kb, virtual_kb;
} usage;

// But for the segments of Open MPI's vader (from 5.0 on sm) and what LLVM's runtime leaves: other jobs, beside this
// one, make them, too.
static long entries(const char *folder) {
  DIR *directory = opendir(folder);
  if (directory == NULL) return 0;
  long n = 0;
  for (const struct dirent *entry; (entry = readdir(directory)) != NULL;)
    n += strstr(entry->d_name, "_segment") == NULL && strstr(entry->d_name, "__KMP_") == NULL;
  closedir(directory);
  return n;
}

static usage usage_now(void) {
  usage u = {0, entries("/proc/self/fd"), entries("/dev/shm"), 0, 0};
  char line[512];
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) ++u.maps;
  if (maps != NULL) fclose(maps);
  FILE *status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL) {
    sscanf(line, "VmRSS: %ld", &u.resident_kb);
    sscanf(line, "VmSize: %ld", &u.virtual_kb);
  }
  if (status != NULL) fclose(status);
  return u;
}

static void expect_no_growth(const usage *before, const usage *after, int rounds) {
  // A few pages and maps may come late: the allocator's arenas, Open MPI's free lists.
  if (after->maps > before->maps + 8)
    fail("%d communicators: %ld memory maps, then %ld", rounds, before->maps, after->maps);
  if (after->files > before->files + 2)
    fail("%d communicators: %ld open files, then %ld", rounds, before->files, after->files);
  // Other jobs, beside this one, have some there. A file a communicator would be nine tenths of the rounds.
  if (after->shared_files > before->shared_files + 4 + rounds / 10)
    fail("%d communicators: %ld files in /dev/shm, then %ld", rounds, before->shared_files, after->shared_files);
  if (after->resident_kb > before->resident_kb + 4096)
    fail("%d communicators: %ld KB resident, then %ld", rounds, before->resident_kb, after->resident_kb);
  if (after->virtual_kb > before->virtual_kb + 32768)
    fail("%d communicators: %ld KB mapped, then %ld", rounds, before->virtual_kb, after->virtual_kb);
}

// Several kinds of use, so that no path of creation is left out: unused, barrier only, all collectives, out of order
// frees.
static void churn(int rounds) {
  usage before = {0, 0, 0, 0, 0};
  MPI_Comm kept = MPI_COMM_NULL;
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (round % 4 == 1) MPI_Barrier(comm);
    if (round % 4 == 2) exercise(comm, "dup in a loop");
    if (round % 4 == 3) {
      int sum, one = 1;
      MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
      if (sum != world_size) fail("dup in a loop, round %d: sum %d", round, sum);
    }
    if (kept != MPI_COMM_NULL) MPI_Comm_free(&kept);
    kept = comm;
    if (round == rounds / 10) before = usage_now();
  }
  const usage after = usage_now();
  MPI_Comm_free(&kept);
  expect_no_growth(&before, &after, rounds);
}

// Who need not wait for the others leaves, frees and makes the next communicator, perhaps in the same memory, while
// they still read: bcast's root, and reduce's others.
static void free_at_once(int rounds) {
  enum { kMost = 50000 };
  static const int counts[] = {1, 10, 300, 5000, kMost};
  int *in = malloc(kMost * sizeof *in), *out = malloc(kMost * sizeof *out);
  for (int round = 0; round < rounds; ++round) {
    const int count = counts[round % 5], root = round / 5 % world_size, broadcasts = round % 2;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (round % 7 == world_rank) usleep(200);  // somebody is late
    for (int k = 0; k < count; ++k) in[k] = round + k + (broadcasts ? 0 : world_rank), out[k] = -1;
    if (broadcasts)
      MPI_Bcast(world_rank == root ? in : out, count, MPI_INT, root, comm);
    else
      MPI_Reduce(in, out, count, MPI_INT, MPI_MAX, root, comm);
    MPI_Comm_free(&comm);
    memset(in, 0xEE, (size_t)count * sizeof *in);  // ours again
    if (broadcasts == (world_rank == root)) continue;
    for (int k = 0; k < count; ++k)
      if (out[k] != round + k + (broadcasts ? 0 : world_size - 1))
        fail("%s MPI_INT count %d root %d on a communicator freed at once, round %d: element %d is %d",
             broadcasts ? "bcast" : "reduce", count, root, round, k, out[k]);
  }
  free(in);
  free(out);
}

// Many alive at once, freed in another order, twice: the second time must find room again.
static void many_at_once(int n) {
  MPI_Comm *all = malloc((size_t)n * sizeof *all);
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < n; ++i) {
      MPI_Comm_dup(MPI_COMM_WORLD, &all[i]);
      exercise(all[i], "many at once");
    }
    for (int i = 0; i < n; i += 7) exercise(all[i], "many at once, again");
    for (int step = 0; step < n; ++step) MPI_Comm_free(&all[step * 7 % n]);
  }
  free(all);
}

static void sum_ranks(MPI_Comm comm) {
  int rank, size, sum = -1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  if (sum != size * (size - 1) / 2) fail("one of many: the sum of all ranks is %d", sum);
}

// All used while all are alive, with short messages: what a library that duplicates for each of its objects does.
static void all_alive(int n) {
  MPI_Comm *all = malloc((size_t)n * sizeof *all);
  for (int i = 0; i < n; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &all[i]);
    sum_ranks(all[i]);
    MPI_Barrier(all[i]);
  }
  for (int i = n - 1; i >= 0; --i) sum_ranks(all[i]);
  for (int i = 0; i < n; ++i) MPI_Comm_free(&all[i]);
  free(all);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  exercise(MPI_COMM_WORLD, "world");
  splits();
  subsets();
  intercommunicator();
  neighbours();
  with_children();
  many_at_once(full ? 1000 : light ? 20 : 100);  // 7 divides neither
  all_alive((int)number_argument(argc, argv, "--alive", 10));
  free_at_once(light ? 300 : 2000);
  churn((int)number_argument(argc, argv, "--rounds", full ? 10000 : light ? 400 : 2000));
  return finish();
}
