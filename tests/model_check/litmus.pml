/* The machine of weak.pml itself, held against the tests by which memory models are told apart (the names are those
 * of Alglave, Maranget and Tautschnig, TOPLAS 2014). cases.txt says of each whether RC11 lets the outcome happen,
 * which is what must be found. LB is the one that the machine does not have. Compile-time switches: the test; W, R
 * orders of stores and loads; FENCES a full fence between the two accesses of every thread, FENCE0 of the first
 * thread alone. */
#ifndef W
#define W RELAXED
#endif
#ifndef R
#define R RELAXED
#endif
#ifdef FENCES
#define FENCE0
#define FENCE fence()
#else
#define FENCE skip
#endif
#ifdef FENCE0
#define FIRST_FENCE fence()
#else
#define FIRST_FENCE skip
#endif

#if defined(IRIW)
#define N 4
#elif defined(WRC) || defined(RELSEQ) || defined(RWC)
#define N 3
#else
#define N 2
#endif
#define THREADS N
#define LOCATIONS 2
#define MESSAGES 4
#define PLAIN 1
#include "weak.pml"
#define x 0
#define y 1
byte a, b, c, d, done;

#define THREAD(n, body) active proctype P##n() { byte me=n; body; leave(); done++ }

#ifdef MP        /* message passing */
THREAD(0, store(x,1,RELAXED); FIRST_FENCE; store(y,1,W))
THREAD(1, load(y,R,a); FENCE; load(x,RELAXED,b))
#define OUTCOME a==1 && b==0
#endif
#ifdef SB        /* store buffering */
THREAD(0, store(x,1,W); FIRST_FENCE; load(y,R,a))
THREAD(1, store(y,1,W); FENCE; load(x,R,b))
#define OUTCOME a==0 && b==0
#endif
#ifdef LB        /* load buffering */
THREAD(0, load(x,R,a); FIRST_FENCE; store(y,1,W))
THREAD(1, load(y,R,b); FENCE; store(x,1,W))
#define OUTCOME a==1 && b==1
#endif
#ifdef S
THREAD(0, store(x,2,RELAXED); FIRST_FENCE; store(y,1,W))
THREAD(1, load(y,R,a); FENCE; store(x,1,RELAXED))
#define OUTCOME a==1 && last_[x]==2
#endif
#ifdef TWO_PLUS_TWO_W
THREAD(0, store(x,1,W); FIRST_FENCE; store(y,2,W))
THREAD(1, store(y,1,W); FENCE; store(x,2,W))
#define OUTCOME last_[x]==1 && last_[y]==1
#endif
#ifdef R_TEST
THREAD(0, store(x,1,W); FIRST_FENCE; store(y,1,W))
THREAD(1, store(y,2,W); FENCE; load(x,R,a))
#define OUTCOME last_[y]==2 && a==0
#endif
#ifdef WRC       /* write to read causality: through a third thread */
THREAD(0, store(x,1,RELAXED))
THREAD(1, load(x,R,a); FENCE; store(y,1,W))
THREAD(2, load(y,R,b); FENCE; load(x,RELAXED,c))
#define OUTCOME a==1 && b==1 && c==0
#endif
#ifdef RWC       /* read to write causality */
THREAD(0, store(x,1,W))
THREAD(1, load(x,R,a); FENCE; load(y,R,b))
THREAD(2, store(y,1,W); FENCE; load(x,R,c))
#define OUTCOME a==1 && b==0 && c==0
#endif
#ifdef IRIW      /* independent reads of independent writes */
THREAD(0, store(x,1,W))
THREAD(1, store(y,1,W))
THREAD(2, load(x,R,a); FENCE; load(y,R,b))
THREAD(3, load(y,R,c); FENCE; load(x,R,d))
#define OUTCOME a==1 && b==0 && c==1 && d==0
#endif
#ifdef RELSEQ    /* a read-modify-write continues a release sequence, another thread's store does not */
THREAD(0, store(x,1,RELAXED); store(y,1,RELEASE))
#ifdef BY_STORE
THREAD(1, await(y,1,RELAXED); store(y,2,RELAXED))
#else
THREAD(1, atomic { update_from(y,RELAXED,a); update_to(a+1) })
#endif
THREAD(2, load(y,ACQUIRE,b); load(x,RELAXED,c))
#define OUTCOME b==2 && c==0
#endif
#ifdef COHERENCE /* of one location */
THREAD(0, store(x,1,W); FIRST_FENCE; store(x,2,W))
THREAD(1, load(x,R,a); FENCE; load(x,R,b))
#define OUTCOME a>b
#endif
#ifdef ADD       /* read-modify-writes are indivisible */
THREAD(0, atomic { update_from(x,RELAXED,a); update_to(a+1) })
THREAD(1, atomic { update_from(x,RELAXED,b); update_to(b+1) })
#define OUTCOME a==b
#endif
#ifdef PLAIN_MP  /* a race: plain data written, then read */
THREAD(0, write(0,1); FIRST_FENCE; store(y,1,W))
THREAD(1, load(y,R,a); FENCE; if :: a==1 -> read(0,b); assert(b==1) :: else fi)
#define OUTCOME false
#endif
#ifdef PLAIN_WAR /* a race: plain data read, then written */
THREAD(0, read(0,a); FIRST_FENCE; store(y,1,W); assert(a==0))
THREAD(1, load(y,R,b); FENCE; if :: b==1 -> write(0,1) :: else fi)
#define OUTCOME false
#endif

active proctype Outcome() { done==N -> assert(!(OUTCOME)) }
