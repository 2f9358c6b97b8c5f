/* A word from one participant to all others, with a way back, under weak memory. Stands for core/team/barrier.cc
 * tell(), hear() and settle(), and for copyprivate on top of them (gomp_shim/barriers.cc). N hearers and a teller; each
 * may mark the episode first (core/openmp/episodes.cc mark()), the teller in its block, a hearer before it comes, and
 * then it has a task, plain data, that whoever goes to the other barrier runs.
 * Checked: all are told, or all turn back; who turns back has seen the mark; the data of the block are there; no race,
 * nobody hangs.
 * Mutants: SETTLE, TELL, HEAR =RELAXED; BLIND the teller does not settle; RASH a hearer does not. */
#ifndef N
#define N 2
#endif
#define THREADS (N+1)
#define LOCATIONS 3
#define PLAIN 1
#define MESSAGES 8
#ifndef SETTLE
#define SETTLE ACQ_REL
#endif
#ifndef TELL
#define TELL RELEASE
#endif
#ifndef HEAR
#define HEAR ACQUIRE
#endif
#include "weak.pml"
#define settled 0
#define told 1
#define marked 2
#define data 0
#define TOLD 1
#define BACK 2

byte told_all, back_all;

inline mark() { atomic { update_from(marked, RELEASE, v); update_to(1) }; v=0 }

/* v: what has been decided */
inline settle(mine) {
  atomic { update_from(settled, SETTLE, v); if :: v==0 -> update_to(mine); v=mine :: else -> update_not() fi }
}

inline turn_back() { load(marked, RELAXED, v); assert(v==1); back_all++ }

proctype Teller(byte me) { byte v;
  if :: mark() :: skip fi;
  write(data, 1);
#ifdef BLIND
  v=TOLD;
#else
  settle(TOLD);
#endif
  if :: v==TOLD -> store(told, 1, TELL); told_all++
     :: else -> turn_back() fi;
  leave() }

proctype Hearer(byte me) { byte v;
  if :: mark() :: skip fi;
  if
  :: await(told, 1, HEAR); v=TOLD
  :: await(marked, 1, ACQUIRE);
#ifdef RASH
     v=BACK
#else
     settle(BACK);
     if :: v==TOLD -> await(told, 1, HEAR) :: else fi
#endif
  fi;
  if :: v==TOLD -> read(data, v); assert(v==1); told_all++
     :: else -> turn_back() fi;
  leave() }

init { atomic { byte i=0; do :: i<N -> run Hearer(i); i++ :: else -> break od; run Teller(N) };
  _nr_pr==1; assert(told_all==0 || back_all==0) }
