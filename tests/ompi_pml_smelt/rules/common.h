// What the rules share: messages that can be told apart, statuses, time, communicators.
#ifndef SMELT_TESTS_PML_RULES_COMMON_H
#define SMELT_TESTS_PML_RULES_COMMON_H

#include "check.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

enum { kLengths = 10 };
// Around the limits between the ways in which messages travel.
static const int kLengthOf[kLengths] = {0, 1, 208, 209, 1024, 1025, 16384, 16385, 70000, 1 << 20};

static int served;                       // the component is to serve
static int refused;                      // memory may not be read
static MPI_Comm world = MPI_COMM_WORLD;  // whose communicator is tested

static int next_of(int rank) { return (rank + 1) % world_size; }
static int before_of(int rank) { return (rank + world_size - 1) % world_size; }

static unsigned char byte_of(int from, int k, size_t i) { return (unsigned char)(from * 31 + k * 7 + (int)(i / 5)); }
static void fill(unsigned char *data, int from, int k, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) data[i] = byte_of(from, k, i);
}
static void verify(const unsigned char *data, int from, int k, size_t bytes, const char *what) {
  for (size_t i = 0; i < bytes; ++i)
    if (data[i] != byte_of(from, k, i)) fail("%s: byte %zu of message %d (%zu bytes) from %d", what, i, k, bytes, from);
}
static void verify_status(const MPI_Status *status, int source, int tag, int bytes, const char *what) {
  int count = -1, cancelled = -1;
  MPI_Get_count(status, MPI_BYTE, &count);
  MPI_Test_cancelled(status, &cancelled);
  if (status->MPI_SOURCE != source || status->MPI_TAG != tag || count != bytes || cancelled)
    fail("%s: status says %d, %d, %d, %d instead of %d, %d, %d, 0", what, status->MPI_SOURCE, status->MPI_TAG, count,
         cancelled, source, tag, bytes);
}
static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
// Others get on, and we make progress: by looking for what nobody sends, as MPI_PROC_NULL would not do.
static void pass_time(double for_seconds) {
  for (const double end = seconds() + for_seconds; seconds() < end; usleep(200)) {
    int flag;
    MPI_Iprobe(0, 32000, world, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
  }
}
static int not_complete(MPI_Request *request) {
  int flag = 0;
  MPI_Status status;
  MPI_Request_get_status(*request, &flag, &status);
  return !flag;
}
// Errors come back on it. To be freed.
static MPI_Comm returning_errors(void) {
  MPI_Comm comm;
  MPI_Comm_dup(world, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return comm;
}

static void refuse_to_read(void) {
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1 /* EPERM */),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    puts("skipped: no seccomp here");
    _Exit(kSkipped);
  }
}

#endif
