/* Packets of a receiver that was killed, under weak memory. Stands for core/message/packet_pool.cc: pop(), hand_to(),
 * PacketReturns::give_back() and reclaim(). One thread of the owner takes packets, TURNS times, writes them and hands
 * them to a receiver, which reads and returns them and dies at any step. Another thread of the owner, when it knows that,
 * takes back what the dead had, and writes what it finds; and once more when the first has ended. Packets and links are
 * plain data. That a process is dead the kernel tells: whoever knows it has seen all that it did.
 * Checked: no race, so nobody writes a packet that another has; at the end each of them is there, once; nobody hangs.
 * Mutants: HAND, SCAN, LOCK, UNLOCK =RELAXED; DOUBLE what the dead has returned is taken to be still his; OPEN the list is
 * not locked meanwhile; LEAVE the holder of a packet that is taken is not forgotten. */
#ifndef PACKETS
#define PACKETS 2
#endif
#ifndef TURNS
#define TURNS 2
#endif
#define THREADS 3
#define LOCATIONS (4+PACKETS+TURNS)
#define PLAIN (2*PACKETS+1)
#define MESSAGES 20
#ifndef HAND
#define HAND RELEASE
#endif
#ifndef SCAN
#define SCAN ACQUIRE
#endif
#ifndef LOCK
#define LOCK ACQUIRE
#endif
#ifndef UNLOCK
#define UNLOCK RELEASE
#endif
#include "weak.pml"
#define top 0                  /* packet, 1 and more; 0: empty */
#define list_lock 1
#define dead 2
#define holder(p) (2+(p))      /* packets count from 1; 1: the receiver, 0: nobody */
#define post(k) (3+PACKETS+(k))
#define ended (3+PACKETS+TURNS)  /* the first thread: it is joined */
#define content(p) ((p)-1)
#define next(p) (PACKETS+(p)-1)
#define first (2*PACKETS)

byte there;  /* bits: packets that the second thread has found */

inline lock() {
  v=1;
  do :: v!=0 ->
     atomic { last_[list_lock]==0 ->
              update_from(list_lock, LOCK, v); if :: v==0 -> update_to(1) :: else -> update_not() fi }
     :: else -> break od
}

/* packet: 0 if there is none */
inline take() {
  lock();
  read(first, packet);
  atomic { if :: packet==0 && last_[top]!=0 -> update_from(top, ACQUIRE, packet); update_to(0) :: else fi };
  if :: packet!=0 ->
        read(next(packet), v);
        write(first, v);
        v=0;
#ifndef LEAVE
        store(holder(packet), 0, RELAXED)
#endif
     :: else fi;
  store(list_lock, 0, UNLOCK)
}

proctype Owner(byte me) { byte turn, packet, v;
  do :: turn<TURNS ->
     take();
     if :: packet==0 -> break :: else fi;
     write(content(packet), turn+1);
     store(holder(packet), 1, HAND);
     store(post(turn), packet, RELEASE);
     packet=0;
     turn++
  :: else -> break od;
  store(ended, 1, RELEASE);
  leave() }

proctype Receiver(byte me) { byte turn, packet, v, w; bool ok;
  do :: turn<TURNS && last_[post(turn)]!=0 ->
        await_value(post(turn), 1, ACQUIRE, packet);
        if :: break :: true fi;
        read(content(packet), v); v=0;
        if :: break :: true fi;
        load(top, RELAXED, w); ok=false;
        do :: !ok ->
              if :: goto out :: true fi;
              write(next(packet), w);
              if :: goto out :: true fi;
              atomic { update_from(top, RELEASE, v); if :: v==w -> update_to(packet); ok=true :: else -> update_not(); w=v fi }
           :: else -> break od;
        v=0; w=0; ok=false;
        turn++
     :: break od;
out:
  packet=0; v=0; w=0; ok=false;
  store(dead, 1, RELEASE);
  leave() }

inline free_all() {
#ifndef DOUBLE
  do :: packet!=0 -> store(holder(packet), 0, RELAXED); read(next(packet), v); packet=v; v=0 :: else -> break od;
#endif
  packet=0
}

inline reclaim() {
#ifndef OPEN
  lock();
#endif
  read(first, packet);
  free_all();
  rest=0;
  atomic { if :: last_[top]!=0 -> update_from(top, ACQUIRE, rest); update_to(0) :: else fi };
  packet=rest;
  free_all();
  do :: rest!=0 ->
        read(next(rest), packet);
        read(first, v); write(next(rest), v); write(first, rest);
        rest=packet; v=0
     :: else -> break od;
  packet=1;
  do :: packet<=PACKETS ->
        load(holder(packet), SCAN, v);
        if :: v==1 ->
              store(holder(packet), 0, RELAXED);
              read(first, v); write(next(packet), v); write(first, packet)
           :: else fi;
        v=0; packet++
     :: else -> break od;
  packet=0;
  store(list_lock, 0, UNLOCK)
}

proctype Heir(byte me) { byte packet, rest, v; bool again;
  await(dead, 1, ACQUIRE);
once_more:
  reclaim();
  do :: take();
        if :: packet==0 -> break :: else fi;
        write(content(packet), 9);
        assert((there & (1<<packet))==0); there=there | (1<<packet);
        packet=0
  od;
  if :: !again -> await(ended, 1, ACQUIRE); again=true; goto once_more :: else fi;
  assert(there==(1<<(PACKETS+1))-2);
  leave() }

init { byte i; atomic {
  c_code {
    for (int p = 1; p <= PACKETS; ++p) now.memory.plain[PACKETS + p - 1].value = p < PACKETS ? p + 1 : 0;
    now.memory.plain[2 * PACKETS].value = 1;
  };
  run Owner(0); run Receiver(1); run Heir(2) } }
