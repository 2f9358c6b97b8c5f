/* Pieces that come back, and those of a receiver that was killed, under weak memory. Stands for core/message/piece_pool.h
 * and piece_pool.cc. One thread of the owner takes pieces, TURNS times, writes them and hands them to a receiver, which
 * reads them, says so in their bytes, and dies at any step. Another thread of the owner, when it knows that, takes back
 * what the dead had, and writes what it finds; and once more when the first has ended. The pieces and the word of those
 * that are free are plain data. That a process is dead the kernel tells: whoever knows it has seen all that it did.
 * Checked: no race, so nobody writes a piece that another has; at the end each of them is there, once; nobody hangs.
 * Mutants: RETURN, BACK, HAND, SCAN, LOCK, UNLOCK =RELAXED; KEEP the byte of a piece that is free stays; OPEN the lock is
 * not taken meanwhile; LEAVE the holder of a piece that is free is not forgotten. */
#ifndef PIECES
#define PIECES 2
#endif
#ifndef TURNS
#define TURNS 2
#endif
#define THREADS 3
#define LOCATIONS (3+2*PIECES+TURNS)
#define PLAIN (PIECES+1)
#define MESSAGES 20
#ifndef RETURN
#define RETURN RELEASE
#endif
#ifndef BACK
#define BACK ACQUIRE
#endif
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
#define free_lock 0
#define dead 1
#define ended 2                  /* the first thread: it is joined */
#define holder(p) (2+(p))        /* pieces count from 1; 1: the receiver, 0: nobody */
#define is_back(p) (2+PIECES+(p))
#define post(k) (3+2*PIECES+(k))
#define content(p) ((p)-1)
#define free PIECES              /* bits */

byte there;  /* bits: pieces that the second thread has found */

inline lock() {
  v=1;
  do :: v!=0 ->
     atomic { last_[free_lock]==0 ->
              update_from(free_lock, LOCK, v); if :: v==0 -> update_to(1) :: else -> update_not() fi }
     :: else -> break od
}

inline set_free(p) {
#ifndef KEEP
  store(is_back(p), 0, RELAXED);
#endif
#ifndef LEAVE
  store(holder(p), 0, RELAXED);
#endif
  read(free, v); write(free, v | (1<<p)); v=0
}

inline collect() {
  packet=1;
  do :: packet<=PIECES ->
        load(holder(packet), RELAXED, v);
        if :: v!=0 -> load(is_back(packet), BACK, v); if :: v!=0 -> set_free(packet) :: else fi :: else fi;
        v=0; packet++
     :: else -> break od;
  packet=0
}

/* packet: 0 if there is none */
inline take() {
  lock();
  read(free, v);
  if :: v==0 -> collect() :: else fi;
  read(free, v);
  packet=1;
  do :: packet<=PIECES && (v & (1<<packet))==0 -> packet++ :: else -> break od;
  if :: packet>PIECES -> packet=0 :: else -> v=v-(1<<packet); write(free, v) fi;
  v=0;
  store(free_lock, 0, UNLOCK)
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
  packet=0;
  store(ended, 1, RELEASE);
  leave() }

proctype Receiver(byte me) { byte turn, packet, v;
  do :: turn<TURNS && last_[post(turn)]!=0 ->
        await_value(post(turn), 1, ACQUIRE, packet);
        if :: break :: true fi;
        read(content(packet), v); v=0;
        if :: break :: true fi;
        store(is_back(packet), 1, RETURN);
        packet=0;
        turn++
     :: break od;
  packet=0; v=0;
  store(dead, 1, RELEASE);
  leave() }

inline reclaim() {
#ifndef OPEN
  lock();
#endif
  packet=1;
  do :: packet<=PIECES ->
        load(holder(packet), SCAN, v);
        if :: v==1 -> set_free(packet) :: else fi;
        v=0; packet++
     :: else -> break od;
  packet=0;
  store(free_lock, 0, UNLOCK)
}

proctype Heir(byte me) { byte packet, v; bool again;
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
  assert(there==(1<<(PIECES+1))-2);
  leave() }

init { byte i; atomic {
  c_code { now.memory.plain[PIECES].value = (1 << (PIECES + 1)) - 2; };
  run Owner(0); run Receiver(1); run Heir(2) } }
