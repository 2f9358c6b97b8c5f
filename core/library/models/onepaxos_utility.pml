/* What is in the utility of examples/onepaxos, utility.h: single-decree Paxos. N voters; the first K of them are
 * candidates, too, each for a configuration of its own: candidate c's is c+1. Ballot b is candidate (b-1)%K's; B
 * ballots in all, and a candidate may begin its next one at any time. A message arrives at any later time, in any
 * order, or never: stopping is included.
 * Checked: no two configurations are agreed.
 * Mutants: QUORUM=1 a candidate offers, and VOTES=1 it decides, without a majority; NO_TOLD it offers its own
 * whatever it was told; NO_PROMISE a voter votes below what it has promised; SELF a candidate's own vote counts
 * although it has promised another ballot since. REACH: something is agreed that another candidate has taken up. */
#ifndef N
#define N 3
#endif
#ifndef K
#define K 2
#endif
#ifndef B
#define B 3
#endif
#ifndef QUORUM
#define QUORUM (N/2+1)
#endif
#ifndef VOTES
#define VOTES (N/2+1)
#endif
/* By ballot, 1 .. B */
bool begun[B+1];
byte offered[B+1], heard[B+1], best[B+1], best_of[B+1], votes[B+1];
bool promise_sent[(B+1)*N], voted_for[(B+1)*N]; /* and once they have arrived, 0 again */
byte told[(B+1)*N], told_of[(B+1)*N];
bool asked[(B+1)*N], answered[(B+1)*N]; /* voter v has had the question, the offer */
/* The voters */
byte promised[N], voted[N], voted_of[N];
byte agreed; /* ghost */

#define candidate(b) (((b)-1)%K)
#define at(b,v) ((b)*N+(v))

inline decide(b) {
  if :: votes[b]==VOTES ->
        assert(agreed==0 || agreed==offered[b]);
        agreed=offered[b];
#ifdef REACH
        assert(offered[b]==candidate(b)+1);
#endif
     :: else fi
}

proctype Ballot(byte b) { byte v;
  /* 1. begin: its own promise */
  atomic { promised[candidate(b)]<b ->
    begun[b]=1; v=candidate(b);
    promised[v]=b; asked[at(b,v)]=1; heard[b]=1; best[b]=voted[v]; best_of[b]=voted_of[v]; v=0 }
  /* 2. a majority has promised: offers. begun: no later ballot of this candidate has */
  do
  :: atomic { offered[b]==0 && heard[b]<QUORUM && (b+K>B || !begun[(b+K>B -> b : b+K)]) ->
       if :: v=0 :: v=1 :: v=2 fi;
       if :: promise_sent[at(b,v)] -> promise_sent[at(b,v)]=0; heard[b]++;
             if :: told[at(b,v)]>best[b] -> best[b]=told[at(b,v)]; best_of[b]=told_of[at(b,v)] :: else fi;
             told[at(b,v)]=0; told_of[at(b,v)]=0
          :: else fi;
       v=0 }
  :: atomic { offered[b]==0 && heard[b]>=QUORUM && (b+K>B || !begun[(b+K>B -> b : b+K)]) ->
#ifdef NO_TOLD
       offered[b]=candidate(b)+1;
#else
       offered[b]=(best[b]!=0 -> best_of[b] : candidate(b)+1);
#endif
       v=candidate(b);
#ifdef SELF
       voted[v]=b; voted_of[v]=offered[b]; answered[at(b,v)]=1; votes[b]++; decide(b);
#else
       if :: promised[v]==b -> voted[v]=b; voted_of[v]=offered[b]; answered[at(b,v)]=1; votes[b]++; decide(b)
          :: else -> answered[at(b,v)]=1 fi;
#endif
       v=0; break }
  od;
  /* 3. votes */
  do
  :: atomic { votes[b]<VOTES -> if :: v=0 :: v=1 :: v=2 fi;
       if :: voted_for[at(b,v)] -> voted_for[at(b,v)]=0; votes[b]++; decide(b) :: else fi;
       v=0 }
  od }

proctype Voter(byte v) { byte b;
  do
  :: atomic { if :: b=1 :: b=2
#if B>2
                 :: b=3
#endif
#if B>3
                 :: b=4
#endif
              fi;
       if :: begun[b] && !asked[at(b,v)] -> asked[at(b,v)]=1;
             if :: b>promised[v] ->
                   promised[v]=b; promise_sent[at(b,v)]=1; told[at(b,v)]=voted[v]; told_of[at(b,v)]=voted_of[v]
                :: else fi
          :: offered[b]!=0 && !answered[at(b,v)] -> answered[at(b,v)]=1;
#ifdef NO_PROMISE
             if :: true ->
#else
             if :: b>=promised[v] ->
#endif
                   promised[v]=(b>promised[v] -> b : promised[v]);
                   voted[v]=b; voted_of[v]=offered[b]; voted_for[at(b,v)]=1
                :: else fi
          :: else fi;
       b=0 }
  od }

init { atomic { byte i=0; do :: i<N -> run Voter(i); i++ :: else -> break od;
  i=1; do :: i<=B -> run Ballot(i); i++ :: else -> break od } }
