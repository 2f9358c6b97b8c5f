/* A reduction whose number is marked as real while values are on their way up, under weak memory; marking.pml has the
 * barrier. Stands for reduce() and __kmpc_end_reduce() of kmp_shim/reductions.cc, over combine_below(), arrive_with(),
 * await() and fork() of core/team/fork_join.h, with mark() and is_real() as in marking.pml. Who sees the mark passes
 * libomp's barrier, a counter, in the middle, once, and goes on where it was: what has been combined stays so.
 * A thread's value lies on its stack: plain data, written before it begins, read by its parent, gone once it leaves.
 * The result is plain data of thread 0, read by all. A task is made at any time before its maker's reduction.
 * Checked: every value is in every result once; nobody leaves with tasks left; all pass libomp's barrier or none does;
 * no race, nobody hangs.
 * Mutants: ARRIVE, GATHER, FORK, HEAR =RELAXED; NOMARK; LATE a task is made, and marked, after its maker has arrived;
 * GE the stop word is compared with >=; RESTART who was stopped combines from the first child on; AGAIN who has passed
 * libomp's barrier still looks at the stop word; ASIDE who is stopped leaves as from a barrier, its values not handed
 * up; LEAVE a worker does not wait for the fork.
 * TREE, of the fork, and JOIN: 0 flat, 1 chain 0-1-2. N participants, E episodes. */
#ifndef TREE
#define TREE 0
#endif
#ifndef JOIN
#define JOIN TREE
#endif
#ifndef N
#define N 3
#endif
#ifndef E
#define E 2
#endif
#ifndef ARRIVE
#define ARRIVE RELEASE
#endif
#ifndef GATHER
#define GATHER ACQUIRE
#endif
#ifndef FORK
#define FORK RELEASE
#endif
#ifndef HEAR
#define HEAR ACQUIRE
#endif
#define THREADS N
#define LOCATIONS (2*N+2)
#define PLAIN (N+1)
#define MESSAGES 8
#include "weak.pml"
#define arrival(i) (i)
#define release(i) (N+(i))
#define real_epoch (2*N)
#define libomp (2*N+1)
#define value(i) (i)
#define result N
#define PARENT(i) (TREE==0 -> 0 : i-1)
#define JOINED_BY(i) (JOIN==0 -> 0 : i-1)
#define IS_CHILD(i) (i!=0 && i!=me && JOINED_BY(i)==me)
#define HAS_CHILDREN (TREE==0 -> me==0 : me<N-1)
#ifdef GE
#define IS_REAL(v, e) (v>=e)
#else
#define IS_REAL(v, e) (v==e)
#endif
byte tasks[E+2], own[E+2], byreal[E+2]; /* ghosts */

inline make_task() {
#ifndef NOMARK
  load(real_epoch, RELAXED, v);
  if :: v>=e+1
     :: else -> atomic { update_from(real_epoch, RELEASE, v);
          if :: v>=e+1 -> update_not() :: else -> update_to(e+1) fi }
  fi;
  v=0;
#endif
  tasks[e+1]++ }
inline pass_real() {
  gathered=gathered+N; real=true;
  atomic { update_from(libomp, ACQ_REL, v); update_to(v+1); if :: v+1==gathered -> tasks[e+1]=0 :: else fi; v=0 };
  await(libomp, gathered, ACQUIRE);
#ifndef AGAIN
  stopping=false
#endif
}
/* Waits for e+1 in x, or is stopped and then goes on. */
inline reach(x, order) {
  do :: await(x, e+1, order); break
     :: stopping && last_[real_epoch]>=e+1 ->
        load(real_epoch, ACQUIRE, v);
        if :: IS_REAL(v, e+1) -> v=0; stopped=true; pass_real();
#if defined(RESTART)
              if :: j>0 -> break :: else fi /* while it combines */
#elif defined(ASIDE)
              break
#endif
           :: else -> v=0 fi
  od }

proctype P(byte me) { byte e=0, v, w, j, gathered=0; bool real, stopping, stopped;
  do :: e<E ->
     write(value(me), me+1);
#ifndef LATE
     if :: true -> make_task() :: true fi;
#endif
     stopping=true;
     load(real_epoch, ACQUIRE, v);
     if :: IS_REAL(v, e+1) -> v=0; pass_real() :: else -> v=0 fi;
     j=1;
     do :: j<N && IS_CHILD(j) -> reach(arrival(j), GATHER);
#ifdef RESTART
           if :: stopped -> stopped=false; j=1 :: else ->
#elif defined(ASIDE)
           if :: stopped -> break :: else ->
#else
           if :: true ->
#endif
              read(value(j), v); read(value(me), w); write(value(me), v+w); v=0; w=0; j++ fi
        :: j<N && !IS_CHILD(j) -> j++
        :: j>=N -> break od;
     j=0; stopped=false;
     if :: me==0 ->
           read(value(0), v); assert(v==N*(N+1)/2); write(result, v); v=0;
           store(release(0), e+1, FORK)
        :: else ->
           store(arrival(me), e+1, ARRIVE);
#ifdef LATE
           if :: true -> make_task() :: true fi;
#endif
#ifndef LEAVE
           reach(release(PARENT(me)), HEAR);
#endif
           stopped=false;
           if :: HAS_CHILDREN -> store(release(me), e+1, FORK) :: else fi
     fi;
     atomic { assert(tasks[e+1]==0);
       if :: real -> byreal[e+1]++; assert(own[e+1]==0) :: else -> own[e+1]++; assert(byreal[e+1]==0) fi };
     read(result, v); assert(v==N*(N+1)/2); v=0;
     real=false; stopping=false;
     e++
  :: else -> break od;
  leave() }
init { atomic { byte i=0; do :: i<N -> run P(i); i++ :: else -> break od } }
