/* Threads that wait for requests, under weak memory. Stands for core/message/waiters.cc, wait_on() of wait.cc
 * and finish() of request.h.
 * KIND 1  the poll: N threads wait for a request each. Whoever polls completes them all, in any order, until its own is
 *         complete; the others sleep, in a list. The list and what a call says are plain data, and so is what a
 *         request brings.
 * KIND 2  a waiter's memory: one thread waits for NEEDED of two requests, which a thread each completes. Afterwards the
 *         memory in which the others looked for it is used for something else: plain data.
 * Checked: no race; nobody sleeps for ever; of KIND 2 also that as many are complete as are said to be.
 * Mutants, KIND 1: STATE, WORD, SEEN, POLLED, LOCK, UNLOCK =RELAXED (POLLED: the poll is closed); KEEP who has polled
 * calls nobody; KEEP_CALL nor who was called and has its own; EARLY who goes to sleep looks at the poll before it is in
 * the list; BLIND it does not look. KIND 2: STATE, LEFT, WORD, SEEN, GONE =RELAXED; HASTY a waiter that leaves does not
 * wait for those that have found it. */
#ifndef KIND
#define KIND 1
#endif
#ifndef N
#define N 2
#endif
#ifndef NEEDED
#define NEEDED 1
#endif
#ifndef STATE
#define STATE ACQ_REL
#endif
#ifndef WORD
#define WORD ACQ_REL
#endif
#ifndef LEFT
#define LEFT ACQ_REL
#endif
#ifndef SEEN
#define SEEN ACQUIRE
#endif
#ifndef GONE
#define GONE ACQUIRE
#endif
#ifndef LOCK
#define LOCK ACQUIRE
#endif
#ifndef UNLOCK
#define UNLOCK RELEASE
#endif
#ifndef MARK
#define MARK ACQ_REL      /* the compare-and-swap that puts a waiter into a request, and takes it out */
#endif
#define MESSAGES 20
#if KIND==1
#define THREADS N
#define LOCATIONS (2+2*N)
#define PLAIN (2*N)
#else
#define THREADS 3
#define LOCATIONS 4
#define PLAIN 3
#endif
#include "weak.pml"

#define PENDING 0
#define COMPLETE 1
#define WAITED 2
#define AWAKE 0
#define ASLEEP 1
#define CALLED 2
#define DONE 3

#if KIND==1
#define polling 0
#define list_lock 1
#define state(i) (2+(i))
#define word(i) (2+N+(i))
#define data(i) (i)
#define called(i) (N+(i))  /* plain: who is called, and so not in the list */

bool listed[N];    /* the list: in the lock's hands; races would show in called() */
bool asleep[N];
byte over;         /* bits: requests that have been completed */

inline take(x) {
  v=1;
  do :: v!=0 -> atomic { last_[x]==0 -> update_from(x, LOCK, v); if :: v==0 -> update_to(1) :: else -> update_not() fi }
     :: else -> break od
}

inline complete(j) {
  write(data(j), 1);
  atomic { update_from(state(j), STATE, v); update_to(COMPLETE) };
  if :: v==WAITED ->
        atomic { update_from(word(j), WORD, v); update_to(DONE); if :: v==ASLEEP -> asleep[j]=false :: else fi }
     :: else fi;
  v=0
}

inline hand_over() {
#ifdef KEEP
  skip
#else
  take(list_lock);
  j=0;
  do :: j<N && !listed[j] -> j++ :: else -> break od;
  if :: j<N ->
        listed[j]=false;
        write(called(j), 1);
        atomic { update_from(word(j), RELAXED, v);
                 if :: v==DONE -> update_not()
                    :: else -> update_to(CALLED); if :: v==ASLEEP -> asleep[j]=false :: else fi fi };
        v=0
     :: else fi;
  store(list_lock, 0, UNLOCK);
  j=0
#endif
}

proctype Waiter(byte me) { byte j, v; bool seen;
  atomic { update_from(state(me), MARK, v); if :: v==PENDING -> update_to(WAITED) :: else -> update_not() fi };
  if :: v==COMPLETE -> v=0; goto out :: else v=0 fi;
again:
  /* a try */
  atomic { update_from(polling, LOCK, v); if :: v==0 -> update_to(1) :: else -> update_not() fi };
  if
  :: v==0 ->
     do
     :: (over & (1<<me)) -> load(word(me), SEEN, v);
        if :: v==DONE -> v=0; break :: else v=0 fi
     :: (over & (1<<me))==0 ->
        atomic { if :: (over & 1)==0 -> j=0
                    :: (over & 2)==0 -> j=1
#if N>2
                    :: (over & 4)==0 -> j=2
#endif
                 fi; over=over | (1<<j) };
        complete(j)
     od;
     j=0;
     store(polling, 0, UNLOCK);
     hand_over();
     goto out
  :: else -> v=0
  fi;
  /* the others: a look, then asleep */
  load(word(me), SEEN, v);
  if :: v==DONE -> v=0; goto out :: else -> v=0 fi;
#ifdef EARLY
  load(polling, RELAXED, v); seen=v!=0; v=0;
#endif
  take(list_lock);
  listed[me]=true;
  write(called(me), 0);
  store(list_lock, 0, UNLOCK);
#ifdef BLIND
  seen=true;
#else
#ifndef EARLY
  load(polling, RELAXED, v); seen=v!=0; v=0;
#endif
#endif
  if :: seen ->
        atomic { update_from(word(me), RELAXED, v); if :: v==AWAKE -> update_to(ASLEEP) :: else -> update_not() fi };
        if :: v==AWAKE -> /* futex_wait */
              /* the kernel looks and puts us to sleep under a lock that the waker takes afterwards */
              atomic { fence(); v=0; asleep[me]=last_[word(me)]==ASLEEP };
              !asleep[me]
           :: else -> v=0 fi
     :: else fi;
  take(list_lock);
  read(called(me), j);
  if :: j==0 -> listed[me]=false :: else fi;
  store(list_lock, 0, UNLOCK);
  atomic { update_from(word(me), RELAXED, v); if :: v==DONE -> update_not() :: else -> update_to(AWAKE) fi };
  load(word(me), SEEN, v);
  if :: v==DONE ->
        v=0; seen=false;
#ifndef KEEP_CALL
        if :: j!=0 -> j=0; hand_over() :: else fi;
#endif
        j=0;
        goto out
     :: else -> v=0; seen=false; j=0; goto again
  fi;
out:
  read(data(me), v); assert(v==1); v=0; j=0; seen=false;
  leave() }

init { atomic { byte i=0; do :: i<N -> run Waiter(i); i++ :: else -> break od } }

#else

#define left 0              /* 4 and more: NEEDED is 4 */
#define word 1
#define state(k) (2+(k))    /* k: 0, 1 */
#define waiter 0            /* plain: its memory */
#define data(k) (1+(k))

proctype Completer(byte me) { byte v;
  write(data(me-1), 1);
  atomic { update_from(state(me-1), STATE, v); update_to(COMPLETE) };
  if :: v==WAITED ->
        read(waiter, v);
        atomic { update_from(left, LEFT, v); update_to(v+1) };   /* counted upwards */
        if :: v+1==NEEDED ->
              read(waiter, v);
              atomic { update_from(word, WORD, v); update_to(DONE) }
           :: else fi
     :: else fi;
  v=0;
  leave() }

proctype Waiter(byte me) { byte k, v, complete; bool done;
  write(waiter, 1);
  do :: k<2 ->
        atomic { update_from(state(k), MARK, v); if :: v==PENDING -> update_to(WAITED) :: else -> update_not() fi };
        if :: v==COMPLETE ->
              atomic { update_from(left, LEFT, v); update_to(v+1) };
              if :: v+1==NEEDED -> done=true :: else fi
           :: else fi;
        k++
     :: else -> break od;
  v=0; k=0;
  if :: !done -> await(word, DONE, SEEN) :: else fi;
  complete=2;
  do :: k<2 ->
        atomic { update_from(state(k), MARK, v); if :: v==WAITED -> update_to(PENDING); complete--
                                                    :: else -> update_not() fi };
        if :: v==COMPLETE -> read(data(k), v); assert(v==1) :: else fi;
        k++
     :: else -> break od;
  v=0; k=0;
  assert(complete>=NEEDED);
#ifndef HASTY
  await(left, complete, GONE);
#endif
  write(waiter, 0);
  leave() }

init { atomic { run Waiter(0); run Completer(1); run Completer(2) } }
#endif
