/* A queue between two, or one and many, under weak memory. Stands for queue: KIND
 *   1 ump.cc   2 fastforward.cc   3 one_to_many.cc, N readers
 * and messages.h:
 *   send(k)      can_send(), the payload, publish(); of SLOTS slots, whose first word is stored last
 *   receive(k)   is_here(), the payload, give_back()
 *   finding nobody  find() after the sender has closed (CLOSE): the messages that it had sent are there
 * What is in the slots is plain data. Checked: no race (nothing is overwritten that may still be read), every message is
 * the one that is meant, none is lost, nobody hangs: the receivers acknowledge only every STRIDE slots, and a message
 * of RING-STRIDE+1 slots fits all the same.
 * Mutants: PUBLISH, HERE, GIVE, ROOM, LEAVE, GONE =RELAXED; NOWAIT nobody waits for a free slot; ONE_MORE a slot further
 * than the ring; EARLY the word of a message's first slot is stored before the other slots are written; BACKWARDS
 * FastForward empties the last slot first; FIRST it looks at the first slot that it needs; NO_SECOND_LOOK after the
 * sender was found to have left; TOO_RARE an acknowledgement only every STRIDE+1 slots, or a look so
 * far ahead, which comes to a slot that is empty because it was not written yet; FASTEST the quickest reader
 * counts. RING slots, L messages. */
#ifndef KIND
#define KIND 1
#endif
#ifndef N
#define N 1
#endif
#ifndef RING
#define RING 2
#endif
#ifndef SLOTS
#define SLOTS 1
#endif
#ifndef STRIDE
#define STRIDE 1
#endif
#ifndef L
#define L 5
#endif
#define THREADS (N+1)
#define LOCATIONS (RING+N+1)
#define PLAIN RING
#define MESSAGES 10
#ifndef PUBLISH
#define PUBLISH RELEASE
#endif
#ifndef HERE
#define HERE ACQUIRE
#endif
#ifndef GIVE
#define GIVE RELEASE
#endif
#ifndef ROOM
#define ROOM ACQUIRE
#endif
#ifndef LEAVE
#define LEAVE RELEASE
#endif
#ifndef GONE
#define GONE ACQUIRE
#endif
#ifdef TOO_RARE
#define RARE (STRIDE+1)
#else
#define RARE STRIDE
#endif
#ifdef FIRST
#define LOOKED_AT next
#else
#define LOOKED_AT (next+SLOTS+RARE-2)
#endif
#include "../../../tests/model_check/weak.pml"
#define word(p) ((p)%RING)
#define acknowledged(i) (RING+(i)-1)   /* readers are 1 .. N; 0 as long as nobody has, then the position */
#define left (RING+N)                  /* 1: the sender has closed */
#define slot(p) ((p)%RING)

/* Positions begin at RING, as in the code. */
inline wait_for_room() {
#ifdef NOWAIT
  skip
#else
#if KIND==2
  /* full or empty is all that a word says; STRIDE-1 slots ahead of those that are needed, then all of them are free */
  if :: free<next+SLOTS ->
     v=1;
     do :: v!=0 -> atomic { last_[word(LOOKED_AT)]==0 -> load(word(LOOKED_AT), ROOM, v) } :: else -> break od;
     free=next+SLOTS+RARE-1
  :: else fi
#else
#ifdef ONE_MORE
#define NEED (next+SLOTS-RING-1)
#else
#define NEED (next+SLOTS-RING)
#endif
  if :: free<next+SLOTS ->
#ifdef FASTEST
     if :: await_value(acknowledged(1), NEED, ROOM, free) :: await_value(acknowledged(2), NEED, ROOM, free) fi;
     free=free+RING
#else
     i=1; free=255;
     do :: i<=N -> await_value(acknowledged(i), NEED, ROOM, v); free=(v<free -> v : free); i++ :: else -> break od;
     free=free+RING; i=0; v=0
#endif
  :: else fi
#endif
#endif
}

proctype Sender(byte me) { byte k=1, next=RING, free=2*RING, i, v;
  do :: k<=L ->
     wait_for_room();
#ifdef EARLY
     store(word(next), (KIND==2 -> 1 : next), PUBLISH);
#endif
     i=0;
     do :: i<SLOTS ->
        if :: KIND==2 && i>0 -> store(word(next+i), 1, RELAXED) :: else fi;
        write(slot(next+i), k);
        i++
     :: else -> break od;
     i=0;
#ifndef EARLY
     store(word(next), (KIND==2 -> 1 : next), PUBLISH);
#endif
     next=next+SLOTS; k++
  :: else -> break od;
  store(left, 1, LEAVE);
  leave() }

proctype Reader(byte me) { byte k=1, next=RING, told=RING, i, v, over;
  do :: k<=L ->
#ifdef CLOSE
     /* A try: is it here? Else, has the sender left? Then it is looked for once more. */
     over=0;
     do :: over==0 ->
        load(word(next), HERE, v);
        if :: v==(KIND==2 -> 1 : next) -> over=1
           :: else ->
              atomic { last_[left]!=0 || last_[word(next)]==(KIND==2 -> 1 : next) -> load(left, GONE, v) };
              if :: v!=0 ->
#ifndef NO_SECOND_LOOK
                    load(word(next), HERE, v);
                    assert(v==(KIND==2 -> 1 : next));
#else
                    assert(false);
#endif
                    over=1
                 :: else fi
        fi
     :: else -> break od;
#else
     v=(KIND==2 -> 0 : 255);
     do :: v!=(KIND==2 -> 1 : next) ->
        atomic { last_[word(next)]==(KIND==2 -> 1 : next) || last_[left]!=0 -> load(word(next), HERE, v) }
     :: else -> break od;
#endif
     v=0; i=0;
     do :: i<SLOTS -> read(slot(next+i), v); assert(v==k); i++ :: else -> break od;
     i=0; v=0;
#if KIND==2
     do :: i<SLOTS ->
#ifdef BACKWARDS
        store(word(next+SLOTS-1-i), 0, GIVE);
#else
        store(word(next+i), 0, GIVE);
#endif
        i++
     :: else -> break od;
     i=0; next=next+SLOTS;
#else
     next=next+SLOTS;
     if :: next-told>=RARE -> store(acknowledged(me), next, GIVE); told=next :: else fi;
#endif
     k++
  :: else -> break od;
  leave() }
init { atomic { run Sender(0); byte i=1; do :: i<=N -> run Reader(i); i++ :: else -> break od } }
