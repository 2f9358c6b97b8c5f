/* The cost of messages between two MPI ranks: the same as bench/message_bench, through MPI, so that one MPI library's
 * can be compared with another's. An ordinary MPI program; messages.sh runs it with several, in turn.
 *
 *   posted N       one way of a ping-pong of 8 bytes, while each rank has N other receives posted
 *   unexpected N   the same, while N other messages wait at each, which nobody asks for
 *   reverse N      N receives are posted, the messages come in the other order: per message
 *   size N         one way of a ping-pong of N bytes
 *   any N          the same of 8 bytes, received from any source with any tag, while N such rounds are played
 *   dup 0          a communicator of one rank made and freed: without messages
 *   latency T      one way of T ping-pongs of 8 bytes at a time, a thread each
 *   rate T         T threads each send windows of 64 messages of 8 bytes to T others: per message
 *
 * Before and after every name: `hop 0 NS`, one way of a ping-pong of the two on one line of memory, which says how far
 * apart their CPUs are at that moment (a virtual machine's move).
 *
 *   mpi_message [--single] [--limit SECONDS] [--most N] NAME ...
 *     --single   MPI_Init, as a program without threads does it (latency and rate then have one)
 *     --limit    of each row, 20: what takes longer is left out, and so is what would take longer still
 *     --most     the largest N of the first three, 100000
 *
 * A row: NAME N NS, the median of the batches in ns. With two ranks; more are idle. */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBatches = 11, kWindow = 64, kMostThreads = 64 };

static int rank;
static double limit = 20, began;
static int most = 100000;
static double times[kBatches];
static int counted;

static int compare(const void* left, const void* right) {
  const double a = *(const double*)left, b = *(const double*)right;
  return (a > b) - (a < b);
}

/* Is there time for another batch? Rank 0 knows. */
static int goes_on(void) {
  int on = counted < kBatches && (counted == 0 || MPI_Wtime() - began < limit);
  MPI_Bcast(&on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return on;
}
static void note(double seconds, double messages) { times[counted++] = seconds * 1e9 / messages; }

/* Was it short enough for a larger one to be tried? */
static int say(const char* name, long n) {
  qsort(times, counted, sizeof *times, compare);
  if (rank == 0) {
    printf("%s %ld %.1f\n", name, n, times[counted / 2]);
    fflush(stdout);
  }
  int on = counted == kBatches;
  MPI_Bcast(&on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return on;
}
static void begin_row(void) {
  counted = 0;
  began = MPI_Wtime();
}

static void ping_pong(char* bytes, int length, int tag, int rounds, int any) {
  for (int i = 0; i < rounds; ++i)
    for (int sender = 0; sender < 2; ++sender)
      if (rank == sender)
        MPI_Send(bytes, length, MPI_CHAR, 1 - rank, tag, MPI_COMM_WORLD);
      else
        MPI_Recv(bytes, length, MPI_CHAR, any ? MPI_ANY_SOURCE : 1 - rank, any ? MPI_ANY_TAG : tag, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static int play(const char* name, long n, int length, int rounds, int any) {
  char* bytes = calloc(1, length > 0 ? length : 1);
  if (!bytes) MPI_Abort(MPI_COMM_WORLD, 1);
  ping_pong(bytes, length, 0, rounds / 10 + 2, any);
  begin_row();
  while (goes_on()) {
    const double start = MPI_Wtime();
    ping_pong(bytes, length, 0, rounds, any);
    note(MPI_Wtime() - start, 2.0 * rounds);
  }
  free(bytes);
  return say(name, n);
}

/* As many rounds as fit a batch: with many others a message may take a thousand times as long, and of a few rounds the
 * beginning is most of the time. */
static int rounds_beside_others(void) {
  enum { kLeast = 20, kMost = 500 };
  char bytes[8] = {0};
  const double start = MPI_Wtime();
  ping_pong(bytes, sizeof bytes, 0, 2, 0);
  int rounds = (int)(0.5 * limit / kBatches / ((MPI_Wtime() - start) / 2));
  rounds = rounds < kLeast ? kLeast : rounds < kMost ? rounds : kMost;
  MPI_Bcast(&rounds, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return rounds;
}

/* Other receives, or other messages, have tags of 1 and more. */
static int posted(int others) {
  MPI_Request* receives = malloc((others + 1) * sizeof *receives);
  if (!receives) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < others; ++i) MPI_Irecv(NULL, 0, MPI_CHAR, 1 - rank, i + 1, MPI_COMM_WORLD, &receives[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  const int on = play("posted", others, 8, rounds_beside_others(), 0);
  for (int i = 0; i < others; ++i) MPI_Cancel(&receives[i]);
  for (int i = 0; i < others; ++i) MPI_Wait(&receives[i], MPI_STATUS_IGNORE);
  free(receives);
  MPI_Barrier(MPI_COMM_WORLD);
  return on;
}

static int unexpected(int others) {
  MPI_Request* sends = malloc((others + 1) * sizeof *sends);
  if (!sends) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < others; ++i) {
    MPI_Isend(NULL, 0, MPI_CHAR, 1 - rank, i + 1, MPI_COMM_WORLD, &sends[i]);
    if (i % 64 == 63)
      MPI_Sendrecv(NULL, 0, MPI_CHAR, 1 - rank, 0, NULL, 0, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const int on = play("unexpected", others, 8, rounds_beside_others(), 0);
  /* The last first: lists that are walked from the front find them late, and that is not measured here. */
  for (int i = 0; i < others; ++i) MPI_Recv(NULL, 0, MPI_CHAR, 1 - rank, i + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Waitall(others, sends, MPI_STATUSES_IGNORE);
  free(sends);
  MPI_Barrier(MPI_COMM_WORLD);
  return on;
}

static int duplicate(void) {
  enum { kComms = 500 };
  begin_row();
  while (goes_on()) {
    const double start = MPI_Wtime();
    for (int i = 0; i < kComms; ++i) {
      MPI_Comm comm;
      MPI_Comm_dup(MPI_COMM_SELF, &comm);
      MPI_Comm_free(&comm);
    }
    note(MPI_Wtime() - start, kComms);
  }
  return say("dup", 0);
}

static int reverse(int messages) {
  MPI_Request* requests = malloc((messages + 1) * sizeof *requests);
  if (!requests) MPI_Abort(MPI_COMM_WORLD, 1);
  begin_row();
  while (goes_on()) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int i = 0; i < messages; ++i)
      rank == 1 ? MPI_Irecv(NULL, 0, MPI_CHAR, 0, i, MPI_COMM_WORLD, &requests[i])
                : MPI_Isend(NULL, 0, MPI_CHAR, 1, messages - 1 - i, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    note(MPI_Wtime() - start, messages);
  }
  free(requests);
  return say("reverse", messages);
}

static atomic_int* line; /* that both have mapped */

static void hop(void) {
  enum { kRounds = 500, kPatience = 100000 };
  begin_row();
  for (int batch = 0; batch < kBatches; ++batch) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) atomic_store_explicit(line, 0, memory_order_release);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int i = 0; i < kRounds; ++i) {
      for (int spins = 0; atomic_load_explicit(line, memory_order_acquire) != 2 * i + rank;)
        if (++spins % kPatience == 0) sched_yield(); /* the other may need this CPU */
      atomic_store_explicit(line, 2 * i + rank + 1, memory_order_release);
    }
    note(MPI_Wtime() - start, 2.0 * kRounds);
  }
  (void)say("hop", 0);
}

/* --- threads */

struct job {
  pthread_t thread;
  int tag, rounds, windows;
};

static void* latency_thread(void* argument) {
  const struct job* job = argument;
  char bytes[8] = {0};
  ping_pong(bytes, sizeof bytes, job->tag, job->rounds, 0);
  return NULL;
}

static void* rate_thread(void* argument) {
  const struct job* job = argument;
  char bytes[kWindow][8] = {{0}};
  MPI_Request requests[kWindow];
  for (int w = 0; w < job->windows; ++w) {
    for (int i = 0; i < kWindow; ++i)
      rank == 0 ? MPI_Isend(bytes[i], 8, MPI_CHAR, 1, job->tag, MPI_COMM_WORLD, &requests[i])
                : MPI_Irecv(bytes[i], 8, MPI_CHAR, 0, job->tag, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
    if (rank == 0)
      MPI_Recv(NULL, 0, MPI_CHAR, 1, job->tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Send(NULL, 0, MPI_CHAR, 0, job->tag, MPI_COMM_WORLD);
  }
  return NULL;
}

static void in_threads(int threads, void* (*work)(void*), int rounds, int windows) {
  struct job jobs[kMostThreads];
  for (int t = 0; t < threads; ++t) {
    jobs[t] = (struct job){.tag = t + 1, .rounds = rounds, .windows = windows};
    if (t > 0 && pthread_create(&jobs[t].thread, NULL, work, &jobs[t]) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  work(&jobs[0]);
  for (int t = 1; t < threads; ++t) pthread_join(jobs[t].thread, NULL);
}

/* As many rounds as fit a batch are found out first: with threads it may be a thousand times slower. */
static int threads_row(const char* name, int threads, int is_rate) {
  void* (*const work)(void*) = is_rate ? rate_thread : latency_thread;
  int times_over = 1;
  for (;;) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    in_threads(threads, work, times_over, times_over);
    int enough = MPI_Wtime() - start > 0.05 * limit / kBatches || times_over >= (is_rate ? 200 : 5000);
    MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (enough) break;
    times_over *= 4;
  }
  begin_row();
  while (goes_on()) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    in_threads(threads, work, times_over, times_over);
    note(MPI_Wtime() - start, is_rate ? (double)threads * times_over * kWindow : 2.0 * times_over);
  }
  return say(name, threads);
}

int main(int count, char** arguments) {
  int single = 0, given = MPI_THREAD_SINGLE, at = 1;
  for (; at < count && strncmp(arguments[at], "--", 2) == 0; ++at) {
    if (strcmp(arguments[at], "--single") == 0)
      single = 1;
    else if (strcmp(arguments[at], "--limit") == 0 && at + 1 < count)
      limit = atof(arguments[++at]);
    else if (strcmp(arguments[at], "--most") == 0 && at + 1 < count)
      most = atoi(arguments[++at]);
    else
      break;
  }
  if (at == count || limit <= 0 || most < 1 || strncmp(arguments[at], "--", 2) == 0) {
    fprintf(stderr,
            "usage: mpi_message [--single] [--limit SECONDS] [--most N] NAME ...\n"
            "NAME: posted, unexpected, reverse, size, any, dup, latency, rate\n");
    return 2;
  }
  if (single)
    MPI_Init(&count, &arguments);
  else
    MPI_Init_thread(&count, &arguments, MPI_THREAD_MULTIPLE, &given);
  int ranks, bad = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2) {
    fprintf(stderr, "mpi_message: of two ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Win window;
  MPI_Win_allocate_shared(rank == 0 ? 64 : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &line, &window);
  if (rank != 0) {
    MPI_Aint bytes;
    int unit;
    MPI_Win_shared_query(window, 0, &bytes, &unit, &line);
  }
  hop();
  const int most_threads = given == MPI_THREAD_MULTIPLE ? kMostThreads : 1;
  for (; at < count; ++at) {
    const char* name = arguments[at];
    int on = 1;
    if (strcmp(name, "posted") == 0)
      for (int n = 0; on && n <= most; n = n ? n * 10 : 1000) on = posted(n);
    else if (strcmp(name, "unexpected") == 0)
      for (int n = 0; on && n <= most; n = n ? n * 10 : 1000) on = unexpected(n);
    else if (strcmp(name, "reverse") == 0)
      for (int n = 100; on && n <= most; n *= 10) on = reverse(n);
    else if (strcmp(name, "size") == 0)
      for (int n = 1; on && n <= 4 << 20; n *= 2) on = play("size", n, n, n > 65536 ? 40 : n > 4096 ? 400 : 4000, 0);
    else if (strcmp(name, "any") == 0)
      play("any", 8, 8, 4000, 1);
    else if (strcmp(name, "dup") == 0)
      duplicate();
    else if (strcmp(name, "latency") == 0)
      for (int n = 1; on && n <= most_threads; n *= 2) on = threads_row("latency", n, 0);
    else if (strcmp(name, "rate") == 0)
      for (int n = 1; on && n <= most_threads; n *= 2) on = threads_row("rate", n, 1);
    else
      bad = 1;
    hop();
  }
  MPI_Win_free(&window);
  if (bad && rank == 0) fprintf(stderr, "mpi_message: there is no such row\n");
  MPI_Finalize();
  return bad ? 2 : 0;
}
