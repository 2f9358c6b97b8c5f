/* Two-phase commit where any member may stop for ever at any step, under weak memory. Stands for
 * agree/two_phase_commit.cc:
 *   Coordinator(r)   propose (all_have_learned), decide (gather, or count when time is over), finish
 *   Participant(r)   begin, vote, outcome (combine; told or the decision), or resolve; finish
 *   settle, count    as they are called there
 * Every wait may end without what was waited for, whenever it likes: that is the stated time. N members, R rounds; CHAIN:
 * 0 - 1 - 2, else all are below the coordinator. The proposals, and what a member did before it voted (work), are plain.
 * Checked: all that have an outcome of a round have the same one, stopped afterwards or not; a commit has only votes of
 * yes, and what the voters did before is seen; the proposal is that of the round, and no race.
 * Mutants: CAS, RELAY, BEGIN, OWN, COUNT, COMBINE, GATHER, TELL, HEAR, LEARN, ASK, SEE =RELAXED; STORED the
 * decision is stored, not compared and swapped; TWICE one child's vote counts for all; ANY_ROUND the round of a vote is
 * not looked at; HASTY the outcome is told before it is settled; REUSED nobody waits until all have learned; AHEAD after
 * a commit all are taken to have learned it; ABSENT who has not voted counts as a yes */
#ifndef N
#define N 3
#endif
#ifndef R
#define R 1
#endif
#define THREADS N
#define decision(r) ((r)%2)
#define relayed(i) (2+(i))
#define told(i) (2+N+(i))
#define own(i) (2+2*N+(i))
#define combined(i) (2+3*N+(i))
#define learned(i) (2+4*N+(i))
#define LOCATIONS (2+5*N)
#define proposal(r) ((r)%2)
#define work(i) (2+(i))
#define PLAIN (2+N)
#define MESSAGES 6
#ifndef CAS
#define CAS ACQ_REL
#endif
#ifndef SEE
#define SEE ACQUIRE
#endif
#ifndef RELAY
#define RELAY RELEASE
#endif
#ifndef BEGIN
#define BEGIN ACQUIRE
#endif
#ifndef OWN
#define OWN RELEASE
#endif
#ifndef COUNT
#define COUNT ACQUIRE
#endif
#ifndef COMBINE
#define COMBINE RELEASE
#endif
#ifndef GATHER
#define GATHER ACQUIRE
#endif
#ifndef TELL
#define TELL RELEASE
#endif
#ifndef HEAR
#define HEAR ACQUIRE
#endif
#ifndef LEARN
#define LEARN RELEASE
#endif
#ifndef ASK
#define ASK ACQUIRE
#endif
#include "../../../tests/model_check/weak.pml"
#define OPEN 0
#define NO 1
#define YES 2
#define word(r, state) ((r)*4+(state))
#ifdef CHAIN
#define parent(i) ((i)-1)
#define is_child(i) ((i)==me+1)
#else
#define parent(i) 0
#define is_child(i) (me==0 && (i)>0)
#endif

byte outcome_[R+1];  /* of each round: what the first to have one had */
bool refused_[R+1];  /* somebody voted no */
byte votes_[R+1];    /* of yes */

/* It is killed, or stopped for longer than anybody waits. */
inline may_stop() { if :: true :: goto gone fi }

/* settle(): `state` is what came of it */
inline settle(s) {
#ifdef STORED
  store(decision(r), word(r, s), RELEASE);
#else
  atomic { update_from(decision(r), CAS, v);
           if :: v==word(r, OPEN) -> update_to(word(r, s)) :: else -> update_not() fi };
#endif
  load(decision(r), SEE, v);
  assert(v/4==r && v%4!=OPEN);
  state=v%4 }

/* count(), into `votes` */
inline count() {
  votes=YES; i=1;
  do :: i<N ->
#ifdef ABSENT
     load(own(i), COUNT, v); if :: v==word(r, NO) -> votes=NO :: else fi;
#else
     load(own(i), COUNT, v); if :: v!=word(r, YES) -> votes=NO :: else fi;
#endif
     i++
  :: else -> break od;
  i=0; v=0 }

/* below(), into `votes` */
#ifdef ANY_ROUND
#define IS(v, s) ((v)%4==(s))
#else
#define IS(v, s) ((v)==word(r, s))
#endif
inline below() {
  votes=YES; i=1;
  do :: i<N && is_child(i) && votes!=NO ->
     load(combined(i), GATHER, v);
     if :: IS(v, NO) -> votes=NO :: !IS(v, NO) && !IS(v, YES) -> votes=OPEN :: else fi;
#ifdef TWICE
     i=N
#else
     i++
#endif
  :: i<N && !(is_child(i) && votes!=NO) -> i++
  :: else -> break od;
  i=0; v=0 }

inline finish() {
  d_step { assert(outcome_[r]==0 || outcome_[r]==state); outcome_[r]=state;
           assert(state==NO || (!refused_[r] && votes_[r]==N-1)) };
  if :: state==YES && r==1 ->
        i=1; do :: i<N -> read(work(i), v); assert(v==1); i++ :: else -> break od; i=0; v=0
     :: else fi;
  may_stop();
  store(told(me), word(r, state), TELL);
  may_stop();
  store(learned(me), r, LEARN);
  state=0; votes=0 }

proctype Coordinator(byte me) { byte r=1, v, i, votes, state, known;
  do :: r<=R ->
#ifndef REUSED
     if :: r>known+2 -> i=1;
        do :: i<N -> load(learned(i), ASK, v); if :: v<r-2 -> goto gone :: else fi; i++ :: else -> break od;
        i=0; v=0
     :: else fi;
#endif
     write(proposal(r), r);
     store(decision(r), word(r, OPEN), RELAXED);
     may_stop();
     store(relayed(0), r, RELAY);
     may_stop();
     below();
#ifdef AHEAD
     if :: votes==YES -> known=r :: else fi;
#else
     if :: votes==YES -> known=r-1 :: else fi;
#endif
     if :: votes==OPEN -> count() :: else fi;  /* time is over */
     may_stop();
#ifdef HASTY
     store(told(me), word(r, votes), TELL);
#endif
     settle(votes);
     finish();
     r++
  :: else -> break od;
gone: leave() }

proctype Participant(byte me) { byte r=1, v, i, votes, state; bool yes;
  do :: r<=R ->
     if :: await(relayed(parent(me)), r, BEGIN) :: goto gone fi;
     store(relayed(me), r, RELAY);
     may_stop();
     read(proposal(r), v); assert(v==r); v=0;
     if :: r==1 -> write(work(me), 1) :: else fi;
     if :: yes=true; d_step { votes_[r]++ } :: yes=false; refused_[r]=true fi;
     store(own(me), word(r, (yes -> YES : NO)), OWN);
     may_stop();
     /* combine(), in time or not */
     if :: yes -> below() :: else -> votes=NO fi;
     if :: votes!=OPEN -> store(combined(me), word(r, votes), COMBINE) :: else fi;
     votes=0;
     may_stop();
     if :: !yes -> settle(NO)
     :: else ->
        if :: last_[told(parent(me))]/4>=r -> load(told(parent(me)), HEAR, v); if :: v/4==r -> state=v%4 :: else fi
           :: load(decision(r), SEE, v); assert(v/4==r); state=v%4  /* it may be open */
           :: true
        fi;
        if :: state==0 -> count(); may_stop(); settle(votes) :: else fi
     fi;
     finish();
     yes=false; v=0;
     r++
  :: else -> break od;
gone: leave() }
init { atomic { run Coordinator(0); byte i=1; do :: i<N -> run Participant(i); i++ :: else -> break od } }
