/* A user-level thread that waits for its message, under weak memory. Stands for wait_for(), after_wait() and woken() of
 * thread/messages.cc. The thread looks, and switches away; when its registers are saved whoever runs next says in
 * the message that it waits, or finds it done, and the thread may run again. Whoever completes the message says so, and
 * lets the thread run if it waits: by its bit (model bits). Afterwards the message and the thread's own memory are used
 * for something else: plain data, as is what the message brings.
 * Checked: no race; when the thread goes on the message is there; nobody hangs.
 * Mutants: WAIT, DONE_SWAP, SEEN =RELAXED; EARLY the thread says that it waits before its registers are saved; STORE
 * whoever completes it looks, and then says so; MUTE he lets nobody run. */
#ifndef WAIT
#define WAIT ACQ_REL
#endif
#ifndef DONE_SWAP
#define DONE_SWAP ACQ_REL
#endif
#ifndef SEEN
#define SEEN ACQUIRE
#endif
#define THREADS 2
#define LOCATIONS 2
#define PLAIN 2
#define MESSAGES 8
#include "../../../tests/model_check/weak.pml"
#define waits 0
#define bit 1
#define data 0
#define registers 1
#define PENDING 0
#define DONE 1
#define WAITING 2

proctype Waiter(byte me) { byte v;
  load(waits, SEEN, v);
  if
  :: v==DONE -> skip
  :: else ->
#ifndef EARLY
     write(registers, 1);
#endif
     atomic { update_from(waits, WAIT, v); if :: v==PENDING -> update_to(WAITING) :: else -> update_not() fi };
#ifdef EARLY
     write(registers, 1);
#endif
     if
     :: v==PENDING -> await(bit, 1, ACQUIRE)
     :: else -> assert(v==DONE)
     fi
  fi;
  v=0;
  read(data, v); assert(v==1); v=0;
  write(data, 2);
  write(registers, 2);
  leave() }

proctype Completer(byte me) { byte v;
  write(data, 1);
#ifdef STORE
  load(waits, ACQUIRE, v);
  store(waits, DONE, RELEASE);
#else
  atomic { update_from(waits, DONE_SWAP, v); update_to(DONE) };
#endif
  if
  :: v==WAITING ->
     read(registers, v); assert(v==1);
#ifndef MUTE
     store(bit, 1, RELEASE)
#endif
  :: else -> skip
  fi;
  v=0;
  leave() }

init { atomic { run Waiter(0); run Completer(1) } }
