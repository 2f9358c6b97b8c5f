/* The matching table under weak memory. Stands for core/message: KIND
 *   1 access() of match.cc: receives and messages of one key, each behind the bucket's lock; lock(), unlock()
 *   2 the same while the bucket is split: hold(), grow()
 *   3 the same while the first wildcard switches the context: access(), begin_index(), post_ordered(), arrive_ordered()
 * What a bucket holds, and the lists of a shard, are plain data. Queues are counted: of one key nobody can tell two
 * receives apart. Checked: no race; who should meet has met when all are done, once; nobody hangs.
 * RECEIVES, MESSAGES_SENT: how many of each, a thread each; of KIND 3 one wildcard besides. TURNS: each comes so often.
 * Mutants: LOCK, UNLOCK =RELAXED; TRY look and lock are two steps; KIND 2: LOOK, STORE =RELAXED, NO_SECOND_LOOK at the
 * number of buckets, EARLY the old bucket is unlocked before the number is stored; KIND 3: NO_LOOK at `ordered` under
 * the bucket's lock, BEFORE it is looked at before the lock, LATE it is set after the buckets were passed through,
 * NO_SWEEP they are not, OLDER the wildcard counts as older than a receive from before the switch. */
#ifndef KIND
#define KIND 1
#endif
#ifndef RECEIVES
#define RECEIVES 1
#endif
#ifndef MESSAGES_SENT
#define MESSAGES_SENT 1
#endif
#ifndef TURNS
#define TURNS 1
#endif
#if KIND>1
#define THREADS (RECEIVES+MESSAGES_SENT+1)
#else
#define THREADS (RECEIVES+MESSAGES_SENT)
#endif
#define LOCATIONS 4
#define PLAIN 7
#define MESSAGES 14
#ifndef LOCK
#define LOCK ACQUIRE
#endif
#ifndef UNLOCK
#define UNLOCK RELEASE
#endif
#ifndef LOOK
#define LOOK ACQUIRE
#endif
#ifndef STORE
#define STORE RELEASE
#endif
#include "weak.pml"
#define word(i) (i)      /* the locks of two buckets */
#define number 2         /* KIND 2: of buckets, less one */
#define ordered 2        /* KIND 3 */
#define shard 3          /* its lock */
#define receives 0       /* of the key, in bucket 0; in bucket 1: one more */
#define waiting 2        /* messages of the key, in bucket 0; in bucket 1: one more */
#define listed 4         /* messages in the shard's list */
#define wild 5           /* wildcards in the shard's list */
#define late 6           /* 1: the receive that waits was posted after the switch, so after the wildcard */

byte met, finished;

/* An exchange that finds the lock taken changes nothing, and is made again. */
inline lock(x) {
#ifdef TRY
  v=1;
  do :: v!=0 -> atomic { last_[x]==0 -> load(x, LOCK, v) } :: else -> break od;
  store(x, 1, RELAXED);
#else
  v=1;
  do :: v!=0 -> atomic { last_[x]==0 -> update_from(x, LOCK, v); if :: v==0 -> update_to(1) :: else -> update_not() fi }
     :: else -> break od;
#endif
  v=0
}
inline unlock(x) { store(x, 0, UNLOCK) }

/* Under the lock of bucket i */
inline meet_or_wait(i, mine, others) {
  read(others+i, v);
  if :: v>0 -> write(others+i, v-1); met++; v=0
     :: else -> read(mine+i, v); write(mine+i, v+1); v=0
  fi
}

inline done() {
  atomic { finished++;
    if :: finished==THREADS -> assert(met==TURNS*(RECEIVES<MESSAGES_SENT -> RECEIVES : MESSAGES_SENT)+
                                     (KIND==3 && MESSAGES_SENT>RECEIVES -> 1 : 0))
       :: else fi };
  leave()
}

/* A receive posted after the switch: it takes a message, or waits. */
inline post_in_order() {
  lock(word(0));
  read(waiting, v);
  if :: v>0 -> write(waiting, v-1); read(listed, v); assert(v>0); write(listed, v-1); met++
     :: else -> read(receives, v); write(receives, v+1); write(late, 1)
  fi;
  v=0;
  unlock(word(0))
}
/* A message: to the wildcard or a receive, whichever is older; or it waits. */
inline arrive_in_order() {
  read(wild, over);
  lock(word(0));
  read(receives, v);
  read(late, i);
#ifdef OLDER
  i=1;
#endif
  if :: v>0 && (over==0 || i==0) -> write(receives, v-1); met++
     :: else ->
        if :: over>0 -> read(late, i); assert(v==0 || i>0); write(wild, 0); met++
           :: else -> read(waiting, v); write(waiting, v+1); read(listed, v); write(listed, v+1)
        fi
  fi;
  v=0; i=0; over=0;
  unlock(word(0))
}

inline access(mine, others) {
#if KIND==2
  over=0;
  do :: over==0 ->
     load(number, LOOK, i);
     lock(word(i));
#ifdef NO_SECOND_LOOK
     over=1
#else
     load(number, RELAXED, v);
     if :: v==i -> over=1 :: else -> unlock(word(i)) fi;
     v=0
#endif
  :: else -> break od;
  over=0;
  meet_or_wait(i, mine, others);
  unlock(word(i)); i=0
#elif KIND==3
#ifdef BEFORE
  load(ordered, RELAXED, over);
#endif
  lock(word(0));
#ifdef NO_LOOK
  over=0;
#elif !defined(BEFORE)
  load(ordered, RELAXED, over);
#endif
  if :: over==0 -> meet_or_wait(0, mine, others); unlock(word(0))
     :: else -> unlock(word(0)); over=0; lock(shard);
           if :: mine==receives -> post_in_order() :: else -> arrive_in_order() fi;
           unlock(shard)
  fi
#else
  lock(word(0)); meet_or_wait(0, mine, others); unlock(word(0))
#endif
}

proctype Receive(byte me) { byte v, i, over, turn=0;
  do :: turn<TURNS -> access(receives, waiting); turn++ :: else -> break od;
  done() }
proctype Message(byte me) { byte v, i, over, turn=0;
  do :: turn<TURNS -> access(waiting, receives); turn++ :: else -> break od;
  done() }

proctype Grow(byte me) { byte v;
  lock(word(0));
  read(receives, v); write(receives+1, v); write(receives, 0);
  read(waiting, v); write(waiting+1, v); write(waiting, 0);
  v=0;
#ifdef EARLY
  unlock(word(0));
#endif
  store(number, 1, STORE);
#ifndef EARLY
  unlock(word(0));
#endif
  done() }

proctype Wildcard(byte me) { byte v, n;
  lock(shard);
#ifndef LATE
  store(ordered, 1, RELAXED);
#endif
#ifndef NO_SWEEP
  lock(word(0)); read(waiting, n); unlock(word(0)); write(listed, n);
#endif
#ifdef LATE
  store(ordered, 1, RELAXED);
#endif
  read(listed, n);
  if :: n>0 -> write(listed, n-1);
        lock(word(0)); read(waiting, v); assert(v>0); write(waiting, v-1); v=0; unlock(word(0));
        met++
     :: else -> write(wild, 1)
  fi;
  n=0;
  unlock(shard);
  done() }

init { atomic { byte t=0;
  do :: t<RECEIVES -> run Receive(t); t++ :: else -> break od;
  do :: t<RECEIVES+MESSAGES_SENT -> run Message(t); t++ :: else -> break od;
#if KIND==2
  run Grow(t)
#elif KIND==3
  run Wildcard(t)
#endif
} }
