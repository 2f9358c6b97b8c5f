/* Fork and join, under weak memory. Stands for core/team/fork_join.h: fork() and pass_on(), await(), gather() and
 * gather_below(), arrive(), over post() and poll() of core/transport/line.h.
 * The message in the release line, what the master wrote before the fork and the workers before their arrival are
 * plain data. Two regions in a row may be the same function: the message is then not written again, which whoever
 * passes it on knows from a copy of its own, `passed`, and not from the line.
 * Checked: no race, everybody runs what the master said, nobody hangs. Mutants: FORK (post of a release), HEAR (poll
 * of it), ARRIVE, GATHER =RELAXED; EARLY the master forks again before it has gathered; UNGATHERED a worker arrives
 * before those below it; APART the copies begin with another message than the lines. TREE 0 flat, 1 chain 0-1-2.
 * R regions; fork e is followed by join e+1. */
#ifndef TREE
#define TREE 0
#endif
#ifndef JOIN
#define JOIN TREE
#endif
#ifndef R
#define R 3
#endif
#define N 3
#define THREADS N
#define LOCATIONS (2*N)
#define PLAIN (2*N+1)
#define MESSAGES 5
#ifndef FORK
#define FORK RELEASE
#endif
#ifndef HEAR
#define HEAR ACQUIRE
#endif
#ifndef ARRIVE
#define ARRIVE RELEASE
#endif
#ifndef GATHER
#define GATHER ACQUIRE
#endif
#ifdef APART
#define FIRST 1
#else
#define FIRST 0
#endif
#include "weak.pml"
#define release(i) (i)
#define arrival(i) (N+(i))
#define message(i) (i)
#define result(i) (N+(i))
#define data (2*N)
#define PARENT(i) (TREE==0 -> 0 : i-1)
#define JOINED_BY(i) (JOIN==0 -> 0 : i-1)
#define HAS_CHILDREN(i) (TREE==0 -> i==0 : i<N-1)
#define FUNCTION(r) (r>R -> 9 : (r+1)/2)   /* 1, 1, 2, 2 ...; 9: go home */

inline pass_on(m) {
  if :: passed!=m -> passed=m; write(message(me), m) :: else fi;
  store(release(me), e, FORK) }
inline gather_below(joined) {
  j=1;
  do :: j<N && JOINED_BY(j)!=me -> j++
     :: j<N && JOINED_BY(j)==me && j!=me -> await(arrival(j), joined, GATHER); j++
     :: j<N && JOINED_BY(j)==me && j==me -> j++
     :: j>=N -> break od;
  j=0 }

proctype Master(byte me) { byte e=1, r=1, v, j, f, passed=FIRST;
  do :: r<=R ->
     write(data, r);
     f=FUNCTION(r); pass_on(f);
#ifdef EARLY
     if :: r==1 -> e++; r++; f=FUNCTION(r); pass_on(f) :: else fi;
#endif
     e++;
     gather_below(e);
     j=1; do :: j<N -> read(result(j), v); assert(v==r); j++ :: else -> break od; v=0; j=0;
     r++
  :: else -> break od;
  f=FUNCTION(r); pass_on(f);
  leave() }

proctype Worker(byte me) { byte e=1, r=1, v, j, f, passed=FIRST;
  do ::
     await(release(PARENT(me)), e, HEAR);
     read(message(PARENT(me)), f); assert(f==FUNCTION(r));
     if :: HAS_CHILDREN(me) -> pass_on(f) :: else fi;
     if :: f==9 -> break :: else fi;
     f=0;
     read(data, v); assert(v==r); v=0;
     write(result(me), r);
     e++;
#ifdef UNGATHERED
     store(arrival(me), e, ARRIVE); gather_below(e);
#else
     gather_below(e); store(arrival(me), e, ARRIVE);
#endif
     r++
  od;
  leave() }
init { atomic { run Master(0); byte i=1; do :: i<N -> run Worker(i); i++ :: else -> break od } }
