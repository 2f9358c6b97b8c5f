/* Marking an episode as real, under weak memory; hot.pml has the hot team around it. Stands for
 * core/openmp/episodes.cc mark(), episodes.h is_real() and pass(), with flags of everybody's for the barrier
 * (core/transport/line.h) and the stop word looked at as core/policy/wait.cc look() does. libgomp's barrier is a
 * counter that everybody waits for; tasks are run in it. mark(): the load in front of the compare-and-swap and its
 * failures are relaxed and use nothing but the number, so what is left is that load and one read-modify-write. The
 * fence behind it is for sleepers: bell.pml. Plain data are written before the odd episodes and read by everybody
 * after them; a task is plain data of its maker, read after the barrier.
 * Checked: nobody leaves a barrier with tasks left; all leave it the same way; no race, nobody hangs.
 * LEARN: after a marked episode the next one is assumed to be libgomp's, and no task is marked for it; the one after
 * that is asked about again.
 * Mutants: CAS, STOP, SIGNAL, WAIT =RELAXED; NOMARK; LATE a task is made, and marked, after its maker has arrived; GE the stop word is
 * compared with >=; with LEARN, ALONE: one of them learns nothing; FORGET: tasks are not marked after the assumed episode either.
 * N participants, E episodes. */
#ifndef N
#define N 2
#endif
#ifndef E
#define E 3
#endif
#define THREADS N
#define LOCATIONS (N+2)
#define PLAIN (3*N)
#define MESSAGES 8
#ifndef CAS
#define CAS RELEASE
#endif
#ifndef STOP
#define STOP ACQUIRE
#endif
#ifndef SIGNAL
#define SIGNAL RELEASE
#endif
#ifndef WAIT
#define WAIT ACQUIRE
#endif
#include "weak.pml"
#define real_epoch N
#define libgomp (N+1)
#ifdef GE
#define IS_REAL(v, e) (v>=e)
#else
#define IS_REAL(v, e) (v==e)
#endif
byte tasks[E+2], own[E+2], byreal[E+2]; /* ghosts */
bool marked[E+2];

inline mark() {
  load(real_epoch, RELAXED, v);
  if :: v>=e+1
     :: else -> atomic { update_from(real_epoch, CAS, v);
          if :: v>=e+1 -> update_not() :: else -> marked[e+1]=true; update_to(e+1) fi }
  fi;
  v=0 }
inline make_task() {
#ifdef NOMARK
  tasks[e+1]++
#else
  if :: assumed || forgets -> tasks[e+1]++ :: else -> mark(); tasks[e+1]++ fi
#endif
}
inline learn() {
#ifdef LEARN
#ifdef FORGET
  forgets=assumed;
#endif
#ifdef ALONE
  if :: real && !assumed && me>0 -> assumed=true :: else -> assumed=false fi
#else
  if :: real && !assumed -> assumed=true :: else -> assumed=false fi
#endif
#else
  skip
#endif
}
inline real_barrier() {
  gathered=gathered+N;
  atomic { update_from(libgomp, ACQ_REL, v); update_to(v+1); if :: v+1==gathered -> tasks[e+1]=0 :: else fi; v=0 };
  await(libgomp, gathered, ACQUIRE) }

proctype P(byte me) { byte e=0, v, j, gathered=0; bool real, assumed, forgets;
  do :: e<E ->
     if :: e%2==0 -> write(me, e+1) :: else fi;
#ifndef LATE
     if :: true -> write(N+N*(e%2)+me, e+1); make_task() :: true fi;
#endif
     /* pass() */
     if :: assumed -> real=true :: else -> load(real_epoch, STOP, v); real=IS_REAL(v, e+1); v=0 fi;
     if :: !real ->
           store(me, e+1, SIGNAL);
#ifdef LATE
           if :: true -> make_task() :: true fi;
#endif
           j=0;
           do :: j<N && j!=me -> if :: await(j, e+1, WAIT); j++
                                    :: last_[real_epoch]>=e+1 && (marked[e+1] || last_[real_epoch]!=e+1) ->
                                       load(real_epoch, STOP, v);
                                       if :: IS_REAL(v, e+1) -> real=true; v=0; break :: else -> v=0 fi fi
              :: j<N && j==me -> j++
              :: j>=N -> break od;
           j=0
        :: else fi;
     if :: real -> real_barrier() :: else fi;
     atomic { assert(tasks[e+1]==0);
       if :: real -> byreal[e+1]++; assert(own[e+1]==0) :: else -> own[e+1]++; assert(byreal[e+1]==0) fi };
     if :: real -> j=0; do :: j<N -> read(N+N*(e%2)+j, v); j++ :: else -> break od; j=0; v=0 :: else fi;
     if :: e%2==0 -> j=0; do :: j<N -> read(j, v); assert(v==e+1); j++ :: else -> break od; j=0; v=0 :: else fi;
     atomic { learn(); real=false };
     e++
  :: else -> break od;
  leave() }
init { atomic { byte i=0; do :: i<N -> run P(i); i++ :: else -> break od } }
