/* Atomic broadcast: one order for all, and nobody waits for ever. Stands for agree/atomic_broadcast.cc, whose
 * atomics are those of the queues (queue.pml): here a queue is a channel with room for CAP messages, sequentially
 * consistent. Three members, 0 is the root; CHAIN: 0 - 1 - 2, else 1 and 2 are below 0. Member i sends L0, L1, L2
 * messages and delivers all. A member is in send or in deliver, and there does, in any order that it can,
 *   raise()    a message of a child into the queue above
 *   fetch()    the next message from above; at the root one that came up, or its own, with the next number
 *   forward()  what is held to the children, one after the other
 *   in send    what all children have into the inbox; with a full inbox it returns: -EDEADLK, and delivers
 *   in deliver the first of the inbox, else what is held and all children have
 * Checked: the k-th message that a member delivers is the k-th of every other, in the order of each sender; everybody
 * delivers everything. STOPS: a member stops for ever, anywhere: then all the others have is the beginning of one order.
 * Mutants: UNNUMBERED a member passes what comes from below also to its own children, before it is numbered; NEWEST what
 * is held is delivered before what is in the inbox; WAITS send waits although the inbox is full; DROPS a child whose
 * queue is full is left out; LATE what is held is replaced before all children have it */
#ifndef CAP
#define CAP 1
#endif
#ifndef L0
#define L0 0
#endif
#ifndef L1
#define L1 2
#endif
#ifndef L2
#define L2 2
#endif
#define N 3
#define TOTAL (L0+L1+L2)
#ifdef CHAIN
#define parent(i) ((i)-1)
#define children (me<2 -> 1 : 0)
#define child(i) (me+1)
#else
#define parent(i) 0
#define children (me==0 -> 2 : 0)
#define child(i) ((i)+1)
#endif
#define mine (me==0 -> L0 : (me==1 -> L1 : L2))
#define message(sender, k) ((sender)*16+(k))   /* k from 1; 0: none */

chan up[N]=[CAP] of { byte };          /* above each member */
chan down[N]=[CAP] of { byte, byte };  /* number, message */
chan inbox[N]=[CAP] of { byte };
byte order_[TOTAL];
byte left_;  /* members that have delivered everything */

inline deliver(m) {
  assert(order_[seen]==0 || order_[seen]==m);
  order_[seen]=m;
  assert(got[(m)/16]+1==(m)%16); got[(m)/16]=(m)%16;
  seen++; in_send=false }

proctype Member(byte me) {
  byte sent, seen, number, held, passed, rising, m, n, got[N];
  bool in_send;
  do
  :: seen==TOTAL -> break
  :: atomic { seen<TOTAL && !in_send && sent<mine -> in_send=true }
  /* raise */
  :: atomic { me!=0 && children>0 && rising==0 && nempty(up[child(0)]) -> up[child(0)]?rising
#ifdef UNNUMBERED
     ; if :: len(down[child(0)])<CAP -> down[child(0)]!number, rising; number++ :: else fi
#endif
     }
  :: atomic { rising!=0 && nfull(up[me]) -> up[me]!rising; rising=0 }
  /* fetch */
#ifdef LATE
#define MAY_FETCH (held==0 || passed<children)
#else
#define MAY_FETCH (held==0)
#endif
  :: atomic { me!=0 && MAY_FETCH && nempty(down[me]) -> down[me]?n, held; passed=0;
#ifndef UNNUMBERED
     assert(n==number);
#endif
     number++ }
  :: atomic { me==0 && MAY_FETCH && nempty(up[1]) -> up[1]?held; passed=0 }
  :: atomic { me==0 && MAY_FETCH && nempty(up[2]) && children==2 -> up[2]?held; passed=0 }
  /* forward; the number goes with it */
  :: atomic { held!=0 && passed<children && nfull(down[child(passed)]) ->
     down[child(passed)]!((me==0 -> number : number-1)), held; passed++;
     if :: me==0 && passed==children -> number++ :: else fi }
#ifdef DROPS
  :: atomic { held!=0 && passed<children && full(down[child(passed)]) -> passed++;
     if :: me==0 && passed==children -> number++ :: else fi }
#endif
  /* send */
  :: atomic { in_send && held!=0 && passed==children && nfull(inbox[me]) -> inbox[me]!held; held=0 }
  :: atomic { in_send && me!=0 && nfull(up[me]) -> sent++; up[me]!message(me, sent); in_send=false }
  :: atomic { in_send && me==0 && held==0 -> sent++; held=message(me, sent); passed=0; in_send=false }
#ifndef WAITS
  :: atomic { in_send && full(inbox[me]) && held!=0 && passed==children ->
     inbox[me]?m; deliver(m); m=0 }  /* -EDEADLK */
#endif
  /* deliver */
#ifdef NEWEST
#define FROM_INBOX (held==0 && nempty(inbox[me]))
#define FROM_HELD true
#else
#define FROM_INBOX nempty(inbox[me])
#define FROM_HELD empty(inbox[me])
#endif
  :: atomic { !in_send && FROM_INBOX -> inbox[me]?m; deliver(m); m=0 }
  :: atomic { !in_send && held!=0 && passed==children && FROM_HELD -> deliver(held); held=0 }
#ifdef STOPS
  :: true -> goto gone
#endif
  od;
  left_++;
gone: skip }

init { atomic { run Member(0); run Member(1); run Member(2) }
#ifndef STOPS
  left_==N
#endif
}
