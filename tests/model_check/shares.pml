/* Dynamic loops in shares, under weak memory. Stands for core/openmp/shares.h: T threads, each with a word {number of
 * the loop, first unit, last unit + 1}; E episodes of L loops of U units, with a barrier after each episode and none
 * between its loops. Every access to a word is relaxed.
 *   open   the owner stores its share
 *   take   the owner moves `first` on, with a compare-and-swap
 *   steal  another thread in the same loop moves `last` back, then stores what it got, less one, in its own word
 * Checked: every unit of every loop is run once, by somebody who has not run the loop's last unit yet.
 * Mutants: TORN the owner takes with a load and a store; ANY_LOOP a thief does not look at the number; EARLY it stores
 * what it is about to steal; WHOLE it also stores the unit that it runs; ONE_NUMBER all loops of an episode have the
 * same number; NO_BARRIER numbers begin anew without waiting; GIVE_UP an owner whose compare-and-swap fails leaves the
 * loop; GO_ON who has run the last unit takes others. */
#ifndef T
#define T 2
#endif
#ifndef U
#define U 4
#endif
#ifndef L
#define L 2
#endif
#ifndef E
#define E 2
#endif
#define THREADS T
#define LOCATIONS (T+1)
#define PLAIN 0
#define MESSAGES 16
#include "weak.pml"
#define word(i) (i)
#define arrived T
#define PACK(number, first, last) ((number)*64+(first)*8+(last))
#define NUMBER(w) ((w)/64)
#define FIRST(w) (((w)/8)%8)
#define LAST(w) ((w)%8)
#ifdef ANY_LOOP
#define SAME(w) true
#else
#define SAME(w) (NUMBER(w)==number)
#endif
bool ran[E*L*U];
byte left;

inline run_unit(u) {
  assert(!ran[((e-1)*L+loop-1)*U+(u)] && !at_last);
  ran[((e-1)*L+loop-1)*U+(u)]=true;
  at_last=((u)==U-1); got=true }

inline take() {
  load(word(me), RELAXED, w);
  do :: !got && FIRST(w)<LAST(w) ->
#ifdef TORN
     store(word(me), w+8, RELAXED);
     d_step { run_unit(FIRST(w)) }
#else
     atomic { update_from(word(me), RELAXED, v);
       if :: v==w -> update_to(w+8); run_unit(FIRST(w))
          :: else -> update_not(); w=v
#ifdef GIVE_UP
             ; w=PACK(number, U, U)
#endif
       fi; v=0 }
#endif
  :: else -> break od }

inline steal() {
  i=1;
  do :: !got && i<T ->
     load(word((me+i)%T), RELAXED, w);
     do :: !got && FIRST(w)<LAST(w) && SAME(w) ->
        middle=FIRST(w)+(LAST(w)-FIRST(w))/2;
#ifdef EARLY
        store(word(me), PACK(number, middle+1, LAST(w)), RELAXED);
#endif
        atomic { update_from(word((me+i)%T), RELAXED, v);
          if :: v==w -> update_to(PACK(NUMBER(w), FIRST(w), middle)); run_unit(middle)
             :: else -> update_not(); w=v fi; v=0 };
#ifndef EARLY
        if :: got ->
#ifdef WHOLE
              store(word(me), PACK(number, middle, LAST(w)), RELAXED)
#else
              store(word(me), PACK(number, middle+1, LAST(w)), RELAXED)
#endif
           :: else fi;
#endif
        middle=0
     :: else -> break od;
     w=0; i++
  :: else -> break od;
  i=0 }

proctype Worker(byte me) { byte e=1, loop, number, w, v, i, middle; bool got, at_last;
  do :: e<=E ->
     number=0; loop=1;
     do :: loop<=L ->
#ifdef ONE_NUMBER
        number=1;
#else
        number++;
#endif
        store(word(me), PACK(number, U*me/T, U*(me+1)/T), RELAXED);
        got=true; at_last=false;
        do :: got ->
           got=false;
           take();
#ifdef GO_ON
           if :: !got -> steal() :: else fi;
#else
           if :: !got && FIRST(w)!=U -> steal() :: else fi;
#endif
           w=0
        :: else -> break od;
        loop++
     :: else -> break od;
     atomic { update_from(arrived, ACQ_REL, v); update_to(v+1); v=0 };
#ifndef NO_BARRIER
     await(arrived, e*T, ACQUIRE);
#endif
     e++
  :: else -> break od;
  atomic { left++;
    if :: left==T -> i=0; do :: i<E*L*U -> assert(ran[i]); i++ :: else -> break od :: else fi };
  leave() }

init { atomic { byte i; do :: i<T -> run Worker(i); i++ :: else -> break od } }
