/* Sleeping and being woken, under store buffers. Stands for
 *   Owner     core/transport/line.h post(), core/transport/line.cc wake_sleepers()
 *   Marker    gomp_shim/tasks.cc smelt_gomp_mark(): compare-and-swap, full_fence(), wake_all() of core/team/barrier.cc, fork_join.cc
 *   Sleeper   core/policy/wait.cc wait_slowly(): its last loop
 * Checked: no state without a way on (a lost wake-up) but the end. Compile-time switches:
 *   FENCED    post(kFenced): full fence between epoch and look at sleepers; sleepers use no membarrier
 *   NOMB      (mutant) unfenced and no membarrier on the sleeper's side
 *   NOSFENCE  (mutant) sleeper without full fence
 *   REFUSE    membarrier may be refused, at any call; from then on always. Sleepers then sleep in slices
 *   IGNORED   (mutant of REFUSE) the refusal is not noticed: they sleep for as long as it takes
 *   FENCELATE (mutant of REFUSE) they do so too, but from the refusal on posts are fenced: too late for one already under way
 *   PSO       stores of one thread to different lines may drain in any order, release stores excepted
 *   MARK      a third thread marks the episode (stop word) instead of the owner's second post
 *   NS        number of sleepers, E number of episodes
 */
#ifndef NS
#define NS 2
#endif
#ifndef E
#define E 2
#endif
#define NT (NS+2)      /* threads: 0 owner, 1 marker, 2.. sleepers */
/* memory */
byte epoch=0, sleepers=0, wake=0, stop=0;
/* store buffers: FIFO of (var,val,isrelease); var 1 epoch 2 sleepers 3 stop. Who finds his full waits, as a processor does */
typedef SB { byte n; byte var[3]; byte val[3]; bool rel[3] };
SB sb[NT];
bool asleep[NT]; bool fin[NT];
bit refused=0;

hidden byte tn;
inline put(t,v,x,r) { d_step { sb[t].n<3 -> tn=sb[t].n; sb[t].var[tn]=v; sb[t].val[tn]=x; sb[t].rel[tn]=r; sb[t].n=tn+1 } }
hidden byte tv, tx;
inline write_out() { if :: tv==1 -> epoch=tx :: tv==2 -> sleepers=tx :: tv==3 -> stop=tx fi }
/* the oldest goes */
inline drain1(t) { d_step { tv=sb[t].var[0]; tx=sb[t].val[0]; write_out();
   sb[t].var[0]=sb[t].var[1]; sb[t].val[0]=sb[t].val[1]; sb[t].rel[0]=sb[t].rel[1];
   sb[t].var[1]=sb[t].var[2]; sb[t].val[1]=sb[t].val[2]; sb[t].rel[1]=sb[t].rel[2];
   sb[t].var[2]=0; sb[t].val[2]=0; sb[t].rel[2]=0; sb[t].n-- } }
/* PSO: the second goes first, if another variable and not a release */
inline drain2(t) { d_step { tv=sb[t].var[1]; tx=sb[t].val[1]; write_out();
   sb[t].var[1]=sb[t].var[2]; sb[t].val[1]=sb[t].val[2]; sb[t].rel[1]=sb[t].rel[2];
   sb[t].var[2]=0; sb[t].val[2]=0; sb[t].rel[2]=0; sb[t].n-- } }
inline fence(t) { sb[t].n==0 }      /* blocks until the drainer has emptied it */

proctype Drainer(byte t) {
end:  do
  :: atomic { sb[t].n>0 -> drain1(t) }
#ifdef PSO
  :: atomic { sb[t].n>1 && !sb[t].rel[1] && sb[t].var[1]!=sb[t].var[0] -> drain2(t) }
#endif
  od }

/* load of sleepers by t, with forwarding from the own buffer */
inline load_sleepers(t,x) { d_step { x=sleepers;
   if :: sb[t].n>0 && sb[t].var[0]==2 -> x=sb[t].val[0] :: else fi;
   if :: sb[t].n>1 && sb[t].var[1]==2 -> x=sb[t].val[1] :: else fi;
   if :: sb[t].n>2 && sb[t].var[2]==2 -> x=sb[t].val[2] :: else fi } }

byte wi;
inline wake_sleepers(t) {
  put(t,2,0,false);
  /* fetch_add seq_cst: everything before is out (x86: drains; Arm: release part) */
  atomic { fence(t); wake++ }
  /* futex_wake_all */
  d_step { wi=0; do :: wi<NT -> asleep[wi]=false; wi++ :: else -> break od; wi=0 }
}

proctype Owner() { byte e=1; byte s;
  do :: e<=E ->
     put(0,1,e,true);
#ifdef FENCED
     fence(0);
#endif
#ifdef FENCELATE
     if :: refused -> fence(0) :: else fi;
#endif
     load_sleepers(0,s);
     if :: s!=0 -> wake_sleepers(0) :: else fi;
     s=0; e++
  :: else -> break od;
  fin[0]=true }

proctype Marker() { byte s;
#ifdef MARK
  /* the owner of this flag never gets to E+1: that episode is served elsewhere */
  epoch>=1;           /* somewhere in the middle */
  put(1,3,E+1,true);  /* CAS release: no drain assumed */
  fence(1);           /* full_fence() */
  load_sleepers(1,s);
  if :: s!=0 -> wake_sleepers(1) :: else fi;
#endif
  fin[1]=true }

#if defined(IGNORED) || defined(FENCELATE)
#define SLICES false
#else
#define SLICES true
#endif

proctype Sleeper(byte t) { byte e=1; byte w; byte last; bool slice=false;
#ifdef MARK
  last=E+1;
#else
  last=E;
#endif
  do :: e<=last ->
     do
     :: epoch>=e -> break          /* a poll that succeeds */
     :: stop==e -> break
     :: true ->                    /* enough of polling */
        w=wake;
        put(t,2,1,false);
#ifndef NOSFENCE
        fence(t);
#endif
#ifndef FENCED
#ifndef NOMB
#define MEMBARRIER sb[0].n==0 && sb[1].n==0   /* all others have fenced once */
#ifdef REFUSE
        if :: atomic { !refused && MEMBARRIER -> slice=false }
           :: atomic { refused=true; slice=SLICES }
        fi;
#else
        MEMBARRIER;
#endif
#endif
#endif
        /* look: two loads */
        if :: epoch>=e -> break :: else fi;
        if :: stop==e -> break :: else fi;
        /* futex_wait: compare and sleep are one under the bucket lock, and the kernel's lock drains our buffer */
        atomic { fence(t); if :: wake==w -> asleep[t]=true :: else fi };
        atomic { !asleep[t] || slice -> asleep[t]=false }   /* woken, or the slice is over */
     od;
     e++
  :: else -> break od;
  fin[t]=true }

init { atomic { byte i=0; do :: i<NT -> run Drainer(i); i++ :: else -> break od;
  run Owner(); run Marker(); i=2; do :: i<NT -> run Sleeper(i); i++ :: else -> break od } }
