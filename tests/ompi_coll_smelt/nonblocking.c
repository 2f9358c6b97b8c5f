// Proves that nonblocking and persistent collectives may be outstanding in any number, on any communicators, among
// blocking ones and other communication, and be completed in any order; that a call returns before anybody else has
// come; that communicators, datatypes and operations may be freed meanwhile. Every result is checked. Each of these
// hangs where a call waits or nobody makes progress: the driver's time limit is the judge.
//   --smelt     Smelt serves, as its counters must say; communicators are freed while operations are outstanding
//   --nodes     only the collectives that Smelt serves on communicators that span several nodes; alone, or with any
//               of the others
//   --refused   long messages get no memory (the address space is limited while it is asked for): passed on
//   --threads   MPI_THREAD_MULTIPLE: several threads, each with a communicator of its own
#include "check.h"

#include <pthread.h>
#include <sys/resource.h>
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define INIT(name) MPIX_##name##_init
#else
#define INIT(name) MPI_##name##_init
#endif

typedef enum kind {
  kBarrier,
  kBcast,
  kReduce,
  kAllreduce,
  kReduceScatterBlock,
  kReduceScatter,
  kScan,
  kExscan,
  kAllgather,  // from here on blocks, of which there are rows
  kAllgatherv,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAlltoall,
  kAlltoallv,
  kKinds
} kind;
static const char *const kNames[] = {"barrier",        "bcast",   "reduce",  "allreduce", "reduce_scatter_block",
                                     "reduce_scatter", "scan",    "exscan",  "allgather", "allgatherv",
                                     "gather",         "gatherv", "scatter", "scatterv",  "alltoall",
                                     "alltoallv"};

enum { kMostOutstanding = 200, kMostThreads = 4 };

static int of_nodes;  // --nodes
static const kind kOfNodes[] = {kBarrier, kBcast, kReduce, kAllreduce, kAllgather};

// The i-th of the collectives that are called, and again from the first.
static kind kind_of(uint64_t i) {
  return of_nodes ? kOfNodes[i % (sizeof kOfNodes / sizeof *kOfNodes)] : (kind)(i % kKinds);
}

// One collective of a sequence that is the same on all ranks, with its data.
typedef struct collective {
  MPI_Comm comm;
  kind which;
  int rank, size, count, root, in_place, salt;
  int *in, *out, *counts, *places;  // of everybody's block
  MPI_Request request;
} collective;

static int word(int salt, int rank, int k) { return (int)(mix((uint64_t)salt, (uint64_t)rank, (uint64_t)k) & 0xFFFFF); }

static int is_scatter(const collective *c) { return c->which == kScatter || c->which == kScatterv; }
static int is_alltoall(const collective *c) { return c->which == kAlltoall || c->which == kAlltoallv; }
static int is_allgather(const collective *c) { return c->which == kAllgather || c->which == kAllgatherv; }
static int is_gather(const collective *c) { return c->which == kGather || c->which == kGatherv; }
static int is_reduce_scatter(const collective *c) {
  return c->which == kReduceScatterBlock || c->which == kReduceScatter;
}
static int has_row_in(const collective *c) { return is_scatter(c) || is_alltoall(c); }
static int has_row_out(const collective *c) { return is_gather(c) || is_allgather(c) || is_alltoall(c); }
static int ints_in(const collective *c) { return c->count * (has_row_in(c) ? c->size : 1); }
static int ints_out(const collective *c) { return c->count * (has_row_out(c) ? c->size : 1); }

// The row of `count` elements, longer where blocks of one length want it.
static void split_row(collective *c) {
  const int each = (c->count + c->size - 1) / c->size, even = c->which == kReduceScatterBlock;
  for (int i = 0; i < c->size; ++i) c->counts[i] = even ? each : c->count * (i + 1) / c->size - c->count * i / c->size;
  if (!even && c->size > 1) c->counts[1] += c->counts[0], c->counts[0] = 0;
  if (even) c->count = each * c->size;
}
// All of `count`; or some shorter, some empty, in descending order.
static void make_blocks(collective *c) {
  const int uneven = c->which == kAllgatherv || c->which == kGatherv || c->which == kScatterv;
  int place = 0;
  for (int k = 0; k < c->size; ++k) {
    const int i = uneven ? c->size - 1 - k : k, shorter = (i + c->salt % 3) % 3;
    c->counts[i] = !uneven || shorter == 2 ? c->count : shorter * ((c->count + 1) / 2);
    c->places[i] = place;
    place += c->counts[i];
  }
}
// Where this rank's block of a reduce_scatter begins.
static int own_block(const collective *c) {
  int before = 0;
  for (int i = 0; i < c->rank; ++i) before += c->counts[i];
  return before;
}

// What is there before the call.
static void fill(collective *c, int salt) {
  const int own = is_allgather(c) || is_gather(c) ? c->places[c->rank] : 0;
  const int length = is_allgather(c) || is_gather(c) ? c->counts[c->rank] : c->count;
  c->salt = salt;
  for (int k = 0; k < ints_in(c); ++k) c->in[k] = word(salt, c->rank, k);
  for (int k = 0; k < ints_out(c); ++k) c->out[k] = -1;
  if (c->in_place || (c->which == kBcast && c->rank == c->root))
    memcpy(c->out + own, c->in, (size_t)length * sizeof(int));
}

static void prepare(collective *c, MPI_Comm comm, kind which, int count, int root, int in_place, int salt) {
  *c = (collective){.comm = comm, .which = which, .count = count, .salt = salt};
  MPI_Comm_rank(comm, &c->rank);
  MPI_Comm_size(comm, &c->size);
  c->root = root % c->size;
  c->in_place = in_place && !is_alltoall(c);
  c->counts = malloc((size_t)c->size * sizeof(int));
  c->places = malloc((size_t)c->size * sizeof(int));
  if (is_reduce_scatter(c))
    split_row(c);
  else
    make_blocks(c);
  c->in = malloc(((size_t)ints_in(c) + 1) * sizeof(int));
  c->out = malloc(((size_t)ints_out(c) + 1) * sizeof(int));
  fill(c, salt);
  c->in[ints_in(c)] = c->out[ints_out(c)] = 77;
}

// From random numbers, short more often than long.
static void prepare_random(collective *c, MPI_Comm comm, uint64_t r, int most) {
  const int limits[] = {3, 14, 71, 600, most};
  const int limit = limits[(r >> 20) % 5];
  prepare(c, comm, kind_of(r), 1 + (int)((r >> 32) % (uint64_t)limit), (int)(r >> 8 & 15), (int)(r >> 12 & 1),
          (int)(r >> 33));
}

static const void *operand(const collective *c) {
  if (!c->in_place || c->which == kBcast || is_scatter(c)) return c->in;
  if ((c->which == kReduce || is_gather(c)) && c->rank != c->root) return c->in;
  return MPI_IN_PLACE;
}
static void *result(const collective *c) {
  return c->in_place && is_scatter(c) && c->rank == c->root ? MPI_IN_PLACE : c->out;
}

// CALL(name of the blocking one, of the nonblocking one, their common arguments)
#define CALL_IT(CALL)                                                                                                 \
  do {                                                                                                                \
    const void *const in = operand(c);                                                                                \
    void *const out = result(c);                                                                                      \
    const int count = c->count, own = c->counts[c->rank], root = c->root, *counts = c->counts, *places = c->places;   \
    switch (c->which) {                                                                                               \
      case kBarrier: CALL(Barrier, barrier, c->comm); break;                                                          \
      case kBcast: CALL(Bcast, bcast, out, count, MPI_INT, root, c->comm); break;                                     \
      case kReduce: CALL(Reduce, reduce, in, out, count, MPI_INT, MPI_SUM, root, c->comm); break;                     \
      case kAllreduce: CALL(Allreduce, allreduce, in, out, count, MPI_INT, MPI_SUM, c->comm); break;                  \
      case kReduceScatterBlock:                                                                                       \
        CALL(Reduce_scatter_block, reduce_scatter_block, in, out, own, MPI_INT, MPI_SUM, c->comm);                    \
        break;                                                                                                        \
      case kReduceScatter: CALL(Reduce_scatter, reduce_scatter, in, out, counts, MPI_INT, MPI_SUM, c->comm); break;   \
      case kScan: CALL(Scan, scan, in, out, count, MPI_INT, MPI_SUM, c->comm); break;                                 \
      case kExscan: CALL(Exscan, exscan, in, out, count, MPI_INT, MPI_SUM, c->comm); break;                           \
      case kAllgather: CALL(Allgather, allgather, in, count, MPI_INT, out, count, MPI_INT, c->comm); break;           \
      case kAllgatherv: CALL(Allgatherv, allgatherv, in, own, MPI_INT, out, counts, places, MPI_INT, c->comm); break; \
      case kGather: CALL(Gather, gather, in, count, MPI_INT, out, count, MPI_INT, root, c->comm); break;              \
      case kGatherv: CALL(Gatherv, gatherv, in, own, MPI_INT, out, counts, places, MPI_INT, root, c->comm); break;    \
      case kScatter: CALL(Scatter, scatter, in, count, MPI_INT, out, count, MPI_INT, root, c->comm); break;           \
      case kScatterv: CALL(Scatterv, scatterv, in, counts, places, MPI_INT, out, own, MPI_INT, root, c->comm); break; \
      case kAlltoall: CALL(Alltoall, alltoall, in, count, MPI_INT, out, count, MPI_INT, c->comm); break;              \
      default: CALL(Alltoallv, alltoallv, in, counts, places, MPI_INT, out, counts, places, MPI_INT, c->comm);        \
    }                                                                                                                 \
  } while (0)

static void begin(collective *c) {
#define BEGIN(name, lower, ...) MPI_I##lower(__VA_ARGS__, &c->request)
  CALL_IT(BEGIN);
}
static void block(collective *c) {
#define BLOCK(name, lower, ...) MPI_##name(__VA_ARGS__)
  CALL_IT(BLOCK);
}
static void persist(collective *c) {
#define PERSIST(name, lower, ...) INIT(name)(__VA_ARGS__, MPI_INFO_NULL, &c->request)
  CALL_IT(PERSIST);
}

static int wanted(const collective *c, int k) {
  if (c->which == kBcast) return word(c->salt, c->root, k);
  if (is_scatter(c)) return word(c->salt, c->root, c->places[c->rank] + k);
  if (has_row_out(c)) {
    int i = 0;
    while (k < c->places[i] || k >= c->places[i] + c->counts[i]) ++i;
    return word(c->salt, i, k - c->places[i] + (is_alltoall(c) ? c->places[c->rank] : 0));
  }
  const int ranks = c->which == kScan ? c->rank + 1 : c->which == kExscan ? c->rank : c->size;
  const int first = is_reduce_scatter(c) ? own_block(c) : 0;
  int sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += word(c->salt, rank, first + k);
  return sum;
}

// How many elements are this rank's result.
static int results(const collective *c) {
  const int is_root = c->rank == c->root;
  if (c->which == kBarrier || (c->which == kReduce && !is_root) || (c->which == kExscan && c->rank == 0)) return 0;
  if (is_reduce_scatter(c)) return c->counts[c->rank];
  if (is_scatter(c)) return c->in_place && is_root ? 0 : c->counts[c->rank];
  if (!has_row_out(c)) return c->count;
  int sum = 0;
  for (int i = 0; i < c->size; ++i) sum += c->counts[i];
  return is_gather(c) && !is_root ? 0 : sum;
}

static void verify(const collective *c, const char *when) {
  CHECK(c->in[ints_in(c)] == 77 && c->out[ints_out(c)] == 77);
  for (int k = 0; k < results(c); ++k)
    if (c->out[k] != wanted(c, k))
      fail("%s: %s MPI_INT count %d root %d%s: element %d is %d instead of %d", when, kNames[c->which], c->count,
           c->root, c->in_place ? " in place" : "", k, c->out[k], wanted(c, k));
  if (c->which == kBarrier) return;
  for (int k = 0; k < ints_in(c); ++k) CHECK(c->in[k] == word(c->salt, c->rank, k));
}

static void release(collective *c) { free(c->in), free(c->out), free(c->counts), free(c->places); }
static void done(collective *c, const char *when) {
  verify(c, when);
  release(c);
}

// A communicator's first blocking calls are left to the components below.
static void outlast_patience(MPI_Comm comm) {
  for (int i = 0; i < 9; ++i) MPI_Barrier(comm);
}

// Blocking ones of both lengths: from then on nonblocking ones may be served.
static void warm_up(MPI_Comm comm) {
  outlast_patience(comm);
  for (int i = 0; i < 3; ++i) {
    collective c;
    prepare(&c, comm, kAllreduce, 1 + i * 400, 0, 0, i);
    block(&c);
    done(&c, "warm up");
  }
}

// Smelt's counters of nonblocking calls, coll_smelt_i*_served and ..._passed_on, and of persistent requests,
// coll_smelt_*_init_passed_on, summed over all collectives and counted from the call of watch() on.
typedef enum counter { kServed, kPassedOn, kInitPassedOn, kCounters } counter;
static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[kCounters][kKinds];

static void watch(void) {
  int provided, index, count;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_T_pvar_session_create(&session);
  static const char *const forms[] = {"coll_smelt_i%s_served", "coll_smelt_i%s_passed_on",
                                      "coll_smelt_%s_init_passed_on"};
  for (int which = 0; which < kCounters; ++which)
    for (int i = 0; i < kKinds; ++i) {
      char name[64];
      snprintf(name, sizeof name, forms[which], kNames[i]);
      CHECK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS);
      CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handles[which][i], &count) == MPI_SUCCESS);
    }
}

static unsigned long long counted(counter which) {
  unsigned long long sum = 0, value = 0;
  for (int i = 0; i < kKinds; ++i) {
    CHECK(MPI_T_pvar_read(session, handles[which][i], &value) == MPI_SUCCESS);
    sum += value;
  }
  return sum;
}

static int is_null(MPI_Request request) { return request == MPI_REQUEST_NULL; }

// --- many outstanding, in every order of completion

static void complete_all(collective *all, int n, int how, uint64_t *random) {
  MPI_Request *requests = malloc((size_t)n * sizeof *requests);
  int *indices = malloc((size_t)n * sizeof *indices), count, index, flag;
  for (int i = 0; i < n; ++i) requests[i] = all[i].request;
  static const char *const kHow[] = {"Waitall", "Wait in reverse", "Waitany", "Testsome", "Test at random", "Waitsome"};
  switch (how) {
    case 0: MPI_Waitall(n, requests, MPI_STATUSES_IGNORE); break;
    case 1:
      for (int i = n - 1; i >= 0; --i) {
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        verify(&all[i], kHow[how]);  // complete means complete, whatever else is outstanding
      }
      break;
    case 2:
      for (int i = 0; i < n; ++i) {
        MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE);
        if (index == MPI_UNDEFINED) fail("Waitany: nothing left after %d of %d", i, n);
        verify(&all[index], kHow[how]);
      }
      break;
    case 3:
    case 5:
      for (int left = n; left > 0; left -= count) {
        if (how == 3)
          MPI_Testsome(n, requests, &count, indices, MPI_STATUSES_IGNORE);
        else
          MPI_Waitsome(n, requests, &count, indices, MPI_STATUSES_IGNORE);
        if (count == MPI_UNDEFINED) fail("%s: nothing left, but %d", kHow[how], left);
        for (int i = 0; i < count; ++i) verify(&all[indices[i]], kHow[how]);
      }
      break;
    default:
      for (int left = n; left > 0;) {
        const int i = (int)(next_random(random) % (uint64_t)n);
        if (is_null(requests[i])) continue;
        MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
        if (flag) verify(&all[i], kHow[how]), --left;
      }
  }
  for (int i = 0; i < n; ++i) {
    CHECK(is_null(requests[i]));
    done(&all[i], kHow[how]);
  }
  free(requests);
  free(indices);
}

static void many(MPI_Comm comm, int n, int how, uint64_t seed, int most) {
  collective *all = malloc((size_t)n * sizeof *all);
  uint64_t shared = seed, own = mix(seed, (uint64_t)world_rank, 1);
  for (int i = 0; i < n; ++i) prepare_random(&all[i], comm, next_random(&shared), most);
  for (int i = 0; i < n; ++i) {
    begin(&all[i]);
    if (next_random(&own) % 8 == 0) {  // somebody looks in between, somebody does not
      int flag;
      MPI_Iprobe(MPI_ANY_SOURCE, 99, comm, &flag, MPI_STATUS_IGNORE);
    }
  }
  complete_all(all, n, how, &own);
  free(all);
}

// --- nobody has to be there for a call to return: rank 0 is far ahead of the others, who hear from it only afterwards

static void nobody_waits(MPI_Comm comm, int n, int count) {
  collective *all = malloc((size_t)n * sizeof *all);
  int go = 0;
  for (int i = 0; i < n; ++i) prepare(&all[i], comm, kind_of((uint64_t)i), count, i / kKinds, 0, i);
  if (world_rank > 0) MPI_Recv(&go, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < n; ++i) begin(&all[i]);
  for (int to = 1; world_rank == 0 && to < world_size; ++to) MPI_Send(&go, 1, MPI_INT, to, 4, MPI_COMM_WORLD);
  uint64_t random = 1;
  complete_all(all, n, 1, &random);
  free(all);
}

// --- among blocking ones, other communicators and messages

static void among_others(MPI_Comm comm, MPI_Comm other, uint64_t seed, int rounds) {
  enum { kEach = 12 };
  const int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
  uint64_t random = seed;
  for (int round = 0; round < rounds; ++round) {
    collective all[kEach];
    MPI_Request requests[kEach + 4];
    int sent = round, got = -1, one = 1, *given = malloc((size_t)world_size * sizeof(int)),
        *taken = malloc((size_t)world_size * sizeof(int)), prefix = -1;
    for (int i = 0; i < world_size; ++i) given[i] = world_rank * 1000 + i, taken[i] = -1;
    // The order between communicators is everybody's own.
    const int swapped = (world_rank + round) % 2;
    for (int i = 0; i < kEach; ++i) {
      const int second = (i < kEach / 2) == !swapped;
      prepare_random(&all[i], second ? other : comm, mix(seed, (uint64_t)(round * 2 + second), (uint64_t)(i % 6)),
                     5000);
    }
    for (int i = 0; i < kEach; ++i) {
      begin(&all[i]);
      requests[i] = all[i].request;
      if (i == 3) MPI_Irecv(&got, 1, MPI_INT, left, 5, MPI_COMM_WORLD, &requests[kEach]);
    }
    MPI_Ialltoall(given, 1, MPI_INT, taken, 1, MPI_INT, comm, &requests[kEach + 1]);
    MPI_Iscan(&one, &prefix, 1, MPI_INT, MPI_SUM, other, &requests[kEach + 2]);
    for (int i = 0; i < 3; ++i) {
      collective blocking;
      prepare_random(&blocking, i == 1 ? other : comm, next_random(&random), 5000);
      block(&blocking);
      done(&blocking, "blocking among nonblocking");
    }
    MPI_Isend(&sent, 1, MPI_INT, right, 5, MPI_COMM_WORLD, &requests[kEach + 3]);
    MPI_Waitall(kEach + 4, requests, MPI_STATUSES_IGNORE);
    CHECK(got == round && prefix == world_size - world_rank);  // `other` has the ranks reversed
    for (int i = 0; i < world_size; ++i) CHECK(taken[i] == i * 1000 + world_rank);
    for (int i = 0; i < kEach; ++i) done(&all[i], "among others");
    free(given);
    free(taken);
  }
}

// --- communicators are made and freed meanwhile. Open MPI itself crashes where one is freed (its libnbc keeps nothing
// of it), so that is asked for only where Smelt serves. So is MPI_Comm_idup: its own collectives in the background and
// the program's, in libnbc, take each other's messages wherever ranks look at MPI at different times.

static void lives(uint64_t seed, int rounds, int free_early) {
  for (int round = 0; round < rounds; ++round) {
    enum { kEach = 10 };
    collective all[kEach], inner[kEach];
    MPI_Comm comm, copy, later;
    MPI_Request dup = MPI_REQUEST_NULL;
    uint64_t random = mix(seed, (uint64_t)round, 2);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (free_early || round % 3 > 0) warm_up(comm);
    for (int i = 0; i < kEach; ++i) {
      prepare_random(&all[i], comm, next_random(&random), 3000);
      begin(&all[i]);
      if (i != 4) continue;
      if (free_early)
        MPI_Comm_idup(comm, &later, &dup);  // goes on in the background
      else
        MPI_Comm_dup(comm, &later);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    if (free_early) warm_up(copy);
    if (round % 2) {
      collective blocking;
      prepare_random(&blocking, comm, next_random(&random), 300);
      block(&blocking);
      done(&blocking, "while a communicator is duplicated");
    }
    for (int i = 0; i < kEach; ++i) {
      prepare_random(&inner[i], copy, next_random(&random), 3000);
      begin(&inner[i]);
    }
    if (free_early) MPI_Comm_free(&copy);
    MPI_Wait(&dup, MPI_STATUS_IGNORE);
    if (free_early) MPI_Comm_free(&comm);
    uint64_t own = (uint64_t)world_rank;
    complete_all(inner, kEach, round % 6, &own);
    complete_all(all, kEach, (round + 3) % 6, &own);
    if (!free_early) MPI_Comm_free(&copy);
    if (!free_early) MPI_Comm_free(&comm);
    warm_up(later);
    many(later, 7, round % 6, (uint64_t)round, 100);
    MPI_Comm_free(&later);
  }
}

// Open MPI duplicates in the background with nonblocking collectives of its own, on each rank at another place among
// the program's.
static void in_the_background(MPI_Comm comm, int rounds, int smelt) {
  uint64_t own = mix(7, (uint64_t)world_rank, 8);
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm copy;
    MPI_Request dup;
    collective blocking, nonblocking;
    int flag, result;
    MPI_Comm_idup(comm, &copy, &dup);
    if (smelt) prepare(&nonblocking, comm, kind_of((uint64_t)round), 20, round, 0, round), begin(&nonblocking);
    for (uint64_t looks = next_random(&own) % 8; looks > 0; --looks)
      MPI_Iprobe(MPI_ANY_SOURCE, 99, comm, &flag, MPI_STATUS_IGNORE);
    for (int i = 0; i < 3; ++i) {
      prepare(&blocking, comm, kind_of((uint64_t)(round + i)), 10, round, 0, round + i);
      block(&blocking);
      done(&blocking, "while a communicator is duplicated in the background");
    }
    MPI_Wait(&dup, MPI_STATUS_IGNORE);
    if (smelt) {
      MPI_Wait(&nonblocking.request, MPI_STATUS_IGNORE);
      done(&nonblocking, "while a communicator is duplicated in the background");
    }
    MPI_Comm_compare(copy, comm, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Comm_free(&copy);
  }
}

// Short blocking ones alone do not make long nonblocking ones be served, but the first of these and a blocking one do.
static void asked_for(void) {
  MPI_Comm comm;
  collective c;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  outlast_patience(comm);
  prepare(&c, comm, kAllreduce, 1, 0, 0, 1);
  block(&c);
  done(&c, "short");
  for (int i = 0; i < 3; ++i) {
    const unsigned long long served = counted(kServed), passed_on = counted(kPassedOn);
    prepare(&c, comm, kAllreduce, 5000, 0, 0, i);
    begin(&c);
    MPI_Wait(&c.request, MPI_STATUS_IGNORE);
    done(&c, "long");
    CHECK(counted(kServed) == served + (i > 0) && counted(kPassedOn) == passed_on + (i == 0));
    if (i == 0) MPI_Barrier(comm);
  }
  MPI_Comm_free(&comm);
}

// --- what a call names may be freed as soon as it has returned

static void add_pairs(void *in, void *inout, int *count, MPI_Datatype *type) {
  (void)type;
  // Two ints at 0 and 8 of 16 bytes.
  for (int k = 0; k < *count; ++k)
    for (int i = 0; i < 2; ++i) ((int *)inout)[4 * k + 2 * i] += ((const int *)in)[4 * k + 2 * i];
}

static void freed_at_once(MPI_Comm comm, int rounds) {
  enum { kPairs = 300 };
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int *in = malloc(kPairs * 16), *sum = malloc(kPairs * 16), *word_of = malloc(kPairs * 16),
      *all = malloc((size_t)size * kPairs * 16);
  for (int round = 0; round < rounds; ++round) {
    MPI_Datatype type, wide;
    MPI_Op op;
    MPI_Request requests[3];
    const int count = round % 2 ? kPairs : 5, root = round % size;
    MPI_Type_vector(2, 1, 2, MPI_INT, &type);
    MPI_Type_create_resized(type, 0, 16, &wide);
    MPI_Type_commit(&wide);
    MPI_Op_create(add_pairs, 1, &op);
    for (int k = 0; k < 4 * kPairs; ++k) in[k] = rank + k, sum[k] = word_of[k] = -1;
    for (int k = 0; k < 4 * kPairs * size; ++k) all[k] = -1;
    if (rank == root) memcpy(word_of, in, kPairs * 16);
    MPI_Iallreduce(in, sum, count, wide, op, comm, &requests[0]);
    MPI_Ibcast(word_of, count, wide, root, comm, &requests[1]);
    MPI_Iallgather(in, count, wide, all, count, wide, comm, &requests[2]);
    MPI_Op_free(&op);
    MPI_Type_free(&wide);
    MPI_Type_free(&type);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < 4 * count; ++k) {
      const int data = k % 2 == 0;
      CHECK(sum[k] == (data ? size * k + size * (size - 1) / 2 : -1));
      CHECK(rank == root || word_of[k] == (data ? root + k : -1));
      for (int i = 0; i < size; ++i) CHECK(all[4 * count * i + k] == (data ? i + k : -1));
    }
  }
  free(in);
  free(sum);
  free(word_of);
  free(all);
}

// --- persistent requests: started again and again, several at once, in another order on each rank (MPI 4.0, 6.13), and
// a blocking one in between at another place on each; freed after their communicator

// An order of 0 .. n-1 that is this rank's own.
static void shuffled(int n, int *order, uint64_t *own) {
  for (int i = 0; i < n; ++i) {
    const int j = (int)(next_random(own) % (uint64_t)(i + 1));
    order[i] = order[j];
    order[j] = i;
  }
}

static void persistent(MPI_Comm of, uint64_t seed, int rounds) {
  enum { kEach = 2 * kKinds };  // in place and not
  collective all[kEach], blocking;
  MPI_Request requests[kEach];
  int order[kEach];
  MPI_Comm comm;
  uint64_t random = seed, own = mix(seed, (uint64_t)world_rank, 9);
  MPI_Comm_dup(of, &comm);
  for (int i = 0; i < kEach; ++i) {
    const uint64_t r = next_random(&random);
    prepare(&all[i], comm, kind_of((uint64_t)i), 1 + (int)(r % (r >> 40 & 1 ? 20 : 3000)), (int)(r >> 32 & 7),
            i / kKinds, 0);
    persist(&all[i]);
  }
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < kEach; ++i) fill(&all[i], round * 100 + i);
    shuffled(kEach, order, &own);
    const int blocks = round % 4 == 1, after = (int)(next_random(&own) % kEach);
    if (blocks) prepare_random(&blocking, comm, next_random(&random), 300);
    if (round % 3 == 0) {
      for (int i = 0; i < kEach; ++i) requests[i] = all[order[i]].request;
      MPI_Startall(kEach, requests);
      if (blocks) block(&blocking);
    } else {
      for (int i = 0; i < kEach; ++i) {
        MPI_Start(&all[order[i]].request);
        if (blocks && i == after) block(&blocking);
      }
    }
    if (blocks) done(&blocking, "among persistent ones");
    shuffled(kEach, order, &own);
    for (int i = 0; i < kEach; ++i) {
      collective *c = &all[order[i]];
      MPI_Wait(&c->request, MPI_STATUS_IGNORE);
      CHECK(!is_null(c->request));
      verify(c, "persistent");
    }
  }
  MPI_Comm_free(&comm);
  for (int i = 0; i < kEach; ++i) {
    MPI_Request_free(&all[i].request);
    CHECK(is_null(all[i].request));
    release(&all[i]);
  }
}

// Persistent requests are made while nonblocking ones are outstanding, which some ranks have taken further than others.
static void made_meanwhile(MPI_Comm comm, int rounds) {
  enum { kEach = 6 };
  uint64_t random = 17, own = mix(17, (uint64_t)world_rank, 3);
  for (int round = 0; round < rounds; ++round) {
    collective all[kEach], kept;
    int flag;
    for (int i = 0; i < kEach; ++i) {
      prepare_random(&all[i], comm, next_random(&random), 3000);
      begin(&all[i]);
    }
    if (world_rank == round % world_size) usleep(2000);
    for (uint64_t looks = next_random(&own) % 64; looks > 0; --looks)
      MPI_Iprobe(MPI_ANY_SOURCE, 99, comm, &flag, MPI_STATUS_IGNORE);
    prepare(&kept, comm, kind_of((uint64_t)round), 50, round, 0, round);
    persist(&kept);
    MPI_Start(&kept.request);
    complete_all(all, kEach, round % 6, &own);
    MPI_Wait(&kept.request, MPI_STATUS_IGNORE);
    MPI_Request_free(&kept.request);
    done(&kept, "persistent, made while others are outstanding");
  }
}

// --- long messages without memory: while it is asked for, rank 1 has no address space to map it

static void refused(void) {
  struct rlimit before, none;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  outlast_patience(comm);
  collective c;
  prepare(&c, comm, kAllreduce, 1, 0, 0, 1);
  block(&c);  // the group is there, but has had nothing long
  done(&c, "short");
  prepare(&c, comm, kAllreduce, 5000, 0, 0, 2);
  begin(&c);
  MPI_Wait(&c.request, MPI_STATUS_IGNORE);
  done(&c, "before anybody asked");
  getrlimit(RLIMIT_AS, &before);
  none = before;
  none.rlim_cur = 1;
  if (world_rank == 1) CHECK(setrlimit(RLIMIT_AS, &none) == 0);
  MPI_Barrier(comm);
  if (world_rank == 1) CHECK(setrlimit(RLIMIT_AS, &before) == 0);
  watch();
  for (int how = 0; how < 6; ++how) many(comm, 50, how, (uint64_t)how, 5000);
  CHECK(counted(kServed) > 0 && counted(kPassedOn) > 0 && counted(kServed) + counted(kPassedOn) == 6 * 50);
  MPI_Comm_free(&comm);
}

// --- threads

typedef struct worker {
  pthread_t thread;
  MPI_Comm comm;
  int number, rounds;
} worker;

static void *work(void *argument) {
  const worker *w = argument;
  warm_up(w->comm);
  for (int round = 0; round < w->rounds; ++round) {
    many(w->comm, 1 + round % 40, round % 6, (uint64_t)(w->number * 1000 + round), 5000);
    collective blocking;
    prepare_random(&blocking, w->comm, mix((uint64_t)w->number, (uint64_t)round, 5), 5000);
    block(&blocking);
    done(&blocking, "blocking in a thread");
    if (round % 8 == 7) freed_at_once(w->comm, 2);
    if (round % 16 == 15) persistent(w->comm, (uint64_t)round, 4);
  }
  return NULL;
}

static void threads(int n, int rounds) {
  worker workers[kMostThreads];
  for (int i = 0; i < n; ++i) {
    workers[i] = (worker){.number = i, .rounds = rounds};
    MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
  }
  for (int i = 0; i < n; ++i) CHECK(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
  for (int i = 0; i < n; ++i) CHECK(pthread_join(workers[i].thread, NULL) == 0);
  for (int i = 0; i < n; ++i) MPI_Comm_free(&workers[i].comm);
}

int main(int argc, char **argv) {
  of_nodes = has_argument(argc, argv, "--nodes");
  if (has_argument(argc, argv, "--threads")) {
    int provided;
    start_threaded(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) return skip("this MPI has no MPI_THREAD_MULTIPLE");
    threads(2, full ? 400 : light ? 32 : 100);
    threads(kMostThreads, full ? 200 : light ? 16 : 50);
    return finish();
  }
  start(&argc, &argv);
  if (has_argument(argc, argv, "--refused")) {
    refused();
    return finish();
  }
  const int rounds = full ? 200 : light ? 6 : 30, smelt = has_argument(argc, argv, "--smelt");
  MPI_Comm fresh, other;
  MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &other);
  nobody_waits(fresh, 10, 10);  // nothing blocking has been called on it
  nobody_waits(fresh, 10, 1000);
  for (int how = 0; how < 6; ++how) many(fresh, 60, how, (uint64_t)how, 3000);
  warm_up(fresh);
  if (smelt) watch();
  nobody_waits(fresh, kMostOutstanding, 10);
  nobody_waits(fresh, kMostOutstanding, 1000);
  for (int how = 0; how < 12; ++how) many(fresh, kMostOutstanding, how % 6, (uint64_t)how + 100, how < 6 ? 20000 : 50);
  many(fresh, 6, 0, 999, light || of_nodes ? 30000 : 300000);
  if (smelt) CHECK(counted(kServed) == 14 * kMostOutstanding + 6 && counted(kPassedOn) == 0);
  if (smelt) asked_for();
  warm_up(other);
  among_others(fresh, other, 5, rounds);
  freed_at_once(fresh, rounds);
  persistent(MPI_COMM_WORLD, 3, rounds);
  made_meanwhile(fresh, 2 * rounds);
  if (smelt) CHECK(counted(kInitPassedOn) == 0);
  lives(9, rounds, smelt);
  in_the_background(fresh, 10 * rounds, smelt);
  among_others(fresh, other, 6, rounds);
  MPI_Comm_free(&fresh);
  MPI_Comm_free(&other);
  return finish();
}
