/* Sends that wait for room, and long messages. Stands for core/message/outbox.cc and deliver.cc: send(), announce(),
 * launch(), deliver_long(), reply(), finish(). One thread sends L messages whose data stay with it, another makes
 * progress for it, a receiver reads their memory and answers through the sender's inbox, where the thread that makes
 * progress finds it and completes the send; then the sender uses the memory again. There is room when it pleases; FAILS
 * times at most there is none. The messages' memory and the queue are plain data.
 * Checked: no race; the messages are announced in the order in which they were sent; nobody hangs.
 * Mutants: PUBLISH, HERE (both of a cell, in either inbox), STATE, KNOWN, LOCK, UNLOCK =RELAXED; EARLY a message leaves
 * the queue before it is announced; PAST nobody asks whether others wait. */
#ifndef L
#define L 2
#endif
#ifndef FAILS
#define FAILS 2
#endif
#define THREADS 3
#define LOCATIONS (2+3*L)
#define PLAIN (L+2)
#define MESSAGES 20
#ifndef PUBLISH
#define PUBLISH RELEASE
#endif
#ifndef HERE
#define HERE ACQUIRE
#endif
#ifndef ANSWER
#define ANSWER RELEASE
#endif
#ifndef ANSWERED
#define ANSWERED ACQUIRE
#endif
#ifndef STATE
#define STATE ACQ_REL
#endif
#ifndef KNOWN
#define KNOWN ACQUIRE
#endif
#ifndef LOCK
#define LOCK ACQUIRE
#endif
#ifndef UNLOCK
#define UNLOCK RELEASE
#endif
#include "weak.pml"
#define waiting 0
#define queue_lock 1
#define cell(k) (1+(k))       /* 1: announced */
#define state(k) (1+L+(k))    /* 1: complete */
#define answer(k) (1+2*L+(k)) /* the cell in the sender's inbox; 1: it has been read */
#define data(k) ((k)-1)
#define first L               /* of the queue: messages first to last wait, where last is 0 or more */
#define last (L+1)

byte announced, failed, completed;

inline lock() {
  v=1;
  do :: v!=0 ->
     atomic { last_[queue_lock]==0 ->
              update_from(queue_lock, LOCK, v); if :: v==0 -> update_to(1) :: else -> update_not() fi }
     :: else -> break od
}
inline announce(k) {
  ok=false;
  if :: failed<FAILS -> failed++
     :: true ->
        atomic { assert(announced==k-1); announced=k };
        store(cell(k), 1, PUBLISH);
        ok=true
  fi
}

proctype Sender(byte me) { byte k=1, v, w; bool ok;
  do :: k<=L ->
     write(data(k), k);
     load(waiting, RELAXED, v);
#ifdef PAST
     v=0;
#endif
     ok=false;
     if :: v==0 -> announce(k) :: else fi;
     if :: ok -> skip
        :: else ->
           lock();
           read(last, w);
           if :: w==0 -> write(first, k) :: else fi;
           write(last, k);
           store(waiting, 1, RELAXED);
           store(queue_lock, 0, UNLOCK);
           w=0
     fi;
     k++
  :: else -> break od;
  k=1;
  do :: k<=L ->
     await(state(k), 1, KNOWN);
     write(data(k), 0);
     k++
  :: else -> break od;
  leave() }

proctype Progress(byte me) { byte k, v, w; bool ok;
  do :: completed<L ->
     if :: last_[waiting]==1 ->
           lock();
           read(last, w);
           if :: w!=0 ->
                 read(first, k);
#ifdef EARLY
                 if :: k==w -> write(last, 0); store(waiting, 0, RELAXED) :: else -> write(first, k+1) fi;
                 store(queue_lock, 0, UNLOCK);
                 ok=false;
                 do :: !ok -> announce(k) :: else -> break od
#else
                 announce(k);
                 if :: ok && k==w -> write(last, 0); store(waiting, 0, RELAXED)
                    :: ok && k<w -> write(first, k+1)
                    :: else fi;
                 store(queue_lock, 0, UNLOCK)
#endif
              :: else -> store(queue_lock, 0, UNLOCK)
           fi
        :: last_[answer(completed+1)]==1 ->
           await(answer(completed+1), 1, ANSWERED);
           atomic { update_from(state(completed+1), STATE, v); update_to(1) };
           completed++
     fi;
     k=0; v=0; w=0
  :: else -> break od;
  leave() }

proctype Receiver(byte me) { byte k=1, v;
  do :: k<=L ->
     await(cell(k), 1, HERE);
     read(data(k), v); assert(v==k); v=0;
     store(answer(k), 1, ANSWER);
     k++
  :: else -> break od;
  leave() }
init { atomic { run Sender(0); run Progress(1); run Receiver(2) } }
