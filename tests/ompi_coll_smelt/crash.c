// A job that dies in the midst of collectives, for the driver to look at what is left: the last rank kills itself
// ("kill"), calls MPI_Abort ("abort"), or leaves without MPI_Finalize ("leave") after some rounds on several
// communicators, while the others go on until mpirun ends them. Or nobody dies, and communicators are never freed
// ("forget").
#include "check.h"

#include <signal.h>

enum { kRoundOfDeath = 1500, kCommunicators = 3, kInts = 30000 };

static void die(const char *how) {
  if (strcmp(how, "kill") == 0) raise(SIGKILL);
  if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
  if (strcmp(how, "leave") == 0) _Exit(0);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  CHECK(argc > 1);
  const int forgets = strcmp(argv[1], "forget") == 0;
  MPI_Comm comms[kCommunicators];
  int *in = calloc(kInts, sizeof *in), *out = calloc(kInts, sizeof *out);
  for (int i = 0; i < kCommunicators; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int round = 0; !forgets || round < kRoundOfDeath; ++round) {
    MPI_Comm comm = comms[round % kCommunicators];
    const int count = round % 50 == 0 ? kInts : 1 + round % 100;
    MPI_Barrier(comm);
    MPI_Bcast(in, count, MPI_INT, round % world_size, comm);
    if (round == kRoundOfDeath && world_rank == world_size - 1) die(argv[1]);
    MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm);
    MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, round % world_size, comm);
  }
  return finish();
}
