/* How a barrier is ended before which tasks were made, under weak memory. Stands for gomp_shim/task_barrier.cc drain(),
 * is_over() and mark_for_libgomp(). THREADS threads; thread 0's implicit task makes task 1; whoever runs that makes
 * task 2; task 2, with LIBGOMP, may make a task of libgomp's. The deques are words that are claimed by
 * compare-and-swap (deque.pml has the real ones). All go into the barrier; what is queued is run by anybody there,
 * before it has said that it has arrived or after that: a thread may say so while its own tasks wait. Only when it has
 * said so, and none of its own waits, it asks whether all is over.
 *   created, finished, arrived   one word per thread, its own
 *   marked                       libgomp_epoch
 *   released                     by whoever finds that all have come and the sums agree, and nobody has marked
 * Checked: whoever leaves as released finds all tasks run, and may read their results; nobody is released if anybody
 * goes to libgomp's barrier; nobody hangs.
 * Mutants: CREATED_FIRST the sums are read in the other order; MARKED_FIRST whether it is libgomp's is asked before
 * whether all is over; UNASKED not at all; ABSENT released before all have come; LATE a task is counted as created
 * after it can be stolen; HASTY one has finished before it has made its own; FINISHED, ARRIVED, RELEASED, SUM, SEE
 * =RELAXED. */
#ifndef THREADS
#define THREADS 2
#endif
#define LOCATIONS (3*THREADS+5)
#define PLAIN 3
#define MESSAGES 8
#ifndef FINISHED
#define FINISHED RELEASE
#endif
#ifndef ARRIVED
#define ARRIVED RELEASE
#endif
#ifndef RELEASED
#define RELEASED RELEASE
#endif
#ifndef SUM
#define SUM ACQUIRE
#endif
#ifndef SEE
#define SEE ACQUIRE
#endif
#include "weak.pml"
#define created(t) (t)
#define finished(t) (THREADS+(t))
#define arrived(t) (2*THREADS+(t))
#define queued(k) (3*THREADS+(k)-1)
#define marked (3*THREADS+2)
#define released (3*THREADS+3)
#define libgomp (3*THREADS+4)
byte ran, outside, inside_libgomp;

inline count_created() { own_created++; store(created(me), own_created, RELAXED) }
inline make(new) {
#ifndef LATE
  count_created();
#endif
  store(queued(new), 1, RELEASE);
  mine=new;
#ifdef LATE
  count_created();
#endif
}
inline claim(old) { atomic { update_from(queued(old), ACQUIRE, v);
  if :: v==1 -> update_to(2); got=old :: else -> update_not() fi; v=0 } }
inline finish() { own_finished++; store(finished(me), own_finished, FINISHED) }
inline sum(first, order) { j=0; do :: j<THREADS -> load((first)+j, order, v); total=total+v; j++ :: else -> break od;
  j=0; v=0 }

inline body() {
#ifdef HASTY
  finish();
#endif
  write(got, 1);
  if :: got==1 -> make(2)
#ifdef LIBGOMP
     :: got==2 -> write(0, 1); store(marked, 1, RELEASE)
     :: got==2 -> skip
#else
     :: else -> skip
#endif
  fi;
  ran++;
#ifndef HASTY
  finish();
#endif
  got=0 }

/* Both sums at once; they are the same if total is 0 in the end. */
inline is_over() {
  over=true;
#ifndef ABSENT
  do :: come<THREADS -> load(arrived(come), SUM, v);
        if :: v==0 -> over=false; v=0; break :: else -> v=0; come++ fi
     :: else -> break od;
#endif
  if :: over ->
#ifdef CREATED_FIRST
        sum(created(0), SUM); made=total; total=0; sum(finished(0), SUM)
#else
        sum(finished(0), SUM); made=total; total=0; sum(created(0), RELAXED)
#endif
        ;
        over=(total==made)
     :: else fi;
  total=0; made=0 }

proctype Worker(byte me) { byte got, v, j, mine, come, total, made, own_created, own_finished; bool over, real, here, in=true;
  if :: me==0 -> make(1) :: else fi;
  do :: in ->
     if :: !here -> here=true; store(arrived(me), 1, ARRIVED)
        :: last_[queued(1)]==1 -> claim(1); if :: got!=0 -> body() :: else fi
        :: last_[queued(2)]==1 -> claim(2); if :: got!=0 -> body() :: else fi
        :: here && last_[released]==1 -> load(released, SEE, v); if :: v==1 -> in=false :: else fi; v=0
        :: here && last_[marked]==1 && !(mine!=0 && last_[queued(mine)]==1) ->
           load(marked, SEE, v); if :: v==1 -> in=false; real=true :: else fi; v=0
        :: here && !(mine!=0 && last_[queued(mine)]==1) ->
#ifdef MARKED_FIRST
           load(marked, SEE, v); real=(v==1); v=0;
           is_over();
           if :: over && !real -> store(released, 1, RELEASED); in=false :: over && real -> in=false
              :: else -> real=false fi;
           over=false
#else
           is_over();
           if :: over ->
#ifndef UNASKED
                 load(marked, SEE, v); real=(v==1); v=0;
#endif
                 if :: !real -> store(released, 1, RELEASED) :: else fi;
                 in=false
              :: else fi;
           over=false
#endif
     fi
  :: else -> break od;
  come=0; own_created=0; own_finished=0; mine=0; here=false;
  if :: real -> inside_libgomp++; assert(outside==0);
        atomic { update_from(libgomp, ACQ_REL, v); update_to(v+1); v=0 };
        await(libgomp, THREADS, ACQUIRE); read(0, v)
     :: else -> outside++; assert(inside_libgomp==0); assert(ran==2 && last_[marked]==0) fi;
  assert(ran==2);
  read(1, v); assert(v==1); read(2, v); assert(v==1); v=0;
  leave() }

init { atomic { byte i=0; do :: i<THREADS -> run Worker(i); i++ :: else -> break od } }
