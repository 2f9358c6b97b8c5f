/* The inline slots of a group and their flow control, under weak memory; ring.pml searches longer rings and more
 * calls, with memory as programs would like it. Stands for core/transport/ring.h and ring.cc:
 *   put      put(), once slots_free(), else once all has_finished(), then note_finished()
 *   get      get_any(): is_here(), then the payload
 *   finish   finish(); finish_together()
 * and for those who use them: KIND
 *   1 broadcasts of 0 (core/group/broadcast.cc BroadcastInline)   2 of the root that is next
 *   3 fold.h ReduceInline, to all   4 AllreduceOfTwo: the pair line, its stores and loads as in put and get
 *   5 single_copy.h: everybody tells where its memory is, reads (the kernel copies) everybody's, and goes on when
 *     all have finished
 *   6 1, 3 and 1 in turn
 * Payloads, and in 5 the callers' memory, are plain data. Checked: no race, every message is that of its episode,
 * nobody hangs.
 * Mutants: PUT, GET, FINISH, HAS, NOTE =RELAXED; NOWAIT a sender does not wait for its slot; AHEAD finish_together
 * takes the others to have finished this episode; PUBLISHED the flag is stored before the payload. N participants,
 * slots in a ring of RING, `finished` told every STRIDE episodes, L episodes. */
#ifndef N
#define N 2
#endif
#ifndef RING
#define RING 2
#endif
#ifndef STRIDE
#define STRIDE 1
#endif
#ifndef L
#define L 6
#endif
#ifndef KIND
#define KIND 1
#endif
#define THREADS N
#define FLAGS (N*RING)
#define LOCATIONS (FLAGS+N)
#define PLAIN (FLAGS+N)
#define MESSAGES 8
#ifndef PUT
#define PUT RELEASE
#endif
#ifndef GET
#define GET ACQUIRE
#endif
#ifndef FINISH
#define FINISH RELEASE
#endif
#ifndef HAS
#define HAS ACQUIRE
#endif
#ifndef NOTE
#define NOTE ACQUIRE
#endif
#include "weak.pml"
#define slot(i) ((i)*RING+e%RING)  /* of this episode: its flag among the locations, its payload among the plain data */
#define finished(i) (FLAGS+(i))
#define memory(i) (FLAGS+(i))      /* the caller's, in 5 */
#define CALL(e) (KIND==6 -> (e%3==2 -> 3 : 1) : KIND)

inline all_finished(upto) {
  j=0;
  do :: j<N && j!=me -> await(finished(j), upto, HAS); j++
     :: j<N && j==me -> j++
     :: j>=N -> break od;
  j=0; least=255;
  do :: j<N && j!=me -> load(finished(j), NOTE, v); least=(v<least -> v : least); j++
     :: j<N && j==me -> j++
     :: j>=N -> break od;
  settled=(least>settled -> least : settled);
  j=0; least=0; v=0 }
inline put() {
#ifndef NOWAIT
  if :: e>RING && settled+RING<e -> all_finished(e-RING) :: else fi;
#endif
#ifdef PUBLISHED
  store(slot(me), e, PUT); write(slot(me), e)
#else
  write(slot(me), e); store(slot(me), e, PUT)
#endif
}
inline get(i) { await_value(slot(i), e, GET, v); assert(v==e); read(slot(i), v); assert(v==e); v=0 }
inline get_all() {
  k=0;
  do :: k<N && k!=me -> get(k); k++ :: k<N && k==me -> k++ :: k>=N -> break od;
  k=0 }
inline finish() { if :: e%STRIDE==0 -> store(finished(me), e, FINISH) :: else fi }
#ifdef AHEAD
#define finish_together() settled=e
#else
#define finish_together() settled=e-1
#endif

proctype P(byte me) { byte e=1, call, root, settled=0, v, j, k, least;
  do :: e<=L ->
     call=CALL(e); root=(call==2 -> e%N : 0);
     if
     :: call<=2 && me==root -> put(); finish()
     :: call<=2 && me!=root -> get(root); if :: N==2 -> settled=e-1 :: else fi; finish()
     :: call==3 || call==4 -> put(); get_all(); finish_together()
     :: call==5 ->
        write(memory(me), e);
        put(); get_all(); finish_together();
        k=0; do :: k<N -> read(memory(k), v); assert(v==e); k++ :: else -> break od; k=0; v=0;
        store(finished(me), e, FINISH); all_finished(e)
     fi;
     e++
  :: else -> break od;
  leave() }
init { atomic { byte i=0; do :: i<N -> run P(i); i++ :: else -> break od } }
