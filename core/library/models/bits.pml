/* The two levels of a vector of bits, under weak memory. Stands for thread/bits.h: set(), and a taker that goes by
 * hints, takes what it finds, and takes back the hint of a group in which it found nothing (is_empty()). SETTERS set a
 * bit each, all of one group; TAKERS try TRIES times, and who has taken a bit sets it once more, until it was set TURNS
 * times. With a bit comes a plain variable, which counts how often.
 * Checked: no race, no bit is had by two; at the end every bit that is set has its hint.
 * Mutants: SET, TAKE =RELAXED; NO_FENCE_SET, NO_FENCE_EMPTY without the fence; FIRST the hint is set first, and looked
 * at no more; BLIND who takes a hint back does not look again; GRAB a bit is taken by a store. */
#ifndef SETTERS
#define SETTERS 2
#endif
#ifndef TAKERS
#define TAKERS 1
#endif
#ifndef TURNS
#define TURNS 2
#endif
#ifndef TRIES
#define TRIES 3
#endif
#define THREADS (SETTERS+TAKERS)
#define LOCATIONS (1+SETTERS)
#define PLAIN SETTERS
#define MESSAGES 18
#ifndef SET
#define SET RELEASE
#endif
#ifndef TAKE
#define TAKE ACQUIRE
#endif
#include "../../../tests/model_check/weak.pml"
#define top 0
#define word(i) (1+(i))   /* a word each */
byte finished;

inline put_hint() {
  load(top, RELAXED, v);
  if :: v==0 -> atomic { update_from(top, RELAXED, v); update_to(1) } :: else fi;
  v=0 }

inline set(k) {
#ifdef FIRST
  put_hint();
  atomic { update_from(word(k), SET, v); assert(v==0); update_to(1); v=0 }
#else
  atomic { update_from(word(k), SET, v); assert(v==0); update_to(1); v=0 };
#ifndef NO_FENCE_SET
  fence();
#endif
  put_hint()
#endif
}

proctype Setter(byte me) { byte v;
  write(me, 1);
  set(me);
  atomic { leave(); finished++ } }

inline take(k) {
  load(word(k), RELAXED, v);
  if :: v==1 ->
#ifdef GRAB
        store(word(k), 0, TAKE)
#else
        atomic { update_from(word(k), TAKE, v); if :: v==1 -> update_to(0) :: else -> update_not() fi }
#endif
     :: else fi }

proctype Taker(byte me) { byte tries, i, v, count; bool got;
  do
  :: tries<TRIES ->
     tries++;
     load(top, RELAXED, v);
     if :: v==1 ->
           do :: i<SETTERS && !got ->
                 take(i);
                 if :: v==1 ->
                       got=true;
                       read(i, count);
                       if :: count<TURNS -> write(i, count+1); set(i) :: else fi;
                       count=0
                    :: else fi;
                 v=0; i++
              :: else -> break od;
           i=0;
           if :: !got ->
                 atomic { update_from(top, RELAXED, v); update_to(0); v=0 };
#ifndef NO_FENCE_EMPTY
                 fence();
#endif
#ifndef BLIND
                 do :: i<SETTERS && v==0 -> load(word(i), RELAXED, v); i++ :: else -> break od;
                 i=0;
                 if :: v==1 -> atomic { update_from(top, RELAXED, v); update_to(1) } :: else fi;
#endif
                 v=0
              :: else got=false fi
        :: else v=0 fi
  :: else -> break
  od;
  atomic { leave(); finished++ } }

proctype Judge() {
  atomic { finished==SETTERS+TAKERS;
  byte i;
  do :: i<SETTERS -> assert(last_[word(i)]!=1 || last_[top]==1); i++ :: else -> break od } }

init { atomic { byte i=0; do :: i<SETTERS -> run Setter(i); i++ :: else -> break od;
  i=0; do :: i<TAKERS -> run Taker(SETTERS+i); i++ :: else -> break od; run Judge() } }
