/* Tasks by stealing: when a taskwait is over, who frees a task, and when a barrier is passed, under weak memory. Stands
 * for gomp_shim/task_pool.cc. Two threads; thread 0's implicit task, 0, makes task 1, that makes task 2, that makes
 * CHILDREN tasks and, with WAIT, waits for them, running them or not. With AT_ONCE task 2 is undeferred. Whatever else
 * is made is run by either thread on its way to the barrier. The deques are words that are claimed by compare-and-swap
 * (deque.pml has the real ones).
 *   the count   made and ended by the task's own thread; `others` = RUNNING + HOLD for each child's memory that needs
 *               ours - ends elsewhere; when it is over += made - ended - RUNNING; who brings it to 0 frees the task
 *   the memory  a plain variable, read by whoever uses the task, written by who frees it
 *   the barrier a thread enters when what it has made is claimed and it runs nothing; passed when both are in
 * Checked: all tasks have run, and are freed, before anybody is past the barrier; results may be read there and after
 * the taskwait; nobody uses a task that may be free, nor a thief the parents of a waiting one.
 * Mutants: EARLY a thread enters although its deque is not empty; NO_RUNNING `others` begins at 0; NO_HOLD a task over
 * before its children does not hold its parent; BLIND the taskwait reads without acquire; FORGETFUL an end elsewhere
 * brings nothing along; ALWAYS a task is freed when it is over, whatever its children do; LOCAL all ends are counted as
 * the parent's own thread does. */
#ifndef CHILDREN
#define CHILDREN 1
#endif
#define TASKS (3+CHILDREN)
#define THREADS 2
#define LOCATIONS (2*TASKS+1)
#define PLAIN (2*TASKS)
#define MESSAGES 12
#include "weak.pml"
#define queued(k) (k)
#define others(k) (TASKS+(k))
#define in_barrier (2*TASKS)
#define memory(k) (k)
#define result(k) (TASKS+(k))
#define HOLD 16
#ifdef NO_RUNNING
#define RUNNING 0
#else
#define RUNNING 128
#endif
#ifdef FORGETFUL
#define GIVE RELAXED
#else
#define GIVE ACQ_REL
#endif
#ifdef BLIND
#define SEE RELAXED
#else
#define SEE ACQUIRE
#endif
#define PARENT(k) ((k)<3 -> (k)-1 : 2)
#define MINE(k) (maker[k]==me && last_[queued(k)]==1)
#ifdef EARLY
#define EMPTY true
#else
#define EMPTY !MINE(1) && !MINE(2) && !MINE(3) && !(CHILDREN>1 && MINE(TASKS-1))
#endif
byte runner[TASKS], maker[TASKS], made[TASKS], ended[TASKS];
bool over[TASKS], ran[TASKS], freed[TASKS];

inline change(where, by, how) { atomic { update_from(where, how, v); v=v+(by); update_to(v) } }

inline make(new) {
  maker[new]=me; made[PARENT(new)]++;
  store(others(new), RUNNING, RELAXED);
  store(queued(new), 1, RELEASE) }

inline claim(old) { atomic { update_from(queued(old), ACQUIRE, v);
  if :: v==1 -> update_to(2); got=old; runner[old]=me; assert(old<3 || !freed[1] && !freed[2])
     :: else -> update_not() fi; v=0 } }

/* Task r was over before its children, and now they are: frees it, and perhaps what it held. */
inline release() {
  do :: r!=0 ->
     assert(!freed[r] && ran[r]); freed[r]=true;
     write(memory(r), 1);
#ifdef NO_HOLD
     r=0
#else
     r=PARENT(r);
     if :: r!=0 -> change(others(r), 256-HOLD, ACQ_REL);
                   if :: v!=0 -> r=0 :: else fi
        :: else fi
#endif
  :: else -> break od;
  v=0 }

/* The body of task `got` is over. */
inline finish() {
  over[got]=true; ran[got]=true; p=PARENT(got);
  open=made[got]-ended[got];
  load(others(got), ACQUIRE, v);
#ifdef ALWAYS
  v=RUNNING-open;
#endif
  if :: v==RUNNING-open -> assert(!freed[got]); freed[got]=true; write(memory(got), 1)
     :: else ->
#ifndef NO_HOLD
        if :: p!=0 -> read(memory(p), v); change(others(p), HOLD, RELAXED) :: else fi;
#endif
        change(others(got), open-RUNNING, ACQ_REL);
        if :: v==0 -> r=got :: else fi;
        release()
  fi;
  open=0;
  read(memory(p), v);
#ifdef LOCAL
  if :: true ->
#else
  if :: runner[p]==me && !over[p] ->
#endif
        ended[p]++
     :: else ->
        change(others(p), 255, GIVE);
        if :: v==0 && p!=0 -> r=p :: else fi;
        release()
  fi;
  v=0; p=0 }

inline make_children() {
  make(3);
#if CHILDREN>1
  make(4);
#endif
#ifdef WAIT
  waiting=true; got=0
#else
  write(result(2), 1)
#endif
}

proctype Worker(byte me) { byte got, v, r, p, c, open; bool inside=true, waiting, below;
  if :: me==0 -> make(1) :: else fi;
  do :: inside ->
     if :: !waiting && last_[queued(1)]==1 -> claim(1)
        :: !waiting && last_[queued(2)]==1 -> claim(2)
        :: last_[queued(3)]==1 -> claim(3)
#if CHILDREN>1
        :: last_[queued(4)]==1 -> claim(4)
#endif
        :: waiting && (last_[others(2)]+made[2]-ended[2])%HOLD==0 ->
           load(others(2), SEE, v);
           if :: (v+made[2]-ended[2])%HOLD==0 ->
                 c=3; do :: c<TASKS -> read(result(c), v); assert(v==1); c++ :: else -> break od; c=0;
                 waiting=false; got=2; write(result(2), 1)
              :: else fi;
           v=0
        :: !waiting && (EMPTY) -> inside=false
     fi;
     if :: got==1 ->
#ifdef AT_ONCE
           made[1]++; store(others(2), RUNNING, RELAXED); runner[2]=me; got=2; below=true;
           make_children()
#else
           make(2);
           write(result(1), 1)
#endif
        :: got==2 && made[2]==0 ->
           make_children()
        :: got>2 -> write(result(got), 1)
        :: else fi;
     if :: got!=0 -> finish() :: else fi;
     got=0;
     if :: below && over[2] -> below=false; got=1; write(result(1), 1); finish(); got=0 :: else fi
  :: else -> break od;
  change(in_barrier, 1, ACQ_REL); v=0;
  await(in_barrier, 2, ACQUIRE);
  c=1; do :: c<TASKS -> assert(ran[c] && freed[c]); read(result(c), v); assert(v==1); c++ :: else -> break od;
  leave() }

init { atomic { run Worker(0); run Worker(1) } }
