/* A user-level thread that waits for its message, under weak memory. Stands for wait_for() and woken() of
 * core/thread/messages.cc. The thread looks, says in the message that it waits, and gives its worker away; whoever
 * completes the message finds it done with nobody, or signals who waits. S others signal the thread as well, before or
 * while it waits. Afterwards the message and the thread's own memory are used for something else: plain data, as is
 * what the message brings.
 * permits is counted from 1: 0: the thread waits to be signalled (model threads).
 * Checked: no race; when the thread goes on the message is there; nobody hangs.
 * Mutants: WAIT, DONE_CAS, FINISH, SEEN =RELAXED; HASTY a thread that was signalled goes on while it is being woken;
 * ONCE it takes any signal for its own; EARLY the message is done before the thread is signalled; MUTE who completes
 * it signals nobody. */
#ifndef S
#define S 1
#endif
#ifndef WAIT
#define WAIT ACQ_REL
#endif
#ifndef DONE_CAS
#define DONE_CAS ACQ_REL
#endif
#ifndef FINISH
#define FINISH RELEASE
#endif
#ifndef SEEN
#define SEEN ACQUIRE
#endif
#define THREADS (2+S)
#define LOCATIONS 2
#define PLAIN 2
#define MESSAGES 12
#include "weak.pml"
#define waits 0
#define permits 1
#define data 0
#define memory_ 1   /* the thread's, that a signal looks at */
#define PENDING 0
#define DONE 1
#define WAKING 2
#define WAITING 3

bool over;  /* nobody may signal the thread any more */

proctype Waiter(byte me) { byte v, old;
  write(memory_, 1);
  load(waits, SEEN, v);
  if
  :: v==DONE -> skip
  :: else ->
     atomic { update_from(waits, WAIT, v); if :: v==PENDING -> update_to(WAITING) :: else -> update_not() fi };
     if
     :: v==PENDING ->
        do
        :: atomic { update_from(permits, ACQ_REL, old); update_to(old-1) };
           if :: old==1 -> await(permits, 1, ACQUIRE) :: else fi;
           old=0;
#ifndef HASTY
           load(waits, RELAXED, v);
           do :: v==WAKING -> atomic { last_[waits]!=WAKING -> load(waits, RELAXED, v) } :: else -> break od;
#endif
#ifdef ONCE
           break
#else
           load(waits, SEEN, v);
           if :: v==DONE -> break
#ifdef HASTY
              :: v==WAKING -> break
#endif
              :: else fi
#endif
        od
     :: else -> assert(v==DONE)
     fi
  fi;
  v=0;
  over=true;
  read(data, v); assert(v==1); v=0;
  write(data, 2);
  write(memory_, 2);
  leave() }

proctype Completer(byte me) { byte v, old;
  write(data, 1);
  atomic { update_from(waits, DONE_CAS, v); if :: v==PENDING -> update_to(DONE) :: else -> update_not() fi };
  if
  :: v==PENDING -> skip
  :: else ->
#ifdef EARLY
     store(waits, DONE, FINISH);
#else
     store(waits, WAKING, RELAXED);
#endif
#ifndef MUTE
     read(memory_, v); assert(v==1);
     atomic { update_from(permits, ACQ_REL, old); update_to(old+1) };
#endif
#ifndef EARLY
     store(waits, DONE, FINISH)
#endif
  fi;
  v=0; old=0;
  leave() }

/* One signal, or none: its caller knows that the thread has not ended. */
proctype Other(byte me) { byte old;
  if :: atomic { !over -> update_from(permits, ACQ_REL, old); update_to(old+1) } :: true fi;
  old=0;
  leave() }

init { atomic {
  last_[permits]=1;
  c_code { now.memory.message[1][0].value = 1; };
  run Waiter(0); run Completer(1);
  byte i=0; do :: i<S -> run Other(2+i); i++ :: else -> break od } }
