/* One user-level thread joins another, under weak memory. Stands for join(), after_join() and after_end() of
 * thread/scheduler.cc. Who joins: its registers, then exit from 0 to 1, if it can; else the other has ended. Who
 * ends: its result, then exit to 2; was it 1, it lets the joiner run on. Registers and result are plain data; a joiner
 * that has read the result frees the other's memory, which is written once more.
 * Checked: no race; who joins runs on once, and has the result; nobody hangs.
 * Mutants: JOIN, MISS (the exchange that fails), END =RELAXED; TWICE who ends always lets the joiner run on; LATE the
 * result is written when exit says that it is there; FIRST exit is looked at, and then stored. */
#define THREADS 2
#define LOCATIONS 1
#define PLAIN 2
#define MESSAGES 6
#ifndef JOIN
#define JOIN ACQ_REL
#endif
#ifndef MISS
#define MISS ACQUIRE
#endif
#ifndef END
#define END ACQ_REL
#endif
#include "../../../tests/model_check/weak.pml"
#define exit 0
#define registers 0
#define result 1
byte goes_on;

/* The joiner's rest, on the worker of whoever lets it run on. */
inline run_on() {
  atomic { assert(goes_on==0); goes_on++ };
  read(registers, v); assert(v==1);
  read(result, v); assert(v==7);
  write(result, 0); v=0 }

proctype Joiner(byte me) { byte v;
  write(registers, 1);
#ifdef FIRST
  load(exit, ACQUIRE, v);
  if :: v==0 -> store(exit, 1, JOIN) :: else -> v=0; run_on() fi;
#else
  /* The order of a failure is another. */
  if :: atomic { last_[exit]==0 -> update_from(exit, JOIN, v); assert(v==0); update_to(1) }
     :: atomic { last_[exit]!=0 -> update_from(exit, MISS, v); update_not() }; v=0; run_on()
  fi;
#endif
  leave() }

proctype Ender(byte me) { byte v;
#ifndef LATE
  write(result, 7);
#endif
  atomic { update_from(exit, END, v); update_to(2) };
#ifdef LATE
  write(result, 7);
#endif
#ifdef TWICE
  if :: true -> v=0; run_on() fi;
#else
  if :: v==1 -> v=0; run_on() :: else fi;
#endif
  leave() }

init { atomic { run Joiner(0); run Ender(1) }; _nr_pr==1; assert(goes_on==1) }
