/* The machine of weak.pml, in C: spin's verifier includes it. The model's bounds are kLocations, kThreads, kPlain and
 * kMessages; without plain variables nobody needs clocks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned char Byte;
enum { kAcquire = 1, kRelease = 2, kUpdate = 4 }; /* bits of an order; the last: a read-modify-write */

/* What somebody knows: of every atomic the newest message, of every thread how many of its releases. */
typedef struct {
  Byte at[kLocations];
  Byte clock[kThreads];
} View;

/* A store. `update`: written by a read-modify-write, so nothing ever comes between it and the message before. Who reads
 * it with acquire knows `view` too. */
typedef struct {
  Byte value, update;
  View view;
} Message;

/* now: what its next load or store must respect. acquired: what it will know after a fence. released: what it knew at
 * its last fence, which its relaxed stores carry. */
typedef struct {
  Byte gone;
  View now, acquired, released;
} Thread;

/* A plain variable: its last write, and since then everybody's last read, as 1 + clock of who did it; 0: none, or known
 * to all. */
typedef struct {
  Byte value, writer, written, read[kThreads];
} Plain;

typedef struct {
  Byte newest[kLocations]; /* index of the last message; the first one, 0, is the initial value 0 */
  Message message[kLocations][kMessages];
  Thread thread[kThreads];
  Byte fenced[kLocations]; /* what the last fence of all knew */
  Plain plain[kPlain];
} Memory;

static void lift(Byte* to, Byte value) {
  if (*to < value) *to = value;
}

static void join(View* to, const View* from) {
  for (int x = 0; x < kLocations; ++x) lift(&to->at[x], from->at[x]);
  for (int t = 0; t < kThreads; ++t) lift(&to->clock[t], from->clock[t]);
}

/* Calls `change` for every view there is. */
typedef void Change(Byte* at, Byte* clock, int x, int by);
static void change_all(Memory* m, Change* change, int x, int by) {
  for (int t = 0; t < kThreads; ++t) {
    View* views[] = {&m->thread[t].now, &m->thread[t].acquired, &m->thread[t].released};
    for (int v = 0; v < 3 && !m->thread[t].gone; ++v) change(views[v]->at, views[v]->clock, x, by);
  }
  for (int y = 0; y < kLocations; ++y)
    for (int k = 0; k <= m->newest[y]; ++k) change(m->message[y][k].view.at, m->message[y][k].view.clock, x, by);
  change(m->fenced, NULL, x, by);
}

static Byte less(Byte value, int by) { return value > by ? value - by : 0; }
static void make_room(Byte* at, Byte* clock, int x, int position) { at[x] += at[x] >= position; }
static void forget_messages(Byte* at, Byte* clock, int x, int by) { at[x] = less(at[x], by); }
static void forget_clock(Byte* at, Byte* clock, int t, int by) {
  if (clock) clock[t] = less(clock[t], by);
}

/* Drops what cannot matter any more, so that states that differ only in the past are one: messages that nobody may read
 * again, and releases that all know of. */
static void tidy(Memory* m) {
  for (int x = 0; x < kLocations; ++x) {
    int least = m->newest[x];
    for (int t = 0; t < kThreads; ++t)
      if (!m->thread[t].gone && m->thread[t].now.at[x] < least) least = m->thread[t].now.at[x];
    if (least == 0) continue;
    const int kept = m->newest[x] + 1 - least;
    memmove(m->message[x], m->message[x] + least, kept * sizeof(Message));
    memset(m->message[x] + kept, 0, least * sizeof(Message));
    m->message[x][0].update = 0;
    m->newest[x] = kept - 1;
    change_all(m, forget_messages, x, least);
  }
  for (int u = 0; u < kThreads; ++u) {
    int least = 255;
    for (int t = 0; t < kThreads; ++t)
      if (!m->thread[t].gone && m->thread[t].now.clock[u] < least) least = m->thread[t].now.clock[u];
    change_all(m, forget_clock, u, least);
    for (int p = 0; p < kPlain; ++p) {
      Plain* plain = &m->plain[p];
      plain->read[u] = less(plain->read[u], least);
      if (plain->writer == u) plain->written = less(plain->written, least);
      if (plain->written == 0) plain->writer = 0;
    }
  }
}

/* Thread t reads message k of x. */
static Byte read_message(Memory* m, int t, int x, int k, int order) {
  const Message* message = &m->message[x][k];
  Thread* thread = &m->thread[t];
  join(&thread->acquired, &message->view);
  if (order & kAcquire) join(&thread->now, &message->view);
  lift(&thread->now.at[x], k);
  lift(&thread->acquired.at[x], k);
  return message->value;
}

/* Thread t writes a message of x in front of message k (k may be newest + 1), after all that it knows. */
static void write_message(Memory* m, int t, int x, int k, int value, int order) {
  Thread* thread = &m->thread[t];
  if (m->newest[x] + 1 == kMessages) {
    printf("weak: location %d has more messages than the model has room for\n", x);
    exit(3);
  }
  memmove(m->message[x] + k + 1, m->message[x] + k, (m->newest[x] + 1 - k) * sizeof(Message));
  memset(m->message[x] + k, 0, sizeof(Message));
  ++m->newest[x];
  change_all(m, make_room, x, k);
  thread->now.at[x] = k;
  lift(&thread->acquired.at[x], k);
  if (order & kRelease && kPlain) lift(&thread->acquired.clock[t], ++thread->now.clock[t]);
  Message* message = &m->message[x][k];
  message->value = value;
  message->update = (order & kUpdate) != 0;
  message->view = order & kRelease ? thread->now : thread->released;
  if (message->update) join(&message->view, &m->message[x][k - 1].view); /* it continues the release sequence */
  message->view.at[x] = k;
}

/* A fence of thread t, seq_cst. It is ordered with all other fences, but that alone makes no plain access safe: clocks
 * pass through messages only. */
static void fence_of(Memory* m, int t) {
  Thread* thread = &m->thread[t];
  if (thread->gone) return;
  for (int x = 0; x < kLocations; ++x) {
    lift(&thread->acquired.at[x], m->fenced[x]);
    m->fenced[x] = thread->acquired.at[x];
  }
  if (kPlain) ++thread->acquired.clock[t];
  thread->now = thread->released = thread->acquired;
}

/* Plain accesses; 0: a race, since another's access is neither before nor after this one. */
static int read_plain(Memory* m, int t, int p) {
  Plain* plain = &m->plain[p];
  const View* now = &m->thread[t].now;
  plain->read[t] = now->clock[t] + 1;
  return plain->writer == t || plain->written <= now->clock[plain->writer];
}

static int write_plain(Memory* m, int t, int p, int value) {
  Plain* plain = &m->plain[p];
  const View* now = &m->thread[t].now;
  int ordered = plain->writer == t || plain->written <= now->clock[plain->writer];
  for (int u = 0; u < kThreads; ++u) ordered &= u == t || plain->read[u] <= now->clock[u];
  memset(plain->read, 0, sizeof plain->read);
  plain->value = value;
  plain->writer = t;
  plain->written = now->clock[t] + 1;
  return ordered;
}

/* Thread t will do nothing any more. */
static void leave_memory(Memory* m, int t) {
  memset(&m->thread[t], 0, sizeof(Thread));
  m->thread[t].gone = 1;
}
