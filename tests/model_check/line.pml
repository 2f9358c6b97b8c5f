/* One line, under weak memory: core/transport/line.h post() and poll(), without sleeping (bell.pml). The owner tells
 * of L episodes and waits for nobody; what it wrote before each is plain data of that episode.
 * Checked: no race; a reader that sees an episode sees all data up to it. Mutants: POST, POLL =RELAXED; LATE data
 * written after the post. N readers. */
#ifndef L
#define L 3
#endif
#ifndef N
#define N 2
#endif
#define THREADS (N+1)
#define LOCATIONS 1
#define PLAIN (L+1)
#define MESSAGES (L+1)
#ifndef POST
#define POST RELEASE
#endif
#ifndef POLL
#define POLL ACQUIRE
#endif
#include "weak.pml"
#define epoch 0

proctype Owner(byte me) { byte e=1;
  do :: e<=L ->
#ifdef LATE
     store(epoch, e, POST); write(e, e);
#else
     write(e, e); store(epoch, e, POST);
#endif
     e++
  :: else -> break od;
  leave() }
proctype Reader(byte me) { byte e=1, v, i;
  do :: e<=L ->
     await(epoch, e, POLL);
     i=1; do :: i<=e -> read(i, v); assert(v==i); i++ :: else -> break od; i=0; v=0;
     e++
  :: else -> break od;
  leave() }
init { atomic { run Owner(0); byte i=1; do :: i<=N -> run Reader(i); i++ :: else -> break od } }
