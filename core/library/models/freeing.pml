/* A scheduler is freed while a signal is being given from outside, under weak memory. Stands for let_run() and
 * destroy() of thread/scheduler*.cc. A thread waits; a kernel thread that is none of the workers signals it: it
 * counts itself among the visitors, sets the bit, and looks for a worker to wake. A worker takes the bit, the thread
 * ends, and that is counted. Who frees waits until it has ended, and then until nobody visits. What is freed is plain
 * data: who looks for a worker reads it, who frees writes it.
 * Checked: no race; nobody hangs.
 * Mutants: SET, LEAVE, LOOK =RELAXED; UNCOUNTED there is no count; LATE who signals counts itself behind the bit; FIRST
 * who frees looks at the visitors first. */
#define THREADS 3
#define LOCATIONS 3
#define PLAIN 1
#define MESSAGES 6
#ifndef SET
#define SET RELEASE
#endif
#ifndef LEAVE
#define LEAVE RELEASE
#endif
#ifndef LOOK
#define LOOK ACQUIRE
#endif
#include "../../../tests/model_check/weak.pml"
#define bit 0
#define ended 1
#define visitors 2
#define scheduler 0

inline count() { atomic { update_from(visitors, RELAXED, v); update_to(v+1); v=0 } }

proctype Signaller(byte me) { byte v;
#ifndef UNCOUNTED
#ifndef LATE
  count();
#endif
#endif
  atomic { update_from(bit, SET, v); update_to(1); v=0 };
#ifdef LATE
  count();
#endif
  read(scheduler, v); v=0;
#ifndef UNCOUNTED
  atomic { update_from(visitors, LEAVE, v); update_to(v-1); v=0 };
#endif
  leave() }

proctype Worker(byte me) {
  await(bit, 1, ACQUIRE);
  store(ended, 1, RELEASE);
  leave() }

proctype Freer(byte me) { byte v;
#ifdef FIRST
  do :: load(visitors, LOOK, v); if :: v==0 -> break :: else fi od;
#endif
  await(ended, 1, ACQUIRE);
#ifndef FIRST
  do :: load(visitors, LOOK, v); if :: v==0 -> break :: else fi od;
#endif
  write(scheduler, 1);
  leave() }

init { atomic { run Signaller(0); run Worker(1); run Freer(2) } }
