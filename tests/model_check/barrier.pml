/* Barriers of flags, under weak memory. Stands for
 *   signal, wait   post() and poll() of core/transport/line.h, as core/team/barrier.h (PAIR) and barrier.cc (the
 *                  others) use them; the store and the load of core/group/barrier.cc, which has the same orders
 * What they do: PAIR two flags; DISSEMINATION among 4, two rounds; TREE a chain 0-1-2, up and down again.
 * Everybody writes plain data before the odd barriers, and reads everybody's after them and before the even ones.
 * Checked: no race, nobody hangs. Mutants: SIGNAL, WAIT =RELAXED; SWAP steps in the wrong order. E episodes. */
#ifndef E
#define E 3
#endif
#ifdef PAIR
#define THREADS 2
#define LOCATIONS 2
#elif defined(DISSEMINATION)
#define THREADS 4
#define LOCATIONS 8
#else
#define THREADS 3
#define LOCATIONS 5
#endif
#define PLAIN THREADS
#define MESSAGES 4
#ifndef SIGNAL
#define SIGNAL RELEASE
#endif
#ifndef WAIT
#define WAIT ACQUIRE
#endif
#include "weak.pml"
#define signal(line) store(line, e, SIGNAL)
#define wait(line) await(line, e, WAIT)

inline barrier() {
#ifdef PAIR
#ifdef SWAP
  wait(1-me); signal(me)
#else
  signal(me); wait(1-me)
#endif
#elif defined(DISSEMINATION) /* to the next, then, with what came, to the one after it */
#ifdef SWAP
  signal(me); signal(4+me); wait((me+3)%4); wait(4+(me+2)%4)
#else
  signal(me); wait((me+3)%4); signal(4+me); wait(4+(me+2)%4)
#endif
#else /* TREE: 1 and 2 arrive in lines 1 and 2, 0 and 1 release in lines 3 and 4 */
  if
  :: me==0 -> wait(1); signal(3)
#ifdef SWAP
  :: me==1 -> signal(1); wait(2); wait(3); signal(4)
#else
  :: me==1 -> wait(2); signal(1); wait(3); signal(4)
#endif
  :: me==2 -> signal(2); wait(4)
  fi
#endif
}

proctype P(byte me) { byte e=1, v, j;
  do :: e<=E ->
     if :: e%2 -> write(me, e) :: else fi;
     barrier();
     if :: e%2 -> j=0; do :: j<THREADS -> read(j, v); assert(v==e); j++ :: else -> break od; v=0; j=0
        :: else fi;
     e++
  :: else -> break od;
  leave() }
init { atomic { byte i=0; do :: i<THREADS -> run P(i); i++ :: else -> break od } }
