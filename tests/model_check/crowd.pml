/* The barrier of a crowd, under weak memory. Stands for core/team/barrier.cc arrive_and_wait_crowd(): a counter of
 * epoch and arrivals, and the last to come posts a flag (core/transport/line.h). The load in front of the
 * compare-and-swap and its failures read the counter relaxed and use nothing but the number, so what is left of them
 * is one read-modify-write. Plain data are written before the odd barriers and read by everybody after them.
 * Checked: no race, nobody hangs.
 * Mutants: CAS =RELEASE, =ACQUIRE; SIGNAL, WAIT =RELAXED; TORN the counter is read and written, not exchanged.
 * N participants, E episodes. */
#ifndef N
#define N 3
#endif
#ifndef E
#define E 3
#endif
#define THREADS N
#define LOCATIONS 2
#define PLAIN N
#define MESSAGES 10
#ifndef CAS
#define CAS ACQ_REL
#endif
#ifndef SIGNAL
#define SIGNAL RELEASE
#endif
#ifndef WAIT
#define WAIT ACQUIRE
#endif
#include "weak.pml"
#define arrivals 0
#define released 1

proctype P(byte me) { byte e=1, v, j;
  do :: e<=E ->
     if :: e%2 -> write(me, e) :: else fi;
#ifdef TORN
     load(arrivals, ACQUIRE, v);
     v=(v/8==e -> v+1 : e*8+1);
     store(arrivals, v, RELEASE);
#else
     atomic { update_from(arrivals, CAS, v); v=(v/8==e -> v+1 : e*8+1); update_to(v) };
#endif
     if :: v%8==N -> v=0; store(released, e, SIGNAL)
        :: else -> v=0; await(released, e, WAIT) fi;
     if :: e%2 -> j=0; do :: j<N -> read(j, v); assert(v==e); j++ :: else -> break od; v=0; j=0
        :: else fi;
     e++
  :: else -> break od;
  leave() }
init { atomic { byte i=0; do :: i<N -> run P(i); i++ :: else -> break od } }
