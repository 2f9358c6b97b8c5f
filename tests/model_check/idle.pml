/* Workers that search, sleep and are woken, under weak memory. Stands for core/thread/idle.cc and make_runnable(). JOBS
 * bits are set by one or two makers; a job runs for ever, so each wants a worker of its own, and there are as many
 * workers as jobs, at least. What a bit stands for is settled elsewhere (bits, threads): here each is a location.
 * Checked: nobody sleeps for ever beside a job.
 * Mutants: NO_FENCE_MAKE, NO_FENCE_SLEEP, NO_FENCE_FOUND without the fence; TRUST who finds work looks for no more;
 * BLIND no look before sleeping; UNCOUNTED who wakes counts no searcher, in its place the woken one does (holds);
 * LATE_BELL the bell says that it sleeps only after it was counted; STATE, BELL =RELAXED. */
#ifndef W
#define W 2
#endif
#ifndef JOBS
#define JOBS 2
#endif
#ifndef MAKERS
#define MAKERS 1
#endif
#define THREADS (W+MAKERS)
#define LOCATIONS (1+JOBS+W)
#define PLAIN 0
#define MESSAGES 14
#ifndef STATE
#define STATE ACQ_REL
#endif
#ifndef BELL
#define BELL ACQUIRE
#endif
#include "weak.pml"
#define idle 0
#define job(k) (1+(k))
#define bell(w) (1+JOBS+(w))
/* searchers + 8 * sleepers */
#define SEARCHER 1
#define SLEEPER 8
bool asleep[W];
byte next_job, taken;

inline wake(first) {
  i=0; done=0;
  do :: i<W && done==0 ->
        load(bell((first+i)%W), RELAXED, v);
        if :: v==1 ->
              atomic { update_from(bell((first+i)%W), ACQ_REL, v); if :: v==1 -> update_to(0); done=1 :: else -> update_not() fi };
              if :: done==1 ->
                    atomic { update_from(idle, STATE, v); update_to(v-SLEEPER+SEARCHER) };
                    atomic { fence(); asleep[(first+i)%W]=false }
                 :: else fi
           :: else fi;
        v=0; i++
     :: else -> break od;
  i=0; done=0 }

/* got=1: a job; it is ours. To look teaches at most something. */
inline look() {
  i=0;
  do :: i<JOBS && got==0 ->
        load(job(i), RELAXED, v);
        if :: v==1 -> atomic { update_from(job(i), ACQUIRE, v); if :: v==1 -> update_to(2); got=1 :: else -> update_not() fi }
           :: else fi;
        v=0; i++
     :: else -> break od;
  i=0 }

proctype Maker(byte me) { byte k, v, i, done;
  do :: atomic { next_job<JOBS -> k=next_job; next_job++ };
     atomic { update_from(job(k), RELEASE, v); update_to(1); v=0 };
#ifndef NO_FENCE_MAKE
     fence();
#endif
     load(idle, ACQUIRE, v);
     if :: v/SLEEPER>0 && v%SLEEPER==0 -> v=0; wake(k%W) :: else v=0 fi
  :: next_job>=JOBS -> break od;
  leave() }

proctype Worker(byte me) { byte v, i, got, done;
  atomic { update_from(idle, RELAXED, v); update_to(v+SEARCHER); v=0 };
  do
  :: got==0 ->
     if :: look() :: skip fi;   /* a search, or no time for it */
     if :: got==0 ->
#ifndef LATE_BELL
           store(bell(me), 1, RELAXED);
#endif
           atomic { update_from(idle, STATE, v); update_to(v+SLEEPER-SEARCHER); v=0 };
#ifdef LATE_BELL
           store(bell(me), 1, RELAXED);
#endif
#ifndef NO_FENCE_SLEEP
           fence();
#endif
#ifndef BLIND
           look();
#endif
           if :: got==0 ->
                 /* futex_wait, again and again */
                 done=0;
                 do :: done==0 ->
                       load(bell(me), BELL, v);
                       if :: v==1 ->
                             v=0;
                             atomic { fence(); load(bell(me), RELAXED, v); if :: v==1 -> asleep[me]=true :: else fi; v=0 };
                             !asleep[me]
                          :: else -> done=1 fi
                    :: else -> break od;
                 done=0; v=0
              :: else ->
                 atomic { update_from(bell(me), ACQUIRE, v); if :: v==1 -> update_to(0); done=1 :: else -> update_not() fi; v=0 };
                 if :: done==1 -> atomic { update_from(idle, STATE, v); update_to(v-SLEEPER+SEARCHER); v=0 } :: else fi;
                 done=0
           fi
        :: else fi
  :: else -> break
  od;
  /* leave_search */
  atomic { update_from(idle, STATE, v); update_to(v-SEARCHER) };
#ifndef TRUST
#ifndef NO_FENCE_FOUND
  fence();
#endif
  if :: v%SLEEPER==1 && v/SLEEPER>0 ->
        v=0; i=0;
        do :: i<JOBS && v!=1 -> load(job(i), RELAXED, v); i++ :: else -> break od;
        if :: v==1 -> v=0; wake(me) :: else v=0 fi
     :: else fi;
#endif
  atomic { taken++; leave() } }

/* Those that have found nothing when all jobs are done may sleep. */
active proctype Judge() { taken==JOBS; do :: atomic { taken==JOBS && timeout -> break } od }
init { atomic { byte i=0; do :: i<W -> run Worker(i); i++ :: else -> break od;
  i=0; do :: i<MAKERS -> run Maker(W+i); i++ :: else -> break od } }
