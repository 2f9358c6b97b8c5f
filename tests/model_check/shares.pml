/* Dynamic loops in shares, under weak memory. Stands for core/openmp/shares.h: T threads, each with a word {number of
 * the loop, modulo 16, first unit, last unit + 1} and `opened`; E episodes of L loops of U units, with a barrier after
 * each episode and none between its loops. Episodes are S numbers apart. Every access to a word is relaxed.
 *   open   the owner puts its share into its word, unless it finds one of this loop or a later one there
 *   take   the owner moves `first` on; the last unit may be set aside for later, if none is
 *   steal  another thread in the same loop moves `last` back, then puts what it got, less one, into its own word if
 *          that is of this loop, else keeps it
 *   deal   the word says that the loop before is over: the thief opens the share in the owner's place, and steals
 * Checked: every unit of every loop is run once, by somebody who has not run the loop's last unit yet.
 * Mutants: TORN the owner takes with a load and a store; OPEN_ANYWAY it opens a share that has been dealt; ANY_LOOP a
 * thief deals whatever loop the word is of; BUSY it deals where units are left; NO_WINDOW it does not ask how old the
 * word is; WHOLE it also puts the unit into its word that it runs; ANY_ASIDE who finds nothing takes up whatever has been
 * set aside; LOST nobody takes it up. Three units are too few for a thief to keep any: shares_test.cc has that. */
#ifndef T
#define T 2
#endif
#ifndef U
#define U 3
#endif
#ifndef L
#define L 2
#endif
#ifndef E
#define E 2
#endif
#ifndef S
#define S L
#endif
#define THREADS T
#define LOCATIONS (2*T+2)
#define PLAIN 0
#define MESSAGES 24
#include "weak.pml"
#define word(i) (i)
#define opened(i) (T+(i))
#define aside (2*T)
#define arrived (2*T+1)
#define PACK(number, first, last) (((number)%16)*16+(first)*4+(last))
#define NUMBER(w) ((w)/16)
#define FIRST(w) (((w)/4)%4)
#define LAST(w) ((w)%4)
#define LOOP(w, since) ((since)+(NUMBER(w)+16-(since)%16)%16)
#ifdef NO_WINDOW
#define IN_WINDOW(o) ((o)<=number)
#else
#define IN_WINDOW(o) ((o)<=number && number-(o)<8)
#endif
#ifdef ANY_LOOP
#define BEFORE(at) ((at)<number)
#else
#define BEFORE(at) ((at)<number && ((at)+1==number || loop==1))
#endif
#ifdef BUSY
#define OVER(w) true
#else
#define OVER(w) (FIRST(w)>=LAST(w))
#endif
bool ran[E*L*U];
byte left;

inline run_unit(u) {
  assert(!ran[((e-1)*L+loop-1)*U+(u)] && !at_last);
  ran[((e-1)*L+loop-1)*U+(u)]=true;
  at_last=((u)==U-1);
  got=true }

inline open() {
  load(word(me), RELAXED, w);
#ifdef OPEN_ANYWAY
  store(word(me), PACK(number, U*me/T, U*(me+1)/T), RELAXED);
#else
  do :: !got && LOOP(w, before)<number ->
     atomic { update_from(word(me), RELAXED, v);
       if :: v==w -> update_to(PACK(number, U*me/T, U*(me+1)/T)); got=true
          :: else -> update_not(); w=v fi; v=0 }
  :: else -> break od;
#endif
  store(opened(me), number, RELEASE) }

inline take() {
  load(word(me), RELAXED, w);
  do :: !got && !later && NUMBER(w)==number%16 && FIRST(w)<LAST(w) ->
#ifdef TORN
     store(word(me), w+4, RELAXED);
     d_step { run_unit(FIRST(w)) }
#else
     atomic { update_from(word(me), RELAXED, v);
       if :: v==w -> update_to(w+4); w=w+4;
             if :: FIRST(w)==U -> later=true
                :: FIRST(w)==U -> run_unit(U-1)
                :: else -> run_unit(FIRST(w)-1) fi
          :: else -> update_not(); w=v fi; v=0 }
#endif
  :: else -> break od;
  if :: later ->
     atomic { update_from(aside, RELAXED, v);
       if :: v==0 -> update_to(number) :: else -> update_not(); run_unit(U-1) fi; v=0; later=false }
  :: else fi }

inline steal() {
  own=w; i=1;
  do :: !got && i<T ->
     load(opened((me+i)%T), ACQUIRE, before);
     load(word((me+i)%T), RELAXED, w);
     do :: !got && IN_WINDOW(before) && (LOOP(w, before)==number -> FIRST(w)<LAST(w) : BEFORE(LOOP(w, before)) && OVER(w)) ->
        atomic {
          if :: LOOP(w, before)==number -> first=FIRST(w); last=LAST(w)
             :: else -> first=U*((me+i)%T)/T; last=U*((me+i)%T+1)/T fi;
          update_from(word((me+i)%T), RELAXED, v);
          if :: v==w -> w=PACK(number, first, first+(last-first)/2); update_to(w);
                if :: first<last -> run_unit(first+(last-first)/2) :: else fi
             :: else -> update_not(); w=v fi; v=0 };
        if :: got ->
              first=first+(last-first)/2+1;
#ifdef WHOLE
              first--;
#endif
              if :: first<last ->
                    atomic { update_from(word(me), RELAXED, v);
                      if :: v==own && NUMBER(own)==number%16 -> update_to(PACK(number, first, last))
                         :: else -> update_not(); kept=first; kept_last=last fi; v=0 }
                 :: else fi
           :: else fi;
        first=0; last=0
     :: else -> break od;
     w=0; before=0; i++
  :: else -> break od;
  own=0; i=0 }

/* Nothing else was found. */
inline take_up() {
#ifndef LOST
  atomic { update_from(aside, RELAXED, v);
#ifdef ANY_ASIDE
    if :: v!=0 -> update_to(0); run_unit(U-1) :: else -> update_not() fi;
#else
    if :: v==number -> update_to(0); run_unit(U-1) :: else -> update_not() fi;
#endif
    v=0 }
#endif
  skip }

proctype Worker(byte me) { byte e=1, loop, number, before, w, own, v, i, first, last, kept, kept_last; bool got, at_last, later;
  do :: e<=E ->
     loop=1;
     do :: loop<=L ->
        before=number; number=(e-1)*S+loop; got=false;
        open();
        before=0; w=0; got=true; at_last=false;
        do :: got ->
           got=false;
           take();
           if :: !got && kept<kept_last -> atomic { run_unit(kept); kept++ } :: else fi;
           if :: !got && !at_last -> steal() :: else fi;
           if :: !got && !at_last -> take_up() :: else fi;
           w=0
        :: else -> break od;
        kept=0; kept_last=0; loop++
     :: else -> break od;
     atomic { update_from(arrived, ACQ_REL, v); update_to(v+1); v=0 };
     await(arrived, e*T, ACQUIRE);
     e++
  :: else -> break od;
  atomic { left++;
    if :: left==T -> i=0; do :: i<E*L*U -> assert(ran[i]); i++ :: else -> break od :: else fi };
  leave() }

init { atomic { byte i; do :: i<T -> run Worker(i); i++ :: else -> break od } }
