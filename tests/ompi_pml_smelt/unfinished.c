// MPI_Finalize with messages under way. What has a receive still comes (MPI-3.1, 8.7: a buffered send whose sender has
// nothing more to do, a send that was freed). What nobody will ever receive, and receives that nobody will ever send
// to, are a fault of the program, which ends in peace all the same.
//   unfinished [--never]    --never: with such ones
#include "check.h"

#include <unistd.h>

enum { kLong = 100000, kMany = 600 };

// Rank 0 is on its way to the end while rank 1 receives.
static void comes_all_the_same(void) {
  if (world_rank > 1) return;
  unsigned char *data = malloc(kLong);
  if (world_rank == 0) {
    void *attached = malloc(kLong + MPI_BSEND_OVERHEAD);
    MPI_Buffer_attach(attached, kLong + MPI_BSEND_OVERHEAD);
    memset(data, 3, kLong);
    MPI_Bsend(data, kLong, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Request request;
    MPI_Isend(data, kLong, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    return;  // both stay until the end
  }
  usleep(200000);
  for (int tag = 1; tag >= 0; --tag) {
    MPI_Recv(data, kLong, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < kLong; ++i) CHECK(data[i] == 3);
  }
  free(data);
}

// More than there is room for, of every length, and persistent ones.
static void never_comes(void) {
  static const int lengths[] = {8, 3000, kLong};
  static unsigned char data[kLong];
  const int to = (world_rank + 1) % world_size;
  for (int i = 0; i < kMany; ++i) {
    MPI_Request request;
    if (i % 7 == 0) {
      MPI_Send_init(data, lengths[i % 3], MPI_BYTE, to, 5, MPI_COMM_WORLD, &request);
      MPI_Start(&request);
    } else {
      MPI_Isend(data, lengths[i % 3], MPI_BYTE, to, 5, MPI_COMM_WORLD, &request);
    }
    MPI_Request_free(&request);
    MPI_Irecv(data, 8, MPI_BYTE, i % 5 ? to : MPI_ANY_SOURCE, 100 + i, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
  }
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  if (world_size < 2) return skip("needs two ranks");
  comes_all_the_same();
  if (has_argument(argc, argv, "--never")) never_comes();
  return finish();
}
