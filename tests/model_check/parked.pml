/* A kept team that its master or anybody else may end, under weak memory. Stands for HotTeam::holder and the list of
 * gomp_shim/parked.cc: take_parked(), park(), add_parked(), remove_parked() of the master, take_any() and the rest of
 * send_parked_home() of others. What whoever has the team reads and writes is plain data, and so is the list.
 * Checked: no race; nobody hangs.
 * Mutants: TAKE, GIVE, SEND, GONE =RELAXED; EARLY who sends it home says so before it has; STAYS and leaves it in the
 * list; GRABBED it does not compare before it swaps. R regions. */
#ifndef R
#define R 3
#endif
#define THREADS 3
#define LOCATIONS 2
#define PLAIN 2
#define MESSAGES 24
#ifndef TAKE
#define TAKE ACQUIRE
#endif
#ifndef GIVE
#define GIVE RELEASE
#endif
#ifndef SEND
#define SEND ACQUIRE
#endif
#ifndef GONE
#define GONE RELEASE
#endif
#include "weak.pml"
#define holder 0
#define mutex 1
#define team 0
#define listed 1
#define NONE 0
#define PARKED 1
#define MASTER 2
#define OTHER 3

inline lock() { do :: atomic { last_[mutex]==0 -> update_from(mutex, ACQUIRE, v);
    if :: v==0 -> update_to(1); break :: else -> update_not() fi } od; v=0 }
inline unlock() { store(mutex, 0, RELEASE) }

proctype Master(byte me) { byte v, r=0;
  do
  :: r<R ->
     r++;
     atomic { update_from(holder, TAKE, v); if :: v==PARKED -> update_to(MASTER) :: else -> update_not() fi };
     if
     :: v==PARKED
     :: else ->
        do :: v==OTHER -> load(holder, TAKE, v) :: else -> break od;
        assert(v==NONE);
        write(team, 1);                       /* makes one */
        store(holder, MASTER, RELAXED);
        lock(); read(listed, v); assert(v==0); write(listed, 1); unlock()
     fi;
     v=0;
     write(team, 1);                          /* a region */
     if
     :: store(holder, PARKED, GIVE)
     :: write(team, 1);                       /* ends it */
        lock(); write(listed, 0); unlock();
        store(holder, NONE, RELAXED)
     fi
  :: else -> break
  od;
  leave() }

proctype Short(byte me) { byte v; bool mine=false;
  lock();
  read(listed, v);
  if
  :: v==1 ->
     atomic { update_from(holder, SEND, v);
       if :: v==PARKED -> update_to(OTHER); mine=true
#ifdef GRABBED
          :: v==MASTER -> update_to(OTHER); mine=true
#endif
          :: else -> update_not() fi }
  :: else
  fi;
  v=0;
#ifndef STAYS
  if :: mine -> write(listed, 0) :: else fi;
#endif
  unlock();
  if
  :: mine ->
#ifndef EARLY
     write(team, 1);
#endif
     store(holder, NONE, GONE);
#ifdef EARLY
     write(team, 1)
#endif
  :: else
  fi;
  leave() }

init { atomic { run Master(0); run Short(1); run Short(2) } }
