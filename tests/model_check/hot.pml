/* Fork, a barrier, join, with tasks marked anywhere. Stands for
 *   Master          core/openmp/hot_team.h run_as_master()
 *   Worker          core/openmp/hot_team.h work()
 *   await, gather   core/team/fork_join.h ForkJoin::await(), arrive(), gather_below()
 *   barrier         gomp_shim/region.cc: ours, left for libgomp's when its number is marked; all-to-all flags
 *   maybe_task      gomp_shim/tasks.cc smelt_gomp_mark(); the protocol is in tasks.h
 *   real_barrier    libgomp's own barrier, in which tasks run and may make tasks
 * Checked: nobody leaves a barrier before all have arrived, nor with tasks left; all leave it the same way; workers run the region
 * that the master started; no state without a way on but the end. Memory is sequentially consistent here; bell.pml has store buffers.
 * N participants, TREE, of the fork, and JOIN: 0 flat, 1 chain 0-1-2(-3). R regions. Mutants: GE (>= instead of ==), EARLY (the epoch is counted before
 * the real barrier returns), NOMARK, NOSTOPPARK (parked workers do not look at the stop word) */
#ifndef N
#define N 3
#endif
#ifndef R
#define R 2
#endif
#define LAST (2*R)           /* episodes: fork at 0; region r: barrier 2r+1, join 2r+2 */
byte real_epoch=0;
byte rel[N], msg[N], arr[N], bar[N];
byte arrived[LAST+2], own[LAST+2], byreal[LAST+2], marked[LAST+2], tasks[LAST+2];
byte inreal=0, gen=0;         /* libgomp's barrier */
byte region=0;                /* ghost: which region the master runs; 255: quit */
#define PARENT(i) (TREE==0 -> 0 : i-1)
#ifndef TREE
#define TREE 1
#endif
#ifndef JOIN
#define JOIN TREE
#endif
#define JOINED_BY(i) (JOIN==0 -> 0 : i-1)
#ifdef GE
#define STOP(e) (real_epoch>=e)
#else
#define STOP(e) (real_epoch==e)
#endif

#ifdef EARLY
#define NEXT(e) (e+1)        /* what a task that is run inside marks for the tasks that it makes */
#else
#define NEXT(e) (e)
#endif

inline real_barrier(e) {
  atomic { if :: real_epoch<NEXT(e) -> real_epoch=NEXT(e) :: true -> skip fi };
  atomic { inreal++; g=gen; if :: inreal==N -> inreal=0; gen=1-gen; tasks[e]=0 :: else fi };
  gen!=g;
}
/* before arriving at e somebody may make a task: mark */
inline maybe_task(e) {
  if
#ifndef NOMARK
  :: true -> atomic { tasks[e]=1; marked[e]=1 }  /* the task exists only after the mark; ghost is set with it */
       atomic { if :: real_epoch<e -> real_epoch=e :: else fi }
#else
  :: true -> atomic { tasks[e]=1; marked[e]=1 }
#endif
  :: true -> skip
  fi }
inline left(e, r) { d_step {
  assert(arrived[e]==N);
  if :: r -> byreal[e]++; assert(own[e]==0) :: else -> own[e]++; assert(byreal[e]==0); assert(marked[e]==0) fi;
  assert(tasks[e]==0) } }

/* a barrier inside the region: all-to-all flags */
inline barrier(e) {
  arrived[e]++;
  ok=true;
  if :: STOP(e) -> ok=false :: else ->
    bar[me]=e; j=0;
    do :: j<N && j==me -> j++
       :: j<N && j!=me -> if :: bar[j]>=e -> j++ :: STOP(e) -> ok=false; break fi
       :: j>=N -> break od
  fi;
  if :: ok -> left(e,false) :: else -> real_barrier(e); left(e,true) fi }

/* gather below me; ok false: stopped */
inline gather(e) {
  j=1;
  do :: j<N && JOINED_BY(j)!=me -> j++
     :: j<N && JOINED_BY(j)==me -> if :: arr[j]>=e -> j++ :: STOP(e) -> ok=false; break fi
     :: j>=N -> break od }

proctype Worker(byte me) { byte e=0, j, g, m; bool ok, stop=false;
  do ::
    /* await(me, e, stop) */
    do
    :: rel[PARENT(me)]>=e+1 -> break       /* epochs shifted by one so that 0 is "none" */
#ifndef NOSTOPPARK
    :: stop && STOP(e) -> real_barrier(e); left(e,true); stop=false
#endif
    od;
    m=msg[PARENT(me)];
    msg[me]=m; rel[me]=e+1;                 /* pass_on */
    assert(m==region);
    if :: m==255 -> break :: else fi;
    maybe_task(e+1); barrier(e+1); 
    maybe_task(e+2);
    e=e+2; arrived[e]++;
    ok=true; stop=true;
    if :: STOP(e) -> ok=false :: else -> gather(e) fi;
    if :: ok -> arr[me]=e
       :: else -> real_barrier(e); left(e,true); stop=false fi
  od }

proctype Master() { byte me=0, e=0, j, g, r=0; bool ok;
  do :: r<R ->
    region=r+1; msg[0]=region; rel[0]=e+1;
    maybe_task(e+1); barrier(e+1);
    maybe_task(e+2);
    e=e+2; arrived[e]++; ok=true;
    if :: STOP(e) -> ok=false :: else -> gather(e) fi;
    if :: ok -> assert(arrived[e]==N && marked[e]==0 && byreal[e]==0)
       :: else -> real_barrier(e); left(e,true) fi;
    r++
  :: else -> break od;
  region=255; msg[0]=255; rel[0]=e+1 }

init { atomic { byte i=1; run Master(); do :: i<N -> run Worker(i); i++ :: else -> break od } }
