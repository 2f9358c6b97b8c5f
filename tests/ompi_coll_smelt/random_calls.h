// A collective call of random_collectives.c: what each rank sends and receives, where it lies in memory, and what must
// be there afterwards, all computed from the call's seed. No message is sent here: the oracle.
//
//   describe    blocks, layouts, counts and displacements of this rank's buffers, and their memory
//   fill        the inputs, and beside them the whole memory as it must be when the call is complete
//   difference  is it?
#ifndef SMELT_TESTS_OMPI_COLL_SMELT_RANDOM_CALLS_H
#define SMELT_TESTS_OMPI_COLL_SMELT_RANDOM_CALLS_H

#include "random_values.h"

enum { kMostRanks = 16 };
enum { kBlocking, kNonblocking, kPersistentForm };
static const char *const form_names[] = {"blocking", "nonblocking", "persistent"};

#define COLLECTIVES(X)                                                                                               \
  X(Barrier, barrier), X(Bcast, bcast), X(Reduce, reduce), X(Allreduce, allreduce), X(Allgather, allgather),         \
      X(Gather, gather), X(Gatherv, gatherv), X(Scatter, scatter), X(Scatterv, scatterv), X(Allgatherv, allgatherv), \
      X(Alltoall, alltoall), X(Alltoallv, alltoallv), X(Alltoallw, alltoallw), X(ReduceScatter, reduce_scatter),     \
      X(ReduceScatterBlock, reduce_scatter_block), X(Scan, scan), X(Exscan, exscan),                                 \
      X(NeighborAllgather, neighbor_allgather), X(NeighborAllgatherv, neighbor_allgatherv),                          \
      X(NeighborAlltoall, neighbor_alltoall), X(NeighborAlltoallv, neighbor_alltoallv),                              \
      X(NeighborAlltoallw, neighbor_alltoallw)
#define ENUMERATOR(Name, name) k##Name
#define STRING(Name, name) #name
enum { COLLECTIVES(ENUMERATOR), kCollectives };
static const char *const names[] = {COLLECTIVES(STRING)};
#undef ENUMERATOR
#undef STRING

// One buffer of a call: blocks of elements, each somewhere in it. All bytes start as kFill.
typedef struct side {
  int blocks;
  const layout *of[kMostRanks];
  int count[kMostRanks];         // elements of that layout
  int displacement[kMostRanks];  // elements, or bytes (kAlltoallw)
  ptrdiff_t at[kMostRanks];
  MPI_Datatype type[kMostRanks];
  unsigned char *memory, *wanted;  // with guards; `wanted`: as it must be afterwards
  size_t bytes, base;              // base: where MPI is told that the buffer begins
} side;

typedef struct place {  // a communicator, and this rank's neighbors in it
  MPI_Comm comm;
  int size, me, slot;
  uint64_t identity;  // the same for its ranks, another one for disjoint ones of the same slot
  int world[kMostRanks];
  int sources, from[kMostRanks], destinations, to[kMostRanks];  // of grids and graphs, -1: nobody
  int from_block[kMostRanks];                                   // which of the source's blocks it is
} place;

typedef struct call {
  place at;
  int thread, step, round, what, form, root, kind, operation, in_place, fractions, units, varied, whole_layouts;
  uint64_t seed;
  const layout *operand;   // reductions: everybody's
  int counts[kMostRanks];  // reduce_scatter: elements of each rank
  side send, receive;
  int loose;  // the receive blocks from here on hold nothing that MPI speaks of
  int sends, receives;
  MPI_Request request;
  MPI_Aint send_bytes[kMostRanks], receive_bytes[kMostRanks];  // displacements of neighbor_alltoallw
} call;

// `block`: which of the sender's blocks, where it is a neighbor's.
static size_t units_between(const call *c, int from, int to, int block) {
  if (!c->varied) return (size_t)c->units;
  // Who receives nothing does not send either (4.1.4).
  if (c->what == kNeighborAllgatherv) return (size_t)c->units * (1 + mix(c->seed, (uint64_t)from, 41) % 2);
  if (c->in_place && from > to) return units_between(c, to, from, block);  // alltoallv: they must be equal then
  return (size_t)c->units * (mix(c->seed, (uint64_t)((block * kMostRanks + from) * kMostRanks + to), 41) % 4) /
         (c->whole_layouts ? 1 : 2);
}

static const layout *some_layout(const call *c, uint64_t salt) {
  static const int single[] = {kPlain, kPlain, kSpaced};
  if (c->what == kBarrier) return NULL;
  const uint64_t h = mix(c->seed, salt, 43);
  return &layouts[c->kind][c->whole_layouts ? (int)(h % kShapes) : single[h % 3]];
}

static void add_block(side *s, const layout *l, size_t units) {
  s->of[s->blocks] = l;
  s->type[s->blocks] = l->type;
  s->count[s->blocks++] = (int)(units / (size_t)l->units);
}

// Displacements: one after the other, or (`scattered`) in any order with gaps; in bytes where each block has its own
// layout (`own`).
static void place_blocks(side *s, int scattered, int own, uint64_t random) {
  int order[kMostRanks];
  ptrdiff_t next = 0;
  for (int i = 0; i < s->blocks; ++i) order[i] = i;
  for (int i = s->blocks - 1; scattered && i > 0; --i) {
    const int j = (int)(next_random(&random) % (uint64_t)(i + 1)), other = order[i];
    order[i] = order[j], order[j] = other;
  }
  for (int i = 0; i < s->blocks; ++i) {
    const int b = order[i];
    const layout *l = s->of[b];
    if (scattered) next += (own ? 16 : 1) * (ptrdiff_t)(next_random(&random) % 3);
    if (own) next -= l->lower;
    s->displacement[b] = (int)next;
    s->at[b] = own ? next : next * l->extent;
    next += own ? s->count[b] * l->extent + 64 : s->count[b];
  }
}

static void allocate(side *s) {
  ptrdiff_t lower = 0, upper = 0;
  for (int b = 0; b < s->blocks; ++b) {
    const layout *l = s->of[b];
    if (s->count[b] == 0) continue;
    if (s->at[b] + l->lower < lower) lower = s->at[b] + l->lower;
    const ptrdiff_t end = s->at[b] + (s->count[b] - 1) * l->extent + (l->upper > l->extent ? l->upper : l->extent);
    if (end > upper) upper = end;
  }
  s->base = (size_t)(kGuardBytes - lower + 15) / 16 * 16;
  s->bytes = s->base + (size_t)upper + kGuardBytes;
  s->memory = aligned_alloc(16, (s->bytes + 15) / 16 * 16);
  s->wanted = aligned_alloc(16, (s->bytes + 15) / 16 * 16);
  if (s->memory == NULL || s->wanted == NULL) fail("no memory for %zu bytes", s->bytes);
}

static void *start_of(const side *s) { return s->memory ? s->memory + s->base : NULL; }

static void put(const side *s, int block, unsigned char *to, unsigned char *packed) {
  move(s->of[block], (size_t)s->count[block], to + s->base + s->at[block], packed, 1);
}

static int is_reduction(int what) {
  return what == kReduce || what == kAllreduce || (what >= kReduceScatter && what <= kExscan);
}
static int is_neighbor(int what) { return what >= kNeighborAllgather; }

static unsigned char *room(size_t units, int kind) {
  unsigned char *packed = malloc(units * kinds[kind].packed + 1);
  if (packed == NULL) fail("no memory for %zu units", units);
  return packed;
}
static unsigned char *stream(const call *c, int from, int to, int block, size_t units) {
  unsigned char *packed = room(units, c->kind);
  const uint64_t key = mix(c->seed, (uint64_t)c->round, (uint64_t)((block * kMostRanks + from) * kMostRanks + to));
  generate(c->kind, c->operation, c->fractions, key, units, packed);
  return packed;
}

static size_t reduced_units(const call *c) {
  size_t units = (size_t)c->units;
  if (c->what == kReduceScatterBlock) return units * (size_t)c->at.size;
  if (c->what != kReduceScatter) return units;
  units = 0;
  for (int i = 0; i < c->at.size; ++i) units += (size_t)(c->counts[i] * c->operand->units);
  return units;
}
// The ranks first..last combined, from the right, which is what order it is promised for floating-point sums of up to
// 16 ranks; everything else is exact.
static unsigned char *reduced(const call *c, int last) {
  const size_t units = reduced_units(c), bytes = kinds[c->kind].packed;
  unsigned char *total = stream(c, last, 0, 0, units);
  for (int r = last - 1; r >= 0; --r) {
    unsigned char *left = stream(c, r, 0, 0, units);
    for (size_t i = 0; i < units; ++i) combine_units(c->kind, c->operation, left + i * bytes, total + i * bytes);
    free(left);
  }
  return total;
}

// Which streams go where: block b of the buffer. -1: none.
static int to_of(const call *c, int b) {
  switch (c->what) {
    case kScatter:
    case kScatterv:
    case kAlltoall:
    case kAlltoallv:
    case kAlltoallw: return b;
    case kGather:
    case kGatherv: return c->root;
    case kNeighborAlltoall:
    case kNeighborAlltoallv:
    case kNeighborAlltoallw: return c->at.to[b];
    default: return 0;
  }
}
static int from_of(const call *c, int b) {
  switch (c->what) {
    case kBcast:
    case kScatter:
    case kScatterv: return c->root;
    default: return is_neighbor(c->what) ? c->at.from[b] : b;
  }
}
// Which of its sender's blocks it is, where two ranks may have several for each other.
static int block_of(const call *c, int b, int is_sent) {
  if (c->what < kNeighborAlltoall) return 0;
  return is_sent ? b : c->at.from_block[b];
}
// Whose data are received: those meant for `me`, or for all alike.
static int receiver(const call *c) {
  switch (c->what) {
    case kBcast:
    case kAllgather:
    case kAllgatherv:
    case kNeighborAllgather:
    case kNeighborAllgatherv: return 0;
    default: return c->at.me;
  }
}

static void describe_reduction(call *c) {
  int shape = c->kind == kPair ? (int)(mix(c->seed, 1, 47) % kShapes) : kPlain;
  // Open MPI's own write outside of their memory where a type begins before its address (4.1.4, libnbc).
  if (shape == kNegative && c->form != kBlocking) shape = kPlain;
  const layout *l = &layouts[c->kind][shape];
  const int me = c->at.me, n = c->at.size;
  size_t all = (size_t)c->units, mine = all;
  c->operand = l;
  for (int i = 0; i < n; ++i) c->counts[i] = c->units / l->units;
  if (c->what == kReduceScatter)
    for (int i = 0; i < n; ++i) c->counts[i] = (int)(mix(c->seed, (uint64_t)i, 53) % 3) * c->counts[i] / 2;
  if (c->what == kReduceScatter || c->what == kReduceScatterBlock) {
    all = 0;
    for (int i = 0; i < n; ++i) all += (size_t)(c->counts[i] * l->units);
    mine = (size_t)(c->counts[me] * l->units);
  }
  c->receives = c->what != kReduce || me == c->root;
  c->sends = !c->in_place || (c->what == kReduce && me != c->root);
  if (c->sends) add_block(&c->send, l, all);
  if (c->receives) add_block(&c->receive, l, mine);
  c->loose = c->what == kExscan && me == 0 ? 0 : c->receive.blocks;
  if (c->receives && !c->sends && all > mine) add_block(&c->receive, l, all - mine);
}

static void describe_movement(call *c) {
  const int me = c->at.me, n = c->at.size, what = c->what, at_root = me == c->root;
  const int w = what == kAlltoallw || what == kNeighborAlltoallw;
  const int alltoall_in_place = c->in_place && (what == kAlltoall || what == kAlltoallv || what == kAlltoallw);
  const layout *const mine = some_layout(c, (uint64_t)(me + 1)), *const other = some_layout(c, (uint64_t)(me + 101));
  int send_blocks = 1, receive_blocks = 1;
  switch (what) {
    case kBcast: send_blocks = 0; break;
    case kGather:
    case kGatherv: send_blocks = !(c->in_place && at_root), receive_blocks = at_root ? n : 0; break;
    case kScatter:
    case kScatterv: send_blocks = at_root ? n : 0, receive_blocks = !(c->in_place && at_root); break;
    case kAllgather:
    case kAllgatherv: send_blocks = !c->in_place, receive_blocks = n; break;
    case kAlltoall:
    case kAlltoallv:
    case kAlltoallw: send_blocks = c->in_place ? 0 : n, receive_blocks = n; break;
    case kNeighborAllgather:
    case kNeighborAllgatherv: receive_blocks = c->at.sources; break;
    default: send_blocks = c->at.destinations, receive_blocks = c->at.sources;
  }
  c->sends = send_blocks > 0, c->receives = receive_blocks > 0;
  for (int b = 0; b < send_blocks; ++b) {
    const int to = to_of(c, b);
    add_block(&c->send, w ? some_layout(c, (uint64_t)(1000 + me * 20 + b)) : mine,
              to < 0 ? (size_t)c->units : units_between(c, me, to, block_of(c, b, 1)));
  }
  for (int b = 0; b < receive_blocks; ++b) {
    const int from = from_of(c, b);
    // In place it is the same type on both sides.
    const layout *l =
        w ? some_layout(c, (uint64_t)(3000 + (c->in_place ? (me < b ? me * 20 + b : b * 20 + me) : me * 20 + b)))
        : alltoall_in_place ? some_layout(c, 999)
                            : other;
    add_block(&c->receive, l, from < 0 ? (size_t)c->units : units_between(c, from, receiver(c), block_of(c, b, 0)));
  }
  c->loose = c->receive.blocks;
}

static void describe(call *c) {
  const int what = c->what;
  c->send.blocks = c->receive.blocks = 0;
  if (what == kBarrier) return;
  if (is_reduction(what))
    describe_reduction(c);
  else
    describe_movement(c);
  const int w = what == kAlltoallw || what == kNeighborAlltoallw;
  const int v = what == kGatherv || what == kScatterv || what == kAllgatherv || what == kAlltoallv ||
                what == kNeighborAllgatherv || what == kNeighborAlltoallv;
  const int many_sent = what == kScatterv || what == kAlltoallv || what == kNeighborAlltoallv;
  place_blocks(&c->send, w || many_sent, w, mix(c->seed, (uint64_t)c->at.me, 59));
  place_blocks(&c->receive, w || (v && what != kScatterv), w, mix(c->seed, (uint64_t)c->at.me, 61));
  for (int i = 0; i < kMostRanks; ++i) {
    c->send_bytes[i] = i < c->send.blocks ? c->send.at[i] : 0;
    c->receive_bytes[i] = i < c->receive.blocks ? c->receive.at[i] : 0;
  }
  allocate(&c->send);
  allocate(&c->receive);
}

// Inputs into both images, then what must come of them into `wanted`.
static void fill_reduction(call *c) {
  const int me = c->at.me;
  const size_t bytes = kinds[c->kind].packed;
  unsigned char *input = stream(c, me, 0, 0, reduced_units(c));
  const side *from = c->sends ? &c->send : &c->receive;
  unsigned char *at = input;
  for (int b = 0; b < from->blocks; ++b) {
    put(from, b, from->memory, at);
    put(from, b, from->wanted, at);
    at += (size_t)from->count[b] * (size_t)from->of[b]->units * bytes;
  }
  free(input);
  if (!c->receives || c->loose == 0) return;
  unsigned char *total = reduced(c, c->what == kScan ? me : c->what == kExscan ? me - 1 : c->at.size - 1);
  size_t before = 0;
  if (c->what == kReduceScatter || c->what == kReduceScatterBlock)
    for (int i = 0; i < me; ++i) before += (size_t)(c->counts[i] * c->operand->units);
  put(&c->receive, 0, c->receive.wanted, total + before * bytes);
  free(total);
}

static void fill_movement(call *c) {
  const int me = c->at.me, n = c->at.size;
  for (int b = 0; b < c->send.blocks; ++b) {
    const int to = to_of(c, b);
    unsigned char *data =
        stream(c, me, to < 0 ? 0 : to, block_of(c, b, 1), (size_t)(c->send.count[b] * c->send.of[b]->units));
    put(&c->send, b, c->send.memory, data);
    put(&c->send, b, c->send.wanted, data);
    free(data);
  }
  for (int b = 0; b < c->receive.blocks; ++b) {
    const int from = from_of(c, b);
    if (from < 0) continue;  // nobody sends: it stays as it was
    const size_t units = (size_t)(c->receive.count[b] * c->receive.of[b]->units);
    const int to = c->what == kGather || c->what == kGatherv ? c->root : receiver(c);
    unsigned char *data = stream(c, from, to, block_of(c, b, 0), units);
    put(&c->receive, b, c->receive.wanted, data);
    const int own =
        c->what == kBcast ? me == c->root : c->in_place && from == me && c->what != kScatter && c->what != kScatterv;
    if (own) put(&c->receive, b, c->receive.memory, data);
    free(data);
    if (c->in_place && n > 1 && (c->what == kAlltoall || c->what == kAlltoallv || c->what == kAlltoallw)) {
      data = stream(c, me, b, 0, units);
      put(&c->receive, b, c->receive.memory, data);
      free(data);
    }
  }
}

static void fill(call *c) {
  if (c->what == kBarrier) return;
  memset(c->send.memory, kFill, c->send.bytes), memset(c->send.wanted, kFill, c->send.bytes);
  memset(c->receive.memory, kFill, c->receive.bytes), memset(c->receive.wanted, kFill, c->receive.bytes);
  if (is_reduction(c->what))
    fill_reduction(c);
  else
    fill_movement(c);
}

// Where a predefined operation's result is a struct with a gap, MPI may write the gap.
static void forget_padding(side *s) {
  for (int b = 0; b < s->blocks; ++b)
    for (int i = 0; i < s->count[b]; ++i) memset(s->memory + s->base + s->at[b] + i * 16 + 12, kFill, 4);
}

// Does all memory hold what it must? NULL, or the buffer that differs, and at which of its bytes.
static const char *difference(call *c, ptrdiff_t *at, size_t *bytes) {
  *bytes = c->send.bytes;
  *at = first_difference(c->send.memory, c->send.wanted, c->send.bytes);
  if (*at >= 0) return *at -= (ptrdiff_t)c->send.base, "send";
  if (is_reduction(c->what) && c->kind == kDoubleInt) forget_padding(&c->receive);
  for (int b = c->loose; b < c->receive.blocks; ++b) {
    const size_t units = (size_t)(c->receive.count[b] * c->receive.of[b]->units);
    unsigned char *packed = room(units, c->kind);
    move(c->receive.of[b], (size_t)c->receive.count[b], c->receive.memory + c->receive.base + c->receive.at[b], packed,
         0);
    put(&c->receive, b, c->receive.wanted, packed);
    free(packed);
  }
  *bytes = c->receive.bytes;
  *at = first_difference(c->receive.memory, c->receive.wanted, c->receive.bytes);
  return *at < 0 ? NULL : (*at -= (ptrdiff_t)c->receive.base, "receive");
}

static void discard(call *c) {
  free(c->send.memory), free(c->send.wanted), free(c->receive.memory), free(c->receive.wanted);
  free(c);
}

#endif
