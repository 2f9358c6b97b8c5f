/* Workers that search, sleep and are woken, under weak memory. Stands for thread/idle.cc and make_runnable(). W
 * bits are set by MAKERS; what a bit stands for runs for ever, so each wants a worker of its own, and there are W of
 * them. What comes with a bit is settled elsewhere (bits, threads): here each is a location, and all else is relaxed.
 * HINTS: who looks does so behind a hint, one for all of them, for they are of one group.
 * HIDES: the hint stands over nothing at first, and whose bits they are, one who does not search, finds nothing, and
 * takes it back (is_empty()); if it then has to put it back, somebody may have missed it meanwhile. It runs what it
 * finds, or something else, for ever. OWNS: worker 0 does so, in its last look.
 * Checked: nobody sleeps for ever beside something to do.
 * SEARCH: a worker may look before it is about to sleep, too. ONE_IS_THERE: a bit is set from the beginning.
 * Mutants: NO_FENCE_MAKE (behind the bit), NO_FENCE_HINT (behind its hint), NO_FENCE_BACK (behind a hint that is put
 * back), NO_FENCE_SLEEP, NO_FENCE_FOUND without the fence; TRUST who finds work looks for no more; BLIND no look before
 * sleeping; SILENT who has put a hint back wakes nobody; COUNTED who wakes somebody counts it as a searcher, in
 * its place; LATE the bell says that it sleeps only after the last look. */
#ifndef W
#define W 2
#endif
#ifndef MAKERS
#define MAKERS 1
#endif
#ifdef HIDES
#define OWNERS 1
#else
#define OWNERS 0
#endif
#if defined(HIDES) || defined(OWNS)
#define HINTS
#define STALE
#endif
#define JOBS (W+OWNERS)
#define THREADS (W+MAKERS+OWNERS)
#ifdef HINTS
#define LOCATIONS (2+JOBS+W)
#else
#define LOCATIONS (1+JOBS+W)
#endif
#define PLAIN 0
#define MESSAGES 14
#include "../../../tests/model_check/weak.pml"
#define idle 0
#define job(k) (1+(k))
#define bell(w) (1+JOBS+(w))
#define hint (1+JOBS+W)
/* searchers + 8 * sleepers */
#define SEARCHER 1
#define SLEEPER 8
bool asleep[W];
byte next_job;

/* A load and the exchange that depends on it are one step here, and so are loads in a row: what may happen between them
 * is what a load that sees an older value shows. */
inline wake(first) {
  atomic { i=0; done=0;
    do :: i<W && done==0 ->
          load(bell((first+i)%W), RELAXED, v);
          if :: v==1 -> update_from(bell((first+i)%W), RELAXED, v);
                if :: v==1 -> update_to(0); done=1; v=(first+i)%W :: else -> update_not() fi
             :: else fi;
          i++
       :: else -> break od;
    i=0 };
  if :: done==1 ->
#ifdef COUNTED
        done=v;
        atomic { update_from(idle, RELAXED, v); update_to(v-SLEEPER+SEARCHER) };
        v=done;
#endif
        atomic { fence(); asleep[v]=false }
     :: else fi;
  v=0; done=0 }

/* got=1: a job; it is ours. */
inline look() {
  atomic {
#ifdef HINTS
    load(hint, RELAXED, v);
    if :: v==1 -> i=0 :: else -> i=JOBS fi;
#else
    i=0;
#endif
    do :: i<JOBS && got==0 ->
          load(job(i), RELAXED, v);
          if :: v==1 -> update_from(job(i), ACQUIRE, v); if :: v==1 -> update_to(2); got=1 :: else -> update_not() fi
             :: else fi;
          v=0; i++
       :: else -> break od;
    v=0; i=0 } }

/* v=1: a bit is set; look_for_any: there is perhaps one */
inline any_bit() { atomic { v=0; i=0; do :: i<JOBS && v!=1 -> load(job(i), RELAXED, v); i++ :: else -> break od; i=0 } }
inline look_for_any() {
  atomic {
#ifdef HINTS
    load(hint, RELAXED, v)
#else
    any_bit()
#endif
  } }

/* Whoever has set a bit or a hint, and a fence stands behind that */
inline wake_if_needed(first) {
  load(idle, RELAXED, v);
  if :: v/SLEEPER>0 && v%SLEEPER==0 -> v=0; wake(first) :: else v=0 fi }

proctype Maker(byte me) { byte k, v, i, done;
  do :: atomic { next_job<JOBS -> k=next_job; next_job++ };
     atomic { update_from(job(k), RELEASE, v); update_to(1); v=0 };
#ifndef NO_FENCE_MAKE
     fence();
#endif
#ifdef HINTS
     load(hint, RELAXED, v);
     if :: v==0 -> atomic { update_from(hint, RELAXED, v); update_to(1); v=0 };
#ifndef NO_FENCE_HINT
           fence();
#endif
           skip
        :: else v=0 fi;
#endif
     wake_if_needed(k%W)
  :: next_job>=JOBS -> break od;
  leave() }

/* Of whose bits they are: it has seen the hint, and nothing behind it. */
inline take_back() {
  do
  :: atomic { update_from(hint, RELAXED, v); update_to(0); v=0 };
     fence();
     any_bit();
     if :: v!=1 -> break :: else fi;
     atomic { update_from(hint, RELAXED, v); update_to(1); v=0 };
#ifndef NO_FENCE_BACK
     fence();
#endif
     back=true;
     look();
     if :: got==1 -> break :: else fi;
     load(hint, RELAXED, v);
     if :: v==0 -> break :: else v=0 fi
  od;
  v=0;
#ifndef SILENT
  if :: back -> wake_if_needed(0) :: else fi;
#endif
  back=false }

proctype Owner(byte me) { byte v, i, got, done; bool back;
  take_back();
  leave() }

proctype Worker(byte me) { byte v, i, got, done;
#ifdef OWNS
  bool back;
#endif
  do
  :: got==0 ->
#ifdef SEARCH
     if :: look() :: skip fi;   /* or no time for it */
#endif
     if :: got==0 ->
#ifndef LATE
           store(bell(me), 1, RELAXED);
#endif
           atomic { update_from(idle, RELAXED, v); update_to(v+SLEEPER-SEARCHER); v=0 };
#ifndef NO_FENCE_SLEEP
           fence();
#endif
#ifndef BLIND
           look();
#endif
#ifdef OWNS
           if :: me==0 && got==0 -> load(hint, RELAXED, v); if :: v==1 -> take_back() :: else fi :: else fi;
#endif
#ifdef LATE
           store(bell(me), 1, RELAXED);
#endif
           if :: got==0 ->
                 /* futex_wait, again and again */
                 done=0;
                 do :: done==0 ->
                       atomic { fence(); load(bell(me), RELAXED, v);
                         if :: v==1 -> asleep[me]=true :: else -> done=1 fi; v=0 };
                       !asleep[me]
                    :: else -> break od;
                 done=0
              :: else -> done=0;
                 atomic { update_from(bell(me), RELAXED, v); if :: v==1 -> update_to(0); done=1 :: else -> update_not() fi; v=0 }
           fi;
#ifdef COUNTED
           if :: done==1 -> atomic { update_from(idle, RELAXED, v); update_to(v-SLEEPER+SEARCHER); v=0 } :: else fi;
           done=0
#else
           atomic { update_from(idle, RELAXED, v); update_to(v-SLEEPER+SEARCHER); v=0 };
           done=0
#endif
        :: else fi
  :: else -> break
  od;
  /* leave_search */
  atomic { update_from(idle, RELAXED, v); update_to(v-SEARCHER) };
#ifndef TRUST
#ifndef NO_FENCE_FOUND
  fence();
#endif
  if :: v%SLEEPER==1 && v/SLEEPER>0 ->
        v=0; look_for_any();
        if :: v==1 -> v=0; wake(me) :: else v=0 fi
     :: else fi;
#endif
  leave() }

/* They all search at first. */
init { atomic { byte i=0;
  last_[idle]=W*SEARCHER; c_code { now.memory.message[0][0].value = now.last_[0]; };
#ifdef ONE_IS_THERE
  next_job=1; last_[job(0)]=1; c_code { now.memory.message[1][0].value = 1; };
#endif
#if defined(STALE) || (defined(HINTS) && defined(ONE_IS_THERE))
  last_[hint]=1; c_code { now.memory.message[1+JOBS+W][0].value = 1; };
#endif
  do :: i<W -> run Worker(i); i++ :: else -> break od;
  i=0; do :: i<MAKERS -> run Maker(W+i); i++ :: else -> break od;
#ifdef HIDES
  run Owner(W+MAKERS);
#endif
  i=0 } }
