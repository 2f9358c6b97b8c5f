/* Who runs a surplus thread, under weak memory. Stands for gomp_shim/surplus.cc: settle(), take(), evict(),
 * take_kernel(), ring(), wait_for_work(). One lent thread runs SLICES times, each time on the carrier, or on its own
 * kernel thread, to which the watchdog has given it, EVICTIONS times at most; in between it may always go on. Its
 * registers are plain data. Its own kernel thread has itself LOOKS times, to look for what may come home to it.
 * Checked: no race; it never runs twice at once, and with the registers that it was left with; nobody sleeps for ever
 * beside it.
 * Mutants: SETTLE, TAKE, GIVE =RELAXED; EARLY it is there to be run before its registers are saved; GRAB it is taken by
 * a store; SEIZE the kernel thread is had by a store; SILENT its own kernel thread leaves it without a word to the
 * carrier; QUIET the watchdog puts it back without one; UNTOLD ... gives it without a word. */
#ifndef SLICES
#define SLICES 3
#endif
#ifndef EVICTIONS
#define EVICTIONS 2
#endif
#ifndef LOOKS
#define LOOKS 1
#endif
#define THREADS 3
#define LOCATIONS 4
#define PLAIN 1
#define MESSAGES 14
#ifndef SETTLE
#define SETTLE RELEASE
#endif
#ifndef TAKE
#define TAKE ACQUIRE
#endif
#ifndef GIVE
#define GIVE RELEASE
#endif
#include "weak.pml"
#define state 0
#define order 1
#define bell(kernel) (2+(kernel))
#define registers 0
/* state; order: the first value of both is 0 */
#define RUNNABLE 0
#define RUNNING 1
#define FREE 0
#define BUSY 1
#define GIVEN 2

byte running, slices;
bool over;

inline ring(kernel) { atomic { update_from(bell(kernel), RELEASE, v); update_to(v+1); v=0 } }
inline sleep(kernel) { atomic { (over || last_[bell(kernel)]!=rung); rung=0 } }

/* got=1: it is ours */
inline take() {
  load(state, RELAXED, v);
  if :: v==RUNNABLE ->
#ifdef GRAB
        store(state, RUNNING, RELAXED); got=1
#else
        atomic { update_from(state, TAKE, v);
          if :: v==RUNNABLE -> update_to(RUNNING); got=1 :: else -> update_not() fi }
#endif
     :: else fi;
  v=0 }

/* The thread itself, on kernel thread `me`, and what is done by whoever goes on there. */
inline run_it() {
  atomic { assert(running==0); running++ };
  read(registers, v); assert(v==slices); v=0;
#ifdef EARLY
  if :: slices+1<SLICES -> store(state, RUNNABLE, SETTLE) :: else fi;
#endif
  slices++; write(registers, slices); running--;
  if :: slices==SLICES -> over=true
     :: else ->
        if :: me==1 -> store(order, FREE, RELEASE) :: else fi;
#ifndef EARLY
        store(state, RUNNABLE, SETTLE);
#endif
#ifndef SILENT
        if :: me==1 -> ring(0) :: else fi;
#endif
        skip
  fi }

proctype Carrier(byte me) { byte v, got, rung;
  do
  :: over -> break
  :: else ->
     load(bell(0), ACQUIRE, rung);
     take();
     if :: got==1 -> got=0; rung=0; run_it() :: else -> sleep(0) fi
  od;
  leave() }

proctype Own(byte me) { byte v, rung, looks;
  do
  :: over -> break
  :: else ->
     load(bell(1), ACQUIRE, rung);
     load(order, ACQUIRE, v);
     if :: v==GIVEN -> v=0; rung=0; store(order, BUSY, RELAXED); run_it()
        :: v==FREE && looks<LOOKS -> looks++; v=0; rung=0;
           atomic { update_from(order, ACQ_REL, v);
             if :: v==FREE -> update_to(BUSY) :: else -> update_not() fi };
           if :: v==FREE -> v=0; store(order, FREE, RELEASE) :: else v=0 fi
        :: else -> v=0; sleep(1)
     fi
  od;
  leave() }

proctype Watchdog(byte me) { byte v, got, tries;
  do
  :: over || tries==EVICTIONS -> break
  :: else -> tries++;
     take();
     if :: got==1 -> got=0;
#ifdef SEIZE
           v=FREE;
#else
           atomic { update_from(order, ACQ_REL, v); if :: v==FREE -> update_to(BUSY) :: else -> update_not() fi };
#endif
           if :: v==FREE -> v=0;
                 store(order, GIVEN, GIVE);
#ifndef UNTOLD
                 ring(1)
#endif
              :: else -> v=0;
                 store(state, RUNNABLE, RELEASE);
#ifndef QUIET
                 ring(0)
#endif
           fi
        :: else fi
  od;
  leave() }

init { atomic { run Carrier(0); run Own(1); run Watchdog(2) } }
