// Random messages, the same for the same seed, each of which is checked, between collectives.
//   random_messages [--seed S] [--phases N] [--threads T] [--smelt] [--swap]
//
// A phase is a set of messages that all ranks know: between any two ranks, or of one to itself, in every mode,
// blocking, nonblocking or persistent, with data of any layout (random_values.h). Each rank draws how it receives:
// posted before or not, persistent, cancelled and asked for again, probed, matched; and in what way it waits. A phase's
// wildcards are of its sources, of its tags, or of both. Receives that nobody serves lie between, and are cancelled.
// Beside them a nonblocking and a persistent collective are under way. With --threads each thread has phases of its
// own: on a communicator of its own, or with tags of its own on one that all share.
//
// Of the messages from one rank with one tag the first must meet what was asked for first; so it is known which message
// a receive must hold, once its status names rank and tag. All memory is compared, gaps and guards as well.
//
// --smelt: Smelt must have sent, and does what ob1 of Open MPI 4.1.4 does not: of a message that is longer than its
// room nothing is written behind that, and a long persistent buffered send has its data each time that it is started.
// --swap plants a fault: a rank takes two of its receives for each other.
#include "counting.h"
#include "random_values.h"

#include <pthread.h>
#include <stdatomic.h>

#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define MPI_Allreduce_init MPIX_Allreduce_init
#endif

enum { kMostRanks = 16, kMostMessages = 24, kMostThreads = 8, kTags = 4, kNobodys = 7, kTagsOfThread = 8 };
enum { kMostBuffered = 16384, kAttached = 48 << 20, kMostPending = 2 * kMostMessages + 8 };
enum { kStandard, kSynchronous, kBuffered, kReady };
enum { kBlocking, kNonblocking, kPersistent };
// How something is received: the first three are posted before anything is sent.
enum { kIrecv, kRecvInit, kCancelled, kRecv, kProbe, kMprobe, kImprobe, kWays };

typedef struct buffer {
  const layout *of;
  unsigned char *memory, *wanted;
  size_t bytes, base;
} buffer;

typedef struct message {
  int from, to, tag, units, mode, form;
  buffer data;  // of the rank that sends it
  MPI_Request request;
} message;

typedef struct receive {
  int way, from, tag, room, error, before;  // before: it was asked for before so many others
  buffer data;
  MPI_Request request;
  MPI_Message message;
  MPI_Status status;
} receive;

typedef struct program {
  int number, me, phase, round;
  uint64_t seed, own;  // own: differs between ranks
  MPI_Comm comm;
  long messages, collectives, cut, cancelled;
  int has_cut;  // a receive has less room than the longest message
  message sent[kMostMessages];
  receive received[kMostMessages];
  int messages_now, receives_now, asked, which, operand[2], sum[2];
  MPI_Request standing;  // a persistent allreduce
} program;

static MPI_Comm shared;
static uint64_t seed;
static int phases, strict, swaps;

#define DRAW(of) ((int)(next_random(&(of)) % 0x7fffffff))

__attribute__((noreturn, format(printf, 2, 3))) static void wrong(const program *p, const char *format, ...) {
  char text[300];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  fail("seed %llu, thread %d, phase %d.%d: %s", (unsigned long long)seed, p->number, p->phase, p->round, text);
}
static void must(const program *p, int error, const char *what) {
  if (error != MPI_SUCCESS) wrong(p, "%s gave error %d", what, error);
}

// --- data

static buffer buffer_new(const layout *of, int units) {
  buffer b = {.of = of, .base = (size_t)(kGuardBytes - of->lower + 15) / 16 * 16};
  b.bytes = b.base + (size_t)(units / of->units) * (size_t)of->extent + (size_t)(of->upper - of->lower) + kGuardBytes;
  b.memory = malloc(b.bytes), b.wanted = malloc(b.bytes);
  if (b.memory == NULL || b.wanted == NULL) fail("no memory for %zu bytes", b.bytes);
  memset(b.memory, kFill, b.bytes), memset(b.wanted, kFill, b.bytes);
  return b;
}
static void buffer_free(buffer *b) { free(b->memory), free(b->wanted), *b = (buffer){0}; }
static void put(const program *p, const buffer *b, unsigned char *to, int index, int units) {
  unsigned char *packed = malloc((size_t)p->sent[index].units * kMostPacked + 1);
  const uint64_t key = mix(p->seed, (uint64_t)(p->phase * kMostMessages + index), (uint64_t)p->round);
  generate(p->which, kNone, 0, key, (size_t)units, packed);
  move(b->of, (size_t)(units / b->of->units), to + b->base, packed, 1);
  free(packed);
}
static void compare(const program *p, const buffer *b, const char *what, int index) {
  const ptrdiff_t at = first_difference(b->memory, b->wanted, b->bytes);
  const message *m = &p->sent[index];
  if (at >= 0)
    wrong(p, "%s, message %d from %d to %d, tag %d, mode %d.%d, %d units of %s, %s: byte %td", what, index, m->from,
          m->to, m->tag, m->mode, m->form, m->units, kinds[p->which].name, b->of->name, at - (ptrdiff_t)b->base);
}

static int some_units(uint64_t *random, int which, int whole) {
  static const int edges[] = {16, 208, 1024, 8192, 16384, 32768, 65536, 262144, 1 << 20};
  const int bytes = DRAW(*random) % 5 == 0 ? DRAW(*random) % 64 : 0, among = DRAW(*random) % 8 ? 5 : 9;
  const int units = (bytes ? bytes : edges[DRAW(*random) % among] + DRAW(*random) % 33 - 16) / (int)kinds[which].packed;
  return whole ? units / kUnitsOfAll * kUnitsOfAll : units;
}

// --- waiting for all of them, in one of MPI's ways

static void complete(program *p, int n, MPI_Request *requests, MPI_Status *statuses, int *errors) {
  MPI_Status some[kMostPending];
  int done[kMostPending], index[kMostPending], left = n, count = 0, flag = 0, error = MPI_SUCCESS;
  // Of any or some, Open MPI's own frees all that have failed, not only the one that it tells of (4.1.4).
  const int drawn = DRAW(p->own) % 6, how = p->has_cut && drawn / 2 == 1 ? drawn + 2 : drawn,
            first = DRAW(p->own) % (n + 1);
  memset(done, 0, sizeof done);
  if (how < 2) {
    if (how == 0) error = MPI_Waitall(n, requests, statuses);
    while (how == 1 && !flag && error == MPI_SUCCESS) error = MPI_Testall(n, requests, &flag, statuses);
    // Testall of Open MPI's own tells of a persistent one that has failed in its status alone (4.1.4).
    for (int i = 0; i < n; ++i) {
      errors[i] = error == MPI_ERR_IN_STATUS || how == 1 ? statuses[i].MPI_ERROR : error;
      if (errors[i] == MPI_ERR_PENDING) errors[i] = MPI_Wait(&requests[i], &statuses[i]);
    }
    return;
  }
  for (int i = first; left > 0; ++i) {
    if (how == 2) {
      error = MPI_Waitany(n, requests, &index[0], &some[0]);
      count = 1;
    } else if (how == 3) {
      error = (i % 2 ? MPI_Waitsome : MPI_Testsome)(n, requests, &count, index, some);
    } else {
      index[0] = i % n;
      count = !done[index[0]];
      if (count && how == 4) error = MPI_Wait(&requests[index[0]], &some[0]);
      if (count && how == 5) error = MPI_Test(&requests[index[0]], &count, &some[0]);
    }
    if (count == MPI_UNDEFINED || index[0] == MPI_UNDEFINED) wrong(p, "%d of %d requests are missing", left, n);
    for (int k = 0; k < count; ++k, --left) {
      if (done[index[k]]++) wrong(p, "request %d was completed twice", index[k]);
      statuses[index[k]] = some[k];
      errors[index[k]] = error == MPI_ERR_IN_STATUS ? some[k].MPI_ERROR : error;
    }
  }
}

// --- a phase

// Returns whether the layouts are of whole elements.
static int draw(program *p, uint64_t *random, int posted, int ready) {
  const int whole = DRAW(*random) % 3 > 0, many = 1 + DRAW(*random) % kMostMessages;
  p->which = DRAW(*random) % kKinds;
  p->messages_now = many;
  for (int i = 0; i < many; ++i) {
    message *m = &p->sent[i];
    *m = (message){.from = DRAW(*random) % world_size,
                   .to = DRAW(*random) % world_size,
                   .tag = DRAW(*random) % kTags,
                   .request = MPI_REQUEST_NULL};
    m->units = some_units(random, p->which, whole);
    m->mode = DRAW(*random) % (ready ? 4 : 3);
    if (m->mode == kBuffered && m->units * (int)kinds[p->which].packed > kMostBuffered) m->mode = kStandard;
    m->form = DRAW(*random) % 3;
    if (m->form == kBlocking && !posted && m->mode != kBuffered) m->form = kNonblocking;
    if (m->form == kPersistent && m->mode == kBuffered && !strict) m->form = kNonblocking;
    const layout *of = &layouts[p->which][whole ? DRAW(*random) % kShapes : DRAW(*random) % 2 ? kPlain : kSpaced];
    if (m->from == p->me) m->data = buffer_new(of, m->units);
  }
  return whole;
}

// With wildcards: those that name both come first, so that nobody takes what they need.
static void draw_receives(program *p, int any_source, int any_tag, int posted, int ready, int whole) {
  int most = 0, named = 0;
  p->has_cut = strict && DRAW(p->own) % 3 == 0;
  p->receives_now = 0;
  for (int i = 0; i < p->messages_now; ++i)
    if (p->sent[i].units > most) most = p->sent[i].units;
  for (int i = 0; i < p->messages_now; ++i) {
    const message *m = &p->sent[i];
    if (m->to != p->me) continue;
    receive r = {.from = m->from, .tag = m->tag, .room = most, .request = MPI_REQUEST_NULL};
    const int wild = (any_source || any_tag) && DRAW(p->own) % 3;
    if (wild && any_source) r.from = MPI_ANY_SOURCE;
    if (wild && any_tag) r.tag = MPI_ANY_TAG;
    r.way = DRAW(p->own) % (ready ? 2 : posted || ((any_source || any_tag) && !wild) ? 2 : kWays);
    if (p->has_cut && DRAW(p->own) % 4 == 0) r.room = DRAW(p->own) % (most + 1);
    if (whole) r.room = r.room / kUnitsOfAll * kUnitsOfAll;
    r.data = buffer_new(&layouts[p->which][whole              ? DRAW(p->own) % kShapes
                                           : DRAW(p->own) % 2 ? kPlain
                                                              : kSpaced],
                        r.room);
    const int at = wild ? p->receives_now : named;
    memmove(&p->received[at + 1], &p->received[at], (size_t)(p->receives_now - at) * sizeof r);
    p->received[at] = r;
    named += !wild;
    ++p->receives_now;
  }
}

static void post(program *p, receive *r, MPI_Comm comm) {
  void *const to = r->data.memory + r->data.base;
  const layout *of = r->data.of;
  const int count = r->room / of->units, tag = r->tag == MPI_ANY_TAG ? r->tag : r->tag + p->number * kTagsOfThread;
  MPI_Status seen;
  int flag = 0;
  if (r->way == kProbe) {
    must(p, MPI_Probe(r->from, tag, comm, &seen), "probe");
    r->error = MPI_Recv(to, count, of->type, seen.MPI_SOURCE, seen.MPI_TAG, comm, &r->status);
  } else if (r->way == kMprobe) {
    must(p, MPI_Mprobe(r->from, tag, comm, &r->message, &seen), "mprobe");
  } else if (r->way == kImprobe) {
    while (!flag) must(p, MPI_Improbe(r->from, tag, comm, &flag, &r->message, &seen), "improbe");
  } else if (r->way == kRecv) {
    r->error = MPI_Recv(to, count, of->type, r->from, tag, comm, &r->status);
  } else if (r->way == kRecvInit) {
    if (r->request == MPI_REQUEST_NULL)  // the first time, or freed by Open MPI as it had failed
      must(p, MPI_Recv_init(to, count, of->type, r->from, tag, comm, &r->request), "recv_init");
    must(p, DRAW(p->own) % 2 ? MPI_Start(&r->request) : MPI_Startall(1, &r->request), "start");
  } else {
    must(p, MPI_Irecv(to, count, of->type, r->from, tag, comm, &r->request), "irecv");
  }
  r->before = p->asked++;
}

// Which message it will be was settled by the probe.
static void take(program *p, receive *r) {
  void *const to = r->data.memory + r->data.base;
  const int count = r->room / r->data.of->units;
  if (r->way != kMprobe && r->way != kImprobe) return;
  if (DRAW(p->own) % 2)
    must(p, MPI_Imrecv(to, count, r->data.of->type, &r->message, &r->request), "imrecv");
  else
    r->error = MPI_Mrecv(to, count, r->data.of->type, &r->message, &r->status);
  if (r->message != MPI_MESSAGE_NULL) wrong(p, "a message that was received is still one");
}

// One that has met its message when it is cancelled is received; otherwise it is asked for again.
static void cancel_receive(program *p, receive *r, MPI_Comm comm) {
  int cancelled;
  if (DRAW(p->own) % 2) usleep((unsigned)DRAW(p->own) % 100);
  must(p, MPI_Cancel(&r->request), "cancel");
  r->error = MPI_Wait(&r->request, &r->status);
  MPI_Test_cancelled(&r->status, &cancelled);
  if (!cancelled) return;
  ++p->cancelled;
  r->way = kRecv;
  post(p, r, comm);
  r->way = kCancelled;
}

static void begin_send(program *p, int i, MPI_Comm comm) {
  typedef int begins(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
  static int (*const blocking[])(const void *, int, MPI_Datatype, int, int, MPI_Comm) = {MPI_Send, MPI_Ssend, MPI_Bsend,
                                                                                         MPI_Rsend};
  static begins *const nonblocking[] = {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
  static begins *const persistent[] = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init};
  message *m = &p->sent[i];
  const void *const data = m->data.memory + m->data.base;
  const layout *of = m->data.of;
  const int count = m->units / of->units, tag = m->tag + p->number * kTagsOfThread;
  ++p->messages;
  if (m->form == kBlocking) {
    must(p, blocking[m->mode](data, count, of->type, m->to, tag, comm), "send");
    return;
  }
  if (m->form == kNonblocking)
    must(p, nonblocking[m->mode](data, count, of->type, m->to, tag, comm, &m->request), "isend");
  if (m->form == kPersistent && p->round == 0)
    must(p, persistent[m->mode](data, count, of->type, m->to, tag, comm, &m->request), "send_init");
  if (m->form == kPersistent) must(p, MPI_Start(&m->request), "start");
  // Sends are never cancelled, neither by Smelt nor by ob1.
  if (m->form == kNonblocking && m->mode != kBuffered && DRAW(p->own) % 16 == 0)
    must(p, MPI_Cancel(&m->request), "cancel of a send");
}

static int by_order(const void *a, const void *b) {
  return (*(receive *const *)a)->before - (*(receive *const *)b)->before;
}

// The next message of its rank and tag, in the order in which they were asked for.
static void verify_receives(program *p) {
  int next[kMostRanks][kTags] = {{0}};
  receive *order[kMostMessages];
  for (int k = 0; k < p->receives_now; ++k) order[k] = &p->received[k];
  qsort(order, (size_t)p->receives_now, sizeof *order, by_order);
  if (swaps && p->receives_now > 1) order[0] = &p->received[1], order[1] = &p->received[0];
  for (int k = 0; k < p->receives_now; ++k) {
    receive *r = order[k];
    const int from = r->status.MPI_SOURCE, tag = r->status.MPI_TAG - p->number * kTagsOfThread;
    int i = -1, bytes = -1, cancelled = 1, class = 0, nth = 0;
    if (from < 0 || from >= world_size || tag < 0 || tag >= kTags || (r->from != MPI_ANY_SOURCE && from != r->from) ||
        (r->tag != MPI_ANY_TAG && tag != r->tag))
      wrong(p, "the status says rank %d, tag %d, error %d", from, r->status.MPI_TAG, r->error);
    for (int j = 0; j < p->messages_now && i < 0; ++j)
      if (p->sent[j].from == from && p->sent[j].to == p->me && p->sent[j].tag == tag && nth++ == next[from][tag]) i = j;
    if (i < 0) wrong(p, "there is one more from rank %d, tag %d", from, tag);
    ++next[from][tag];
    const int units = p->sent[i].units, is_cut = units > r->room;
    MPI_Get_count(&r->status, MPI_BYTE, &bytes);
    MPI_Test_cancelled(&r->status, &cancelled);
    MPI_Error_class(r->error, &class);
    if (class != (is_cut ? MPI_ERR_TRUNCATE : MPI_SUCCESS) || cancelled || bytes != units * (int)kinds[p->which].packed)
      wrong(p, "message %d from %d, tag %d, %d units into room for %d: way %d, error class %d, %d bytes, %d", i, from,
            tag, units, r->room, r->way, class, bytes, cancelled);
    p->cut += is_cut;
    put(p, &r->data, r->data.wanted, i, is_cut ? r->room : units);
    compare(p, &r->data, "received", i);
  }
}

static void verify_sends(program *p) {
  for (int i = 0; i < p->messages_now; ++i)
    if (p->sent[i].from == p->me) compare(p, &p->sent[i].data, "sent", i);
}

static void operands(program *p) {
  for (int i = 0; i < 2; ++i) p->operand[i] = p->me * 3 + p->phase + p->round + i, p->sum[i] = -1;
}
static void verify_sums(program *p, int begun) {
  for (int i = 0; i < 2; ++i) {
    const int sum = 3 * world_size * (world_size - 1) / 2 + world_size * (p->phase + p->round + i);
    if (begun >> i & 1 && p->sum[i] != sum) wrong(p, "the sum is %d instead of %d (%d)", p->sum[i], sum, i);
    p->collectives += begun >> i & 1;
  }
}

static void no_process(program *p, MPI_Comm comm) {
  MPI_Message message;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  int flag = 1;
  if (DRAW(p->own) % 2)
    MPI_Mprobe(MPI_PROC_NULL, 1, comm, &message, &status);
  else
    MPI_Improbe(MPI_PROC_NULL, 1, comm, &flag, &message, &status);
  if (!flag || message != MPI_MESSAGE_NO_PROC) wrong(p, "MPI_PROC_NULL has sent something");
  if (DRAW(p->own) % 2)
    MPI_Mrecv(NULL, 0, MPI_BYTE, &message, &status);
  else
    MPI_Imrecv(NULL, 0, MPI_BYTE, &message, &request), MPI_Wait(&request, &status);
  if (message != MPI_MESSAGE_NULL || status.MPI_SOURCE != MPI_PROC_NULL || status.MPI_TAG != MPI_ANY_TAG)
    wrong(p, "of MPI_PROC_NULL the status says rank %d, tag %d", status.MPI_SOURCE, status.MPI_TAG);
}

static void one_round(program *p, MPI_Comm comm, uint64_t phase_seed, int ready, int posted) {
  MPI_Request requests[kMostPending], nobodys[2];
  MPI_Status statuses[kMostPending];
  int errors[kMostPending], whose[kMostPending], n = 0, nothing = -1, cancelled = 0;
  const int collectives = (int)(mix(phase_seed, (uint64_t)p->round, 5) % 4);
  p->asked = 0;
  for (int i = 0; i < p->messages_now; ++i) {
    message *m = &p->sent[i];
    if (m->from != p->me) continue;
    put(p, &m->data, m->data.memory, i, m->units), put(p, &m->data, m->data.wanted, i, m->units);
  }
  for (int k = 0; k < p->receives_now; ++k)
    memset(p->received[k].data.memory, kFill, p->received[k].data.bytes),
        memset(p->received[k].data.wanted, kFill, p->received[k].data.bytes);
  for (int k = 0; k < 2; ++k)
    MPI_Irecv(&nothing, 1, MPI_INT, k ? MPI_ANY_SOURCE : p->me, kNobodys + p->number * kTagsOfThread, comm,
              &nobodys[k]);
  for (int k = 0; k < p->receives_now; ++k)
    if (p->received[k].way <= kCancelled) post(p, &p->received[k], comm);
  operands(p);
  if (collectives & 1) {
    must(p, MPI_Iallreduce(&p->operand[0], &p->sum[0], 1, MPI_INT, MPI_SUM, p->comm, &requests[n]), "iallreduce");
    whose[n++] = -1;
  }
  if (ready) must(p, MPI_Barrier(p->comm), "barrier");
  if (collectives & 2) {
    must(p, MPI_Start(&p->standing), "start of an allreduce");
    requests[n] = p->standing, whose[n++] = -2;
  }
  for (int i = 0; i < p->messages_now; ++i)
    if (p->sent[i].from == p->me) begin_send(p, i, comm);
  for (int k = 0; k < p->receives_now; ++k)
    if (p->received[k].way > kCancelled) post(p, &p->received[k], comm);
  for (int k = 0; k < p->receives_now; ++k)
    if (p->received[k].way == kCancelled && !posted) cancel_receive(p, &p->received[k], comm);
  for (int k = p->receives_now; k-- > 0;) take(p, &p->received[k]);
  if (DRAW(p->own) % 4 == 0) no_process(p, comm);
  for (int k = 0; k < p->receives_now; ++k)
    if (p->received[k].request != MPI_REQUEST_NULL) requests[n] = p->received[k].request, whose[n++] = k;
  for (int i = 0; i < p->messages_now; ++i)
    if (p->sent[i].from == p->me && p->sent[i].request != MPI_REQUEST_NULL)
      requests[n] = p->sent[i].request, whose[n++] = kMostMessages + i;
  complete(p, n, requests, statuses, errors);
  for (int k = 0; k < n; ++k) {
    if (whose[k] < 0 || whose[k] >= kMostMessages) {
      must(p, errors[k], whose[k] < 0 ? "a collective" : "a send");
      MPI_Test_cancelled(&statuses[k], &cancelled);
      if (cancelled) wrong(p, "a send was cancelled");
      if (whose[k] == -2) p->standing = requests[k];
      if (whose[k] >= kMostMessages) p->sent[whose[k] - kMostMessages].request = requests[k];
    } else {
      receive *r = &p->received[whose[k]];
      r->request = requests[k], r->status = statuses[k], r->error = errors[k];
    }
  }
  verify_receives(p);
  verify_sends(p);
  verify_sums(p, collectives);
  for (int k = 0; k < 2; ++k) {
    MPI_Cancel(&nobodys[k]);
    MPI_Wait(&nobodys[k], &statuses[0]);
    MPI_Test_cancelled(&statuses[0], &cancelled);
    if (!cancelled || nothing != -1) wrong(p, "there was a message of nobody's");
  }
}

// Everybody sends to one side and receives from the other.
static void shift(program *p, MPI_Comm comm, uint64_t random) {
  const int by = DRAW(random) % world_size, replace = DRAW(random) % 2, ring = DRAW(random) % 4;
  p->which = DRAW(random) % kKinds;
  int to = p->me + by, from = p->me - by, tag = p->number * kTagsOfThread;
  if (ring || (to < world_size && from >= 0)) to %= world_size, from = (from + world_size) % world_size;
  if (to >= world_size) to = MPI_PROC_NULL;
  if (from < 0) from = MPI_PROC_NULL;
  const int units = some_units(&random, p->which, 1), shape = DRAW(random) % kShapes, other = DRAW(random) % kShapes;
  p->messages_now = world_size;
  for (int i = 0; i < world_size; ++i) p->sent[i] = (message){.from = i, .to = (i + by) % world_size, .units = units};
  buffer out = buffer_new(&layouts[p->which][shape], units);
  buffer in = replace ? out : buffer_new(&layouts[p->which][other], units);
  put(p, &out, out.memory, p->me, units), put(p, &out, out.wanted, p->me, units);
  if (from != MPI_PROC_NULL) put(p, &in, in.wanted, from, units);
  void *const a = out.memory + out.base, *const b = in.memory + in.base;
  const int count = units / out.of->units;
  MPI_Status status;
  must(p,
       replace ? MPI_Sendrecv_replace(a, count, out.of->type, to, tag, from, tag, comm, &status)
               : MPI_Sendrecv(a, count, out.of->type, to, tag, b, units / in.of->units, in.of->type, from, tag, comm,
                              &status),
       "sendrecv");
  if (status.MPI_SOURCE != from) wrong(p, "sendrecv: the status says rank %d instead of %d", status.MPI_SOURCE, from);
  compare(p, &in, "exchanged", from == MPI_PROC_NULL ? 0 : from);
  if (!replace) compare(p, &out, "exchanged", p->me), buffer_free(&in);
  buffer_free(&out);
  p->messages += to != MPI_PROC_NULL;
}

static void one_phase(program *p) {
  const uint64_t phase_seed = mix(p->seed, (uint64_t)p->phase, 3);
  uint64_t random = phase_seed;
  const int how = DRAW(random) % 8, rounds = 1 + DRAW(random) % 3, posted = DRAW(random) % 2;
  const int any_source = how == 1 || how == 3, any_tag = how == 2 || how == 3, ready = posted && DRAW(random) % 2;
  // Any tag is any thread's.
  MPI_Comm comm = any_tag || DRAW(random) % 2 ? p->comm : shared;
  p->round = 0;
  if (how == 4) {
    shift(p, comm, random);
    return;
  }
  const int whole = draw(p, &random, posted, ready);
  draw_receives(p, any_source, any_tag, posted, ready, whole);
  // Nobody may be a phase ahead where a wildcard could take its message, nor fill others' buffers.
  for (; p->round < rounds; ++p->round) {
    if (any_source || any_tag) must(p, MPI_Barrier(p->comm), "barrier");
    one_round(p, comm, phase_seed, ready, posted);
    if (any_source || any_tag || p->phase % 4 == 0) must(p, MPI_Barrier(p->comm), "barrier");
  }
  for (int k = 0; k < p->receives_now; ++k) {
    if (p->received[k].request != MPI_REQUEST_NULL) MPI_Request_free(&p->received[k].request);
    buffer_free(&p->received[k].data);
  }
  for (int i = 0; i < p->messages_now; ++i) {
    message *m = &p->sent[i];
    if (m->from != p->me) continue;
    if (m->form == kPersistent) MPI_Request_free(&m->request);
    buffer_free(&m->data);
  }
}

static void *run(void *argument) {
  program *const p = argument;
  MPI_Allreduce_init(&p->operand[1], &p->sum[1], 1, MPI_INT, MPI_SUM, p->comm, MPI_INFO_NULL, &p->standing);
  for (p->phase = 0; p->phase < phases; ++p->phase) one_phase(p);
  MPI_Request_free(&p->standing);
  return NULL;
}

int main(int argc, char **argv) {
  int provided;
  const int threads = (int)number_argument(argc, argv, "--threads", 1);
  start_threaded(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  if (threads > 1 && provided < MPI_THREAD_MULTIPLE) return skip("this MPI has no MPI_THREAD_MULTIPLE");
  CHECK(threads >= 1 && threads <= kMostThreads && world_size <= kMostRanks);
  seed = (uint64_t)number_argument(argc, argv, "--seed", 1);
  phases = (int)number_argument(argc, argv, "--phases", 40);
  strict = has_argument(argc, argv, "--smelt"), swaps = has_argument(argc, argv, "--swap");
  begin_counting("pml_smelt_", "_sends");
  make_values();
  void *attached = malloc(kAttached);
  int size;
  CHECK(attached != NULL);
  MPI_Buffer_attach(attached, kAttached);
  // In an order of its own.
  int me;
  MPI_Comm_split(MPI_COMM_WORLD, 0, (int)(mix(seed, (uint64_t)world_rank, 79) % 100), &shared);
  MPI_Comm_rank(shared, &me);
  MPI_Comm_set_errhandler(shared, MPI_ERRORS_RETURN);
  pthread_t workers[kMostThreads];
  program *const programs = calloc(kMostThreads, sizeof *programs);
  for (int t = 0; t < threads; ++t) {
    program *p = &programs[t];
    p->number = t, p->me = me, p->seed = mix(seed, (uint64_t)t, 83);
    p->own = mix(seed, (uint64_t)(me * kMostThreads + t), 89);
    MPI_Comm_dup(shared, &p->comm);
    MPI_Comm_set_errhandler(p->comm, MPI_ERRORS_RETURN);
  }
  for (int t = 1; t < threads; ++t) CHECK(pthread_create(&workers[t], NULL, run, &programs[t]) == 0);
  run(&programs[0]);
  for (int t = 1; t < threads; ++t) CHECK(pthread_join(workers[t], NULL) == 0);
  if (end_counting() == 0 && strict) fail("Smelt has sent nothing");
  long total[4] = {0};
  for (int t = 0; t < threads; ++t) {
    program *p = &programs[t];
    total[0] += p->messages, total[1] += p->collectives, total[2] += p->cut, total[3] += p->cancelled;
    MPI_Comm_free(&p->comm);
  }
  MPI_Allreduce(MPI_IN_PLACE, total, 4, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (world_rank == 0)
    printf("%ld messages, %ld calls of collectives, %ld cut off, %ld cancelled\n", total[0], total[1], total[2],
           total[3]);
  MPI_Comm_free(&shared);
  MPI_Buffer_detach(&attached, &size);
  free(attached), free(programs);
  free_values();
  return finish();
}
