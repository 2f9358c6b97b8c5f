// MPI's rules for messages, one case each. `rules [CASE]`: all, or one. With --served the counters must show that the
// component served, in every way if it is all cases; with --left that it did not. Any number of ranks from 2 on;
// without the component all pass, too, but for `truncation`, where ob1 of Open MPI 4.1.4 has been seen to write behind
// the buffer.
//   --refused  the kernel does not let us read others' memory, as in many containers
//   --ordered  as if wildcards had been used everywhere
//   --node     on the communicator of each node
//   --far      with --served: there are ranks on several nodes, and what went between them is the component's, too
//   --names    says which case takes how long
#include "check.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum { kLengths = 8 };
// Around the limits between the ways in which messages travel.
static const int kLengthOf[kLengths] = {0, 1, 208, 209, 16384, 16385, 70000, 1 << 20};

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

// --- lengths, posted first or not, blocking or not

static void lengths(void) {
  unsigned char *out = malloc(1 << 20), *in = malloc(1 << 20);
  for (int k = 0; k < kLengths; ++k) {
    const int bytes = kLengthOf[k];
    fill(out, world_rank, k, (size_t)bytes);
    MPI_Request requests[2];
    MPI_Status status[2];
    // posted first
    MPI_Irecv(in, bytes, MPI_BYTE, before_of(world_rank), k, world, &requests[0]);
    MPI_Barrier(world);
    MPI_Isend(out, bytes, MPI_BYTE, next_of(world_rank), k, world, &requests[1]);
    MPI_Waitall(2, requests, status);
    verify(in, before_of(world_rank), k, (size_t)bytes, "posted first");
    verify_status(&status[0], before_of(world_rank), k, bytes, "posted first");
    // the message first
    MPI_Isend(out, bytes, MPI_BYTE, next_of(world_rank), k, world, &requests[1]);
    MPI_Barrier(world);
    memset(in, 0, (size_t)bytes);
    MPI_Recv(in, bytes, MPI_BYTE, before_of(world_rank), k, world, &status[0]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    verify(in, before_of(world_rank), k, (size_t)bytes, "message first");
    verify_status(&status[0], before_of(world_rank), k, bytes, "message first");
    // blocking, and more room than there is message
    if (world_rank == 0) MPI_Send(out, bytes, MPI_BYTE, next_of(0), k, world);
    if (world_rank == next_of(0)) {
      memset(in, 0, (size_t)bytes);
      MPI_Recv(in, 1 << 20, MPI_BYTE, 0, k, world, &status[0]);
      verify(in, 0, k, (size_t)bytes, "blocking");
      verify_status(&status[0], 0, k, bytes, "blocking");
    }
    MPI_Sendrecv(out, bytes, MPI_BYTE, next_of(world_rank), 50 + k, in, bytes, MPI_BYTE, before_of(world_rank), 50 + k,
                 world, &status[0]);
    verify(in, before_of(world_rank), k, (size_t)bytes, "sendrecv");
    MPI_Sendrecv_replace(out, bytes, MPI_BYTE, next_of(world_rank), 70, before_of(world_rank), 70, world, &status[0]);
    verify(out, before_of(world_rank), k, (size_t)bytes, "sendrecv_replace");
  }
  free(out);
  free(in);
}

// --- non-overtaking

static int mixed_length(int k) { return k % 97 == 0 ? 20000 : k % 13 == 0 ? 3000 : k % 200; }

static void order(void) {
  enum { kMessages = 600, kWindow = 20 };
  enum { kSlots = kWindow + 1 };  // a long one is not done before the other side has come to it
  unsigned char *out[kSlots], *in = malloc(20000);
  for (int i = 0; i < kSlots; ++i) out[i] = malloc(20000);
  MPI_Request requests[kSlots];
  for (int i = 0; i < kSlots; ++i) requests[i] = MPI_REQUEST_NULL;
  for (int k = 0; k < kMessages + kWindow; ++k) {
    if (k < kMessages) {
      MPI_Wait(&requests[k % kSlots], MPI_STATUS_IGNORE);
      fill(out[k % kSlots], world_rank, k, (size_t)mixed_length(k));
      MPI_Isend(out[k % kSlots], mixed_length(k), MPI_BYTE, next_of(world_rank), 1, world, &requests[k % kSlots]);
    }
    if (k >= kWindow) {  // so many are unexpected
      const int got = k - kWindow, any = got % 7 == 3;
      MPI_Status status;
      MPI_Recv(in, 20000, MPI_BYTE, any ? MPI_ANY_SOURCE : before_of(world_rank), any ? MPI_ANY_TAG : 1, world,
               &status);
      verify_status(&status, before_of(world_rank), 1, mixed_length(got), "order");
      verify(in, before_of(world_rank), got, (size_t)mixed_length(got), "order");
    }
  }
  MPI_Waitall(kSlots, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kSlots; ++i) free(out[i]);
  free(in);
}

// Receives are served in the order in which they were posted, whatever they leave open.
static void posted_order(void) {
  int values[6] = {0}, k;
  MPI_Request requests[6];
  if (world_rank == 0) {
    MPI_Irecv(&values[0], 1, MPI_INT, 1, 5, world, &requests[0]);
    MPI_Irecv(&values[1], 1, MPI_INT, MPI_ANY_SOURCE, 5, world, &requests[1]);
    MPI_Irecv(&values[2], 1, MPI_INT, 1, MPI_ANY_TAG, world, &requests[2]);
    MPI_Irecv(&values[3], 1, MPI_INT, 1, 5, world, &requests[3]);
    MPI_Irecv(&values[4], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &requests[4]);
    MPI_Irecv(&values[5], 1, MPI_INT, 1, 6, world, &requests[5]);
  }
  MPI_Barrier(world);
  if (world_rank == 1) {
    for (k = 0; k < 5; ++k) MPI_Send(&k, 1, MPI_INT, 0, 5, world);
    MPI_Send(&k, 1, MPI_INT, 0, 6, world);
  }
  if (world_rank == 0) {
    MPI_Waitall(6, requests, MPI_STATUSES_IGNORE);
    for (k = 0; k < 6; ++k)
      if (values[k] != k) fail("receive %d was posted %dth and got message %d", k, k, values[k]);
  }
}

static void wildcards(void) {
  enum { kEach = 200 };
  if (world_rank != 0) {
    for (int k = 0; k < kEach; ++k) MPI_Send(&k, 1, MPI_INT, 0, k % 5, world);
    return;
  }
  int *next = calloc((size_t)world_size, sizeof *next);
  int waiting = -1;
  MPI_Request never;  // a tag that nobody sends: older than all of them, and never served
  MPI_Irecv(&waiting, 1, MPI_INT, MPI_ANY_SOURCE, 77, world, &never);
  for (int i = 0; i < kEach * (world_size - 1); ++i) {
    int value;
    MPI_Status status;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status);
    if (value != next[status.MPI_SOURCE]++ || status.MPI_TAG != value % 5)
      fail("message %d of tag %d from %d after %d", value, status.MPI_TAG, status.MPI_SOURCE, next[status.MPI_SOURCE]);
  }
  CHECK(not_complete(&never));
  MPI_Cancel(&never);
  MPI_Wait(&never, MPI_STATUS_IGNORE);
  free(next);
}

// --- send modes

static void synchronous(void) {
  static const int lengths_of[] = {0, 8, 1000, 100000};
  unsigned char *data = calloc(1, 100000);
  for (int i = 0; i < 4; ++i) {
    if (world_rank == 0) {
      MPI_Request request;
      MPI_Issend(data, lengths_of[i], MPI_BYTE, 1, 0, world, &request);
      pass_time(0.02);
      CHECK(not_complete(&request));
      MPI_Send(NULL, 0, MPI_BYTE, 1, 1, world);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Ssend(data, lengths_of[i], MPI_BYTE, 1, 2, world);
    } else if (world_rank == 1) {
      MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, world, MPI_STATUS_IGNORE);  // the other one waits here, unmatched
      MPI_Recv(data, lengths_of[i], MPI_BYTE, 0, 0, world, MPI_STATUS_IGNORE);
      MPI_Recv(data, lengths_of[i], MPI_BYTE, 0, 2, world, MPI_STATUS_IGNORE);
    }
  }
  // More than there are words for answers, matched in reverse.
  enum { kMany = 150 };
  MPI_Request requests[kMany];
  int values[kMany];
  for (int i = 0; i < kMany; ++i) {
    values[i] = i;
    if (world_rank == 0) MPI_Issend(&values[i], 1, MPI_INT, 1, 100 + i, world, &requests[i]);
  }
  if (world_rank == 1)
    for (int i = kMany; i-- > 0;) {
      int value;
      MPI_Recv(&value, 1, MPI_INT, 0, 100 + i, world, MPI_STATUS_IGNORE);
      CHECK(value == i);
    }
  if (world_rank == 0) MPI_Waitall(kMany, requests, MPI_STATUSES_IGNORE);
  free(data);
}

static void buffered(void) {
  enum { kMessages = 40, kLong = 30000 };
  const int room = kMessages * (kLong + MPI_BSEND_OVERHEAD);
  void *attached = malloc((size_t)room);
  unsigned char *data = malloc(kLong);
  MPI_Buffer_attach(attached, room);
  if (world_rank == 0) {
    for (int k = 0; k < kMessages; ++k) {
      const int bytes = k % 3 == 0 ? kLong : k % 3 == 1 ? 100 : 3000;
      fill(data, 0, k, (size_t)bytes);
      if (k % 2) {
        MPI_Bsend(data, bytes, MPI_BYTE, 1, 3, world);
      } else {
        MPI_Request request;
        MPI_Ibsend(data, bytes, MPI_BYTE, 1, 3, world, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);  // nobody has received anything yet
      }
      memset(data, 0, kLong);
    }
    MPI_Ssend(NULL, 0, MPI_BYTE, 1, 4, world);
  } else if (world_rank == 1) {
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 4, world, MPI_STATUS_IGNORE);
    for (int k = 0; k < kMessages; ++k) {
      const int bytes = k % 3 == 0 ? kLong : k % 3 == 1 ? 100 : 3000;
      MPI_Recv(data, kLong, MPI_BYTE, 0, 3, world, MPI_STATUS_IGNORE);
      verify(data, 0, k, (size_t)bytes, "buffered");
    }
  }
  void *given;
  int size;
  MPI_Buffer_detach(&given, &size);
  CHECK(given == attached && size == room);
  free(attached);
  free(data);
}

// A buffer that is too small is an error, and nothing is sent. (Open MPI 4.1's own ob1 receives nothing more then.)
static void buffer_too_small(void) {
  enum { kLong = 30000, kRoom = 2000 };
  if (!served) return;
  void *attached = malloc(kRoom), *given;
  unsigned char *data = calloc(1, kLong);
  int size;
  MPI_Comm comm = returning_errors();
  MPI_Buffer_attach(attached, kRoom);
  if (world_rank == 0) {
    CHECK(MPI_Bsend(data, kLong, MPI_BYTE, 1, 5, comm) != MPI_SUCCESS);
    MPI_Send(data, 1, MPI_BYTE, 1, 5, comm);
  } else if (world_rank == 1) {
    MPI_Status status;
    MPI_Recv(data, kLong, MPI_BYTE, 0, 5, comm, &status);
    verify_status(&status, 0, 5, 1, "after a buffer that was too small");
  }
  MPI_Buffer_detach(&given, &size);
  MPI_Comm_free(&comm);
  free(attached);
  free(data);
}

static void ready(void) {
  unsigned char *data = malloc(70000);
  for (int k = 0; k < 4; ++k) {
    static const int lengths_of[] = {0, 100, 5000, 70000};
    MPI_Request request;
    if (world_rank == 1) MPI_Irecv(data, 70000, MPI_BYTE, 0, k, world, &request);
    MPI_Barrier(world);
    fill(data, 0, k, world_rank == 0 ? (size_t)lengths_of[k] : 0);
    if (world_rank == 0) MPI_Rsend(data, lengths_of[k], MPI_BYTE, 1, k, world);
    if (world_rank == 1) {
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      verify(data, 0, k, (size_t)lengths_of[k], "ready");
    }
  }
  free(data);
}

static void persistent(void) {
  enum { kModes = 4, kRounds = 20, kLong = 9000 };
  unsigned char out[kModes][kLong], in[kModes][kLong];
  MPI_Request requests[2 * kModes + 2];
  char attached[kModes * kRounds * 300];
  MPI_Buffer_attach(attached, sizeof attached);
  const int to = next_of(world_rank), from = before_of(world_rank);
  for (int m = 0; m < kModes; ++m)
    MPI_Recv_init(in[m], kLong, MPI_BYTE, m % 2 ? from : MPI_ANY_SOURCE, m, world, &requests[m]);
  MPI_Send_init(out[0], kLong, MPI_BYTE, to, 0, world, &requests[kModes]);
  MPI_Ssend_init(out[1], 500, MPI_BYTE, to, 1, world, &requests[kModes + 1]);
  MPI_Bsend_init(out[2], 100, MPI_BYTE, to, 2, world, &requests[kModes + 2]);
  MPI_Rsend_init(out[3], kLong, MPI_BYTE, to, 3, world, &requests[kModes + 3]);
  MPI_Send_init(out[0], 1, MPI_BYTE, MPI_PROC_NULL, 0, world, &requests[2 * kModes]);
  MPI_Recv_init(in[0], 1, MPI_BYTE, MPI_PROC_NULL, 0, world, &requests[2 * kModes + 1]);
  static const int bytes_of[] = {kLong, 500, 100, kLong};
  for (int round = 0; round < kRounds; ++round) {
    for (int m = 0; m < kModes; ++m) fill(out[m], world_rank, round * kModes + m, kLong);
    MPI_Startall(kModes, requests);
    MPI_Barrier(world);  // rsend
    MPI_Startall(kModes + 2, requests + kModes);
    MPI_Status status[2 * kModes + 2];
    if (round % 2) {
      MPI_Waitall(2 * kModes + 2, requests, status);
    } else {
      for (int i = 0; i < 2 * kModes + 2; ++i) MPI_Wait(&requests[i], &status[i]);
    }
    for (int m = 0; m < kModes; ++m) {
      verify(in[m], from, round * kModes + m, (size_t)bytes_of[m], "persistent");
      verify_status(&status[m], from, m, bytes_of[m], "persistent");
    }
    for (int i = 0; i < 2 * kModes + 2; ++i) CHECK(requests[i] != MPI_REQUEST_NULL);
  }
  MPI_Status status;  // inactive: complete, and empty
  MPI_Wait(&requests[0], &status);
  CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
  for (int i = 0; i < 2 * kModes + 2; ++i) MPI_Request_free(&requests[i]);
  void *given;
  int size;
  MPI_Buffer_detach(&given, &size);
}

// --- probes

static void probe(void) {
  unsigned char *data = malloc(1 << 20);
  for (int k = 0; k < kLengths; ++k) {
    const int bytes = kLengthOf[k];
    if (world_rank == 0) {
      fill(data, 0, k, (size_t)bytes);
      MPI_Send(data, bytes, MPI_BYTE, 1, k, world);
    } else if (world_rank == 1) {
      MPI_Status status;
      int flag = 1;
      MPI_Iprobe(0, 1000, world, &flag, &status);
      CHECK(!flag);
      MPI_Probe(k % 2 ? 0 : MPI_ANY_SOURCE, k % 3 ? k : MPI_ANY_TAG, world, &status);
      verify_status(&status, 0, k, bytes, "probe");
      MPI_Iprobe(MPI_ANY_SOURCE, k, world, &flag, &status);
      CHECK(flag);  // it is still there
      verify_status(&status, 0, k, bytes, "iprobe");
      MPI_Recv(data, bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, world, &status);
      verify(data, 0, k, (size_t)bytes, "probe");
      MPI_Iprobe(0, k, world, &flag, &status);
      CHECK(!flag);
    }
  }
  free(data);
}

static void matched_probe(void) {
  enum { kOfEach = 3 };
  unsigned char *data = malloc(1 << 20), *own[kOfEach];
  for (int i = 0; i < kOfEach; ++i) own[i] = malloc(1 << 20);
  for (int k = 0; k < kLengths; ++k) {
    const int bytes = kLengthOf[k];
    if (world_rank == 0) {
      MPI_Request requests[kOfEach];
      for (int i = 0; i < kOfEach; ++i) {
        fill(own[i], i, k, (size_t)bytes);
        MPI_Isend(own[i], bytes, MPI_BYTE, 1, k, world, &requests[i]);
      }
      MPI_Waitall(kOfEach, requests, MPI_STATUSES_IGNORE);
    } else if (world_rank == 1) {
      MPI_Status status;
      MPI_Message first, second;
      int flag = 0;
      MPI_Improbe(0, 999, world, &flag, &first, &status);
      CHECK(!flag);
      MPI_Mprobe(k % 2 ? 0 : MPI_ANY_SOURCE, k % 3 ? k : MPI_ANY_TAG, world, &first, &status);
      verify_status(&status, 0, k, bytes, "mprobe");
      while (!flag) MPI_Improbe(0, k, world, &flag, &second, &status);
      verify_status(&status, 0, k, bytes, "improbe");
      MPI_Recv(data, bytes, MPI_BYTE, 0, k, world, &status);  // both are out of its way
      verify(data, 2, k, (size_t)bytes, "received around matched messages");
      MPI_Request request;
      MPI_Imrecv(data, bytes, MPI_BYTE, &second, &request);
      CHECK(second == MPI_MESSAGE_NULL);
      MPI_Wait(&request, &status);
      verify_status(&status, 0, k, bytes, "imrecv");
      verify(data, 1, k, (size_t)bytes, "imrecv");
      MPI_Mrecv(data, bytes, MPI_BYTE, &first, &status);
      CHECK(first == MPI_MESSAGE_NULL);
      verify_status(&status, 0, k, bytes, "mrecv");
      verify(data, 0, k, (size_t)bytes, "mrecv");
    }
  }
  MPI_Message none;
  MPI_Mprobe(MPI_PROC_NULL, 3, world, &none, MPI_STATUS_IGNORE);
  CHECK(none == MPI_MESSAGE_NO_PROC);
  MPI_Mrecv(NULL, 0, MPI_BYTE, &none, MPI_STATUS_IGNORE);
  for (int i = 0; i < kOfEach; ++i) free(own[i]);
  free(data);
}

// --- cancelled, truncated, freed

static void cancel(void) {
  if (world_rank < 2) {
    const int other = 1 - world_rank;
    int values[3] = {-1, -1, -1};
    MPI_Request requests[3];
    MPI_Status status;
    int flag;
    for (int any = 0; any < 2; ++any) {
      const int from = any ? MPI_ANY_SOURCE : other;
      for (int i = 0; i < 3; ++i) MPI_Irecv(&values[i], 1, MPI_INT, from, 8, world, &requests[i]);
      MPI_Cancel(&requests[1]);
      MPI_Wait(&requests[1], &status);
      MPI_Test_cancelled(&status, &flag);
      CHECK(flag);
      for (int i = 0; i < 2; ++i) MPI_Sendrecv(&i, 1, MPI_INT, other, 9, &flag, 1, MPI_INT, other, 9, world, &status);
      for (int i = 10; i < 12; ++i) MPI_Send(&i, 1, MPI_INT, other, 8, world);
      MPI_Wait(&requests[0], &status);
      MPI_Cancel(&requests[2]);  // too late, or not; if it is not, the message is for somebody else
      MPI_Wait(&requests[2], &status);
      MPI_Test_cancelled(&status, &flag);
      if (flag) MPI_Recv(&values[2], 1, MPI_INT, other, 8, world, &status);
      CHECK(values[0] == 10 && values[1] == -1 && values[2] == 11);
      MPI_Sendrecv(&any, 1, MPI_INT, other, 9, &flag, 1, MPI_INT, other, 9, world, &status);
    }
    // one that is persistent, several times; with gaps, too
    MPI_Datatype gaps;
    MPI_Type_vector(2, 1, 2, MPI_BYTE, &gaps);
    MPI_Type_commit(&gaps);
    MPI_Recv_init(values, 1, gaps, other, 12, world, &requests[0]);
    MPI_Type_free(&gaps);
    for (int i = 0; i < 3; ++i) {
      MPI_Start(&requests[0]);
      MPI_Cancel(&requests[0]);
      MPI_Wait(&requests[0], &status);
      MPI_Test_cancelled(&status, &flag);
      CHECK(flag);
    }
    MPI_Request_free(&requests[0]);
  }
}

static void truncation(void) {
  MPI_Comm comm = returning_errors();
  static const int sent[] = {100, 5000, 90000};
  for (int i = 0; i < 3; ++i)
    for (int way = 0; way < 4; ++way) {
      if (world_rank == 0) {
        unsigned char *data = malloc((size_t)sent[i]);
        fill(data, 0, i, (size_t)sent[i]);
        MPI_Send(data, sent[i], MPI_BYTE, 1, 1, comm);
        MPI_Send(data, 60, MPI_BYTE, 1, 1, comm);
        free(data);
      } else if (world_rank == 1) {
        guarded in = guarded_new(60);
        MPI_Request request;
        MPI_Status status;
        int error, intact;
        MPI_Datatype gaps;
        MPI_Type_vector(30, 1, 2, MPI_BYTE, &gaps);
        MPI_Type_commit(&gaps);
        if (way == 0) {
          error = MPI_Recv(in.data, 60, MPI_BYTE, 0, 1, comm, &status);
        } else if (way == 1) {
          MPI_Irecv(in.data, 60, MPI_BYTE, 0, 1, comm, &request);
          error = MPI_Wait(&request, &status);
        } else if (way == 2) {
          error = MPI_Recv(in.data, 1, gaps, 0, 1, comm, &status);  // room for 30
          for (int k = 0; k < 30; ++k) CHECK(in.data[2 * k] == byte_of(0, i, (size_t)k));
          for (int k = 0; k < 30; ++k) CHECK(in.data[2 * k + 1] == kFill);
        } else {
          MPI_Message message;
          MPI_Mprobe(0, 1, comm, &message, &status);
          error = MPI_Mrecv(in.data, 60, MPI_BYTE, &message, &status);
        }
        int class = -1;
        MPI_Error_class(error, &class);
        if (class != MPI_ERR_TRUNCATE) fail("%d bytes into 60, way %d: error class %d", sent[i], way, class);
        const ptrdiff_t damage = guarded_damage(&in, &intact);
        if (!intact) fail("%d bytes into 60: byte %td was written", sent[i], damage);
        if (way != 2) verify(in.data, 0, i, 60, "cut off");
        MPI_Recv(in.data, 60, MPI_BYTE, 0, 1, comm, &status);
        verify_status(&status, 0, 1, 60, "after one that was cut off");
        verify(in.data, 0, i, 60, "after one that was cut off");
        MPI_Type_free(&gaps);
        guarded_free(&in);
      }
    }
  MPI_Comm_free(&comm);
}

static void freed(void) {
  enum { kLong = 200000, kMany = 30 };
  unsigned char *out = malloc(kLong), *in = calloc(kMany, kLong);
  fill(out, world_rank, 1, kLong);
  MPI_Comm comm;
  MPI_Comm_dup(world, &comm);
  for (int k = 0; k < kMany; ++k) {
    const int bytes = k % 3 == 0 ? kLong : k % 3 == 1 ? 4000 : 10;
    MPI_Request request;
    MPI_Irecv(in + (size_t)k * kLong, bytes, MPI_BYTE, before_of(world_rank), 1, comm, &request);
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL);
    MPI_Isend(out, bytes, MPI_BYTE, next_of(world_rank), 1, comm, &request);
    MPI_Request_free(&request);
  }
  MPI_Send(NULL, 0, MPI_BYTE, next_of(world_rank), 1, comm);
  MPI_Recv(NULL, 0, MPI_BYTE, before_of(world_rank), 1, comm, MPI_STATUS_IGNORE);  // behind all the others
  // They have met their receives; nobody says when they are there.
  for (const double end = seconds() + 60; seconds() < end;) {
    int missing = 0;
    for (int k = 0; k < kMany; k += 3)
      missing += in[(size_t)k * kLong + kLong - 1] != byte_of(before_of(world_rank), 1, kLong - 1);
    if (!missing) break;
    pass_time(0.002);
  }
  MPI_Barrier(world);
  for (int k = 0; k < kMany; ++k)
    verify(in + (size_t)k * kLong, before_of(world_rank), 1, k % 3 == 0 ? kLong : k % 3 == 1 ? 4000 : 10, "freed");
  // the communicator may go while something is under way
  MPI_Request requests[2];
  memset(in, 0, kLong);
  MPI_Irecv(in, kLong, MPI_BYTE, before_of(world_rank), 2, comm, &requests[0]);
  MPI_Isend(out, kLong, MPI_BYTE, next_of(world_rank), 2, comm, &requests[1]);
  MPI_Comm_free(&comm);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  verify(in, before_of(world_rank), 1, kLong, "freed communicator");
  free(out);
  free(in);
}

static void proc_null_and_self(void) {
  int value = 5, flag;
  MPI_Status status;
  MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, world);
  MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, world, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && value == 5);
  MPI_Iprobe(MPI_PROC_NULL, 0, world, &flag, &status);
  CHECK(flag);
  MPI_Comm comms[] = {world, MPI_COMM_SELF};
  unsigned char *out = malloc(1 << 20), *in = malloc(1 << 20);
  for (int c = 0; c < 2; ++c)
    for (int k = 0; k < kLengths; ++k) {
      int me;
      MPI_Comm_rank(comms[c], &me);
      MPI_Request requests[2];
      fill(out, me, k, (size_t)kLengthOf[k]);
      MPI_Isend(out, kLengthOf[k], MPI_BYTE, me, k, comms[c], &requests[0]);
      MPI_Probe(MPI_ANY_SOURCE, k, comms[c], &status);
      verify_status(&status, me, k, kLengthOf[k], "self");
      MPI_Irecv(in, kLengthOf[k], MPI_BYTE, me, k, comms[c], &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      verify(in, me, k, (size_t)kLengthOf[k], "self");
      MPI_Issend(out, kLengthOf[k], MPI_BYTE, me, k, comms[c], &requests[0]);
      MPI_Recv(in, kLengthOf[k], MPI_BYTE, me, k, comms[c], &status);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
  free(out);
  free(in);
}

// --- datatypes

// All have 4 ints an element, with other gaps.
static int layouts(MPI_Datatype *types) {
  int n = 0;
  MPI_Type_contiguous(4, MPI_INT, &types[n++]);
  MPI_Type_vector(2, 2, 5, MPI_INT, &types[n++]);
  const int lengths_of[] = {1, 2, 1}, places[] = {7, 0, 4};
  MPI_Type_indexed(3, lengths_of, places, MPI_INT, &types[n++]);
  MPI_Datatype inner;
  MPI_Type_create_resized(MPI_INT, 0, 12, &inner);
  MPI_Type_contiguous(4, inner, &types[n++]);
  MPI_Type_free(&inner);
  const MPI_Aint at[] = {-16, 8};  // before the buffer's address
  const int two[] = {2, 2};
  MPI_Datatype ints[] = {MPI_INT, MPI_INT};
  MPI_Type_create_struct(2, two, at, ints, &types[n++]);
  const MPI_Aint one_at = 40;  // in one piece, but not at the beginning
  const int four = 4;
  MPI_Datatype ints1[] = {MPI_INT};
  MPI_Type_create_struct(1, &four, &one_at, ints1, &inner);
  MPI_Type_create_resized(inner, 0, 64, &types[n++]);
  MPI_Type_free(&inner);
  for (int i = 0; i < n; ++i) MPI_Type_commit(&types[i]);
  return n;
}

static void datatypes(void) {
  MPI_Datatype types[8];
  const int n = layouts(types);
  static const int counts[] = {1, 3, 20, 700, 9000};
  enum { kRoom = 9000 * 80 + 256 };
  char *out = malloc(kRoom), *in = malloc(kRoom), *expected = malloc(kRoom);
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b)
      for (int c = 0; c < 5; ++c) {
        const int packed = counts[c] * 16;
        char *flat = malloc((size_t)packed);
        fill((unsigned char *)flat, before_of(world_rank), a * n + b, (size_t)packed);
        memset(in, kFill, kRoom);
        memset(expected, kFill, kRoom);
        int at = 0;
        MPI_Unpack(flat, packed, &at, expected + 128, counts[c], types[b], world);
        fill((unsigned char *)flat, world_rank, a * n + b, (size_t)packed);
        memset(out, 0x11, kRoom);
        at = 0;
        MPI_Unpack(flat, packed, &at, out + 128, counts[c], types[a], world);
        MPI_Request requests[2];
        MPI_Status status[2];
        if (c % 2) MPI_Irecv(in + 128, counts[c], types[b], before_of(world_rank), 1, world, &requests[0]);
        MPI_Isend(out + 128, counts[c], types[a], next_of(world_rank), 1, world, &requests[1]);
        if (c % 2 == 0) MPI_Irecv(in + 128, counts[c], types[b], before_of(world_rank), 1, world, &requests[0]);
        MPI_Waitall(2, requests, status);
        int got = -1;
        MPI_Get_count(&status[0], types[b], &got);
        CHECK(got == counts[c]);
        const ptrdiff_t where = first_difference(in, expected, kRoom);
        if (where >= 0) fail("layout %d to %d, %d elements: byte %td", a, b, counts[c], where - 128);
        free(flat);
      }
  // Every other way of sending, with gaps; the type is freed at once.
  MPI_Datatype gaps;
  MPI_Type_vector(3000, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  int *values = calloc(6000, sizeof *values), *read = calloc(6000, sizeof *read);
  for (int i = 0; i < 6000; ++i) values[i] = i;
  MPI_Request requests[3];
  char *attached = malloc(40000);
  MPI_Buffer_attach(attached, 40000);
  for (int way = 0; way < 3; ++way) {
    MPI_Datatype own;
    MPI_Type_dup(gaps, &own);
    memset(read, 0xff, 6000 * sizeof *read);
    MPI_Irecv(read, 1, own, before_of(world_rank), way, world, &requests[0]);
    if (way == 0) MPI_Issend(values, 1, own, next_of(world_rank), way, world, &requests[1]);
    if (way == 1) MPI_Ibsend(values, 1, own, next_of(world_rank), way, world, &requests[1]);
    if (way == 2) {
      MPI_Send_init(values, 1, own, next_of(world_rank), way, world, &requests[1]);
      MPI_Start(&requests[1]);
    }
    MPI_Type_free(&own);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (way == 2) MPI_Request_free(&requests[1]);
    for (int i = 0; i < 5999; ++i) CHECK(read[i] == (i % 2 ? -1 : i));
  }
  void *given;
  int size;
  MPI_Buffer_detach(&given, &size);
  free(attached);
  free(values);
  free(read);
  MPI_Type_free(&gaps);
  for (int i = 0; i < n; ++i) MPI_Type_free(&types[i]);
  free(out);
  free(in);
  free(expected);
}

// --- communicators

// A communicator on which the program promises all that MPI knows of. To be freed.
static MPI_Comm promising(void) {
  MPI_Info info;
  MPI_Comm comm;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_no_any_source", "true");
  MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
  MPI_Info_set(info, "mpi_assert_allow_overtaking", "true");
  MPI_Info_set(info, "mpi_assert_exact_length", "true");
  MPI_Comm_dup_with_info(world, info, &comm);
  MPI_Info_free(&info);
  return comm;
}

// Messages of every way, probed and not, receives that are taken back; promises kept.
static void promises(void) {
  MPI_Comm comm = promising();
  unsigned char *out = malloc(1 << 20), *in = malloc(1 << 20);
  const int next = next_of(world_rank), before = before_of(world_rank);
  for (int k = 0; k < 2 * kLengths; ++k) {
    const int bytes = kLengthOf[k / 2];
    MPI_Request send, receive = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag;
    MPI_Irecv(in, bytes, MPI_BYTE, before, k, comm, &receive);
    if (k % 2) {  // none is on its way: nobody sends before all are here
      MPI_Cancel(&receive);
      MPI_Wait(&receive, &status);
      MPI_Test_cancelled(&status, &flag);
      CHECK(flag);
    }
    MPI_Barrier(comm);
    fill(out, world_rank, k, (size_t)bytes);
    MPI_Isend(out, bytes, MPI_BYTE, next, k, comm, &send);
    if (k % 2) {
      MPI_Probe(before, k, comm, &status);
      verify_status(&status, before, k, bytes, "promises, probed");
      MPI_Irecv(in, bytes, MPI_BYTE, before, k, comm, &receive);
    }
    MPI_Wait(&receive, &status);
    verify_status(&status, before, k, bytes, "promises");
    verify(in, before, k, (size_t)bytes, "promises");
    MPI_Wait(&send, MPI_STATUS_IGNORE);
  }
  free(out);
  free(in);
  MPI_Comm_free(&comm);
}

// ... and broken: nothing is wrong for it.
static void broken_promises(void) {
  MPI_Comm comm = promising();
  for (int k = 0; k < 3; ++k) {
    int value = -1;
    MPI_Status status;
    MPI_Sendrecv(&world_rank, 1, MPI_INT, next_of(world_rank), k, &value, 1, MPI_INT,
                 k == 0 ? before_of(world_rank) : MPI_ANY_SOURCE, k == 1 ? k : MPI_ANY_TAG, comm, &status);
    verify_status(&status, before_of(world_rank), k, sizeof value, "broken promises");
    CHECK(value == before_of(world_rank));
  }
  MPI_Comm_free(&comm);
}

static void communicators(void) {
  // the same tag on several, received in another order
  enum { kCopies = 5 };
  MPI_Comm copies[kCopies];
  for (int i = 0; i < kCopies; ++i) MPI_Comm_dup(world, &copies[i]);
  for (int i = 0; i < kCopies; ++i) MPI_Send(&i, 1, MPI_INT, next_of(world_rank), 1, copies[i]);
  for (int i = kCopies; i-- > 0;) {
    int value;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, copies[i], MPI_STATUS_IGNORE);
    CHECK(value == i);
  }
  for (int i = 0; i < kCopies; ++i) MPI_Comm_free(&copies[i]);
  // other ranks' numbers; and context ids are used again
  for (int round = 0; round < 30; ++round) {
    MPI_Comm part;
    MPI_Comm_split(world, world_rank % 2, -world_rank, &part);
    int me, n, value;
    MPI_Comm_rank(part, &me);
    MPI_Comm_size(part, &n);
    MPI_Status status;
    MPI_Sendrecv(&world_rank, 1, MPI_INT, (me + 1) % n, round, &value, 1, MPI_INT, MPI_ANY_SOURCE, round, part,
                 &status);
    CHECK(status.MPI_SOURCE == (me + n - 1) % n && value % 2 == world_rank % 2);
    MPI_Comm_free(&part);
  }
  // an inter-communicator, and what is made of it
  MPI_Comm part, inter, merged;
  MPI_Comm_split(world, world_rank % 2, world_rank, &part);
  MPI_Intercomm_create(part, 0, world, world_rank % 2 ? 0 : 1, 3, &inter);
  int me, remote, value = -1;
  MPI_Comm_rank(inter, &me);
  MPI_Comm_remote_size(inter, &remote);
  if (me < remote) {
    MPI_Sendrecv(&world_rank, 1, MPI_INT, me, 0, &value, 1, MPI_INT, me, 0, inter, MPI_STATUS_IGNORE);
    CHECK(value == (world_rank ^ 1));
  }
  MPI_Intercomm_merge(inter, world_rank % 2, &merged);
  int sum = 0, one = 1;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, merged);
  CHECK(sum == world_size);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&part);
}

// Messages that nobody has received go with their communicator: another that gets its context id does not see them.
static void nobodys(void) {
  static const int lengths_of[] = {10, 4000};
  unsigned char out[4000], in[4000];
  for (int round = 0; round < 6; ++round) {
    MPI_Comm comm;
    MPI_Comm_dup(world, &comm);
    const int from = round % 2 ? MPI_ANY_SOURCE : before_of(world_rank);
    int flag;
    MPI_Iprobe(from, 1, comm, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Barrier(world);  // nobody sends before all have looked
    for (int k = 0; k < 2; ++k) {
      fill(out, world_rank, round, sizeof out);
      MPI_Send(out, lengths_of[k], MPI_BYTE, next_of(world_rank), 1, comm);
    }
    MPI_Send(NULL, 0, MPI_BYTE, next_of(world_rank), 2, comm);
    MPI_Recv(NULL, 0, MPI_BYTE, before_of(world_rank), 2, comm, MPI_STATUS_IGNORE);  // behind the others
    if (round >= 4) {                                                                // one of them is received
      MPI_Status status;
      MPI_Recv(in, sizeof in, MPI_BYTE, from, 1, comm, &status);
      verify_status(&status, before_of(world_rank), 1, lengths_of[0], "of this communicator");
      verify(in, before_of(world_rank), round, (size_t)lengths_of[0], "of this communicator");
    }
    MPI_Comm_free(&comm);
    MPI_Barrier(world);
  }
}

// --- one-sided: where Open MPI makes messages of it (--mca osc pt2pt), their requests call back when they are
// complete, and are freed there

static void one_sided(void) {
  if (refused) return;  // Open MPI's own osc/rdma tries for ever then, with messages of whomever
  enum { kInts = 6000, kRounds = 12 };
  static const int lengths_of[] = {1, 40, 1500, kInts};
  int *window = calloc(3 * kInts, sizeof *window), *own = malloc(kInts * sizeof *own),
      *got = malloc(kInts * sizeof *got);
  MPI_Win win;
  MPI_Win_create(window, 3 * kInts * sizeof *window, sizeof *window, MPI_INFO_NULL, world, &win);
  const int to = next_of(world_rank), from = before_of(world_rank);
  MPI_Win_fence(0, win);
  for (int round = 0; round < kRounds; ++round) {
    const int n = lengths_of[round % 4];
    for (int i = 0; i < n; ++i) own[i] = world_rank * 1000 + round + i;
    MPI_Put(own, n, MPI_INT, to, 0, n, MPI_INT, win);
    MPI_Accumulate(own, n, MPI_INT, to, kInts, n, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    MPI_Get(got, n, MPI_INT, to, 0, n, MPI_INT, win);
    for (int i = 0; i < n; ++i)
      CHECK(window[i] == from * 1000 + round + i);  // nobody writes there before the next fence
    MPI_Win_fence(0, win);
    for (int i = 0; i < n; ++i) CHECK(got[i] == own[i]);
  }
  int sum = 0;
  for (int round = 0; round < kRounds; ++round) sum += from * 1000 + round;
  CHECK(window[kInts] == sum);
  for (int round = 0; round < kRounds; ++round) {
    const int one = 1;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Accumulate(&one, 1, MPI_INT, 0, 2 * kInts, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock(0, win);
  }
  MPI_Barrier(world);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  MPI_Get(got, 1, MPI_INT, 0, 2 * kInts, 1, MPI_INT, win);
  MPI_Win_unlock(0, win);
  CHECK(got[0] == kRounds * world_size);
  MPI_Win_free(&win);
  free(window);
  free(own);
  free(got);
}

// --- room

// More than fits anywhere, both sides send before they receive; the sends are blocking, so that what is short must be
// stored for the receiver. Strictly no program may count on that; with Open MPI's own they can.
static void flood(void) {
  enum { kMessages = 1500, kBytes = 1000 };
  unsigned char out[kBytes], in[kBytes];
  for (int k = 0; k < kMessages; ++k) {
    fill(out, world_rank, k, kBytes);
    MPI_Send(out, k % 4 ? kBytes : 8, MPI_BYTE, next_of(world_rank), k % 3, world);
  }
  for (int tag = 2; tag >= 0; --tag)
    for (int k = tag; k < kMessages; k += 3) {
      MPI_Recv(in, kBytes, MPI_BYTE, before_of(world_rank), tag, world, MPI_STATUS_IGNORE);
      verify(in, before_of(world_rank), k, k % 4 ? kBytes : 8, "flood");
    }
}

static void many_requests(void) {
  enum { kMany = 3000 };
  MPI_Request *requests = malloc(2 * kMany * sizeof *requests);
  int *values = malloc(2 * kMany * sizeof *values);
  for (int i = 0; i < kMany; ++i) MPI_Irecv(&values[i], 1, MPI_INT, before_of(world_rank), i, world, &requests[i]);
  for (int i = kMany; i-- > 0;) {
    values[kMany + i] = i * 3 + world_rank;
    MPI_Isend(&values[kMany + i], 1, MPI_INT, next_of(world_rank), i, world, &requests[kMany + i]);
  }
  for (int left = 2 * kMany; left > 0;) {
    int done, index[64];
    MPI_Waitsome(left > 64 ? 64 : left, requests + left - (left > 64 ? 64 : left), &done, index, MPI_STATUSES_IGNORE);
    if (done == MPI_UNDEFINED) {
      left -= left > 64 ? 64 : left;
      continue;
    }
  }
  for (int i = 0; i < kMany; ++i) CHECK(values[i] == i * 3 + before_of(world_rank));
  // testany, testsome, waitany over long ones
  enum { kLong = 100000, kFew = 10 };
  unsigned char *out = malloc(kLong), *in = malloc((size_t)kFew * kLong);
  fill(out, world_rank, 9, kLong);
  for (int i = 0; i < kFew; ++i) {
    MPI_Irecv(in + (size_t)i * kLong, kLong, MPI_BYTE, before_of(world_rank), i, world, &requests[i]);
    MPI_Isend(out, kLong, MPI_BYTE, next_of(world_rank), kFew - 1 - i, world, &requests[kFew + i]);
  }
  for (int left = 2 * kFew; left > 0;) {
    int index, flag = 1;
    if (left % 2)
      MPI_Waitany(2 * kFew, requests, &index, MPI_STATUS_IGNORE);
    else
      MPI_Testany(2 * kFew, requests, &index, &flag, MPI_STATUS_IGNORE);
    if (flag && index != MPI_UNDEFINED) --left;
  }
  for (int i = 0; i < kFew; ++i) verify(in + (size_t)i * kLong, before_of(world_rank), 9, kLong, "waitany");
  free(out);
  free(in);
  free(requests);
  free(values);
}

// Children share the memory for as long as they live, and change nothing by going.
static void forked(void) {
  enum { kChildren = 3, kLong = 200000 };
  unsigned char *out = malloc(kLong), *in = malloc(kLong);
  pid_t children[kChildren];
  for (int c = 0; c < kChildren; ++c) {
    MPI_Request requests[2];
    MPI_Irecv(in, kLong, MPI_BYTE, before_of(world_rank), c, world, &requests[0]);
    fill(out, world_rank, c, kLong);
    children[c] = fork();
    if (children[c] == 0) {
      memset(out, 0xff, kLong);  // its own copies
      memset(in, 0xff, kLong);
      if (c == 0) _exit(0);
      if (c == 1) execlp("true", "true", (char *)NULL);
      usleep(50000);
      _exit(0);
    }
    CHECK(children[c] > 0);
    MPI_Isend(out, kLong, MPI_BYTE, next_of(world_rank), c, world, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    verify(in, before_of(world_rank), c, kLong, "beside a child");
    MPI_Send(out, 3000, MPI_BYTE, next_of(world_rank), kChildren, world);
    MPI_Recv(in, 3000, MPI_BYTE, before_of(world_rank), kChildren, world, MPI_STATUS_IGNORE);
    verify(in, before_of(world_rank), c, 3000, "beside a child");
  }
  for (int c = 0; c < kChildren; ++c) {
    int status = -1;
    CHECK(waitpid(children[c], &status, 0) == children[c] && WIFEXITED(status));
  }
  free(out);
  free(in);
}

// --- did the component serve?

// Each counts from where its handle is made.
enum { kCounters = 14 };
static const char *const counter_names[kCounters] = {"inline_sends",
                                                     "eager_sends",
                                                     "long_sends",
                                                     "receives",
                                                     "wildcards",
                                                     "probes",
                                                     "communicators_served",
                                                     "communicators_left",
                                                     "received_single_copy",
                                                     "received_pieces",
                                                     "unexpected",
                                                     "far_sends",
                                                     "received_far_eager",
                                                     "received_far_announced"};
static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[kCounters];
static int has_counters;

static void counters_begin(void) {
  int provided;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_T_pvar_session_create(&session);
  for (int i = 0; i < kCounters; ++i) {
    char name[64];
    int index, count;
    snprintf(name, sizeof name, "pml_smelt_%s", counter_names[i]);
    if (MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS)
      has_counters += MPI_T_pvar_handle_alloc(session, index, NULL, &handles[i], &count) == MPI_SUCCESS;
  }
}
static unsigned long long counter(const char *name) {
  unsigned long long value = 0;
  for (int i = 0; i < kCounters && has_counters == kCounters; ++i)
    if (strcmp(counter_names[i], name) == 0) MPI_T_pvar_read(session, handles[i], &value);
  return value;
}
static void counters_end(void) {
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
}
// All of `names`, which NULL ends, have counted something; `anywhere`: on some rank.
static void have_counted(const char *const *names, int anywhere) {
  for (; *names; ++names) {
    unsigned long long counted = counter(*names);
    if (anywhere) MPI_Allreduce(MPI_IN_PLACE, &counted, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (counted == 0) fail("pml_smelt_%s is 0", *names);
  }
}

// Every communicator keeps an order for wildcards from now on: the first of a place switches all that share it, and
// their context ids say which.
static void force_order(void) {
  enum { kPlaces = 64 };
  MPI_Comm copies[kPlaces];
  for (int i = 0; i < kPlaces; ++i) {
    int flag;
    MPI_Comm_dup(world, &copies[i]);
    MPI_Iprobe(MPI_ANY_SOURCE, 1, copies[i], &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
  }
  for (int i = 0; i < kPlaces; ++i) MPI_Comm_free(&copies[i]);
}

static const struct {
  const char *name;
  void (*run)(void);
} cases[] = {
    {"lengths", lengths},
    {"order", order},
    {"posted_order", posted_order},
    {"wildcards", wildcards},
    {"synchronous", synchronous},
    {"buffered", buffered},
    {"buffer_too_small", buffer_too_small},
    {"ready", ready},
    {"persistent", persistent},
    {"probe", probe},
    {"matched_probe", matched_probe},
    {"cancel", cancel},
    {"truncation", truncation},
    {"freed", freed},
    {"proc_null_and_self", proc_null_and_self},
    {"datatypes", datatypes},
    {"communicators", communicators},
    {"promises", promises},
    {"broken_promises", broken_promises},
    {"nobodys", nobodys},
    {"one_sided", one_sided},
    {"flood", flood},
    {"many_requests", many_requests},
    {"forked", forked},
};

int main(int argc, char **argv) {
  refused = has_argument(argc, argv, "--refused");
  if (refused) refuse_to_read();
  start(&argc, &argv);
  if (has_argument(argc, argv, "--node")) {
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &world);
    MPI_Comm_rank(world, &world_rank);
    MPI_Comm_size(world, &world_size);
  }
  if (world_size < 2) return skip("needs two ranks");
  int ran = 0;
  served = has_argument(argc, argv, "--served");
  counters_begin();
  if (has_argument(argc, argv, "--ordered")) force_order();
  const char *only = argc > 1 && argv[argc - 1][0] != '-' ? argv[argc - 1] : NULL;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    if (only && strcmp(only, cases[i].name) != 0) continue;
    const double began = seconds();
    cases[i].run();
    MPI_Barrier(world);
    if (has_argument(argc, argv, "--names") && world_rank == 0)
      fprintf(stderr, "%-20s %.3f s\n", cases[i].name, seconds() - began);
    ++ran;
  }
  CHECK(ran > 0);
  if (served && has_argument(argc, argv, "--far")) {
    static const char *const some[] = {"receives", NULL};
    static const char *const all[] = {"far_sends",
                                      "received_far_eager",
                                      "received_far_announced",
                                      "wildcards",
                                      "communicators_served",
                                      "unexpected",
                                      "probes",
                                      NULL};
    have_counted(some, 0);
    if (!only) have_counted(all, 1);
  } else if (served) {
    static const char *const some[] = {"inline_sends", "receives", NULL};
    static const char *const all[] = {
        "inline_sends",       "eager_sends",     "long_sends", "receives", "wildcards", "communicators_served",
        "communicators_left", "received_pieces", "unexpected", "probes",   NULL};
    static const char *const one_copy[] = {"received_single_copy", NULL};
    have_counted(some, 0);
    if (!only) have_counted(all, 0);
    if (!only && !refused) have_counted(one_copy, 0);
  }
  if (has_argument(argc, argv, "--left") && counter("inline_sends") + counter("receives") + counter("far_sends") != 0)
    fail("the component served");
  counters_end();
  if (world != MPI_COMM_WORLD) MPI_Comm_free(&world);
  return finish();
}
