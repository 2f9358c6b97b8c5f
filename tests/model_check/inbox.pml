/* The inbox under weak memory. Stands for core/message/inbox.cc: claim(), publish(), peek(), pass(), pass_dead().
 * N senders put L messages each into a ring of RING cells, one reader takes them. What is in the cells is plain data.
 * Checked: no race; each sender's messages come in order, none is lost or doubled; nobody hangs. DEATH: the first
 * sender dies after its first claim, before it has moved the tail.
 * Mutants: CLAIM, PUBLISH, HERE, GIVE =RELAXED; TAKE a cell is claimed by a store; NO_HELP nobody goes
 * on beyond a cell that is not free; BEHIND nor beyond one that has been used and passed meanwhile; ANYBODY what a sender
 * that lives has claimed is passed over, too; NO_SKIP the reader waits for the dead; FULL a cell is claimed that is still
 * the reader's. */
#ifndef N
#define N 2
#endif
#ifndef RING
#define RING 2
#endif
#ifndef L
#define L 2
#endif
#define THREADS (N+1)
#define LOCATIONS (RING+1)
#define PLAIN RING
#define MESSAGES 14
#ifndef CLAIM
#define CLAIM ACQUIRE
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
#define tail RING
#define cell(p) ((p)%RING)
/* A position's round, and the state with who claimed it, in that order; the first free cells say 0. */
#define free(p) ((p)/RING*4)
#define claimed(p, by) (free(p)+((by)==0 -> 2 : 1))
#define full(p) (free(p)+3)

bool dead;

#ifdef ANYBODY
#define ABANDONED ((last_[cell(head)]==free(head)+1 || last_[cell(head)]==free(head)+2) && dead)
#elif defined(DEATH) && !defined(NO_SKIP)
#define ABANDONED (last_[cell(head)]==claimed(head, 0) && dead)
#else
#define ABANDONED false
#endif

#define NEXT last_[tail]
#ifdef NO_HELP
#define WORTH_A_TRY (last_[cell(NEXT)]==free(NEXT))
#elif defined(BEHIND)
#define WORTH_A_TRY (last_[cell(NEXT)]/4==NEXT/RING)
#elif defined(FULL)
#define WORTH_A_TRY true
#else
#define WORTH_A_TRY (last_[cell(NEXT)]>=free(NEXT))
#endif

#ifdef FULL
#define IS_FREE v<=free(at)
#else
#define IS_FREE v==free(at)
#endif

/* What is not free there is another's: on to the next position. What has been passed by then is left out. */
#ifdef NO_HELP
#define STEP false
#elif defined(BEHIND)
#define STEP v>free(at) && v/4==at/RING
#else
#define STEP v>free(at)
#endif
#define NEXT_FREE (v/4>at/RING -> (v/4-1)*RING+at%RING+1 : at+1)

inline claim() {
  ours=0;
  do :: ours==0 ->
     atomic { WORTH_A_TRY -> load(tail, RELAXED, at) };
     do
     :: load(cell(at), RELAXED, v);
#ifdef TAKE
        if :: v==free(at) -> store(cell(at), claimed(at, me), RELAXED); ours=1 :: else fi;
#else
        if :: IS_FREE -> atomic { update_from(cell(at), CLAIM, w);
                if :: w==v -> update_to(claimed(at, me)); ours=1 :: else -> update_not(); v=w fi }
           :: else fi;
#endif
        w=0;
        if :: ours==0 && STEP -> at=NEXT_FREE :: else -> break fi
     od;
#ifdef DEATH
     if :: me==0 && ours==1 -> break :: else fi;
#endif
     if :: ours==1 -> store(tail, at+1, RELAXED) :: else fi
  :: else -> break od;
  v=0; ours=0
}

proctype Sender(byte me) { byte k=1, at, v, w, ours;
  do :: k<=L ->
     claim();
#ifdef DEATH
     if :: me==0 -> dead=true; break :: else fi;
#endif
     write(cell(at), me*8+k);
     store(cell(at), full(at), PUBLISH);
     k++
  :: else -> break od;
  leave() }

proctype Reader(byte me) { byte head, v, got, who, seen[N];
#ifdef DEATH
#define ALL ((N-1)*L)
#else
#define ALL (N*L)
#endif
  do :: got<ALL ->
     atomic { last_[cell(head)]==full(head) || ABANDONED -> load(cell(head), HERE, v) };
     if :: v==full(head) ->
           read(cell(head), v);
           who=v/8;
           assert(v%8==seen[who]+1);
           seen[who]=v%8; got++; who=0;
           store(cell(head), free(head+RING), GIVE); head++
#ifdef DEATH
        :: v!=full(head) && v>free(head) && ABANDONED ->
           load(cell(head), HERE, v);
           if :: v!=full(head) && ABANDONED -> store(cell(head), free(head+RING), GIVE); head++
              :: else fi
#endif
        :: else fi;
     v=0
  :: else -> break od;
  leave() }
init { atomic { byte i=0; do :: i<N -> run Sender(i); i++ :: else -> break od; run Reader(N) } }
