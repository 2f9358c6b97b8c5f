/* The inbox under weak memory. Stands for core/message/inbox.cc: claim(), publish(), peek(), pass(), pass_dead().
 * N senders put L messages each into a ring of RING cells, one reader takes them, and says every EVERY messages how far
 * it is. What is in the cells is plain data. Checked: no race; each sender's messages come in order, none is lost or
 * doubled; nobody hangs. DEATH: the first sender dies after its first claim, before it has moved the tail.
 * Mutants: ROOM, PUBLISH, HERE, GIVE =RELAXED; TAKE a position is claimed by a store; NO_HELP nobody goes on beyond a
 * position that is claimed; ANYBODY what a sender that lives has claimed is passed over, too; NO_SKIP the reader waits
 * for the dead; FULL a cell is claimed that is still the reader's; an EVERY greater than RING. */
#ifndef N
#define N 2
#endif
#ifndef RING
#define RING 2
#endif
#ifndef L
#define L 2
#endif
#ifndef EVERY
#define EVERY 1
#endif
#define THREADS (N+1)
#define LOCATIONS (2*RING+2)
#define PLAIN RING
#define MESSAGES 14
#ifndef ROOM
#define ROOM ACQUIRE
#endif
#ifndef PUBLISH
#define PUBLISH RELEASE
#endif
#ifndef HERE
#define HERE ACQUIRE
#endif
#ifndef GIVE
#define GIVE RELEASE
#endif
#include "weak.pml"
#define cell(p) ((p)%RING)
#define claim(p) (RING+(p)%RING)
#define tail (2*RING)
#define passed (2*RING+1)
/* A claim: the position behind, and whether it is the first sender's. In a cell: the position behind. */
#define claimed(p, by) (((p)+1)*2+((by)==0 -> 1 : 0))
#define END(word) ((word)/2)

bool dead;
byte claims; /* so many positions have been claimed */

#ifdef ANYBODY
#define ABANDONED (END(last_[claim(head)])==head+1 && dead)
#elif defined(DEATH) && !defined(NO_SKIP)
#define ABANDONED (last_[claim(head)]==claimed(head, 0) && dead)
#else
#define ABANDONED false
#endif

/* Who cannot get anything done does not try. */
#define NEXT last_[tail]
#if defined(NO_HELP)
#define STEP false
#define WORTH_A_TRY (END(last_[claim(NEXT)])<=NEXT && claims<last_[passed]+RING)
#elif defined(FULL)
#define STEP true
#define WORTH_A_TRY true
#else
#define STEP true
#define WORTH_A_TRY (claims<last_[passed]+RING)
#endif

#ifdef FULL
#define IS_FULL false
#else
#define IS_FULL (at>=w+RING)
#endif

inline take_position() {
  ours=0;
  do :: ours==0 ->
     atomic { WORTH_A_TRY -> load(tail, RELAXED, at) };
     do
     :: load(claim(at), RELAXED, v);
        if
        :: END(v)>at -> if :: STEP -> at=END(v) :: else -> break fi
        :: else ->
           load(passed, ROOM, w);
           if
           :: IS_FULL -> break
           :: else ->
#ifdef TAKE
              store(claim(at), claimed(at, me), RELAXED); ours=1; claims++; break
#else
              atomic { update_from(claim(at), RELAXED, w);
                if :: w==v -> update_to(claimed(at, me)); ours=1; claims++ :: else -> update_not() fi };
              if :: ours==1 -> break :: else fi
#endif
           fi
        fi;
        v=0; w=0
     od;
     v=0; w=0;
#ifdef DEATH
     if :: me==0 && ours==1 -> break :: else fi;
#endif
     if :: ours==1 -> store(tail, at+1, RELAXED) :: else fi
  :: else -> break od;
  v=0; w=0; ours=0
}

proctype Sender(byte me) { byte k=1, at, v, w, ours;
  do :: k<=L ->
     take_position();
#ifdef DEATH
     if :: me==0 -> dead=true; break :: else fi;
#endif
     write(cell(at), me*8+k);
     store(cell(at), at+1, PUBLISH);
     k++
  :: else -> break od;
  leave() }

inline pass() {
  head++;
  if :: head%EVERY==0 -> store(passed, head, GIVE) :: else fi
}

proctype Reader(byte me) { byte head, v, got, who, seen[N];
#ifdef DEATH
#define ALL ((N-1)*L)
#else
#define ALL (N*L)
#endif
  do :: got<ALL ->
     atomic { last_[cell(head)]==head+1 || ABANDONED -> load(cell(head), HERE, v) };
     if :: v==head+1 ->
           read(cell(head), v);
           who=v/8;
           assert(v%8==seen[who]+1);
           seen[who]=v%8; got++; who=0;
           pass()
#ifdef DEATH
        :: v!=head+1 && ABANDONED ->
           load(cell(head), HERE, v);
           if :: v!=head+1 && ABANDONED -> pass()
              :: else fi
#endif
        :: else fi;
     v=0
  :: else -> break od;
  leave() }
init { atomic { byte i=0; do :: i<N -> run Sender(i); i++ :: else -> break od; run Reader(N) } }
