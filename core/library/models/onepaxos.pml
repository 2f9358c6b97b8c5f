/* Agreement by one active acceptor: examples/onepaxos, protocol.h and lead.cc. N replicas, C commands for L indices,
 * up to E changes of leader or acceptor, S replicas that stop. The utility is one consensus object here
 * (onepaxos_utility.pml has what is in it), so whoever calls for another configuration first has it. A step of a
 * replica is atomic; between two of them anything happens. Anybody may be suspected at any time, whether it runs or
 * not. Proposals wait in queues, and what a stopped replica had sent still arrives. A log is told to others entry by
 * entry, whichever way that goes, to some perhaps and not to others. An answer is taken when it is used: who has
 * answered proposes and accepts nothing older, so it does not grow false.
 * Checked: no index has two commands, and a command that anybody has applied is never replaced.
 * Mutants: NO_ASK a new leader does not ask what was accepted; NO_HANDOVER the next acceptor is not told what is
 * under way; NO_EPOCH an acceptor accepts from a leader that was replaced; THAW the leader proposes again after it
 * has offered what is under way to the utility; ANY_LEADER a new leader takes the answer of any old one; NO_SYNC the
 * next acceptor need not know what the leader knows. REACH=1 a new leader has found out and a command is decided
 * after that; 2 so after the acceptor has changed; 3 after a new leader changed it with what the old one told: all of
 * that is searched. */
#ifndef N
#define N 3
#endif
#ifndef C
#define C 2
#endif
#ifndef L
#define L 2
#endif
#ifndef E
#define E 2
#endif
#ifndef S
#define S 1
#endif
#define NOT 0
#define ASKING 1
#define PROPOSING 2
#define SYNCING 3
#define CHANGING 4

/* The utility: configurations 0 .. last */
byte last, leader[E+1], acceptor[E+1], base[E+1], count[E+1], handed[(E+1)*L];
/* The replicas. flight[r*L+i] is proposed for index length[r]+i. */
byte epoch[N], length[N], log[N*L], leading[N], flight[N*L], flying[N], led[N], next[N], frozen[N];
bool stopped[N], resumable[N], recovered[N];
byte told[N*N]; /* r has stopped when it had sent its log up to here to s; who runs may have sent all that it has */
chan proposals[N*N] = [L+1] of { byte, byte, byte }; /* epoch, index, command */
byte decided[L], stops; /* ghost */

inline learn(r, v) {
  assert(decided[length[r]]==0 || decided[length[r]]==v);
  decided[length[r]]=v;
  log[r*L+length[r]]=v;
  length[r]++;
  if :: flying[r]>0 ->
        k=1; do :: k<flying[r] -> flight[r*L+k-1]=flight[r*L+k]; k++ :: else -> break od;
        flying[r]--; flight[r*L+flying[r]]=0
     :: else fi;
  k=0;
#ifdef REACH
  if :: REACH==1 && epoch[r]>0 && acceptor[epoch[r]]==1 && leader[epoch[r]]!=0 -> assert(false)
     :: REACH==2 && epoch[r]>0 && acceptor[epoch[r]]!=1 && count[epoch[r]]==0 && acceptor[epoch[r]]==r -> assert(false)
     :: else fi
#endif
}

/* Is v in r's log or under way? Then it is not proposed again. */
inline find(r, v) {
  known=0; k=0;
  do :: k<length[r] -> known=known || log[r*L+k]==v; k++ :: else -> break od;
  k=0;
  do :: k<flying[r] -> known=known || flight[r*L+k]==v; k++ :: else -> break od;
  k=0
}

inline adopt(r) {
  epoch[r]++;
  e=epoch[r];
  if :: base[e]<=length[r] ->
        do :: length[r]<base[e]+count[e] -> v=handed[e*L+length[r]-base[e]]; learn(r, v) :: else -> break od
     :: else fi;
  leading[r]=(leader[e]==r -> ASKING : NOT);
  next[r]=0; frozen[r]=0; resumable[r]=0; recovered[r]=0; e=0; v=0
}

/* All that was accepted is known: what is left under way never will be accepted. */
inline take_over(r) {
  k=0; do :: k<flying[r] -> flight[r*L+k]=0; k++ :: else -> break od; k=0;
  flying[r]=0; led[r]=epoch[r]+1; leading[r]=PROPOSING
}

/* From the last epoch back to the one whose leader proposed. source: whose log and flight are all; N: unknown */
inline old_leaders(r) {
  source=N; e=epoch[r];
  do :: e==0 -> break
     :: else ->
        e--; q=leader[e];
        if :: q!=r && (stopped[q] || epoch[q]!=epoch[r]) ->
#ifdef ANY_LEADER
              skip
#else
              break
#endif
           :: else -> if :: led[q]==e+1 -> source=q; break :: else fi
        fi
  od;
  e=0; q=0
}

inline offer(r) {
  last++;
  leader[last]=r; acceptor[last]=next[r]; base[last]=frozen[r];
#ifndef NO_HANDOVER
  /* Since it was frozen, entries of it may have been learned. */
  count[last]=length[r]-frozen[r]+flying[r];
  k=0; do :: k<count[last] ->
     handed[last*L+k]=(frozen[r]+k<length[r] -> log[r*L+frozen[r]+k] : flight[r*L+k-(length[r]-frozen[r])]);
     k++
  :: else -> break od;
  k=0;
#endif
#ifdef REACH
  if :: REACH==3 && recovered[r] && count[last]>0 -> assert(false) :: else fi
#endif
}

#define WAITS(q) nempty(proposals[(q)*N+r])
#define runs(r) (!stopped[r])
#ifdef NO_SYNC
#define UP_TO_DATE true
#else
#define UP_TO_DATE (length[q]>=length[r])
#endif

proctype Replica(byte r) { byte v, k, e, q, source, i; bool known;
  do
  :: atomic { runs(r) && epoch[r]<last -> adopt(r) }
  /* leader: a proposal */
  :: atomic { runs(r) && leading[r]==PROPOSING && length[r]+flying[r]<L ->
       if :: v=1 :: v=2
#if C>2
          :: v=3
#endif
       fi;
       find(r, v);
       if :: !known && len(proposals[r*N+acceptor[epoch[r]]])<=L ->
             proposals[r*N+acceptor[epoch[r]]]!epoch[r],length[r]+flying[r],v;
             flight[r*L+flying[r]]=v; flying[r]++
          :: else fi;
       v=0; known=0 }
  /* acceptor: one proposal from q */
  :: atomic { runs(r) && (WAITS(0) || WAITS(1) || WAITS(2) || WAITS(N-1)) ->
       if :: WAITS(0) -> q=0 :: WAITS(1) -> q=1 :: WAITS(2) -> q=2 :: WAITS(N-1) -> q=N-1 fi;
       proposals[q*N+r]?e,i,v;
#ifdef NO_EPOCH
       if :: i==length[r] -> learn(r, v) :: else fi;
#else
       if :: e==epoch[r] && acceptor[e]==r && i==length[r] -> learn(r, v) :: else fi;
#endif
       q=0; e=0; i=0; v=0 }
  /* learner: from q, what q has told */
  :: atomic { runs(r) -> if :: q=0 :: q=1 :: q=2
#if N>3
          :: q=3
#endif
       fi;
       if :: length[q]>length[r] && (runs(q) || told[q*N+r]>length[r]) -> v=log[q*L+length[r]]; learn(r, v) :: else fi;
       q=0; v=0 }
  /* candidate: it suspects the leader */
  :: atomic { runs(r) && epoch[r]==last && last<E && leader[last]!=r && acceptor[last]!=r ->
       last++; leader[last]=r; acceptor[last]=acceptor[last-1] }
  /* new leader: what was accepted? The acceptor says it */
#ifdef NO_ASK
  :: atomic { runs(r) && leading[r]==ASKING -> take_over(r) }
#else
  :: atomic { runs(r) && leading[r]==ASKING && runs(acceptor[epoch[r]]) && epoch[acceptor[epoch[r]]]==epoch[r] &&
       length[r]>=length[acceptor[epoch[r]]] -> take_over(r) }
#endif
  /* it suspects the acceptor, too: old leaders say it */
  :: atomic { runs(r) && leading[r]==ASKING ->
       old_leaders(r);
       if :: source==N || length[r]<length[source] -> skip
          :: else ->
             if :: source!=r ->
                   /* the part that it has learned since is not under way any more */
                   e=(length[r]-length[source]<flying[source] -> flying[source]-(length[r]-length[source]) : 0);
                   k=0;
                   do :: k<L -> flight[r*L+k]=(k<e -> flight[source*L+k+length[r]-length[source]] : 0); k++
                      :: else -> break od;
                   flying[r]=e; k=0; e=0
                :: else fi;
             led[r]=epoch[r]+1; leading[r]=SYNCING; recovered[r]=1
       fi;
       source=0 }
  /* leader: it suspects the acceptor, and perhaps thinks better of it */
  :: atomic { runs(r) && leading[r]==PROPOSING && last<E -> leading[r]=SYNCING; resumable[r]=1 }
  :: atomic { runs(r) && leading[r]==SYNCING && resumable[r] -> leading[r]=PROPOSING; resumable[r]=0 }
  :: atomic { runs(r) && leading[r]==SYNCING ->
       if :: q=0 :: q=1 :: q=2
#if N>3
          :: q=3
#endif
       fi;
       if :: q!=r && q!=acceptor[epoch[r]] && runs(q) && epoch[q]==epoch[r] && UP_TO_DATE ->
             next[r]=q; frozen[r]=length[r]; leading[r]=CHANGING; resumable[r]=0
          :: else fi;
       q=0 }
#ifdef THAW
  :: atomic { runs(r) && leading[r]==CHANGING && last==epoch[r] && last<E -> offer(r); leading[r]=PROPOSING }
#else
  :: atomic { runs(r) && leading[r]==CHANGING && last==epoch[r] && last<E -> offer(r) }
#endif
  /* it stops, in the middle of telling */
  :: atomic { runs(r) && stops<S -> stopped[r]=1; stops++;
       q=0; do :: q<N ->
          if :: length[q]<length[r] -> told[r*N+q]=length[q]; do :: told[r*N+q]<length[r] -> told[r*N+q]++ :: break od
             :: else fi;
          q++ :: else -> break od;
       q=0; break }
  od }

init { atomic {
  leader[0]=0; acceptor[0]=1; leading[0]=PROPOSING; led[0]=1;
  byte i=0; do :: i<N -> run Replica(i); i++ :: else -> break od } }
