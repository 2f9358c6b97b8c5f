/* The bound on waiting: while a thread waits for its turn, no other thread of its worker has two. Stands for going
 * round over a vector of bits in two levels: thread/bits.h (take(), next_hint(), is_empty(), set()), next_own() and
 * yield() of thread/scheduler.cc. One worker, whose THREADS threads have bits wherever they may; each runs, and
 * yields or waits; a signaller ends waits whenever it likes. That nothing is lost under weak memory is the model `bits`'
 * to show; here every step is seen at once, and it is the order that is looked at.
 * Checked: from the end of set() to its turn a thread sees each other thread run once at most.
 * Mutants: STUCK it always begins at the first bit; NO_REST it does not finish a group before it goes on to others;
 * BLIND who takes a hint back does not look again. */
#ifndef THREADS
#define THREADS 3
#endif
#define GROUPS 2
#define WORDS 2   /* of a group */
#ifndef BITS
#define BITS 2    /* of a word */
#endif
#define ALL (GROUPS*WORDS*BITS)
#define GROUP_BITS (WORDS*BITS)
#define NONE 255

byte word[GROUPS*WORDS];
bool top[GROUPS];
byte thread_at[ALL];           /* whose bit; NONE: nobody's */
byte position[THREADS];
bool asleep[THREADS];          /* waits for a signal */
bool coming[THREADS];          /* its bit is being set, or is set */
bool due[THREADS];             /* ... and who set it is done */
byte seen_by[THREADS];         /* who has run since, a bit each */

inline set(t) {
  coming[t]=true;
  word[position[t]/BITS]=word[position[t]/BITS] | (1<<(position[t]%BITS));
  if :: top[position[t]/GROUP_BITS] :: else -> top[position[t]/GROUP_BITS]=true fi;
  atomic { if :: coming[t] -> due[t]=true; seen_by[t]=0 :: else fi } }

/* The lowest of the word's bits from `low` on; got: which */
inline take_of(w, low) {
  seen=word[w];
  do :: d_step { some=low; do :: some<BITS && !(seen & (1<<some)) -> some++ :: else -> break od };
        if :: some==BITS -> break
           :: else -> atomic {
                if :: word[w]==seen -> word[w]=seen & ~(1<<some); got=w*BITS+some; break
                   :: else -> seen=word[w] fi }
        fi od;
  seen=0; some=0 }

/* from: where to begin */
inline take() {
  take_of(from/BITS, from%BITS);
  group=from/GROUP_BITS;
#ifndef NO_REST
  w=from/BITS+1;
  do :: got==NONE && w<(group+1)*WORDS -> take_of(w, 0); w++ :: else -> break od;
#endif
  done=0;
  do :: got==NONE && done<GROUPS ->
        next=(group+1+done)%GROUPS;
        if :: top[next] ->
              w=next*WORDS;
              do :: got==NONE && w<(next+1)*WORDS -> take_of(w, 0); w++ :: else -> break od;
              if :: got==NONE ->
                    top[next]=false;
#ifndef BLIND
                    w=next*WORDS; any=0;
                    do :: w<(next+1)*WORDS -> any=any | word[w]; w++ :: else -> break od;
                    if :: any -> any=0; top[next]=true :: else -> done++ fi
#else
                    done++
#endif
                 :: else fi
           :: else -> done++ fi
     :: else -> break od;
  w=0; group=0; next=0; done=0 }

/* The thread at `got` runs. */
inline turn() { d_step {
  me=thread_at[got]; assert(me!=NONE);
  coming[me]=false; due[me]=false; seen_by[me]=0;
  t=0; do :: t<THREADS -> if :: due[t] -> assert(!(seen_by[t] & (1<<me))); seen_by[t]=seen_by[t] | (1<<me) :: else fi; t++
          :: else -> break od;
  t=0;
#ifdef STUCK
  from=0;
#else
  from=(got+1)%ALL;
#endif
  got=NONE } }

active proctype Worker() { byte from, got=NONE, me=NONE, left=NONE, t, w, group, next, done, seen, some, any;
  /* Threads have any bits. */
  atomic {
    do :: t<ALL -> thread_at[t]=NONE; t++ :: else -> break od;
    t=0; got=0;
    do :: t<THREADS && got<ALL-THREADS+t -> got++
       :: t<THREADS -> thread_at[got]=t; position[t]=got; asleep[t]=true; t++; got++
       :: else -> break od;
    t=0; got=NONE };
  do
  :: me==NONE -> take(); if :: got!=NONE -> turn() :: else fi   /* the worker itself */
  :: me!=NONE -> take();                                        /* it yields: the next runs, then it may run again */
     if :: got!=NONE -> left=me; turn(); set(left); left=NONE :: else fi
  :: me!=NONE -> take();                                        /* it waits */
     left=me; if :: got!=NONE -> turn() :: else me=NONE fi; asleep[left]=true; left=NONE
  od }

active proctype Signaller() { byte t;
  do :: atomic { t=(t+1)%THREADS }
     :: atomic { asleep[t] -> asleep[t]=false }; set(t); t=0
  od }
