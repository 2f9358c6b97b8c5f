/* Who waits in a call, and whom it waits for gives up in the next one, under weak memory. Stands for Group::may_come and
 * wait_until in core/group/wait.cc and group.h: the peer's part of this call is there before its word that it gave up,
 * and who waits looks for that part once more after it has found the word. Checked: a call that the peer has done its
 * part of is not given up.
 * Mutants: AT_ONCE: the word alone is believed (it was: the part came between the two looks); TELL, SEE =RELAXED. */
#define THREADS 2
#define LOCATIONS 2
#define PLAIN 1
#define MESSAGES 2
#ifndef TELL
#define TELL RELEASE
#endif
#ifndef SEE
#define SEE ACQUIRE
#endif
#include "weak.pml"
#define part 0
#define word 1

proctype Peer(byte me) { store(part, 1, RELAXED); store(word, 1, TELL); leave() }
proctype Waiter(byte me) { byte v, gave_up, found_before=0;
  do
  :: load(part, ACQUIRE, v);
     if
     :: v==1 -> break
     :: else -> load(word, SEE, gave_up);
#ifdef AT_ONCE
        assert(gave_up==0)
#else
        assert(!(gave_up==1 && found_before)); found_before=gave_up
#endif
     fi
  od; leave() }
init { atomic { run Peer(0); run Waiter(1) } }
