/* Sleeping and being woken, under weak memory. Stands for
 *   Owner     core/transport/line.h post(), core/transport/line.cc wake_sleepers()
 *   Marker    core/openmp/episodes.cc mark() and the wake_all() of core/team/barrier.cc and fork_join.cc
 *   Sleeper   core/policy/wait.cc wait_slowly(): its last loop
 *   kernel    futex: compare and sleep are one, and both calls have a full fence in them (the comment at the head
 *             of Linux's kernel/futex/waitwake.c); membarrier (core/base/os/linux.cc process_barrier()): a full
 *             fence of the caller, one in every thread at any time of the call, one of the caller, as membarrier(2)
 *             says. Those in other sleepers are left out: less order, not more
 * Checked: nobody sleeps for ever.
 * Compile-time switches:
 *   FENCED    post(kFenced): full fence between epoch and look at sleepers; sleepers use no membarrier
 *   REFUSE    membarrier may be refused, at any call; from then on always. Sleepers then sleep in slices, at most
 *             one each in an episode; after it they poll
 *   MARK      there is one episode more, which another thread marks (real_epoch) and the owner never posts
 *   NS        number of sleepers, E number of posted episodes, NAPS how often a sleeper may go to sleep in one
 *             episode; after that it polls
 * Mutants: NOMB unfenced and no membarrier; NOSFENCE sleeper without full fence; NOMFENCE marker without; IGNORED,
 * FENCELATE of REFUSE: the refusal is not noticed, or from then on posts are fenced, too late for one already under
 * way; UNCLEARED the word changes before sleepers is cleared; REORDERED the compiler moves the look at sleepers in
 * front of the post (no signal fence); POST, POLL, ADD, WORD, MARKED, STOP: the orders of the epoch's store and
 * load, of the word's, of the mark's. */
#ifndef NS
#define NS 2
#endif
#ifndef E
#define E 2
#endif
#ifndef NAPS
#define NAPS 2
#endif
#ifdef MARK
#define THREADS (NS+2)   /* 0 owner, then sleepers, then the marker */
#define LAST (E+1)
#else
#define THREADS (NS+1)
#define LAST E
#endif
#define LOCATIONS 4
#define PLAIN 0
#define MESSAGES 10
#ifndef POST
#define POST RELEASE
#endif
#ifndef POLL
#define POLL ACQUIRE
#endif
#ifndef ADD
#define ADD ACQ_REL       /* written seq_cst, of which the model takes no notice */
#endif
#ifndef WORD
#define WORD ACQUIRE
#endif
#ifndef MARKED
#define MARKED RELEASE
#endif
#ifndef STOP
#define STOP ACQUIRE
#endif
#if defined(IGNORED) || defined(FENCELATE)
#define SLICES false
#else
#define SLICES true
#endif
#include "weak.pml"
#define epoch 0
#define sleepers 1
#define wake 2
#define real_epoch 3
bool asleep[THREADS], refused;

inline wake_sleepers() {
#ifdef UNCLEARED
  atomic { update_from(wake, ADD, v); update_to(v+1) };
  store(sleepers, 0, RELAXED);
#else
  store(sleepers, 0, RELAXED);
  atomic { update_from(wake, ADD, v); update_to(v+1) };
#endif
  atomic { fence(); v=0; do :: v<THREADS -> asleep[v]=false; v++ :: else -> break od; v=0 }   /* futex_wake_all */
}
inline look_for_sleepers() {
  atomic { load(sleepers, RELAXED, v); if :: v!=0 -> v=0; wake_sleepers() :: else fi } }

proctype Owner(byte me) { byte e=1, v;
  do :: e<=E ->
#ifdef REORDERED
     load(sleepers, RELAXED, v);
     store(epoch, e, POST);
     e++;
     if :: v!=0 -> v=0; wake_sleepers() :: else fi
#else
     atomic { store(epoch, e, POST); e++ };
#ifdef FENCED
     fence();
#endif
#ifdef FENCELATE
     if :: refused -> fence() :: else fi;
#endif
     look_for_sleepers()
#endif
  :: e>E -> break od }   /* and goes on with something else: a membarrier still reaches it */

proctype Marker(byte me) { byte v;
  atomic { update_from(real_epoch, MARKED, v); update_to(LAST); v=0 };
#ifndef NOMFENCE
  fence();
#endif
  look_for_sleepers() }

inline reached() { e++; naps=NAPS }   /* the next episode */

proctype Sleeper(byte me) { byte e=1, v, word, naps=NAPS; bool slice=false;
  do
  :: atomic { e<=E -> await(epoch, e, POLL); reached() }         /* a poll that succeeds */
  :: atomic { e>E && e<=LAST -> await(real_epoch, e, STOP); reached() }
  :: atomic { e<=LAST && naps>0 -> naps--; load(wake, WORD, word) };   /* enough of polling */
     store(sleepers, 1, RELAXED);
#ifndef NOSFENCE
     fence();
#endif
#if !defined(FENCED) && !defined(NOMB)
     if
     :: atomic { !refused -> fence() }; fence_in(0);
#ifdef MARK
        fence_in(NS+1);
#endif
        fence()
#ifdef REFUSE
     :: refused=true; slice=SLICES
#endif
     fi;
#endif
     atomic { load(epoch, POLL, v); if :: v>=e -> v=0; word=0; slice=false; reached(); goto next :: else -> v=0 fi };
     if :: e>E -> atomic { load(real_epoch, STOP, v);
             if :: v==e -> v=0; word=0; slice=false; reached(); goto next :: else -> v=0 fi }
        :: else fi;
     /* futex_wait */
     atomic { fence(); load(wake, RELAXED, v); if :: v==word -> asleep[me]=true :: else fi; v=0; word=0 };
     if :: atomic { !asleep[me] -> slice=false }
        :: atomic { slice -> asleep[me]=false; slice=false; naps=0 } fi;
next: skip
  :: e>LAST -> break
  od;
  leave() }

init { atomic { run Owner(0); byte i=1; do :: i<=NS -> run Sleeper(i); i++ :: else -> break od;
#ifdef MARK
  run Marker(NS+1)
#endif
  } }
