/* Sends that wait for room, and rendezvous. Stands for core/message/protocol.cc and endpoint.cc: send(), announce(),
 * launch(), test(), deliver(). One thread sends L messages by rendezvous, another makes progress for it, a receiver reads
 * their memory and answers; then the sender uses it again. There is room when it pleases; FAILS times at most there is
 * none. The messages' memory and the queue are plain data. Of an answer's word the first value, 0, is a yes that an
 * earlier message was given.
 * SHARED: one word for all; who finds it taken waits as for room.
 * Checked: no race; the messages are announced in the order in which they were sent; nobody hangs.
 * Mutants: PUBLISH, HERE, ANSWER, ANSWERED, STATE, KNOWN, LOCK, UNLOCK =RELAXED; EARLY a message leaves the queue before
 * it is announced; TAKE, GIVE =RELAXED: the word; PAST nobody asks whether others wait; STALE the word is not cleared. */
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
#if defined(SHARED) && L!=2
#error "SHARED has its place among the words of two messages"
#endif
#ifndef ANSWERED
#define ANSWERED ACQUIRE
#endif
#ifndef STATE
#define STATE RELEASE
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
#ifndef TAKE
#define TAKE ACQUIRE
#endif
#ifndef GIVE
#define GIVE RELEASE
#endif
#include "weak.pml"
#define waiting 0
#define queue_lock 1
#define cell(k) (1+(k))       /* 1: announced */
#define state(k) (1+L+(k))    /* 1: announced, the sender may look at the answer */
#ifdef SHARED
#define answer(k) (2+2*L)
#else
#define answer(k) (1+2*L+(k)) /* 1: none yet, 2: it has been read */
#endif
#define taken (3+2*L)         /* SHARED: 1: somebody has the word */
#define data(k) ((k)-1)
#define first L               /* of the queue: messages first to last wait, where last is 0 or more */
#define last (L+1)

byte announced, failed;
#ifdef SHARED
#define WORD_FREE && last_[taken]==0
#else
#define WORD_FREE
#endif

#ifdef SHARED
#define GIVE_BACK store(taken, 0, GIVE)
#else
#define GIVE_BACK skip
#endif

inline lock() {
  v=1;
  do :: v!=0 ->
     atomic { last_[queue_lock]==0 ->
              update_from(queue_lock, LOCK, v); if :: v==0 -> update_to(1) :: else -> update_not() fi }
     :: else -> break od
}
inline announce(k) {
  ok=false; v=0;
#ifdef SHARED
  if :: last_[taken]==0 -> v=1;
        do :: v!=0 -> atomic { last_[taken]==0 -> update_from(taken, TAKE, v);
                               if :: v==0 -> update_to(1) :: else -> update_not() fi }
           :: v!=0 && last_[taken]!=0 -> break
           :: v==0 -> break
        od
     :: else -> v=1
  fi;
#endif
  if :: v!=0 -> skip
     :: v==0 && failed<FAILS -> failed++; GIVE_BACK
     :: v==0 ->
#ifndef STALE
        store(answer(k), 1, RELAXED);
#endif
        atomic { assert(announced==k-1); announced=k };
        store(cell(k), 1, PUBLISH);
        store(state(k), 1, STATE);
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
     v=1;
     do :: v==1 -> atomic { last_[answer(k)]!=1 -> load(answer(k), ANSWERED, v) } :: else -> break od;
     GIVE_BACK;
     write(data(k), 0);
     k++
  :: else -> break od;
  leave() }

proctype Progress(byte me) { byte k, v, w; bool ok;
  do :: announced<L ->
     if :: last_[waiting]==1 WORD_FREE ->
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
        :: announced==L -> skip
     fi;
     k=0; v=0; w=0
  :: else -> break od;
  leave() }

proctype Receiver(byte me) { byte k=1, v;
  do :: k<=L ->
     await(cell(k), 1, HERE);
     read(data(k), v); assert(v==k); v=0;
     store(answer(k), 2, ANSWER);
     k++
  :: else -> break od;
  leave() }
init { atomic { run Sender(0); run Progress(1); run Receiver(2) } }
