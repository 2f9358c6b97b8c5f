// What follows a communicator's collectives, as the program says (the info key smelt_sync) or shows. What the component
// makes of it is in its lines; the driver reads them.
//   loose_strict CASE
//     dup       a duplicate is made with smelt_sync=strict
//     set       the key is set on a communicator that has had no calls
//     late      ... and again, to loose, when it has had many: no effect
//     differ    one rank sets strict, the others loose
//     nonsense  a value that is none
//     watch     nothing is said: a barrier follows each call, then none does, with nonblocking calls outstanding
//     mixed     nothing is said: a barrier follows every other call
#include "check.h"

enum { kCalls = 48, kWords = 5000 };

static uint64_t words[kWords], sums[kWords];

// Right whatever method serves it.
static void allreduce(MPI_Comm comm, uint64_t round) {
  for (int i = 0; i < kWords; ++i) words[i] = mix((uint64_t)world_rank, (uint64_t)i, round) >> 8;
  CHECK(MPI_Allreduce(words, sums, kWords, MPI_UINT64_T, MPI_SUM, comm) == MPI_SUCCESS);
  for (int i = 0; i < kWords; i += 7) {
    uint64_t sum = 0;
    for (int rank = 0; rank < world_size; ++rank) sum += mix((uint64_t)rank, (uint64_t)i, round) >> 8;
    if (sums[i] != sum) fail("round %d: word %d is wrong", (int)round, i);
  }
}

static void calls(MPI_Comm comm, int every) {
  for (int i = 0; i < kCalls; ++i) {
    allreduce(comm, (uint64_t)i);
    if (every > 0 && i % every == 0) MPI_Barrier(comm);
  }
}

// A broadcast is outstanding when the barrier comes; or nothing but broadcasts, and an allreduce among them.
static void calls_beside_others(MPI_Comm comm, int barriers) {
  for (int i = 0; i < kCalls; ++i) {
    uint64_t sent[600];
    for (int k = 0; k < 600; ++k) sent[k] = world_rank == i % world_size ? mix((uint64_t)i, (uint64_t)k, 1) : 0;
    MPI_Request request;
    MPI_Ibcast(sent, 600, MPI_UINT64_T, i % world_size, comm, &request);
    if (world_rank == i % 3) usleep(200);
    if (barriers)
      MPI_Barrier(comm);
    else
      allreduce(comm, (uint64_t)i);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int k = 0; k < 600; ++k)
      if (sent[k] != mix((uint64_t)i, (uint64_t)k, 1)) fail("broadcast %d: word %d is wrong", i, k);
  }
}

static MPI_Info info_of(const char *value) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "smelt_sync", value);
  return info;
}

static void set(MPI_Comm comm, const char *value) {
  MPI_Info info = info_of(value);
  CHECK(MPI_Comm_set_info(comm, info) == MPI_SUCCESS);
  MPI_Info_free(&info);
}

// What the communicator says of itself; "": nothing.
static void expect_value(MPI_Comm comm, const char *expected) {
  MPI_Info info;
  char value[32] = "";
  int found = 0;
  CHECK(MPI_Comm_get_info(comm, &info) == MPI_SUCCESS);
  MPI_Info_get(info, "smelt_sync", (int)sizeof value - 1, value, &found);
  if (!found) value[0] = 0;
  if (strcmp(value, expected) != 0) fail("smelt_sync is '%s' instead of '%s'", value, expected);
  MPI_Info_free(&info);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  const char *const which = argc > 1 ? argv[1] : "";
  MPI_Comm comm;
  if (strcmp(which, "dup") == 0) {
    MPI_Info info = info_of("strict");
    CHECK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm) == MPI_SUCCESS);
    MPI_Info_free(&info);
  } else {
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
  }
  MPI_Comm_set_name(comm, "tested");
  if (strcmp(which, "set") == 0 || strcmp(which, "late") == 0) set(comm, "strict");
  if (strcmp(which, "differ") == 0) set(comm, world_rank == 1 ? "strict" : "loose");
  if (strcmp(which, "nonsense") == 0) set(comm, "perhaps");
  const int told = strcmp(which, "dup") == 0 || strcmp(which, "set") == 0 || strcmp(which, "late") == 0;
  if (told) expect_value(comm, "strict");
  if (strcmp(which, "watch") == 0) {
    expect_value(comm, "");
    calls(comm, 1);
    calls(comm, 0);
    calls_beside_others(comm, 1);
    calls_beside_others(comm, 0);
  } else if (strcmp(which, "mixed") == 0) {
    calls(comm, 2);
  } else {
    calls(comm, told ? 0 : 1);  // which would show the other regime
  }
  if (strcmp(which, "late") == 0) {
    set(comm, "loose");
    calls(comm, 0);
  }
  MPI_Comm_free(&comm);
  return finish();
}
