/* The two levels of a vector of bits, under weak memory. Stands for core/thread/bits.h: set(), and a taker that goes by
 * hints, takes what it finds, and takes back the hint of a group in which it found nothing (is_empty()). SETTERS set a
 * bit each, of one group, TURNS times; TAKERS try TRIES times. A bit comes with a plain variable.
 * Checked: no race; at the end every bit that is set has its hint; none is taken that was not set.
 * Mutants: SET, TAKE =RELAXED; NO_FENCE_SET, NO_FENCE_EMPTY without the fence; FIRST the hint is set first, and looked
 * at no more; BLIND who takes a hint back does not look again. */
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
#include "weak.pml"
#define top 0
#define word(i) (1+(i))   /* a word each: bits of one word are easier */
byte taken[SETTERS], finished;

inline put_hint() {
  load(top, RELAXED, v);
  if :: v==0 -> atomic { update_from(top, RELAXED, v); update_to(1) } :: else fi; v=0 }

/* Sets its bit again when it has been taken: what it reads then was written by the taker. */
proctype Setter(byte me) { byte k, v;
  do
  :: k<TURNS ->
     if :: k>0 -> await_zero() :: else fi;
     write(me, k+1);
#ifdef FIRST
     put_hint();
     atomic { update_from(word(me), SET, v); assert(v==0); update_to(1); v=0 };
#else
     atomic { update_from(word(me), SET, v); assert(v==0); update_to(1); v=0 };
#ifndef NO_FENCE_SET
     fence();
#endif
     put_hint();
#endif
     k++
  :: else -> break
  od;
  atomic { finished++; leave() } }

inline await_zero() { atomic { last_[word(me)]==0 || finished>=SETTERS+TAKERS-1 -> skip };
  load(word(me), ACQUIRE, v); if :: v!=0 -> v=0; break :: else fi }

proctype Taker(byte me) { byte tries, i, v, got;
  do
  :: tries<TRIES ->
     tries++;
     load(top, RELAXED, v);
     if :: v==1 ->
           got=0; i=0; v=0;
           do :: i<SETTERS && got==0 ->
                 load(word(i), RELAXED, v);
                 if :: v==1 ->
                       read_bit()
                    :: else fi;
                 v=0; i++
              :: else -> break od;
           if :: got==0 ->
                 atomic { update_from(top, RELAXED, v); update_to(0); v=0 };
#ifndef NO_FENCE_EMPTY
                 fence();
#endif
#ifndef BLIND
                 i=0;
                 do :: i<SETTERS && v==0 -> load(word(i), RELAXED, v); i++ :: else -> break od;
                 if :: v==1 -> atomic { update_from(top, RELAXED, v); update_to(1) } :: else fi;
#endif
                 v=0
              :: else fi
        :: else v=0 fi;
     i=0; got=0
  :: else -> break
  od;
  atomic { finished++; leave() } }

/* The content before the bit is given back: the setter writes it again. */
inline read_bit() {
  atomic { update_from(word(i), TAKE, v); if :: v==1 -> update_to(2) :: else -> update_not() fi };
  if :: v==1 ->
        read(i, got); assert(got==taken[i]+1); taken[i]=got; got=1;
        store(word(i), 0, RELEASE)
     :: else fi }

proctype Judge() {
  finished==SETTERS+TAKERS;
  byte i;
  do :: i<SETTERS -> assert(last_[word(i)]!=1 || last_[top]==1); i++ :: else -> break od }

init { atomic { byte i=0; do :: i<SETTERS -> run Setter(i); i++ :: else -> break od;
  i=0; do :: i<TAKERS -> run Taker(SETTERS+i); i++ :: else -> break od; run Judge() } }
