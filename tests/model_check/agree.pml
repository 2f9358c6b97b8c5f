/* How a group comes to its shelves, under weak memory. Stands for core/group/create.cc agree_on_shelves(): the
 * leader writes the ticket of a block and offers it; everybody attaches it and casts a vote, core/transport/ring.h
 * cast(), and counts them, ring.cc all_cast(). The votes of agree_on_single_copy() are the same without an offer.
 * The ticket is plain data. Checked: no race, all come to the same answer, nobody hangs.
 * Mutants: OFFER, SEE, CAST, COUNT =RELAXED. N participants, who may all refuse. */
#ifndef N
#define N 3
#endif
#define THREADS N
#define LOCATIONS (N+1)
#define PLAIN 1
#define MESSAGES 3
#ifndef OFFER
#define OFFER RELEASE
#endif
#ifndef SEE
#define SEE ACQUIRE
#endif
#ifndef CAST
#define CAST RELEASE
#endif
#ifndef COUNT
#define COUNT ACQUIRE
#endif
#include "weak.pml"
#define offer N
byte answer; /* ghost: the first one's; 1 yes, 2 no */

proctype P(byte me) { byte v, i, all=1;
  if :: me==0 ->
        if :: write(0, 7); store(offer, 1, OFFER)
           :: store(offer, 2, OFFER) fi
     :: else fi;
  await_value(offer, 1, SEE, v);
  if :: v==1 -> read(0, v); assert(v==7); if :: store(me, 1, CAST) :: store(me, 2, CAST) fi
     :: else -> store(me, 2, CAST) fi;
  i=0; do :: i<N -> await(i, 1, COUNT); i++ :: else -> break od;
  i=0; do :: i<N -> load(i, RELAXED, v); all=(v==1 -> all : 2); i++ :: else -> break od;
  atomic { if :: answer==0 -> answer=all :: else fi; assert(answer==all) };
  leave() }
init { atomic { byte i=0; do :: i<N -> run P(i); i++ :: else -> break od } }
