/* A machine with weak memory, for the models that include it.
 *
 * Memory is not one value per place but a history of messages, one per store. Every thread has a view: of each
 * place, the oldest message that it may still read. A load reads any message from there on, so threads may see
 * stores late and in different orders; a store puts its message anywhere behind what its thread knows. A release
 * store sends its thread's view along, and who reads it with acquire takes that over; a read-modify-write follows
 * the message it has read immediately, and passes its view on (release sequences, as in C++20). A seq_cst fence
 * exchanges views with all fences before it. Variables that are not atomic have no history: two accesses of which
 * one is a store, and neither happens before the other, are a race, and a race is an error.
 *
 * This is the C++ memory model as repaired by Lahav, Vafeiadis, Kang, Hur and Dreyer (RC11, PLDI 2017), for relaxed,
 * acquire, release and acq_rel accesses and seq_cst fences, in the operational form of Kang, Hur, Lahav, Vafeiadis
 * and Dreyer (POPL 2017) without its promises. litmus.pml shows which of the well-known outcomes the machine has.
 * What a compiler makes of such a program for Armv8 (LDAR or LDAPR, STLR, DMB) or RISC-V (FENCE) shows no other
 * outcome (Podkopaev, Lahav and Vafeiadis, POPL 2019), and x86 fewer, with one exception, the limit of the machine:
 * load buffering. Hardware lets a relaxed load be overtaken by a later relaxed store to another place; here, as in
 * RC11, a load reads only what has been stored. For that to matter every thread of a cycle needs a relaxed load and
 * after it a store that is no release and does not depend on it. In the protocols every load that others wait for is
 * an acquire. The relaxed ones: `sleepers` in a post, of which the only store that is not a release and may come too
 * early is another line's `sleepers` (a wake-up too many, at worst); the first load and the failures of a
 * compare-and-swap, which depends on them; a vote read for the second time; hints where somebody runs.
 *
 * seq_cst accesses are taken for acq_rel: the models hold without what they have more. Bounds: as many threads,
 * episodes and messages as each model says; the search is exhaustive within them.
 *
 * A model defines THREADS, LOCATIONS (atomics), PLAIN (variables that are not), MESSAGES (most in the history of one
 * place; too few stop the search) and includes this. Its threads are numbered from 0, and each has its number in
 * `me`. A place is a number; its first value is 0. */
c_decl {
enum { kLocations = LOCATIONS, kThreads = THREADS, kPlain = PLAIN, kMessages = MESSAGES };
\#include "weak.h"
};
c_state "Memory memory" "Global"

#define RELAXED 0
#define ACQUIRE 1
#define RELEASE 2
#define ACQ_REL 3

/* Arguments of the operation under way; 0 between two. */
byte who_, where_, what_, how_, pick_;
byte last_[LOCATIONS];  /* the newest value of each: an await can succeed from then on */
bool race_;

inline end_() { who_=0; where_=0; what_=0; how_=0; pick_=0 }
#define MEMORY_ now.memory
#define NEWEST_ MEMORY_.newest[now.where_]
#define OLDEST_ MEMORY_.thread[now.who_].now.at[now.where_]
#define VALUE_ MEMORY_.message[now.where_][now.pick_].value
/* May something be written in front of message k? (Spin takes no function call for free of side effects.) */
#define ROOM_AT_(k) (k) > NEWEST_ || !MEMORY_.message[now.where_][k].update

/* What an operation begins with: its arguments, and the first message that it may choose. (who_ is set before: Spin
 * lets nobody jump to a d_step.) */
inline begin_(x, order) { where_=x; how_=order; c_code { now.pick_ = OLDEST_; } }
inline read_() { d_step {
  c_code { now.what_ = read_message(&MEMORY_, now.who_, now.where_, now.pick_, now.how_); tidy(&MEMORY_); } } }
inline write_() { d_step {
  c_code { write_message(&MEMORY_, now.who_, now.where_, now.pick_, now.what_, now.how_);
    now.last_[now.where_] = MEMORY_.message[now.where_][NEWEST_].value; tidy(&MEMORY_); };
  end_() } }

/* out = x.load(order): any message that is not older than what we know */
inline load(x, order, out) { atomic {
  who_=me; d_step { begin_(x, order) };
  do :: c_expr { now.pick_ < NEWEST_ } -> pick_++ :: break od; skip;
  read_(); d_step { out=what_; end_() } } }

/* Polls until the load says `least` or more. (A poll that fails may teach a thread something, never take anything
 * away.) */
inline await_value(x, least, order, out) { atomic { last_[x]>=least ->
  who_=me; d_step { begin_(x, order); what_=least };
  do :: c_expr { !(VALUE_ < now.what_) } -> break
     :: c_expr { now.pick_ < NEWEST_ } -> pick_++ od; skip;
  read_(); d_step { out=what_; end_() } } }
inline await(x, least, order) { await_value(x, least, order, pick_) }

/* x.store(v, order): behind all that we know, perhaps in front of what we do not */
inline store(x, v, order) { atomic {
  who_=me; d_step { begin_(x, order); what_=v; pick_++ };
  do :: c_expr { ROOM_AT_(now.pick_) } -> break
     :: c_expr { now.pick_ < NEWEST_ + 1 } -> pick_++ od; skip;
  write_() } }

/* A read-modify-write in two halves, to stand in one atomic: what it read, then what it writes. 4: kUpdate */
inline update_from(x, order, out) {
  who_=me; d_step { begin_(x, order+4) };
  do :: c_expr { ROOM_AT_(now.pick_ + 1) } -> break
     :: c_expr { now.pick_ < NEWEST_ } -> pick_++ od; skip;
  d_step { c_code { now.what_ = read_message(&MEMORY_, now.who_, now.where_, now.pick_, now.how_); now.pick_++; };
    out=what_ } }
inline update_to(v) { what_=v; write_() }
inline update_not() { end_() }  /* a compare-and-swap that fails: it has read, with the order of a success */

/* std::atomic_thread_fence(seq_cst), our own or, by the kernel's doing, another thread's */
inline fence_in(t) { atomic { who_=t; d_step { c_code { fence_of(&MEMORY_, now.who_); tidy(&MEMORY_); }; end_() } } }
inline fence() { fence_in(me) }

/* Variables that are not atomic */
inline read(p, out) { atomic { who_=me; d_step { where_=p;
  c_code { now.race_ = !read_plain(&MEMORY_, now.who_, now.where_); now.what_ = MEMORY_.plain[now.where_].value; };
  assert(!race_); out=what_; end_() } } }
inline write(p, v) { atomic { who_=me; d_step { where_=p; what_=v;
  c_code { now.race_ = !write_plain(&MEMORY_, now.who_, now.where_, now.what_); };
  assert(!race_); end_() } } }

/* The thread has come to its end. */
inline leave() { atomic { who_=me; d_step { c_code { leave_memory(&MEMORY_, now.who_); tidy(&MEMORY_); }; end_() } } }
