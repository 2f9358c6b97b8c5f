/* Dynamic loops, under weak memory. Stands for core/openmp/chunks.h: T threads in E episodes of L loops of U units, with
 * a barrier after each episode and none between its loops. A counter for each loop of an episode, {episode, next unit},
 * a word for what each thread holds, {loop, first unit, units left}. Every access is relaxed.
 *   take    a thread that holds nothing adds 1 or B to the counter; an older episode's word it replaces by its own
 *   held    its own first, then, behind the end of the counter, others': first + 1, left - 1, by compare-and-swap
 *   last    before the loop's last unit it takes what others hold, and holds that unit meanwhile
 * Checked: every unit of every loop is run once, by a thread that has not run the loop's last unit yet.
 * Mutants: TORN held units are taken with a load and a store; ANY_LOOP of whatever loop they are; STALE a word of an
 * older episode counts; ANEW it is replaced with a store; UNCUT what is behind the end is held, too; LEAVES a thread
 * leaves the loop with the units that it holds. */
#ifndef T
#define T 2
#endif
#ifndef U
#define U 3
#endif
#ifndef L
#define L 1
#endif
#ifndef E
#define E 2
#endif
#ifndef B
#define B 2
#endif
#define THREADS T
#define LOCATIONS (L+T+1)
#define PLAIN 0
#define MESSAGES 24
#include "weak.pml"
#define counter(l) ((l)-1)
#define batch(i) (L+(i))
#define arrived (L+T)
#define EPISODE(w) ((w)/32)
#define NEXT(w) ((w)%32)
#define HELD(l, first, left) ((l)*32+(first)*4+(left))
#define LOOP(w) ((w)/32)
#define FIRST(w) (((w)/4)%8)
#define LEFT(w) ((w)%4)
#ifdef ANY_LOOP
#define OF(w) true
#else
#define OF(w) (LOOP(w)==loop)
#endif
bool ran[E*L*U];
byte left;

inline run_unit(u) {
  assert(!ran[((e-1)*L+loop-1)*U+(u)] && !at_last);
  ran[((e-1)*L+loop-1)*U+(u)]=true;
  at_last=((u)==U-1) }

/* Takes a unit that thread i holds, or finds that it holds none. */
inline take_held(i) {
  load(batch(i), RELAXED, w);
  do :: !got && LEFT(w)>0 && OF(w) ->
#ifdef TORN
     store(batch(i), w+3, RELAXED); unit=FIRST(w); got=true
#else
     atomic { update_from(batch(i), RELAXED, v);
       if :: v==w -> update_to(w+3); unit=FIRST(w); got=true
          :: else -> update_not(); w=v fi; v=0 }
#endif
  :: else -> break od;
  w=0 }

inline take_others() {
  i=1;
  do :: !got && i<T -> take_held((me+i)%T); i++ :: else -> break od;
  i=0 }

inline take_units() {
  if :: count=1 :: count=B fi;
  atomic { update_from(counter(loop), RELAXED, v); update_to(v+count); w=v; v=0 };
#ifndef STALE
  if :: EPISODE(w)!=e ->
        w=w+count;
#ifdef ANEW
        store(counter(loop), e*32+count, RELAXED); w=e*32; v=1;
#endif
        do :: v==0 && EPISODE(w)!=e ->
           atomic { update_from(counter(loop), RELAXED, v);
             if :: v==w -> update_to(e*32+count); w=e*32; v=1
                :: else -> update_not(); w=v; v=0 fi }
        :: else -> break od;
        if :: v==0 -> atomic { update_from(counter(loop), RELAXED, v); update_to(v+count); w=v; v=0 }
           :: else -> v=0 fi
     :: else fi;
#endif
  if :: NEXT(w)<U ->
        unit=NEXT(w); got=true;
#ifndef UNCUT
        if :: unit+count>U -> count=U-unit :: else fi;
#endif
        if :: count>1 -> store(batch(me), HELD(loop, unit+1, count-1), RELAXED) :: else fi
     :: else fi;
  w=0; count=0 }

proctype Worker(byte me) { byte e=1, loop, w, v, i, unit, last, count; bool got, at_last;
  do :: e<=E ->
     loop=1;
     do :: loop<=L ->
        got=true; at_last=false;
        do :: got && !at_last ->
           got=false;
#ifdef LEAVES
           load(batch(me), RELAXED, w);
           if :: LEFT(w)>0 -> break :: else fi;
#else
           take_held(me);
#endif
           if :: !got -> take_units() :: else fi;
           if :: !got -> take_others() :: else fi;
           if :: got && unit==U-1 ->
                 got=false; last=unit;
                 take_others();
                 if :: got -> store(batch(me), HELD(loop, last, 1), RELAXED)
                    :: else -> unit=last; got=true fi;
                 last=0
              :: else fi;
           if :: got -> atomic { run_unit(unit); unit=0 } :: else fi
        :: else -> break od;
        w=0; loop++
     :: else -> break od;
     atomic { update_from(arrived, ACQ_REL, v); update_to(v+1); v=0 };
     await(arrived, e*T, ACQUIRE);
     e++
  :: else -> break od;
  atomic { left++;
    if :: left==T -> i=0; do :: i<E*L*U -> assert(ran[i]); i++ :: else -> break od :: else fi };
  leave() }

init { atomic { byte i; do :: i<T -> run Worker(i); i++ :: else -> break od } }
