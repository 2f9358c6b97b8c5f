/* The packet pool under weak memory. Stands for core/message/packet_pool.cc: take(), give_back() of the owner's threads,
 * and PacketReturns::give_back() of receivers. OWNERS threads with a list each take TURNS packets, of PACKETS, write
 * them and hand each to a receiver of their own, which reads it and returns it. Packets and links are plain data.
 * Checked: no race, so nobody has a packet that another has; at the end all of them are there; nobody hangs.
 * Mutants: RETURN, TAKEN, LOCK, UNLOCK =RELAXED; BLIND a packet is put on the stack whatever has come there meanwhile;
 * SINGLE one packet is taken off the stack instead of all (ABA); LOSE what came with it is forgotten. */
#ifndef OWNERS
#define OWNERS 2
#endif
#ifndef PACKETS
#define PACKETS 2
#endif
#ifndef TURNS
#define TURNS 2
#endif
#define THREADS (2*OWNERS)
#define LOCATIONS (1+2*OWNERS)
#define PLAIN (2*PACKETS+OWNERS+1)
#define MESSAGES 30
#ifndef RETURN
#define RETURN RELEASE
#endif
#ifndef TAKEN
#define TAKEN ACQUIRE
#endif
#ifndef LOCK
#define LOCK ACQUIRE
#endif
#ifndef UNLOCK
#define UNLOCK RELEASE
#endif
#include "weak.pml"
#define top 0                    /* packet, 1 and more; 0: empty */
#define lock_of(i) (1+(i))
#define post(i) (1+OWNERS+(i))   /* what owner i hands to its receiver: packet, 0 when it has been taken over */
#define content(p) (p)           /* packets count from 1 */
#define next(p) (PACKETS+(p))
#define first(i) (2*PACKETS+1+(i))

byte finished, left_over;

byte list[OWNERS];  /* what first(i) says: for guards alone */

/* Worth a try: there is something somewhere. */
#if OWNERS==1
#define AVAILABLE (last_[top]!=0 || list[0]!=0)
#else
#define AVAILABLE (last_[top]!=0 || list[0]!=0 || list[1]!=0)
#endif

/* The whole stack, which is a list already; rest: not 0 if it was that. */
inline take_returned() {
#ifdef SINGLE
  if :: last_[top]!=0 -> await_value(top, 1, ACQUIRE, w) :: else fi;
  if :: w>0 -> read(next(w), rest);
        atomic { update_from(top, TAKEN, v); if :: v==w -> update_to(rest); packet=w :: else -> update_not() fi };
        if :: packet>0 -> write(next(packet), 0) :: else fi
     :: else fi;
  w=0; v=0; rest=0
#else
  /* The look before, which may see too little, would only mean another try. */
  atomic { if :: last_[top]!=0 -> update_from(top, TAKEN, packet); update_to(0); rest=packet :: else fi }
#endif
}

/* packet=0: there is nothing in the list and on the stack, or somebody has the list. To look where there is nothing
 * teaches at most something, and is left out. */
inline pop(i) {
  packet=0; v=1;
  atomic { if :: list[i]!=0 || last_[top]!=0 ->
                 update_from(lock_of(i), LOCK, v); if :: v==0 -> update_to(1) :: else -> update_not() fi
              :: else fi };
  if :: v==0 ->
        read(first(i), packet);
        if :: packet==0 -> take_returned()
           :: else -> skip
        fi;
        if :: packet>0 ->
              read(next(packet), v);
#ifdef LOSE
              if :: rest!=0 -> v=0 :: else fi;
#endif
              write(first(i), v); list[i]=v
           :: else fi;
        rest=0;
        store(lock_of(i), 0, UNLOCK)
     :: else fi;
  v=0
}
inline return_packet(p) {
#ifdef BLIND
  load(top, RELAXED, w); write(next(p), w); atomic { update_from(top, RETURN, v); update_to(p) }; v=0; w=0
#else
  load(top, RELAXED, w); ok=0;
  do :: ok==0 -> write(next(p), w);
        atomic { update_from(top, RETURN, v); if :: v==w -> update_to(p); ok=1 :: else -> update_not(); w=v fi }
     :: else -> break od;
  ok=0; v=0; w=0
#endif
}
proctype Owner(byte me) { byte turn, packet, v, w, rest; bool ok;
  do :: turn<TURNS ->
     packet=0;
     do :: packet==0 ->
        AVAILABLE;
        pop(me);
        if :: packet==0 && OWNERS>1 -> pop((me+1)%OWNERS) :: else fi
     :: else -> break od;
     write(content(packet), me+1);
     atomic { last_[post(me)]==0 -> load(post(me), ACQUIRE, v) };
     do :: v!=0 -> atomic { last_[post(me)]==0 -> load(post(me), ACQUIRE, v) } :: else -> break od;
     store(post(me), packet, RELEASE);
     packet=0; turn++
  :: else -> break od;
  finished++;
  leave() }

proctype Receiver(byte me) { byte turn, packet, v, w; bool ok;
  do :: turn<TURNS ->
     await_value(post(me-OWNERS), 1, ACQUIRE, packet);
     read(content(packet), v); assert(v==me-OWNERS+1); v=0;
     store(post(me-OWNERS), 0, RELEASE);
     return_packet(packet);
     packet=0; turn++
  :: else -> break od;
  finished++;
  leave() }

/* When all have ended, every packet hangs somewhere. */
init { byte i; atomic {
  list[0]=1;
  c_code {
    for (int p = 1; p <= PACKETS; ++p) now.memory.plain[PACKETS + p].value = p < PACKETS ? p + 1 : 0;
    now.memory.plain[2 * PACKETS + 1].value = 1;  /* all of them are in the first list, as before anybody looks */
  };
  i=0; do :: i<OWNERS -> run Owner(i); run Receiver(i+OWNERS); i++ :: else -> break od };
  finished==THREADS;
  d_step { i=last_[top]; 
    c_code {
      int n = 0;
      for (int p = Pinit->i; p && n <= PACKETS; ++n) p = now.memory.plain[PACKETS + p].value;
      for (int t = 0; t < OWNERS; ++t)
        for (int p = now.memory.plain[2 * PACKETS + 1 + t].value; p && n <= PACKETS; ++n) p = now.memory.plain[PACKETS + p].value;
      now.left_over = n;
    };
    assert(left_over==PACKETS) }
}
