/* The meeting at the start of a hot team, under weak memory. Stands for core/openmp/hot_team.cc: come_to_meeting(),
 * start_team(). Every worker says where it runs (a relaxed atomic) and adds itself to `docked`; the master
 * reads where they run when all have, builds, and posts `ready`; the workers read what was built, plain data.
 * Checked: the master knows all CPUs, no race, nobody hangs. Mutants: ADD, SEEN, READY, WAIT =RELAXED. N threads. */
#ifndef N
#define N 4
#endif
#define THREADS N
#define LOCATIONS (N+2)
#define PLAIN 1
#define MESSAGES 5
#ifndef ADD
#define ADD RELEASE
#endif
#ifndef SEEN
#define SEEN ACQUIRE
#endif
#ifndef READY
#define READY RELEASE
#endif
#ifndef WAIT
#define WAIT ACQUIRE
#endif
#include "weak.pml"
#define cpu(i) (i)
#define docked N
#define ready (N+1)

proctype Worker(byte me) { byte v;
  store(cpu(me), me, RELAXED);
  atomic { update_from(docked, ADD, v); update_to(v+1) };
  await(ready, 1, WAIT);
  read(0, v); assert(v==7);
  leave() }
proctype Master(byte me) { byte v, i=1;
  await(docked, N-1, SEEN);
  do :: i<N -> load(cpu(i), RELAXED, v); assert(v==i); i++ :: else -> break od;
  write(0, 7);
  store(ready, 1, READY);
  leave() }
init { atomic { run Master(0); byte i=1; do :: i<N -> run Worker(i); i++ :: else -> break od } }
