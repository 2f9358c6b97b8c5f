/* The deque of work stealing, under weak memory. Stands for core/openmp/deque.h: an owner that pushes K entries and
 * takes one now and then, and in the end all that are left; T thieves that try to steal S times each; room for R.
 *   push   the entry, then bottom, with release; before that, a look at top: is there room?
 *   take   a look at top: is there any? Bottom back by one, a fence, a look at top; for the last entry a
 *          compare-and-swap of top
 *   holds  the first look of both: not where what the owner has seen of top before (`low`) answers already
 *   steal  a look at top, a fence, a look at bottom, the entry, a compare-and-swap of top
 * What an entry points to is a plain variable. Checked: every entry is had once, by somebody who may read it.
 * Mutants: NO_FENCE_TAKE, NO_FENCE_STEAL without the fence; LAZY pushes bottom without release; BLIND reads bottom
 * without acquire; BACK_RELAXED takes without release, so that a thief sees a bottom that brings no entries;
 * GRAB the owner takes the last entry without compare-and-swap; TORN a thief moves top with a store;
 * FORWARD bottom is not put back after the last entry; CARELESS does not look whether there is room. */
#ifndef T
#define T 1
#endif
#ifndef K
#define K 3
#endif
#ifndef S
#define S 2
#endif
#ifndef R
#define R 2
#endif
#define THREADS (T+1)
#define LOCATIONS (R+2)
#define PLAIN K
#define MESSAGES 12
#include "weak.pml"
#define ring(i) ((i)%R)
#define top R
#define bottom (R+1)
#ifdef LAZY
#define GIVE RELAXED
#else
#define GIVE RELEASE
#endif
#ifdef BLIND
#define SEE RELAXED
#else
#define SEE ACQUIRE
#endif
#ifdef BACK_RELAXED
#define BACK RELAXED
#else
#define BACK RELEASE
#endif
bool had[K];
byte left;

inline have(entry) {
  assert(entry>0 && !had[entry-1]); had[entry-1]=true;
  read(entry-1, v); assert(v==entry); v=0 }

/* Do n entries wait, of b-low that may? */
inline holds(n) {
  if :: b-low>=(n) -> load(top, ACQUIRE, t); low=t; t=0 :: else fi }

inline take() {
  got=0;
  holds(1);
  if :: low<b ->
     b--;
     load(ring(b), RELAXED, entry);
     store(bottom, b, BACK);
#ifndef NO_FENCE_TAKE
     fence();
#endif
     load(top, RELAXED, t);
     if :: t<b -> got=entry
        :: else ->
#ifdef GRAB
           if :: t==b -> got=entry; store(top, b+1, RELEASE) :: else fi;
#else
           if :: t==b ->
              atomic { update_from(top, ACQ_REL, v);
                if :: v==b -> update_to(b+1); got=entry :: else -> update_not() fi; v=0 }
           :: else fi;
#endif
#ifndef FORWARD
           store(bottom, b+1, BACK); b++
#endif
     fi;
     if :: got!=0 -> have(got) :: else fi
  :: else fi;
  t=0; entry=0 }

proctype Owner(byte me) { byte k=1, b, low, t, v, entry, got; bool more=true;
  do :: k<=K ->
     write(k-1, k);
#ifdef CARELESS
     if :: true ->
#else
     holds(R);
     if :: b-low<R ->
#endif
           store(ring(b), k, RELAXED); b++; store(bottom, b, GIVE); k++
        :: else fi;
     if :: take() :: true fi
  :: else -> break od;
  do :: more -> take(); if :: got==0 -> more=false :: else fi :: else -> break od;
  got=0; k=0;
  left++;
  leave() }

proctype Thief(byte me) { byte s, b, t, v, entry, got;
  do :: s<S ->
     load(top, ACQUIRE, t);
#ifndef NO_FENCE_STEAL
     fence();
#endif
     load(bottom, SEE, b);
     if :: t<b ->
        load(ring(t), RELAXED, entry);
#ifdef TORN
        store(top, t+1, RELEASE); got=entry;
#else
        atomic { update_from(top, ACQ_REL, v);
          if :: v==t -> update_to(t+1); got=entry :: else -> update_not() fi; v=0 };
#endif
        if :: got!=0 -> have(got) :: else fi
     :: else fi;
     b=0; t=0; entry=0; got=0; s++
  :: else -> break od;
  left++;
  leave() }

active proctype Monitor() { byte i;
  (left==T+1) -> do :: i<K -> assert(had[i]); i++ :: else -> break od }

init { atomic { byte i; run Owner(0); i=1; do :: i<=T -> run Thief(i); i++ :: else -> break od } }
