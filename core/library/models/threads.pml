/* User-level threads under weak memory. Stands for thread/scheduler.cc (wait(), signal(), yield(), after_wait(),
 * arrive()), make_runnable() of scheduler.h, and for taking a bit (bits.h) and moving its thread (idle.cc, adopt()).
 * One thread waits WAITS times and yields YIELDS times; S signallers give as many signals in all. W workers run it:
 * each takes its bit at its home, or at another's, which then is its home. Its registers and its home are plain data,
 * and so is what a signaller writes before it signals.
 * permits is counted from 1: 0: it waits for one.
 * Checked: no race; the thread never runs twice at once; each signal ends one wait, and what was written before it is
 * there after it; nobody hangs.
 * Mutants: GIVE, PARK, PASS, SET, TAKE =RELAXED; EARLY yields with a bit that is set before its registers are saved;
 * BOTH whoever signals sets the bit, also of a thread that runs; FORGET a thread that finds a signal when it parks does
 * not set its bit; STORE parking is a store; GRAB a bit is taken by a store. */
#ifndef W
#define W 2
#endif
#ifndef S
#define S 1
#endif
#ifndef WAITS
#define WAITS 2
#endif
#ifndef YIELDS
#define YIELDS 1
#endif
#define THREADS (W+S)
#define LOCATIONS (1+W)
#define PLAIN (2+WAITS)
#define MESSAGES 16
#ifndef GIVE
#define GIVE ACQ_REL
#endif
#ifndef PARK
#define PARK ACQ_REL
#endif
#ifndef PASS
#define PASS ACQUIRE
#endif
#ifndef SET
#define SET RELEASE
#endif
#ifndef TAKE
#define TAKE ACQUIRE
#endif
#include "../../../tests/model_check/weak.pml"
#define permits 0
#define bit(worker) (1+(worker))
#define registers 0
#define home 1
#define written(signal) (2+(signal))

byte running, waits, yields, signals;
bool over, waited;   /* waited: it stopped running in a wait, which this signal ends */

/* v: of the caller */
inline make_runnable() {
  read(home, v);
  atomic { update_from(bit(v), SET, w); update_to(1); w=0; v=0 } }

/* Of several signallers' it is not said whose signal came first. */
inline read_written(k) {
#if S==1
  read(written(k), v); assert(v==1); v=0
#else
  skip
#endif
}

inline leave_thread(next) { write(registers, next) }

proctype Worker(byte me) { byte v, w, from, old;
  do
  :: over -> break
  :: else ->
     /* a bit, whosever it is */
     if :: atomic { last_[bit(0)]==1 -> from=0 }
#if W>1
        :: atomic { last_[bit(1)]==1 -> from=1 }
#endif
#if W>2
        :: atomic { last_[bit(2)]==1 -> from=2 }
#endif
        :: atomic { over -> break }
     fi;
#ifdef GRAB
     load(bit(from), TAKE, old);
     if :: old==1 -> store(bit(from), 0, RELAXED) :: else fi;
#else
     atomic { update_from(bit(from), TAKE, old); if :: old==1 -> update_to(0) :: else -> update_not() fi };
#endif
     if :: old==1 ->
           old=0;
           atomic { assert(running==0); running++ };
           if :: from!=me -> write(home, me) :: else fi;
           read(registers, v); assert(v==waits+yields); v=0;
           if :: waited -> waited=false; read_written(waits-1) :: else fi;
           /* The thread itself, until it leaves us. */
           do
           :: waits==WAITS && yields==YIELDS -> atomic { running--; over=true; break }
           :: yields<YIELDS ->
#ifdef EARLY
              make_runnable();
              atomic { yields++; running-- }; leave_thread(waits+yields)
#else
              yields++; leave_thread(waits+yields); running--;
              make_runnable()
#endif
              break
           :: waits<WAITS ->
              load(permits, RELAXED, v);
              if
              :: v>1 -> v=0;
                 atomic { update_from(permits, PASS, v); update_to(v-1); v=0 };
                 read_written(waits); waits++
              :: else -> v=0;
                 waits++; waited=true; leave_thread(waits+yields); running--;
#ifdef STORE
                 load(permits, PARK, old); store(permits, 0, PARK);
#else
                 atomic { update_from(permits, PARK, old); update_to(old-1) };
#endif
                 if :: old>1 ->
#ifndef FORGET
                       make_runnable();
#endif
                       skip
                    :: else fi;
                 old=0; break
              fi
           od
        :: else old=0 fi;
     from=0
  od;
  leave() }

proctype Signaller(byte me) { byte i, v, w, old;
  do
  :: atomic { signals<WAITS -> i=signals; signals++ };
     write(written(i), 1);
     atomic { update_from(permits, GIVE, old); update_to(old+1) };
#ifdef BOTH
     if :: true -> make_runnable()
#else
     if :: old==0 -> make_runnable()
#endif
        :: else fi;
     old=0
  :: signals>=WAITS -> break
  od;
  leave() }

/* The thread is there, and may run at worker 0. */
init { atomic {
  who_=W; where_=0;
  last_[permits]=1; last_[bit(0)]=1;
  c_code { now.memory.message[0][0].value = 1; now.memory.message[1][0].value = 1; };
  who_=0; where_=0;
  byte i=0; do :: i<W -> run Worker(i); i++ :: else -> break od;
  i=0; do :: i<S -> run Signaller(W+i); i++ :: else -> break od } }
