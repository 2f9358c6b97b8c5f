/* Who may free what others may still be reading, under weak memory. KIND
 *   1 core/library/context/barrier.cc smelt_barrier_wait(): `left`, and smelt_barrier_free() by one of the participants. The
 *     barrier itself is a counter here
 *   2 core/transport/segment.cc: release_block() by all users of a block; the leader finds it free (find_free())
 *     and uses it again
 *   3 core/transport/segment.cc: rest_block() by all users, wake_block() by the leader, whose letter tells the others
 *     (core/group/pool.cc), and everybody writes what another one had; or a user gives it up (give_up_block()) just
 *     then. What they have seen is counted (traces)
 *   4 core/group/pool.cc: letters, up and down; each is written again when it has been read
 * The memory that is freed is plain data. Checked: no race, nobody hangs.
 * Mutants: LEAVE =RELAXED or less than it is, LOOK, WAIT =RELAXED; HASTY 1 frees without waiting; of letters WRITE and
 * READ =RELAXED. EMPTY and FULL may be, as a letter the other way comes in between. N participants. */
#ifndef N
#define N 3
#endif
#ifndef KIND
#define KIND 1
#endif
#define THREADS N
#define LOCATIONS (2*N+2)
#define PLAIN (2*N)
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
#endif
#if KIND==2
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
#if KIND==3
#ifndef LEAVE
#define LEAVE ACQ_REL
#endif
#define users N
#define ticket (N+1)
#define traces (N+2)
#define SPOILT 16
#define NEXT ((me+1)%N)
proctype P(byte me) { byte v, seen;
  if :: me==0 -> store(users, N, RELAXED); store(ticket, 1, RELEASE)
     :: else -> await(ticket, 1, ACQUIRE) fi;
  write(me, 1);
  atomic { update_from(traces, RELAXED, v); update_to(v+1) };
  atomic { update_from(users, LEAVE, v); update_to(v-1) };
  if :: me==0 ->
        load(users, LOOK, v);
        if :: v==0 ->
              load(traces, RELAXED, seen); assert(seen==N);
              atomic { update_from(users, ACQ_REL, v); if :: v==0 -> update_to(32+N) :: else -> update_not() fi };
              if :: v==0 -> store(ticket, 2, RELEASE); write(NEXT, 2) :: else fi
           :: else fi
     :: me==1 ->
        atomic { update_from(users, ACQ_REL, v); if :: v<SPOILT -> update_to(v+SPOILT) :: else -> update_not() fi };
        if :: v<SPOILT -> load(ticket, RELAXED, seen); assert(seen!=2)          /* given up: never woken */
           :: else -> await(ticket, 2, ACQUIRE); write(NEXT, 2) fi
     :: else ->
        load(ticket, ACQUIRE, v);
        if :: v==2 -> write(NEXT, 2) :: else fi fi;
  leave() }
#endif
#if KIND==4
#ifndef WRITE
#define WRITE RELEASE
#endif
#ifndef READ
#define READ ACQUIRE
#endif
#ifndef EMPTY
#define EMPTY RELEASE
#endif
#ifndef FULL
#define FULL ACQUIRE
#endif
#define up(i) (i)
#define down(i) (N+(i))
/* A letter is a plain variable, of the same number as its word. */
inline tell(letter, text) { await_empty(letter, FULL); write(letter, text); store(letter, 1, WRITE) }
inline hear(letter, text) { await(letter, 1, READ); read(letter, text); store(letter, 0, EMPTY) }
inline await_empty(letter, order) { load(letter, order, w); do :: w!=0 -> load(letter, order, w) :: else -> break od }
proctype P(byte me) { byte v, w, i, round=1;
  do :: round<=2 ->
        if :: me==0 ->
              i=1; do :: i<N -> hear(up(i), v); assert(v==round); i++ :: else -> break od;
              i=1; do :: i<N -> tell(down(i), round+2); i++ :: else -> break od
           :: else -> tell(up(me), round); hear(down(me), v); assert(v==round+2) fi;
        round++
     :: else -> break od;
  leave() }
#endif
init { atomic { byte i=0; do :: i<N -> run P(i); i++ :: else -> break od } }
