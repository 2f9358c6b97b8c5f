/* Long messages in pieces over a group's shelves, under weak memory. Stands for core/transport/ring.h and ring.cc,
 * the pieces:
 *   piece_free   piece_free(), else all has_consumed(), then note_consumed()
 *   fill, filled, consume   the same
 * and for those who use them: KIND
 *   1 core/group/broadcast.cc BroadcastShelf, of participant 0   2 reduce_flat.h, to everybody
 *   3 reduce_sliced.h, to everybody   4 1 and 2 in turn
 *   5 scan.cc, ScanShelf: BEFORE pieces of 2, then a scan's along the chain, of which only the next participant's
 *     `consumed` is waited for once the call has used every slot, then AFTER pieces of 2
 * What is on the shelves is plain data. Checked: no race, every piece is the one that is meant, nobody hangs.
 * Mutants: FILL, FILLED, CONSUME, HAS, NOTE =RELAXED; NOWAIT nobody waits for a free slot; ONE_MORE one piece
 * further ahead than there are slots; KNOWN_EARLY, with 3, all is taken for consumed; NEXT_ONLY, with 5, only the next participant is waited for from the first piece
 * on; RING=2 with 3, which overlaps the stages of three pieces. N participants, RING
 * slots (kPieceRing), L pieces. */
#ifndef N
#define N 2
#endif
#ifndef RING
#define RING 3
#endif
#ifndef L
#define L 7
#endif
#ifndef KIND
#define KIND 1
#endif
#ifndef BEFORE
#define BEFORE 1
#endif
#ifndef AFTER
#define AFTER 1
#endif
#define THREADS N
#define LOCATIONS (3*N)
#define PLAIN (2*N*RING)
#define MESSAGES 10
#ifndef FILL
#define FILL RELEASE
#endif
#ifndef FILLED
#define FILLED ACQUIRE
#endif
#ifndef CONSUME
#define CONSUME RELEASE
#endif
#ifndef HAS
#define HAS ACQUIRE
#endif
#ifndef NOTE
#define NOTE ACQUIRE
#endif
#include "weak.pml"
/* `channel`: 0 up, 1 down; counters of 1.. */
#define filled(i, channel) ((channel)*N+(i))
#define consumed(i) (2*N+(i))
#define slot(i, channel, p) (((channel)*N+(i))*RING+(p)%RING)
#ifdef ONE_MORE
#define NEED(p) (p-RING)
#else
#define NEED(p) (p-RING+1)
#endif

#ifdef KNOWN_EARLY
#define KNOWN(k) (k)
#else
#define KNOWN(k) (k>=2 -> k-2 : 0)
#endif

inline piece_free(p) {
#ifdef NOWAIT
  skip
#else
  if :: p>=RING && drained<NEED(p) ->
     j=0;
     do :: j<N && j!=me -> await(consumed(j), NEED(p), HAS); j++
        :: j<N && j==me -> j++
        :: j>=N -> break od;
     j=0; drained=255;
     do :: j<N && j!=me -> load(consumed(j), NOTE, v); drained=(v<drained -> v : drained); j++
        :: j<N && j==me -> j++
        :: j>=N -> break od;
     j=0; v=0
  :: else fi
#endif
}
inline fill(channel, p) { write(slot(me, channel, p), p+1); store(filled(me, channel), p+1, FILL) }
inline take(i, channel, p) { await(filled(i, channel), p+1, FILLED); read(slot(i, channel, p), v); assert(v==p+1); v=0 }
inline consume(p) { store(consumed(me), p+1, CONSUME) }
inline take_all(channel, p) {
  i=0; do :: i<N && i!=me -> take(i, channel, p); i++ :: i<N && i==me -> i++ :: i>=N -> break od; i=0 }

/* What the others have combined, of which we know by something else. */
inline get_all(p) {
  i=0; do :: i<N && i!=me -> read(slot(i, 1, p), v); assert(v==p+1); v=0; i++ :: i<N && i==me -> i++ :: i>=N -> break od; i=0 }

/* Is our slot for this piece of the scan free? Only the next one has read what is in it, if that is of this call. */
inline place_free(p) {
#ifndef NOWAIT
#ifndef NEXT_ONLY
  if :: p-BEFORE<RING -> piece_free(p)
     :: else -> await(consumed(me+1), NEED(p), HAS) fi
#else
  if :: p>=RING -> await(consumed(me+1), NEED(p), HAS) :: else fi
#endif
#else
  skip
#endif
}

proctype P(byte me) { byte k=0, v, i, j, drained=0;
#if KIND==3
  piece_free(0); fill(0, 0);
#endif
  do :: k<L ->
#if KIND==1
     if :: me==0 -> piece_free(k); fill(1, k)
        :: else -> take(0, 1, k) fi;
     consume(k);
#elif KIND==2
     piece_free(k); fill(0, k);
     take_all(0, k);
     consume(k);
#elif KIND==4
     if :: k%2==0 && me==0 -> piece_free(k); fill(1, k)
        :: k%2==0 && me!=0 -> take(0, 1, k)
        :: k%2==1 -> piece_free(k); fill(0, k); take_all(0, k) fi;
     consume(k);
#elif KIND==5
     if :: k<BEFORE || k>=L-AFTER -> piece_free(k); fill(0, k); take_all(0, k)
        :: else ->
           if :: me+1<N -> place_free(k) :: else fi;
           if :: me>0 -> take((me-1), 0, k) :: else fi;
           if :: me+1<N -> fill(0, k) :: else fi
     fi;
     consume(k);
#else /* combine k, put k+1, get k-1: whoever has put k has combined k-1 and consumed k-3 */
     take_all(0, k); write(slot(me, 1, k), k+1);
     if :: drained<KNOWN(k) -> drained=KNOWN(k) :: else fi;
     if :: k+1<L -> piece_free((k+1)); fill(0, (k+1)) :: else -> store(filled(me, 1), k+1, FILL) fi;
     if :: k>0 -> get_all((k-1)); consume((k-1)) :: else fi;
#endif
     k++
  :: else -> break od;
#if KIND==3
  take_all(1, (L-1)); consume((L-1));
#endif
  leave() }
init { atomic { byte i=0; do :: i<N -> run P(i); i++ :: else -> break od } }
