/* The ring of inline slots and its flow control. Stands for core/transport/ring.h:
 *   put      put() once slots_free(), else when all has_finished()
 *   get      get_any(), asked until it is there
 *   finish   finish(); the end of call 3: finish_together()
 * Slots in a ring of RING (kRing), `finished` told every STRIDE (kFinishStride) episodes, `settled` known locally.
 * Calls: 1 broadcast of any root (flat, or along a chain with forwards), 2 reduce to any root, 3 everybody hears everybody.
 * All participants make the same random calls. Checked: no slot is overwritten before its readers have it; no deadlock.
 * STRIDE = RING deadlocks, hence the static_assert there. Mutants: NOWAIT (a sender does not wait for its slot), AHEAD (who has
 * heard from everybody takes them to have finished this episode, not the one before).
 * The state is kept small: what no participant will look at again is set to 0. */
#ifndef N
#define N 3
#endif
#ifndef RING
#define RING 4
#endif
#ifndef STRIDE
#define STRIDE 3
#endif
#ifndef L
#define L 9
#endif
byte call[L+1], root[L+1];       /* chosen when the first participant comes to it; 0: not yet */
byte slot[N*RING];               /* episode that the slot carries */
byte finished[N];
byte passed[L+1];                /* ghost: participants that are done with it; all: the choice is forgotten */
byte reads[N*RING];              /* ghost: readers that still want it */
inline choose(e) { atomic { if :: call[e]==0 ->
   if :: call[e]=1; root[e]=0 :: call[e]=1; root[e]=1 :: call[e]=2; root[e]=0 :: call[e]=2; root[e]=N-1 :: call[e]=3 fi
   :: else fi } }
inline put(e, readers) {
  /* slots_free */
  if
#ifndef NOWAIT
     :: e>RING && settled+RING<e ->
       need=e-RING; j=0; least=255;
       do :: j<N && j==me -> j++
          :: j<N && j!=me && finished[j]>=need -> if :: finished[j]<least -> least=finished[j] :: else fi; j++
          :: j>=N -> break od;
       skip;
       d_step { if :: least>settled -> settled=least :: else fi; need=0; least=0; j=0 }
#endif
     :: else fi;
  atomic { assert(reads[me*RING+e%RING]==0); slot[me*RING+e%RING]=e; reads[me*RING+e%RING]=readers } }
inline get(i, e) { atomic { slot[i*RING+e%RING]==e -> assert(reads[i*RING+e%RING]>0) }; reads[i*RING+e%RING]-- }
inline finish(e) { if :: e%STRIDE==0 -> finished[me]=e :: else fi }

proctype P(byte me) { byte e=1, settled=0, need, least, j, k;
  do :: e<=L ->
    choose(e);
    if
    :: call[e]==1 -> /* broadcast; CHAIN: root, root+1, ... */
#ifdef CHAIN
       if :: me==root[e] -> put(e,1)
          :: else -> get((me+N-1)%N, e);
             if :: (me+1)%N!=root[e] -> put(e,1) :: else fi fi;
#else
       if :: me==root[e] -> put(e,N-1) :: else -> get(root[e], e) fi;
#endif
       finish(e)
    :: call[e]==2 -> /* reduce */
       if :: me!=root[e] -> put(e,1)
          :: else -> k=0; do :: k<N && k!=me -> get(k,e); k++ :: k<N && k==me -> k++ :: k>=N -> break od fi;
       finish(e)
    :: call[e]==3 -> /* allreduce_inline */
       put(e,N-1); k=0; do :: k<N && k!=me -> get(k,e); k++ :: k<N && k==me -> k++ :: k>=N -> break od;
#ifdef AHEAD
       settled=e
#else
       settled=e-1
#endif
    fi;
    d_step { passed[e]++; if :: passed[e]==N -> passed[e]=0; call[e]=0; root[e]=0 :: else fi; k=0; e++ }
  :: else -> break od }
init { atomic { byte i=0; do :: i<N -> run P(i); i++ :: else -> break od } }
