// Random programs of MPI's collectives, the same for the same seed, each of whose results is checked.
//   random_collectives [--seed S] [--steps N] [--threads T] [--seconds L] [--order] [--smelt] [--hang | --slow]
//
// A program is a sequence of steps over several communicators: duplicates, splits in odd orders, one rank alone, grids
// with and without ends, graphs with and without several edges between the same two, and two groups of unequal sizes.
// A step is a collective (blocking or nonblocking), the making, starting or completion of a persistent one, a burst of
// all persistent ones and of one other call again and again, with other data each time, the completion of what is
// outstanding, or the replacement of a communicator, with requests outstanding or not.
// Kinds of data, layouts (another on every rank), counts, displacements, roots, operations and MPI_IN_PLACE are drawn.
// With --threads each thread has a program and communicators of its own.
//
// What a call must give is computed from its seed alone (random_calls.h), and all memory is compared: what was to be
// received, the gaps between, the guards around, and what was to be sent. --order: floating-point sums are held to the
// order that smelt/group.h promises. --smelt: some calls must have been served by Smelt, and what Open MPI's own
// answers wrongly is called, too.
//
// A run that is not done after L seconds says what every rank's threads are at and how many steps have been passed,
// twice, five seconds apart. If nobody made progress in between it is hung (exit status 2), otherwise slow (3). A wrong
// result: 1. --hang and --slow plant such a fault, to test this very thing.
#include "counting.h"
#include "random_calls.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define INIT(name) MPIX_##name##_init
#else
#define INIT(name) MPI_##name##_init
#endif

enum { kMostThreads = 4, kMostPending = 12, kPersistent = 4, kMostBytes = 512 << 10, kMostWithGaps = 16384 };
enum { kBase, kCopy, kHalves, kReversedRanks, kParts, kSelf, kGrid, kGraph, kRing, kMultigraph, kSlots };

typedef struct program {
  int number;
  uint64_t seed, own;  // own: differs between ranks
  place places[kSlots];
  call *pending[kMostPending];
  int outstanding;
  call *persistent[kPersistent];
  int slot[kPersistent];  // of its communicator, plus one; 0: there is none
  int started[kPersistent], rounds[kPersistent];
  int step;
  MPI_Comm two_groups;  // the first `split` ranks, and the others
  int split;
} program;

// What all ranks of the machine see of each other, for the barriers' check and the watchdog.
typedef struct board {
  atomic_long passed;
  atomic_int at[kMostThreads], what[kMostThreads], slot[kMostThreads];
  atomic_int entered[kMostThreads][kSlots];
} board;
static board *boards[kMostRanks], own_board;
static atomic_int finished;

static uint64_t seed;
static int steps, thread_count, ordered, strict, plant_hang, plant_slow;
static atomic_long calls;
static long seconds;

// --- failures

static int replies(const call *c, char *text, size_t bytes) {
  return snprintf(
      text, bytes,
      "step %d.%d: %s %s on slot %d (%d ranks, root %d): %s%s%s, %d units%s%s, send %s x %d, receive %s x %d", c->step,
      c->round, form_names[c->form], names[c->what], c->at.slot, c->at.size, c->root, kinds[c->kind].name,
      c->operation >= 0 ? " " : "", c->operation >= 0 ? operation_names[c->operation] : "", c->units,
      c->varied ? ", varied" : "", c->in_place ? ", in place" : "", c->send.blocks ? c->send.of[0]->name : "-",
      c->send.blocks ? c->send.count[0] : 0, c->receive.blocks ? c->receive.of[0]->name : "-",
      c->receive.blocks ? c->receive.count[0] : 0);
}
__attribute__((noreturn)) static void wrong(const call *c, const char *which, ptrdiff_t at, size_t bytes) {
  char text[400];
  replies(c, text, sizeof text);
  fail(
      "thread %d %s: the %s buffer differs at byte %td of %zu; repeat: mpirun -n %d random_collectives --seed %llu "
      "--steps %d --threads %d%s",
      c->thread, text, which, at, bytes, world_size, (unsigned long long)seed, steps, thread_count,
      ordered ? " --order" : "");
}
static void mpi(const call *c, int error) {
  if (error != MPI_SUCCESS) wrong(c, "(MPI gave an error) ", error, 0);
}

static void check(call *c) {
  if (c->what == kBarrier) {
    for (int i = 0; i < c->at.size && boards[0] != NULL; ++i)
      if (atomic_load_explicit(&boards[c->at.world[i]]->entered[c->thread][c->at.slot], memory_order_acquire) <
          c->step + 1)
        wrong(c, "(rank has not entered) ", i, 0);
    return;
  }
  ptrdiff_t at;
  size_t bytes;
  const char *which = difference(c, &at, &bytes);
  if (which != NULL) wrong(c, which, at, bytes);
}

// --- the calls

#define LAUNCH(Name, name, ...)                                                                  \
  mpi(c, c->form == kBlocking      ? MPI_##Name(__VA_ARGS__, comm)                               \
         : c->form == kNonblocking ? MPI_I##name(__VA_ARGS__, comm, &c->request)                 \
                                   : INIT(Name)(__VA_ARGS__, comm, MPI_INFO_NULL, &c->request)); \
  break

static void launch(call *c) {
  MPI_Comm comm = c->at.comm;
  const side *const s = &c->send, *const r = &c->receive;
  const void *const in = c->sends ? start_of(s) : c->in_place ? MPI_IN_PLACE : NULL;
  void *const out = c->receives ? start_of(r) : c->in_place && c->at.me == c->root ? MPI_IN_PLACE : NULL;
  // A rank without a neighbor on a side gives the count of its blocks, too: if that is 0, it does not take part.
  const int none = is_neighbor(c->what) ? c->units : 0;
  const int sent = s->blocks ? s->count[0] : none, received = r->blocks ? r->count[0] : none;
  const MPI_Datatype any = c->what == kBarrier ? MPI_INT : kinds[c->kind].type;
  const MPI_Datatype send_type = s->blocks ? s->type[0] : any, type = r->blocks ? r->type[0] : any;
  const MPI_Op op = c->operation >= 0 ? operations[c->operation] : MPI_OP_NULL;
  const MPI_Datatype reduced_type = c->sends ? send_type : type;
  const int reduced_count = c->sends ? sent : received, root = c->root;
  switch (c->what) {
    case kBarrier:
      if (c->form == kBlocking)
        mpi(c, MPI_Barrier(comm));
      else if (c->form == kNonblocking)
        mpi(c, MPI_Ibarrier(comm, &c->request));
      else
        mpi(c, INIT(Barrier)(comm, MPI_INFO_NULL, &c->request));
      break;
    case kBcast: LAUNCH(Bcast, bcast, out, received, type, root);
    case kReduce: LAUNCH(Reduce, reduce, in, out, reduced_count, reduced_type, op, root);
    case kAllreduce: LAUNCH(Allreduce, allreduce, in, out, received, type, op);
    case kScan: LAUNCH(Scan, scan, in, out, received, type, op);
    case kExscan: LAUNCH(Exscan, exscan, in, out, received, type, op);
    case kReduceScatter: LAUNCH(Reduce_scatter, reduce_scatter, in, out, c->counts, type, op);
    case kReduceScatterBlock: LAUNCH(Reduce_scatter_block, reduce_scatter_block, in, out, received, type, op);
    case kAllgather: LAUNCH(Allgather, allgather, in, sent, send_type, out, received, type);
    case kAllgatherv: LAUNCH(Allgatherv, allgatherv, in, sent, send_type, out, r->count, r->displacement, type);
    case kGather: LAUNCH(Gather, gather, in, sent, send_type, out, received, type, root);
    case kGatherv: LAUNCH(Gatherv, gatherv, in, sent, send_type, out, r->count, r->displacement, type, root);
    case kScatter: LAUNCH(Scatter, scatter, in, sent, send_type, out, received, type, root);
    case kScatterv: LAUNCH(Scatterv, scatterv, in, s->count, s->displacement, send_type, out, received, type, root);
    case kAlltoall: LAUNCH(Alltoall, alltoall, in, sent, send_type, out, received, type);
    case kAlltoallv:
      LAUNCH(Alltoallv, alltoallv, in, s->count, s->displacement, send_type, out, r->count, r->displacement, type);
    case kAlltoallw:
      LAUNCH(Alltoallw, alltoallw, in, s->count, s->displacement, s->type, out, r->count, r->displacement, r->type);
    case kNeighborAllgather: LAUNCH(Neighbor_allgather, neighbor_allgather, in, sent, send_type, out, received, type);
    case kNeighborAllgatherv:
      LAUNCH(Neighbor_allgatherv, neighbor_allgatherv, in, sent, send_type, out, r->count, r->displacement, type);
    case kNeighborAlltoall: LAUNCH(Neighbor_alltoall, neighbor_alltoall, in, sent, send_type, out, received, type);
    case kNeighborAlltoallv:
      LAUNCH(Neighbor_alltoallv, neighbor_alltoallv, in, s->count, s->displacement, send_type, out, r->count,
             r->displacement, type);
    default:
      LAUNCH(Neighbor_alltoallw, neighbor_alltoallw, in, s->count, c->send_bytes, s->type, out, r->count,
             c->receive_bytes, r->type);
  }
}

// --- a program

static void at(program *p, int what, int slot) {
  board *mine = boards[0] != NULL ? boards[world_rank] : &own_board;
  atomic_store_explicit(&mine->at[p->number], p->step, memory_order_relaxed);
  atomic_store_explicit(&mine->what[p->number], what, memory_order_relaxed);
  atomic_store_explicit(&mine->slot[p->number], slot, memory_order_relaxed);
  atomic_fetch_add_explicit(&mine->passed, 1, memory_order_relaxed);
  if (plant_slow) usleep(100000);
  while (plant_hang && p->step == 20 && world_rank == world_size - 1) pause();
}

static void delay(program *p) {
  const uint64_t h = next_random(&p->own);
  if (h % 32 == 0)
    usleep((useconds_t)(h >> 8) % 300);
  else if (h % 8 == 1)
    for (volatile unsigned i = (unsigned)(h >> 8) % 5000; i > 0; i = i - 1) {
    }
}

// A call begins. release: who sees it knows that this rank has come so far.
static void enter(const call *c) {
  atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
  if (c->what == kBarrier && boards[0] != NULL)
    atomic_store_explicit(&boards[world_rank]->entered[c->thread][c->at.slot], c->step + 1, memory_order_release);
}

// Waiting, in one of MPI's ways, for one outstanding call or for all of them.
static void complete(program *p, int all) {
  at(p, -1, p->outstanding);
  MPI_Request requests[kMostPending];
  int done = 0, which[kMostPending], flag = 0;
  for (int i = 0; i < p->outstanding; ++i) requests[i] = p->pending[i]->request;
  const uint64_t how = next_random(&p->own);
  if (p->outstanding == 0) return;
  if (all) {
    if (how % 2)
      MPI_Waitall(p->outstanding, requests, MPI_STATUSES_IGNORE);
    else
      while (!flag) MPI_Testall(p->outstanding, requests, &flag, MPI_STATUSES_IGNORE);
    for (int i = 0; i < p->outstanding; ++i) which[i] = i;
    done = p->outstanding;
  } else if (how % 3 == 0) {
    MPI_Waitany(p->outstanding, requests, &which[0], MPI_STATUS_IGNORE);
    done = 1;
  } else if (how % 3 == 1) {
    MPI_Waitsome(p->outstanding, requests, &done, which, MPI_STATUSES_IGNORE);
  } else {
    which[0] = (int)((how >> 8) % (uint64_t)p->outstanding);
    if (how & 16)
      MPI_Wait(&requests[which[0]], MPI_STATUS_IGNORE);
    else
      while (!flag) MPI_Test(&requests[which[0]], &flag, MPI_STATUS_IGNORE);
    done = 1;
  }
  for (int i = 0; i < done; ++i) {
    check(p->pending[which[i]]);
    discard(p->pending[which[i]]);
    p->pending[which[i]] = NULL;
  }
  int kept = 0;
  for (int i = 0; i < p->outstanding; ++i)
    if (p->pending[i] != NULL) p->pending[kept++] = p->pending[i];
  p->outstanding = kept;
}

// Bytes around the lengths at which methods change, of what one rank gives another.
static size_t some_bytes(uint64_t *random) {
  static const int edges[] = {24,   48,   56,   64,    280,   448,   512,    1024,
                              2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144};
  const uint64_t h = next_random(random);
  if (h % 16 == 0) return 0;
  if (h % 16 < 6) return 1 + (h >> 8) % 64;
  // The longer, the rarer.
  const size_t most = h % 16 < 12 ? 9 : h % 16 < 15 ? 13 : sizeof edges / sizeof *edges;
  return (size_t)edges[(h >> 16) % most] + (h >> 32) % 17 - 8;
}

static int can_be_in_place(int what) { return what != kBarrier && what != kBcast && !is_neighbor(what); }

static call *make_call(program *p, place *place, int form, uint64_t call_seed) {
  uint64_t random = call_seed;
  call *c = calloc(1, sizeof *c);
  if (c == NULL) fail("no memory");
  c->thread = p->number, c->at = *place, c->step = p->step, c->form = form, c->seed = mix(call_seed, 2, 3);
  const int has_neighbors = place->slot >= kGrid;
  // Half of them those of neighbors where there are some, or those that a group serves the longest.
  const int often = (int)(next_random(&random) % 5) + (has_neighbors ? kNeighborAllgather : 0);
  c->what = next_random(&random) % 2
                ? often
                : (int)(next_random(&random) % (uint64_t)(has_neighbors ? kCollectives : kNeighborAllgather));
  // Open MPI's own: nonblocking and persistent, blocks change places in rings of two (ompi#14430), and somebody without
  // neighbors leaves the others alone; who receives nothing does not send (4.1.4).
  if (place->slot == kRing && is_neighbor(c->what) && form != kBlocking && !strict) c->what = kNeighborAllgather;
  if (place->slot == kMultigraph && is_neighbor(c->what) && form != kBlocking) c->what = kAllgather;
  if (place->slot == kMultigraph && c->what == kNeighborAllgatherv) c->what = kNeighborAlltoallv;
  // Open MPI's own takes the displacements of a rank alone for elements (4.1.4).
  if (c->what == kAlltoallw && place->size == 1) c->what = kAlltoallv;
  c->root = (int)(next_random(&random) % (uint64_t)place->size);
  c->kind = (int)(next_random(&random) % kKinds);
  c->operation = kNone;
  if (is_reduction(c->what)) {
    if (c->kind == kRecord) c->kind = kPair;
    c->operation = some_operation(c->kind, next_random(&random));
    c->fractions = ordered && form != kNonblocking && c->operation == kSum &&
                   (c->kind == kFloat || c->kind == kDouble) && (c->what == kReduce || c->what == kAllreduce);
  }
  // In place Open MPI's own nonblocking ones take messages for each other's (4.1.4).
  const int mixes_up = (c->what == kAlltoallv || c->what == kAlltoallw) && form != kBlocking;
  c->in_place = can_be_in_place(c->what) && next_random(&random) % 4 == 0 && !mixes_up;
  const int shared =
      c->what == kBcast || c->what == kReduce || c->what == kAllreduce || c->what == kScan || c->what == kExscan;
  size_t bytes = some_bytes(&random);
  if (!shared && bytes > kMostBytes / 4 / (size_t)place->size) bytes = kMostBytes / 4 / (size_t)place->size;
  size_t units = bytes == 0 ? 0 : (bytes + kinds[c->kind].packed - 1) / kinds[c->kind].packed;
  // Open MPI's own allgatherv decides by the elements' size what all ranks are to do (4.1.4).
  c->whole_layouts = next_random(&random) % 2 == 0 && c->what != kAllgatherv;
  if (c->whole_layouts || is_reduction(c->what)) units = (units + kUnitsOfAll - 1) / kUnitsOfAll * kUnitsOfAll;
  // Open MPI's own lose the end of long messages of types with gaps (4.1.4: the root's own part of a gather).
  if (kinds[c->kind].pieces > 1 && bytes > kMostWithGaps)
    units = kMostWithGaps / kinds[c->kind].extent / kUnitsOfAll * kUnitsOfAll;
  c->units = (int)units;
  c->varied = c->what == kGatherv || c->what == kScatterv || c->what == kAllgatherv || c->what == kAlltoallv ||
              c->what == kAlltoallw || c->what == kNeighborAllgatherv || c->what == kNeighborAlltoallv ||
              c->what == kNeighborAlltoallw;
  describe(c);
  return c;
}

// The seed of what the ranks of this communicator do in this step.
static uint64_t seed_of(const program *p, const place *place) {
  return mix(p->seed, (uint64_t)p->step * kSlots + (uint64_t)place->slot, place->identity);
}

static void step_collective(program *p, place *place, uint64_t random) {
  if (place->comm == MPI_COMM_NULL) return;
  const uint64_t call_seed = seed_of(p, place);
  const int form = mix(call_seed, random, 67) % 5 < 3 ? kBlocking : kNonblocking;
  while (form == kNonblocking && p->outstanding == kMostPending) complete(p, 0);
  call *c = make_call(p, place, form, call_seed);
  fill(c);
  at(p, c->what * 3 + form, place->slot);
  enter(c);
  launch(c);
  if (form == kNonblocking) {
    p->pending[p->outstanding++] = c;
  } else {
    check(c);
    discard(c);
  }
}

// Who is not in the communicator keeps count of these as well, as all ranks are to do the same with the next one.
static void complete_persistent(program *p, int i) {
  if (p->started[i] && p->persistent[i] != NULL) {
    at(p, -2, i);
    MPI_Wait(&p->persistent[i]->request, MPI_STATUS_IGNORE);
    check(p->persistent[i]);
  }
  p->started[i] = 0;
}
static void free_persistent(program *p, int i) {
  complete_persistent(p, i);
  if (p->persistent[i] != NULL) {
    MPI_Request_free(&p->persistent[i]->request);
    discard(p->persistent[i]);
  }
  p->persistent[i] = NULL;
  p->slot[i] = 0;
}

// Makes one, starts it, completes it, starts it again ..., frees it.
static void step_persistent(program *p, int i, place *place, uint64_t random) {
  call *c = p->persistent[i];
  if (p->slot[i] == 0) {
    p->slot[i] = place->slot + 1;
    p->rounds[i] = (int)(random % 5);
    if (place->comm == MPI_COMM_NULL) return;
    c = p->persistent[i] = make_call(p, place, kPersistentForm, seed_of(p, place));
    at(p, c->what * 3 + kPersistentForm, place->slot);
    launch(c);
  } else if (p->started[i]) {
    complete_persistent(p, i);
  } else if (p->rounds[i]-- > 0) {
    p->started[i] = 1;
    if (c == NULL) return;
    c->round += 1, c->step = p->step;
    fill(c);
    at(p, c->what * 3 + kPersistentForm, c->at.slot);
    enter(c);
    MPI_Start(&c->request);
  } else {
    free_persistent(p, i);
  }
}

// All persistent ones that are not under way, each rank in an order of its own, beside one call that is made again and
// again: so often that two ranks try both methods for its length and go on with one.
static void step_burst(program *p, place *place, uint64_t random) {
  const int rounds = world_size == 2 && random % 2 ? 40 : 2 + (int)(random % 10);
  call *again = place->comm == MPI_COMM_NULL ? NULL : make_call(p, place, kNonblocking, seed_of(p, place));
  for (int round = 0; round < rounds; ++round) {
    MPI_Request requests[kPersistent + 1];
    call *started[kPersistent + 1];
    int n = 0;
    for (int k = 0, first = (int)(next_random(&p->own) % kPersistent); k < kPersistent; ++k) {
      const int i = (first + k) % kPersistent;
      if (p->persistent[i] == NULL || p->started[i]) continue;
      started[n] = p->persistent[i], requests[n++] = p->persistent[i]->request;
    }
    if (again != NULL) started[n] = again, requests[n] = MPI_REQUEST_NULL;
    for (int k = 0; k < n + (again != NULL); ++k) {
      started[k]->round += 1, started[k]->step = p->step;
      fill(started[k]);
      at(p, started[k]->what * 3 + started[k]->form, started[k]->at.slot);
      enter(started[k]);
    }
    if (n > 0) MPI_Startall(n, requests);
    if (again != NULL) {
      again->form = round % 4 ? kBlocking : kNonblocking;
      launch(again);
      if (again->form == kNonblocking) requests[n] = again->request;
    }
    MPI_Waitall(n + (again != NULL), requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < n + (again != NULL); ++k) check(started[k]);
  }
  if (again != NULL) discard(again);
}

// Between two groups: everybody gets what the other group gives. Of rooted ones the root is in the first group.
static void step_groups(program *p, uint64_t random) {
  enum { kMost = 3000 };
  MPI_Comm comm = p->two_groups;
  MPI_Request request = MPI_REQUEST_NULL;
  int me, mine, theirs;
  MPI_Comm_rank(comm, &me), MPI_Comm_size(comm, &mine), MPI_Comm_remote_size(comm, &theirs);
  const int first = p->places[kBase].me < p->split, count = 1 + (int)(random % (random >> 8 & 1 ? kMost : 20));
  const int root = (int)((random >> 16) % (uint64_t)p->split), begun = random >> 24 & 1, what = (random >> 25) % 8;
  const int to = !first ? root : me == root ? MPI_ROOT : MPI_PROC_NULL;
  int *in = malloc((size_t)(kMostRanks * count) * sizeof *in),
      *out = malloc((size_t)(kMostRanks * count) * sizeof *out);
  int blocks = 0, sums = 0;  // of what arrives
  for (int i = 0; i < kMostRanks * count; ++i) in[i] = (p->step + i) * 32 + p->places[kBase].me, out[i] = -1;
  at(p, kBarrier * 3 + begun, kSlots);
  atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
#define GROUPS(Name, name, ...) (void)(begun ? MPI_I##name(__VA_ARGS__, comm, &request) : MPI_##Name(__VA_ARGS__, comm))
  switch (what) {
    case 0: GROUPS(Bcast, bcast, first ? in : out, count, MPI_INT, to), blocks = !first; break;
    case 1: GROUPS(Reduce, reduce, in, out, count, MPI_INT, MPI_SUM, to), sums = to == MPI_ROOT; break;
    case 2: GROUPS(Allreduce, allreduce, in, out, count, MPI_INT, MPI_SUM), sums = 1; break;
    case 3: GROUPS(Allgather, allgather, in, count, MPI_INT, out, count, MPI_INT), blocks = theirs; break;
    case 4:
      GROUPS(Gather, gather, in, count, MPI_INT, out, count, MPI_INT, to), blocks = to == MPI_ROOT ? theirs : 0;
      break;
    case 5: GROUPS(Scatter, scatter, in, count, MPI_INT, out, count, MPI_INT, to), blocks = !first; break;
    case 6: GROUPS(Alltoall, alltoall, in, count, MPI_INT, out, count, MPI_INT), blocks = theirs; break;
    default: begun ? MPI_Ibarrier(comm, &request) : MPI_Barrier(comm);
  }
#undef GROUPS
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  const int before = first ? p->split : 0;  // ranks of the base before those of the other group
  for (int i = 0; i < (blocks + sums) * count; ++i) {
    const int block = what == 0 || what == 5 ? root : i / count, from = before + block;
    const int place = what == 6 || what == 5 ? me * count + i % count : i % count;
    int wanted = (p->step + place) * 32 + from;
    if (sums) wanted = theirs * (p->step + i) * 32 + theirs * before + theirs * (theirs - 1) / 2;
    if (out[i] != wanted)
      fail("seed %llu, thread %d, step %d: between groups of %d and %d, call %d.%d of %d: element %d is %d, not %d",
           (unsigned long long)seed, p->number, p->step, mine, theirs, what, begun, count, i, out[i], wanted);
  }
  free(in), free(out);
}

static void know(place *place, int slot, MPI_Comm comm, uint64_t identity) {
  place->comm = comm, place->slot = slot, place->identity = identity;
  if (comm == MPI_COMM_NULL) return;
  MPI_Comm_size(comm, &place->size);
  MPI_Comm_rank(comm, &place->me);
  MPI_Group group, world;
  int ranks[kMostRanks];
  for (int i = 0; i < place->size; ++i) ranks[i] = i;
  MPI_Comm_group(comm, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_translate_ranks(group, place->size, ranks, world, place->world);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
}

static void replace(program *p, int slot, uint64_t random) {
  place *const old = &p->places[slot];
  const MPI_Comm from = p->places[random % 4 == 0 ? kCopy : kBase].comm;
  MPI_Comm comm;
  int rank;
  at(p, -3, slot);
  for (int i = 0; i < kPersistent; ++i)
    if (p->slot[i] == slot + 1) free_persistent(p, i);
  // Open MPI's own ends the program where a communicator is freed before (4.1.4, libnbc).
  complete(p, 1);
  MPI_Comm_rank(p->places[kBase].comm, &rank);
  if (old->comm != MPI_COMM_NULL && slot != kCopy) MPI_Comm_free(&old->comm);
  const uint64_t mine = mix(random, (uint64_t)rank, 71);
  uint64_t identity = 0;
  switch (slot) {
    case kCopy: {
      // Its copy may be made of it, before it goes.
      MPI_Comm before = old->comm;
      MPI_Request request;
      if (random >> 8 & 1) {
        MPI_Comm_idup(from != MPI_COMM_NULL ? from : p->places[kBase].comm, &comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      } else {
        MPI_Comm_dup(from != MPI_COMM_NULL ? from : p->places[kBase].comm, &comm);
      }
      if (before != MPI_COMM_NULL) MPI_Comm_free(&before);
      break;
    }
    case kHalves:
      identity = (uint64_t)(rank % 2);
      MPI_Comm_split(from, rank % 2, (int)(mine % 4), &comm);
      break;
    case kReversedRanks: MPI_Comm_split(from, 0, -rank, &comm); break;
    case kParts:
      identity = mine % 3;
      MPI_Comm_split(from, mine % 3 == 2 ? MPI_UNDEFINED : (int)(mine % 3), (int)(mine >> 32 & 7), &comm);
      break;
    default: identity = (uint64_t)rank; MPI_Comm_split(from, rank, 0, &comm);
  }
  know(old, slot, comm, identity);
}

// What goes up arrives from below, as the other's block for above; at an end there is nobody.
static void make_grid(program *p, int slot, int dimensions, int *sizes, const int *periods) {
  int n;
  MPI_Comm comm;
  MPI_Comm_size(p->places[kBase].comm, &n);
  MPI_Dims_create(n, dimensions, sizes);
  MPI_Cart_create(p->places[kBase].comm, dimensions, sizes, periods, 0, &comm);
  place *const grid = &p->places[slot];
  know(grid, slot, comm, 0);
  for (int d = 0; d < dimensions; ++d) MPI_Cart_shift(comm, d, 1, &grid->from[2 * d], &grid->from[2 * d + 1]);
  grid->sources = grid->destinations = 2 * dimensions;
  for (int i = 0; i < 2 * dimensions; ++i) {
    if (grid->from[i] == MPI_PROC_NULL) grid->from[i] = -1;
    grid->to[i] = grid->from[i], grid->from_block[i] = i ^ 1;
  }
}
// Everybody of the graph is a neighbor of its own. Of the multigraph some are nobody's, and some several times.
static int edges(const program *p, int slot, int is_symmetric, int from, int to) {
  if (is_symmetric && from > to) return edges(p, slot, 1, to, from);
  const uint64_t h = mix(p->seed, (uint64_t)(from * kMostRanks + to), 73);
  if (slot == kGraph) return from == to || h % 3 == 0;
  if (mix(p->seed, (uint64_t)from, 97) % 4 == 0 || mix(p->seed, (uint64_t)to, 97 + !is_symmetric) % 4 == 0) return 0;
  return (int)(h % 3) * 2 / (world_size <= kMostRanks / 2 ? 2 : 4);
}
static void make_graph(program *p, int slot) {
  const MPI_Comm base = p->places[kBase].comm;
  const int n = world_size, me = p->places[kBase].me, is_symmetric = slot == kMultigraph && p->seed % 2;
  const int weights[kMostRanks] = {0};
  int ends[kMostRanks], all[kMostRanks * kMostRanks], count = 0;
  MPI_Comm comm;
  place *const lists = &p->places[slot];
  for (int i = n - 1; i >= 0; --i) {
    for (int k = 0; k < edges(p, slot, is_symmetric, i, me); ++k) {
      int before = k;
      for (int other = n - 1; other > me; --other) before += edges(p, slot, is_symmetric, i, other);
      lists->from_block[lists->sources] = before, lists->from[lists->sources++] = i;
    }
    for (int k = 0; k < edges(p, slot, is_symmetric, me, i); ++k) lists->to[lists->destinations++] = i;
  }
  for (int from = 0; from < n && is_symmetric; ends[from++] = count)
    for (int to = n - 1; to >= 0; --to)
      for (int k = 0; k < edges(p, slot, 1, from, to); ++k) all[count++] = to;
  if (is_symmetric)
    MPI_Graph_create(base, n, ends, all, 0, &comm);
  else
    MPI_Dist_graph_create_adjacent(base, lists->sources, lists->from, weights, lists->destinations, lists->to, weights,
                                   MPI_INFO_NULL, 0, &comm);
  know(lists, slot, comm, 0);
}

static void *run(void *argument) {
  program *const p = argument;
  for (int slot = kCopy; slot <= kSelf; ++slot) replace(p, slot, mix(p->seed, (uint64_t)slot, 79));
  make_grid(p, kGrid, 2, (int[2]){0, 0}, (int[2]){0, 0});
  // Of one or two ranks in one dimension, or in several.
  const int at_least = p->seed % 4 == 0 || world_size % 2 ? 1 : 2;
  make_grid(p, kRing, 3, (int[3]){at_least, 0, p->seed % 3 ? 1 : 0}, (int[3]){1, p->seed % 5 > 0, p->seed % 7 > 0});
  make_graph(p, kGraph);
  make_graph(p, kMultigraph);
  if (p->split > 0) {
    MPI_Comm half;
    const MPI_Comm base = p->places[kBase].comm;
    const int second = p->places[kBase].me >= p->split;
    MPI_Comm_split(base, second, 0, &half);
    MPI_Intercomm_create(half, 0, base, second ? 0 : p->split, 1, &p->two_groups);
    MPI_Comm_free(&half);
  }
  uint64_t common = p->seed;
  for (p->step = 0; p->step < steps; ++p->step) {
    const uint64_t h = next_random(&common), kind = h % 64;
    place *const place = &p->places[(h >> 8) % kSlots];
    delay(p);
    if (kind == 0)
      step_burst(p, place, h >> 32);
    else if (kind < 4 && p->split > 0)
      step_groups(p, h >> 32);
    else if (kind < 44)
      step_collective(p, place, h >> 32);
    else if (kind < 56)
      step_persistent(p, (int)((h >> 16) % kPersistent), place, h >> 32);
    else if (kind < 63)
      complete(p, kind == 56);
    else
      replace(p, kCopy + (int)((h >> 16) % (kSelf - kCopy + 1)), h >> 32);
  }
  for (int i = 0; i < kPersistent; ++i) free_persistent(p, i);
  complete(p, 1);
  if (p->split > 0) MPI_Comm_free(&p->two_groups);
  for (int slot = kSlots - 1; slot >= 0; --slot)
    if (p->places[slot].comm != MPI_COMM_NULL) MPI_Comm_free(&p->places[slot].comm);
  return NULL;
}

// --- the watchdog

static long report(int all) {
  long passed = 0;
  for (int r = 0; r < world_size; ++r) {
    if (boards[0] == NULL && r != world_rank) continue;
    const board *b = boards[0] != NULL ? boards[r] : &own_board;
    passed += atomic_load(&b->passed);
    for (int t = 0; all && t < thread_count; ++t) {
      const int what = atomic_load(&b->what[t]);
      fprintf(stderr, "  rank %d, thread %d, step %d: %s %s, slot %d\n", r, t, atomic_load(&b->at[t]),
              what < 0 ? "" : form_names[what % 3],
              what == -1   ? "completing"
              : what == -2 ? "completing a persistent one"
              : what == -3 ? "replacing"
                           : names[what / 3],
              atomic_load(&b->slot[t]));
    }
  }
  return passed;
}

static void *watchdog(void *nothing) {
  for (long tenths = seconds * 10; tenths > 0; --tenths) {
    usleep(100000);
    if (atomic_load(&finished)) return nothing;
  }
  // One rank speaks for all whom it sees; the others leave it the time.
  const int speaks = world_rank == 0 || boards[0] == NULL;
  if (!speaks) sleep(10);
  fprintf(stderr, "seed %llu is not done after %ld s:\n", (unsigned long long)seed, seconds);
  const long before = report(1);
  sleep(5);
  if (atomic_load(&finished)) return nothing;  // it was nearly there
  fprintf(stderr, "5 s later:\n");
  const int hung = report(1) == before;
  fprintf(stderr, "%s\n", hung ? "hung: nobody made progress" : "slow: there was progress");
  _Exit(hung ? 2 : 3);
}

static void make_boards(MPI_Win *window) {
  MPI_Comm node;
  int size, unit;
  MPI_Aint bytes;
  void *mine;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &size);
  if (size == world_size) {
    MPI_Win_allocate_shared(sizeof(board), 1, MPI_INFO_NULL, node, &mine, window);
    memset(mine, 0, sizeof(board));
    for (int r = 0; r < size; ++r) MPI_Win_shared_query(*window, r, &bytes, &unit, &boards[r]);
    MPI_Barrier(node);
  }
  MPI_Comm_free(&node);
}

int main(int argc, char **argv) {
  int provided;
  const int threads = (int)number_argument(argc, argv, "--threads", 1);
  start_threaded(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  if (threads > 1 && provided < MPI_THREAD_MULTIPLE) return skip("this MPI has no MPI_THREAD_MULTIPLE");
  thread_count = threads;
  seed = (uint64_t)number_argument(argc, argv, "--seed", 1);
  steps = (int)number_argument(argc, argv, "--steps", 400);
  seconds = number_argument(argc, argv, "--seconds", 100);
  ordered = has_argument(argc, argv, "--order");
  plant_hang = has_argument(argc, argv, "--hang"), plant_slow = has_argument(argc, argv, "--slow");
  CHECK(threads >= 1 && threads <= kMostThreads && world_size <= kMostRanks);
  strict = has_argument(argc, argv, "--smelt");
  if (strict) begin_counting("coll_smelt_", "_served");
  make_values();
  MPI_Win window = MPI_WIN_NULL;
  make_boards(&window);
  pthread_t watcher, workers[kMostThreads];
  CHECK(pthread_create(&watcher, NULL, watchdog, NULL) == 0);
  static program programs[kMostThreads];
  for (int t = 0; t < threads; ++t) {
    program *const p = &programs[t];
    MPI_Comm base;
    MPI_Comm_dup(MPI_COMM_WORLD, &base);
    *p = (program){
        .number = t, .seed = mix(seed, (uint64_t)t, 83), .own = mix(seed, (uint64_t)(world_rank * 8 + t), 89)};
    for (int slot = 0; slot < kSlots; ++slot) p->places[slot].comm = MPI_COMM_NULL;
    know(&p->places[kBase], kBase, base, 0);
    p->split = world_size > 1 ? 1 + (int)(mix(p->seed, 1, 101) % (uint64_t)(world_size - 1)) : 0;
  }
  for (int t = 1; t < threads; ++t) CHECK(pthread_create(&workers[t], NULL, run, &programs[t]) == 0);
  run(&programs[0]);
  for (int t = 1; t < threads; ++t) CHECK(pthread_join(workers[t], NULL) == 0);
  atomic_store(&finished, 1);
  CHECK(pthread_join(watcher, NULL) == 0);
  if (strict && end_counting() == 0) fail("Smelt has served nothing");
  long made = atomic_load(&calls);
  MPI_Allreduce(MPI_IN_PLACE, &made, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (world_rank == 0) printf("%ld calls of collectives\n", made);
  if (window != MPI_WIN_NULL) MPI_Win_free(&window);
  free_values();
  return finish();
}
