/* The log of members that come and go (agree/member_log.cc) under weak memory: when a slot and its buffer may be
 * written again. A sender numbers L messages in RING slots; it has received all of its own. KIND
 *   1  somebody joins meanwhile, at any time, and reads from there on. It takes its place, says how far it has come,
 *      passes a fence and reads the tail (member_create.cc); the sender, which has received no further than the tail
 *      that it knows, passes a fence and looks who there is (survey). What is in the buffers is plain data here:
 *      nothing is overwritten that may still be read.
 *   2  a member is taken out by a third, at any time, while it reads. The buffers are atomic words, two of each; what
 *      it has read counts if its state is unchanged after that (is_out), and then it is the message that is meant.
 * Checked besides: who has joined finds every message from its tail on; nobody hangs.
 * Mutants: PUT, HERE, GIVE, LOOK, TAIL, WORD, STATE =RELAXED; NO_FENCE_JOINER; NO_FENCE_BEFORE, NO_FENCE_AFTER the
 * sender's look; OLD_TAIL who joins reads from the tail that it read before the fence; NO_CHECK who was taken out does
 * not look at its state; CHECK_FIRST it looks before it reads; ONE_MORE a slot further than the ring. */
#ifndef KIND
#define KIND 1
#endif
#ifndef RING
#define RING 1
#endif
#ifndef L
#define L 3
#endif
#ifndef PUT
#define PUT RELEASE
#endif
#ifndef HERE
#define HERE ACQUIRE
#endif
#ifndef GIVE
#define GIVE RELEASE
#endif
#ifndef LOOK
#define LOOK ACQUIRE
#endif
#ifndef TAIL
#define TAIL RELEASE
#endif
#ifndef WORD
#define WORD ACQUIRE
#endif
#ifndef STATE
#define STATE ACQUIRE
#endif
#define MESSAGES 12
#if KIND==1
#define THREADS 2
#define LOCATIONS (RING+3)
#define PLAIN RING
#define TAKEN 1
#else
#define THREADS 3
#define LOCATIONS (3*RING+3)
#define PLAIN 0
#define TAKEN 0
#endif
#include "../../../tests/model_check/weak.pml"
/* Positions begin at 0 here, so a slot's word is the position + 1. */
#define word(p) ((p)%RING)
#define tail RING
#define state (RING+1)
#define received (RING+2)
#define data(p,i) (RING+3+2*((p)%RING)+(i))
#ifdef ONE_MORE
#define ROOM (RING+1)
#else
#define ROOM RING
#endif

inline look() {
  load(state, LOOK, v);
  if :: v==TAKEN -> load(received, LOOK, v); least=(v<least -> v : least) :: else fi
}

proctype Sender(byte me) { byte p, v, least, known;
  do :: p<L ->
     do :: p>=known+ROOM ->
        /* Nothing changes before this. */
        atomic { last_[state]!=TAKEN || last_[received]+ROOM>p -> least=p };
#ifndef NO_FENCE_BEFORE
        fence();
#endif
        look();
#ifndef NO_FENCE_AFTER
        fence();
#endif
        known=(least>known -> least : known)
     :: else -> break od;
#if KIND==1
     write(word(p), p+1);
#else
     store(data(p,0), p+1, RELAXED);
     store(data(p,1), p+1, RELAXED);
#endif
     store(word(p), p+1, PUT);
     store(tail, p+1, TAIL);
     p++
  :: else -> break od;
  leave() }

#if KIND==1
proctype Joiner(byte me) { byte from, v;
  atomic { update_from(state, ACQ_REL, v); update_to(TAKEN) };
  load(tail, ACQUIRE, from);
  store(received, from, GIVE);
#ifndef NO_FENCE_JOINER
  fence();
#endif
#ifndef OLD_TAIL
  load(tail, ACQUIRE, from);
  store(received, from, GIVE);
#endif
  do :: from<L ->
     await_value(word(from), from+1, HERE, v);
     assert(v==from+1);
     read(word(from), v);
     assert(v==from+1);
     from++;
     store(received, from, GIVE)
  :: else -> break od;
  leave() }
init { atomic { run Sender(0); run Joiner(1) } }
#else
proctype Reader(byte me) { byte next, v, w, s;
  do :: next<L ->
     atomic { last_[word(next)]>=next+1 || last_[state]!=TAKEN -> load(word(next), HERE, v) };
     if :: v==next+1 ->
#ifdef CHECK_FIRST
           load(state, STATE, s);
#endif
           load(data(next,0), WORD, v);
           load(data(next,1), WORD, w);
#ifdef NO_CHECK
           s=TAKEN;
#else
#ifndef CHECK_FIRST
           load(state, STATE, s);
#endif
#endif
           if :: s==TAKEN -> assert(v==next+1 && w==next+1) :: else -> break fi;
           next++;
           store(received, next, GIVE)
        :: else ->
           load(state, STATE, s);
           /* A slot that was overwritten is one that it was taken out for. */
           assert(s!=TAKEN || v<next+1);
           if :: s!=TAKEN -> break :: else fi
     fi
  :: else -> break od;
  leave() }
proctype Excluder(byte me) { byte v;
  atomic { update_from(state, ACQ_REL, v); update_to(1) };
  leave() }
init { atomic { run Sender(0); run Reader(1); run Excluder(2) } }
#endif
