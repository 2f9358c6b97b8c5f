/* Dependences between tasks, under weak memory. Stands for core/openmp/dependences.h: P tasks, each run by a thread of
 * its own, and one task that waits for all of them; the maker adds it to their lists meanwhile.
 *   add    open = 1; for each predecessor: a look at its list; unless it is closed: open + 1, the slot, a
 *          compare-and-swap into the list, with release; found closed then: open - 1; in the end open - 1
 *   close  what the task did, then the list by exchange; for the slot that was in it: read, then open - 1
 * Who brings open to 0 runs the task, and its slots are used for something else. Checked: it is run once, may read what
 * all P tasks did, and may write its slots.
 * Mutants: NO_HOLD the maker has no part of `open`; LATE the count goes up after the slot is in the list; TORN the slot
 * is put there with a store; AFTER the slot is read after open has gone down; FORGET the maker does not give back what
 * it counted for a list that was closed; SEE, GIVE, CLOSE, COUNT: weaker orders of the look, the compare-and-swap, the
 * exchange and `open - 1`. */
#ifndef P
#define P 2
#endif
#ifndef SEE
#define SEE ACQUIRE
#endif
#ifndef GIVE
#define GIVE RELEASE
#endif
#ifndef CLOSE
#define CLOSE ACQ_REL
#endif
#ifndef COUNT
#define COUNT ACQ_REL
#endif
#define THREADS (P+1)
#define LOCATIONS (P+1)
#define PLAIN (2*P)
#define MESSAGES 12
#include "weak.pml"
#define list(p) (p)
#define open P
#define done(p) (p)
#define slot(p) (P+(p))
#define IN 1
#define CLOSED 2
bool ran;
byte left;

inline run_it() {
  assert(!ran); ran=true;
  i=0; do :: i<P -> read(done(i), v); assert(v==1); write(slot(i), 9); i++ :: else -> break od; i=0; v=0 }

inline one_less() {
  atomic { update_from(open, COUNT, v); assert(v>0); update_to(v-1) };
  if :: v==1 -> v=0; run_it() :: else -> v=0 fi }

inline one_more() { atomic { update_from(open, RELAXED, v); update_to(v+1); v=0 } }

proctype Maker(byte me) { byte p, v, i, seen;
#ifndef NO_HOLD
  store(open, 1, RELAXED);
#endif
  do :: p<P ->
     load(list(p), SEE, seen);
     if :: seen!=CLOSED ->
        write(slot(p), 1);
#ifndef LATE
        one_more();
#endif
#ifdef TORN
        store(list(p), IN, GIVE); seen=0;
#else
        atomic { update_from(list(p), GIVE+ACQUIRE, seen);
          if :: seen==0 -> update_to(IN) :: else -> update_not() fi };
#endif
#ifdef LATE
        if :: seen==0 -> one_more() :: else fi;
#else
#ifndef FORGET
        if :: seen==CLOSED -> atomic { update_from(open, RELAXED, v); update_to(v-1); v=0 } :: else fi;
#endif
#endif
     :: else fi;
     seen=0; p++
  :: else -> break od;
  p=0;
#ifdef NO_HOLD
  load(open, ACQUIRE, v);
  if :: v==0 && !ran -> run_it() :: else -> v=0 fi;
#else
  one_less();
#endif
  left++;
  leave() }

proctype Predecessor(byte me) { byte p=me-1, v, i, seen;
  write(done(p), 1);
  atomic { update_from(list(p), CLOSE, seen); update_to(CLOSED) };
  if :: seen==IN ->
#ifdef AFTER
     one_less();
     read(slot(p), v); v=0
#else
     read(slot(p), v); assert(v==1); v=0;
     one_less()
#endif
  :: else fi;
  seen=0; p=0;
  left++;
  leave() }

active proctype Monitor() { (left==P+1) -> assert(ran) }

init { atomic { byte i; run Maker(0); i=1; do :: i<=P -> run Predecessor(i); i++ :: else -> break od } }
