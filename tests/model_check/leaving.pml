/* Who may free what others may still be reading, under weak memory. KIND
 *   1 core/team/api.cc smelt_barrier_wait(): `left`, and smelt_barrier_free() by one of the participants. The
 *     barrier itself is a counter here
 *   2 core/transport/segment.cc: release_block() by all users of a block; the leader finds it free (find_free())
 *     and uses it again
 * The memory that is freed is plain data. Checked: no race, nobody hangs.
 * Mutants: LEAVE =RELAXED or less than it is, LOOK, WAIT =RELAXED; HASTY 1 frees without waiting. N participants. */
#ifndef N
#define N 3
#endif
#ifndef KIND
#define KIND 1
#endif
#define THREADS N
#define LOCATIONS (N+2)
#define PLAIN N
#define MESSAGES 6
#ifndef LOOK
#define LOOK ACQUIRE
#endif
#include "weak.pml"
#if KIND==1
#ifndef LEAVE
#define LEAVE RELEASE
#endif
#ifndef WAIT
#define WAIT ACQUIRE
#endif
#define arrived N
proctype P(byte me) { byte v, i=0, last=0;
  atomic { update_from(arrived, ACQ_REL, v); update_to(v+1) };
  await(arrived, N, ACQUIRE);
  read(me, v);                        /* the way out of the barrier */
  store(me, 1, LEAVE);
  if :: me==0 ->
        do :: i<N -> load(i, LOOK, v); last=(v>last -> v : last); i++ :: else -> break od;
#ifndef HASTY
        i=0; do :: i<N -> await(i, last, WAIT); i++ :: else -> break od;
#endif
        i=0; do :: i<N -> write(i, 1); i++ :: else -> break od
     :: else fi;
  leave() }
#else
#ifndef LEAVE
#define LEAVE ACQ_REL
#endif
#define users N
#define ticket (N+1)
proctype P(byte me) { byte v, i=0;
  if :: me==0 -> store(users, N, RELAXED); store(ticket, 1, RELEASE)   /* on its way through the host's broadcast */
     :: else -> await(ticket, 1, ACQUIRE) fi;
  write(me, 1); 
  atomic { update_from(users, LEAVE, v); update_to(v-1) };
  if :: me==0 ->
        load(users, LOOK, v);
        if :: v==0 -> do :: i<N -> write(i, 2); i++ :: else -> break od :: else fi
     :: else fi;
  leave() }
#endif
init { atomic { byte i=0; do :: i<N -> run P(i); i++ :: else -> break od } }
