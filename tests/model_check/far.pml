/* Messages to members on other machines. Stands for rails/far/far.cc, far_gone.cc, far_receive.cc: put(), launch(),
 * launch_send(), launch_reply(), launch_part(), retire(), fail(), end_if_not_carried(), drop_bytes(), close(), the names
 * of slots, await(), take_arrivals(), take_bytes(); and for abandon.cc. Two processes, of T0 and T1 threads.
 * The first thread of each sends (SPLIT: the last one what is odd), the last one posts receives for all that comes; all
 * make progress when there is something to do. Sent is A0, A1, A2 by process 0, B0, B1 by process 1: EAGER, LONG (in
 * PARTS parts) or SYNC (met, and nothing to bring). ANSWER: B0 is sent by the completion of process 1's first receive.
 * The carrier brings messages in order, has room for D of them, copies short ones, and has the others' bytes in hand
 * until they lie in the receiver's memory; it moves at any time. FAIL=1: it breaks at any time, for one process before
 * the other; 2: for process 0 it may take nothing more before that. LIE=1: process 1 says something without sense, at
 * any time; 2: it says an answer again. CLOSE: process 0 closes at any time. A step under a queue's lock, or of the
 * holder of the carrier between two of those, is atomic. Sequentially consistent: the locks order what they guard (the
 * model `sends`), and the hint may be seen late.
 * Checked: every send and receive ends once; all end; messages match in the order in which they were put; none ends with
 * an error but with FAIL, LIE and CLOSE; nothing ends while the carrier reads or writes its memory; bytes come to the
 * receive that they are for; a send whose answer is believed has met its receive; who has closed is told nothing more.
 * UNTRIED, which holds: put() does not try to get the carrier, which is only faster.
 * Mutants: HINT cleared outside the lock; NO_HINT put() does not say that something waits; NO_TURN progress launches
 * nothing; OVERTAKE who gets the carrier sends past the queue; UNGATED put() looks at `gone` before it has the lock;
 * SAME_LIFE a slot has one name for ever; AWAIT_FIRST the next message is awaited before the bytes; LAST_PART a send
 * ends when its last part has left; CARRIED a peer's end ends what is carried; NO_DROP and NO_RETIRE nobody comes back
 * to it; KEEP_REPLIES answers stay in the queue of who is gone; ABANDON the table is not asked; WAITS a completion waits
 * for the carrier; KEEP_SLOTS, KEEP_GO, KEEP_OUTGOING close() does not forget these. REACH=1 bytes are in hand when a
 * peer fails; 2 a slot is used for the second time; 3 put() finds the peer gone; 4 close() tells who waits: all of that
 * is searched. */
#define NONE 0
#define EAGER 1
#define LONG 2
#define SYNC 3
#define GO 4
#define FINISH 5
#define DATA 6
#define BYTES 7
#define NONSENSE 8
#ifndef A0
#define A0 EAGER
#endif
#ifndef A1
#define A1 NONE
#endif
#ifndef A2
#define A2 NONE
#endif
#ifndef B0
#define B0 NONE
#endif
#ifndef B1
#define B1 NONE
#endif
#ifndef T0
#define T0 2
#endif
#ifndef T1
#define T1 1
#endif
#ifndef PARTS
#define PARTS 2
#endif
#ifndef D
#define D 3
#endif
#ifndef MOST_PARTS
#define MOST_PARTS 2
#endif
#ifndef FAIL
#define FAIL 0
#endif
#ifndef LIE
#define LIE 0
#endif
#ifndef REACH
#define REACH 0
#endif
#if FAIL || LIE || defined(CLOSE)
#define ERRORS 1
#else
#define ERRORS 0
#endif
#define M 3      /* messages of a process, at most */
#define SLOTS 3  /* of a process: as many as are used at a time */
#define LIVES 8  /* more than there are */
#define PENDING 1
#define COMPLETE 2
#define BROKEN 3

/* A request is a number: message m of process p is sent by p*M+m; the other's receive k, for p's message, is
 * 2*M+p*M+k. */
#define send_of(p, m) ((p)*M+(m))
#define receive_of(p, k) (2*M+(p)*M+(k))  /* p: whose message */
byte kind[2*M], messages[2];
byte state[4*M], moved[4*M], arrived[4*M], other[4*M], slot[4*M];
byte carried[4*M];  /* parts in the carrier's hand */
bool let_go[4*M];   /* what is under way does not say whose it was any more */
byte left;          /* ghost: requests that have not ended */
/* The table of the receiver of p's messages */
byte order[2*M], puts[2], posts[2], came[2]; /* order: ghost, in which p's messages were put */
byte came_kind[2*M], came_name[2*M];
bool met[2*M];                               /* ghost, of message m */
/* The endpoint of p */
bool busy[2], anything[2], gone[2], closed[2];
chan sends[2] = [M] of { byte };                  /* m */
chan replies[2] = [M+1] of { byte, byte, byte };  /* GO or FINISH, receive, name of the send */
chan granted[2] = [M] of { byte };                /* m */
byte request_at[2*SLOTS], life[2*SLOTS];          /* 0: free, else 1 + request */
/* The carrier: from p, and at p */
chan net[2] = [D] of { byte, byte, byte, byte };  /* kind; ghost: message or receive; names of the send, the receive */
chan want[2] = [4] of { byte };                   /* where the next ones go: 0 the buffer, else 1 + receive */
chan parts[2] = [MOST_PARTS] of { byte };         /* m, in hand */
byte through[2];                                  /* of them, the first ones: done with */
chan incoming[2] = [4] of { byte };               /* receives */
byte filled[2];
bool refuses[2], broken[2], here[2];              /* here: in the buffer */
byte here_kind[2], here_of[2], here_send[2], here_receive[2];
bool lied, said, answered;
byte said_kind, said_send, said_receive;

inline end_it(r, how) {
  assert(state[r]==PENDING);
  assert(carried[r]==0);
  assert(how==COMPLETE || ERRORS);
  assert(!closed[((r)<2*M -> (r)/M : 1-((r)-2*M)/M)]);
  state[r]=how; left--
}

/* --- who is meant */
inline new_slot(p, r) {
  s=0; do :: request_at[p*SLOTS+s]!=0 -> s++ :: else -> break od;
  request_at[p*SLOTS+s]=1+r;
#if REACH==2
  assert(life[p*SLOTS+s]==0);
#endif
  slot[r]=life[p*SLOTS+s]*SLOTS+s; s=0
}
inline free_slot(p, name) {
  request_at[p*SLOTS+(name)%SLOTS]=0;
#ifndef SAME_LIFE
  life[p*SLOTS+(name)%SLOTS]++
#endif
}
/* r: 1 + request, or 0 */
inline slot_of(p, name, is_send) {
  r=request_at[p*SLOTS+(name)%SLOTS];
  if :: r!=0 && life[p*SLOTS+(name)%SLOTS]==(name)/SLOTS && (r-1<2*M)==is_send
     :: else -> r=0 fi
}

/* --- the end of a peer */
inline end_if_not_carried(p, x) {
#ifndef CARRIED
  if :: carried[x]>0
#if REACH==1
        -> assert(false)
#endif
     :: else ->
#endif
        let_go[x]=1;
        free_slot(p, slot[x]);
        end_it(x, BROKEN)
#ifndef CARRIED
  fi
#endif
}
inline fail(p) {
  if :: gone[p] -> skip
     :: else ->
        gone[p]=1;
        do :: len(sends[p])>0 -> sends[p]?x; end_it(send_of(p, x), BROKEN) :: else -> break od;
#ifndef KEEP_REPLIES
        do :: len(replies[p])>0 -> replies[p]?s,x,r; if :: s==GO -> end_it(x, BROKEN) :: else fi :: else -> break od;
#endif
        do :: len(granted[p])>0 -> granted[p]?x :: else -> break od;
        n=0;
        do :: n<SLOTS && request_at[p*SLOTS+n]!=0 -> x=request_at[p*SLOTS+n]-1; end_if_not_carried(p, x); n++
           :: n<SLOTS && request_at[p*SLOTS+n]==0 -> n++
           :: n==SLOTS -> break od
  fi;
  s=0; x=0; r=0; n=0
}

/* --- what waits. Each of these is one step; p is the process */
inline push_send(p, m) {
  state[send_of(p, m)]=PENDING;
  sends[p]!m;
  order[p*M+puts[p]]=m; puts[p]++;
#ifndef NO_HINT
  anything[p]=1
#endif
}
inline push_reply(p, k, y, name) {
  replies[p]!k,y,name;
  anything[p]=1
}

#define no_way(p) (refuses[p] || broken[p])
inline launch_send(p) {
  sends[p]?m;
  if :: kind[p*M+m]!=EAGER -> new_slot(p, send_of(p, m)) :: else fi;
  if :: no_way(p) -> skip
     :: else -> net[p]!kind[p*M+m],m,(kind[p*M+m]==EAGER -> 0 : slot[send_of(p, m)]),0 fi;
  if :: kind[p*M+m]==EAGER -> end_it(send_of(p, m), COMPLETE) :: else fi;
  m=0;
  if :: no_way(p) -> fail(p) :: else fi
}
inline launch_reply(p) {
  replies[p]?s,y,name;
  if :: s==GO ->
        assert(!closed[p]);
        s=0; new_slot(p, y); s=GO
     :: else fi;
  if :: no_way(p) -> skip
     :: else ->
        net[p]!s,y,name,(s==GO -> slot[y] : 0);
        if :: p==1 && LIE==2 && !lied -> said=1; said_kind=s; said_send=name; said_receive=(s==GO -> slot[y] : 0) :: else fi
#if REACH==4
        ; assert(!(closed[p] && s==FINISH))
#endif
  fi;
  s=0; y=0; name=0;
  if :: no_way(p) -> fail(p) :: else fi
}
inline launch_part(p) {
  granted[p]?m;
  moved[send_of(p, m)]++;
  if :: moved[send_of(p, m)]<PARTS -> granted[p]!m :: else fi;
  if :: no_way(p) -> skip
     :: else ->
        net[p]!DATA,m,0,other[send_of(p, m)];
        net[p]!BYTES,m,0,0;
        parts[p]!m;
        carried[send_of(p, m)]++
  fi;
#ifdef LAST_PART
  if :: moved[send_of(p, m)]==PARTS -> free_slot(p, slot[send_of(p, m)]); end_it(send_of(p, m), COMPLETE) :: else fi;
#endif
  m=0;
  if :: no_way(p) -> fail(p) :: else fi
}
#define room(p) (no_way(p) || len(net[p])<D)
#define room_for_part(p) (len(parts[p])<MOST_PARTS && (no_way(p) || len(net[p])+1<D))
inline launch(p) {
  do
  :: atomic { gone[p] -> break }
  :: atomic { !gone[p] && room(p) && anything[p] ->
       /* under the lock; then they stay the first */
       if :: len(replies[p])>0 -> more=GO
          :: len(replies[p])==0 && len(sends[p])>0 -> more=EAGER
          :: else -> more=NONE;
#ifndef HINT
             anything[p]=0
#endif
       fi };
#ifdef HINT
     if :: more==NONE -> anything[p]=0 :: else fi;
#endif
     atomic { if :: more==GO -> launch_reply(p)
                 :: more==EAGER -> launch_send(p)
                 :: else fi;
              more=0 }
  :: atomic { !gone[p] && len(granted[p])>0 && room_for_part(p) -> launch_part(p) }
  :: atomic { !gone[p] && !(room(p) && anything[p]) && !(len(granted[p])>0 && room_for_part(p)) -> break }
  od
}

/* What the carrier is through with. */
inline retire(p) {
  w=0; i=len(parts[p]);
  do :: i>0 ->
        i--;
        parts[p]?m;
        if :: through[p]==0 && !broken[p] -> parts[p]!m
           :: else ->
              if :: through[p]>0 -> through[p]--; v=1 :: else -> v=0; w=1 fi;
              if :: let_go[send_of(p, m)]
                 :: !let_go[send_of(p, m)] && gone[p] ->
#ifndef NO_RETIRE
                    end_if_not_carried(p, send_of(p, m))
#endif
                 :: !let_go[send_of(p, m)] && !gone[p] && v==1 ->
                    arrived[send_of(p, m)]++;
#ifndef LAST_PART
                    if :: arrived[send_of(p, m)]==PARTS ->
                          free_slot(p, slot[send_of(p, m)]);
                          end_it(send_of(p, m), COMPLETE)
                       :: else fi
#endif
                 :: else fi
        fi
     :: else -> break od;
  m=0; v=0;
  if :: w -> fail(p) :: else fi;
  w=0
}
inline drop_bytes(p) {
  i=len(incoming[p]);
  do :: i>0 ->
        i--;
        incoming[p]?y;
        if :: filled[p]==0 && !broken[p] -> incoming[p]!y
           :: else ->
              if :: filled[p]>0 -> filled[p]-- :: else fi;
#ifndef NO_DROP
              if :: !let_go[y] -> end_if_not_carried(p, y) :: else fi
#endif
        fi
     :: else -> break od;
  y=0
}

/* --- what comes: from 1-p, to p */
inline take_bytes(p) {
  do :: len(incoming[p])>0 && filled[p]>0 ->
        filled[p]--;
        incoming[p]?y;
        arrived[y]++;
        if :: arrived[y]==PARTS -> free_slot(p, slot[y]); end_it(y, COMPLETE) :: else fi
     :: len(incoming[p])>0 && filled[p]==0 && broken[p] -> fail(p); break
     :: else -> break od;
  y=0
}
inline await_next(p) {
  here[p]=0; here_kind[p]=0; here_of[p]=0; here_send[p]=0; here_receive[p]=0;
  if :: broken[p] -> fail(p) :: else -> want[p]!0 fi
}
inline take(p) {
  v=1; /* it makes sense */
  if
  :: here_kind[p]==EAGER || here_kind[p]==LONG || here_kind[p]==SYNC ->
     k=came[1-p]; came[1-p]++;
     assert(order[(1-p)*M+k]==here_of[p]);
     if :: k<posts[1-p] ->
           met[(1-p)*M+here_of[p]]=1;
           if :: here_kind[p]==LONG -> push_reply(p, GO, receive_of(1-p, k), here_send[p])
              :: here_kind[p]==SYNC -> push_reply(p, FINISH, receive_of(1-p, k), here_send[p])
              :: else fi;
           if :: here_kind[p]!=LONG -> end_it(receive_of(1-p, k), COMPLETE) :: else fi
        :: else -> came_kind[(1-p)*M+k]=here_kind[p]; came_name[(1-p)*M+k]=here_send[p] fi;
     k=0
  :: here_kind[p]==GO || here_kind[p]==FINISH ->
     slot_of(p, here_send[p], 1);
     if :: r==0 || other[r-1]!=0 -> v=0
        :: else ->
           assert(r-1<2*M && met[r-1]);
           if :: here_kind[p]==FINISH -> free_slot(p, here_send[p]); end_it(r-1, COMPLETE)
              :: else -> other[r-1]=1+here_receive[p]; granted[p]!(r-1)%M fi
     fi;
     r=0
  :: here_kind[p]==DATA ->
     slot_of(p, here_receive[p]-1, 0);
     if :: r==0 || moved[r-1]==PARTS -> v=0
        :: else ->
           assert(r-1>=2*M && order[r-1-2*M]==here_of[p]);
#ifdef AWAIT_FIRST
           want[p]!0;
#endif
           if :: broken[p] -> v=0
              :: else -> moved[r-1]++; carried[r-1]++; want[p]!r; incoming[p]!(r-1) fi
     fi;
     r=0
  :: else -> v=0
  fi;
#ifdef AWAIT_FIRST
  if :: v==1 && here_kind[p]==DATA -> here[p]=0; v=2 :: else fi;
#endif
  if :: v==0 -> fail(p) :: v==1 -> await_next(p) :: else fi;
  if :: v!=0 && !gone[p] -> take_bytes(p) :: else fi;
  v=0
}
/* What abandon() finds in the table still: what has met no message */
#ifdef ABANDON
#define FIRST_CANCELLED 0
#else
#define FIRST_CANCELLED came[1-p]
#endif
#define MAY_CANCEL (FIRST_CANCELLED<posts[1-p] && state[receive_of(1-p, posts[1-p]-1)]==PENDING)
#ifdef ANSWER
#define BY_HAND 0
#define may_answer(p) (p==1 && !answered && state[receive_of(0, 0)]==COMPLETE)
#else
#define BY_HAND 1
#endif

inline turn(p) {
  atomic { retire(p) };
  if
  :: atomic { gone[p] -> drop_bytes(p) }
  :: atomic { !gone[p] -> take_bytes(p) };
     do
     :: atomic { !gone[p] && here[p] -> take(p) };
#ifdef ANSWER
        /* what a completion does, which never gets the carrier */
        if :: may_answer(p) -> answered=1;
#ifdef WAITS
              !busy[p];
#endif
              atomic { if :: gone[p] -> state[send_of(p, 0)]=PENDING; end_it(send_of(p, 0), BROKEN)
                          :: else -> push_send(p, 0) fi }
           :: else
        fi
#endif
     :: atomic { !gone[p] && !here[p] && broken[p] -> fail(p) }
     :: break /* another thread has the inbox, or there is no memory; or it was enough at a time */
     od;
#ifndef NO_TURN
     launch(p)
#endif
  fi
}
/* There is something to do: in vain nobody goes round here. */
#ifdef NO_TURN
#define waits_in_vain(p) 1
#else
#define waits_in_vain(p) 0
#endif
#define useful(p) \
  (len(parts[p])>0 && (through[p]>0 || broken[p]) || \
   len(incoming[p])>0 && (filled[p]>0 || broken[p]) || \
   !gone[p] && (here[p] || broken[p] || anything[p] && room(p) && !waits_in_vain(p) || len(granted[p])>0 && room_for_part(p)))

/* Puts a send, or an answer (y: its receive), of a thread that has no lock. */
inline put(is_send) {
#ifdef UNTRIED
  ours=0;
#else
  atomic { ours=!busy[p]; busy[p]=1 };
#endif
#ifdef UNGATED
  v=gone[p];
#endif
  atomic {
#ifndef UNGATED
    v=gone[p];
#endif
#ifdef OVERTAKE
    if :: is_send && ours && !v && kind[p*M+m]==EAGER && room(p) && !no_way(p) ->
          state[send_of(p, m)]=PENDING; order[p*M+puts[p]]=m; puts[p]++;
          net[p]!EAGER,m,0,0; end_it(send_of(p, m), COMPLETE); m=0
       :: else ->
#endif
    if :: v ->
#if REACH==3
          assert(false);
#endif
          if :: is_send -> state[send_of(p, m)]=PENDING; end_it(send_of(p, m), BROKEN)
             :: !is_send && s==GO -> end_it(y, BROKEN)
             :: else fi
       :: !v && is_send -> push_send(p, m)
       :: else -> push_reply(p, s, y, name)
    fi
#ifdef OVERTAKE
    fi
#endif
    ;
    v=0; m=0; s=0; y=0; name=0 };
  if :: ours -> launch(p); atomic { busy[p]=0; ours=0 } :: else fi
}

proctype Thread(byte p, me, threads) {
  byte next, step, i, k, m, n, r, s, v, w, x, y, name, more; bool ours;
#ifdef SPLIT
  step=threads; next=me;
#else
  step=1; next=(me==0 -> 0 : M);
#endif
  do
  :: next<messages[p] && !closed[p] && (p==0 || BY_HAND) -> m=next; next=next+step; put(1)
#ifdef ANSWER
  :: atomic { may_answer(p) && !busy[p] -> answered=1 }; put(1)
#endif
  :: atomic { me==threads-1 && posts[1-p]<messages[1-p] && !closed[p] ->
       k=posts[1-p]; posts[1-p]++;
       state[receive_of(1-p, k)]=PENDING;
       s=0;
       if :: k<came[1-p] ->
             m=order[(1-p)*M+k];
             met[(1-p)*M+m]=1; m=0;
             if :: came_kind[(1-p)*M+k]==LONG -> s=GO
                :: else -> end_it(receive_of(1-p, k), COMPLETE);
                           if :: came_kind[(1-p)*M+k]==SYNC -> s=FINISH :: else fi fi;
             y=receive_of(1-p, k); name=came_name[(1-p)*M+k];
             came_kind[(1-p)*M+k]=0; came_name[(1-p)*M+k]=0
          :: else fi;
       k=0 };
     if :: s!=0 -> put(0) :: else -> y=0; name=0 fi
  :: atomic { !busy[p] && !closed[p] && useful(p) -> busy[p]=1 };
     turn(p);
     busy[p]=0
  :: atomic { gone[p] && !closed[p] && me==threads-1 && posts[1-p]>0 && MAY_CANCEL ->
       k=FIRST_CANCELLED;
       do :: k<posts[1-p] ->
             if :: state[receive_of(1-p, k)]==PENDING -> end_it(receive_of(1-p, k), BROKEN) :: else fi; k++
          :: else -> break od;
       k=0 }
#ifdef CLOSE
  :: atomic { p==0 && !closed[0] ->
       /* what has not ended is not looked at any more */
       closed[0]=1;
       k=0;
       do :: k<messages[0] -> if :: state[send_of(0, k)]<COMPLETE -> left-- :: else fi; k++ :: else -> break od;
       k=0;
       do :: k<messages[1] -> if :: state[receive_of(1, k)]<COMPLETE -> left-- :: else fi; k++ :: else -> break od;
       k=0;
#ifndef KEEP_SLOTS
       do :: k<SLOTS -> request_at[k]=0; k++ :: else -> break od;
       k=0;
#endif
     };
     do
     :: atomic { /* forget_all() */
          do :: len(sends[0])>0 -> sends[0]?x :: else -> break od;
          do :: len(granted[0])>0 -> granted[0]?x :: else -> break od;
#ifndef KEEP_OUTGOING
          do :: k<M -> let_go[send_of(0, k)]=1; k++ :: else -> break od;
          k=0;
#endif
          n=len(replies[0]);
          do :: n>0 ->
                n--; replies[0]?s,y,name;
#ifdef KEEP_GO
                replies[0]!s,y,name
#else
                if :: s==FINISH -> replies[0]!s,y,name :: else fi
#endif
             :: else -> break od;
          s=0; x=0; y=0; name=0 };
        if :: len(replies[0])==0 && len(parts[0])==0 -> break
           :: len(parts[0])>0 && (through[0]>0 || broken[0]) || len(replies[0])>0 && room(0) && !gone[0] ->
              atomic { retire(0) }; launch(0)
           :: break  /* long enough */
        fi
     od;
     goto out
#endif
  :: atomic { left==0 -> break }
  od;
out: skip
}

/* To p: the first of what comes goes where the first of what is awaited belongs. */
inline bring(p) {
  net[1-p]?k,m,s,r; want[p]?w;
  if :: w==0 ->
        assert(k!=BYTES);
        here[p]=1; here_kind[p]=k; here_of[p]=m; here_send[p]=s; here_receive[p]=r
     :: else ->
        w--;
        assert(k==BYTES && state[w]==PENDING && order[w-2*M]==m);
        carried[w]--; filled[p]++;
        if :: !broken[1-p] -> carried[send_of(1-p, m)]--; through[1-p]++ :: else fi
  fi;
  k=0; m=0; s=0; r=0; w=0
}
proctype Carrier() { byte k, m, s, r, w;
end:
  do
  :: atomic { !broken[0] && len(net[1])>0 && len(want[0])>0 -> bring(0) }
  :: atomic { !broken[1] && len(net[0])>0 && len(want[1])>0 -> bring(1) }
  od }

#if ERRORS
inline break_it(p) {
  broken[p]=1;
  do :: len(net[p])>0 -> net[p]?_,_,_,_ :: else -> break od;
  do :: len(want[p])>0 -> want[p]?_ :: else -> break od;
  do :: k<M -> carried[send_of(p, k)]=0; carried[receive_of(1-p, k)]=0; k++ :: else -> break od;
  k=0
}
proctype Trouble() { byte k;
end:
  do
  :: atomic { !broken[0] -> break_it(0) }
  :: atomic { !broken[1] -> break_it(1) }
#if FAIL==2
  :: !refuses[0] -> refuses[0]=1
#endif
#if LIE==1
  :: atomic { !lied && !broken[1] && len(net[1])<D -> net[1]!NONSENSE,0,0,0; lied=1 }
#elif LIE==2
  :: atomic { !lied && said && !broken[1] && len(net[1])<D -> net[1]!said_kind,0,said_send,said_receive; lied=1 }
#endif
  od }
#endif

init { atomic {
  kind[0]=A0; kind[1]=A1; kind[2]=A2; kind[M]=B0; kind[M+1]=B1;
  messages[0]=(A0!=NONE)+(A1!=NONE)+(A2!=NONE); messages[1]=(B0!=NONE)+(B1!=NONE);
  left=2*(messages[0]+messages[1]);
  want[0]!0; want[1]!0;
  run Thread(0, 0, T0);
#if T0>1
  run Thread(0, 1, T0);
#endif
  run Thread(1, 0, T1);
#if T1>1
  run Thread(1, 1, T1);
#endif
  run Carrier();
#if ERRORS
  run Trouble()
#endif
} }
