/* Views of members that come and go (agree/member_views.cc), where anybody may be killed at any step. Memory is
 * sequentially consistent here: log.pml has what the orderings are for.
 *
 * The log is an array that is only put on to, by compare-and-swap: an entry is a view, or a message (of place 0). Each
 * place has a state: free, taken, out. Stands for
 *   make_view    scan the log from where the last view is known, compare it with the states, put the view that follows
 *   pass         latest before tail, by whoever finds an entry
 *   join         take the place; tail; read_latest; make_view
 *   leave        make_view without oneself; the place is free
 *   exclude      the state, then make_view
 * Place 0 always lives, and is a member from the beginning: it sends one message, and at the end mends until view and
 * states agree. The others join, and leave again or not; each may be killed at any step, up to CRASHES of them; who is
 * dead is found by place 0. FALSE: place 0 may also take out one who lives. AGAIN: place 1 joins twice. STAY: nobody
 * leaves. Checked: every view has the number that follows the one before it in the log; who has joined is in the view
 * that it put; in the end the last view has exactly those who live and have not left; nobody hangs.
 * Mutants: OVERTAKEN a view is put though another one has come before; TAIL_FIRST tail is moved on before latest;
 * NO_PASS latest is moved on only by who has put the view; STALE_LATEST who joins does not read on from the tail. */
#ifndef N
#define N 2
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef SLOTS
#define SLOTS 9
#endif
#define FREE 0
#define TAKEN 1
#define OUT 2
#define BIT(p) (1<<(p))

/* An entry: 0 none; kind 1 message, 2 view. What a view's buffer says is written before, and nobody else's. */
byte kind[SLOTS], number[SLOTS], members[SLOTS];
byte tail, latest;      /* latest: 1 + the position of a view, 0: there was none */
byte state[N];
bool dead[N], over[N];
byte crashes;

inline may_die() { if :: me!=0 && crashes<CRASHES -> atomic { crashes++; dead[me]=true; goto finish } :: true fi; skip }

inline pass(p) {
#ifdef TAIL_FIRST
  atomic { if :: tail==p -> tail=p+1 :: else fi };
  may_die();
#endif
#ifdef NO_PASS
  skip;
#else
  if :: kind[p]==2 -> atomic { if :: latest<p+1 -> latest=p+1 :: else fi } :: else fi;
#endif
  may_die();
  atomic { if :: tail==p -> tail=p+1 :: else fi }
}

/* The last view in the log before `scanned`: head, of head_number. */
inline scan() {
  do :: kind[scanned]!=0 ->
        if :: kind[scanned]==2 -> d_step { assert(number[scanned]==head_number+1); head=members[scanned];
              head_number=number[scanned] } :: else fi;
        pass(scanned); scanned++
     :: else -> break od
}

/* change 0: mend, 1: join, 2: leave */
inline make_view(change) {
  done=false;
  do :: !done ->
     scan();
     /* the states, one after the other */
     made=head; i=0;
     do :: i<N ->
        atomic { if :: (made&BIT(i)) && state[i]!=TAKEN -> made=made&~BIT(i) :: else fi; i++ }
     :: else -> break od;
     i=0;
     d_step { if :: change==1 -> made=made|BIT(me) :: change==2 -> made=made&~BIT(me) :: else fi };
     if :: made==head && change!=1 -> done=true
        :: else ->
           may_die();
           if :: me!=0 && state[me]!=TAKEN -> done=true; failed=true   /* we are out */
              :: else ->
                 /* Put it at the end: messages are passed, a view is not. */
                 do :: kind[scanned]==1 -> pass(scanned); scanned++
#ifdef OVERTAKEN
                    :: kind[scanned]==2 -> pass(scanned); scanned++
#else
                    :: kind[scanned]==2 -> break
#endif
                    :: atomic { kind[scanned]==0 -> kind[scanned]=2;
                         number[scanned]=head_number+1; members[scanned]=made };
                       at=scanned; done=true;
                       head=made; head_number++;
#ifdef NO_PASS
                       may_die();
                       atomic { if :: latest<at+1 -> latest=at+1 :: else fi };
#endif
                       pass(at); scanned++; break
                 od
           fi
     fi
  :: else -> break od
}

proctype Other(byte me) { byte head, head_number, scanned, made, at, i, turns, from; bool done, failed;
#ifdef AGAIN
  turns=(me==1 -> 2 : 1);
#else
  turns=1;
#endif
  do :: turns>0 ->
     turns--; failed=false; head=0; head_number=0;
     atomic { assert(state[me]==FREE); state[me]=TAKEN; skip };
     may_die();
     /* read_latest; a buffer is not overwritten here, so it is read in one step */
     from=tail;
     may_die();
     d_step { if :: latest>0 -> head=members[latest-1]; head_number=number[latest-1]; scanned=latest
       :: else -> scanned=0 fi;
#ifndef STALE_LATEST
       if :: from>scanned -> scanned=from :: else fi
#else
       /* reads on only from where it finds the log's end */
       do :: kind[scanned]!=0 -> scanned++ :: else -> break od
#endif
     };
     make_view(1);
     may_die();
     if :: !failed ->
           assert(members[at]&BIT(me));
#ifdef STAY
           goto stays
#else
           if :: skip; make_view(2) :: turns==0 -> goto stays fi
#endif
        :: else
     fi;
     may_die();
     state[me]=FREE
  :: else -> break od;
stays: skip;
finish: over[me]=true }

proctype First(byte me) { byte head, head_number, scanned, made, at, i, k; bool done, failed, suspected;
  head=1; head_number=1; scanned=1;
  /* a message, at any time */
  do :: kind[scanned]!=0 ->
        if :: kind[scanned]==2 -> d_step { head=members[scanned]; head_number=number[scanned] } :: else fi;
        pass(scanned); scanned++
     :: atomic { kind[scanned]==0 -> kind[scanned]=1 }; pass(scanned); scanned++; break
  od;
  /* looks after the others until all have come to their end */
  do :: k=1;
        do :: k<N ->
           if :: dead[k] && state[k]==TAKEN -> state[k]=OUT
#ifdef FALSE
              :: atomic { !suspected && !dead[k] && state[k]==TAKEN && (head&BIT(k)) -> suspected=true; state[k]=OUT }
#endif
              :: else fi;
           k++
        :: else -> break od;
        k=0;
        make_view(0);
        atomic { k=1; do :: k<N && over[k] && !(dead[k] && state[k]==TAKEN) -> k++ :: else -> break od;
          if :: k==N -> k=0; break :: else -> k=0 fi }
  od;
  make_view(0);
  skip;
  d_step { k=0; i=0;
    do :: k<SLOTS && kind[k]!=0 -> if :: kind[k]==2 -> i++; assert(number[k]==i) :: else fi; k++ :: else -> break od;
    assert(head==(head&(BIT(N)-1)));
    k=1;
    do :: k<N -> assert(((head>>k)&1)==(state[k]==TAKEN)); k++ :: else -> break od };
finish: skip
}

init { atomic { state[0]=TAKEN; kind[0]=2; number[0]=1; members[0]=1; latest=1; tail=1;
  byte p=1; run First(0); do :: p<N -> run Other(p); p++ :: else -> break od } }
