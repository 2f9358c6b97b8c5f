/* SPDX-License-Identifier: MIT
   Part of Smelt; licence in LICENSE at the top of the repository.

   Another barrier for GCC's libgomp, in place of its config/linux/bar.h: a yardstick. It answers how fast a libgomp
   could be with nothing but a better barrier inside, next to Smelt's interposer, which changes no library. build.sh
   puts it over the user's own copy of the source; nothing of that copy is kept here, and the result is never installed.

   A central counter on one line of memory, the word that waiters poll on another: simple, and for a small team good.
   (All on one line was tried, 2 threads: a barrier costs 1.4 times as much with the CPUs 52 ns apart, for the pollers
   take the line back between the last arrival and the release; 0.9 times as much with 250 ns.) The gain over GCC's
   barrier, which has the same layout, is that nobody asks the kernel to wake threads when none sleeps.

   The generation word is all that waiters watch, and all that tells them anything:

       31 ............ 4     3         2         1            0
       episodes so far    SLEEPER   CANCELLED  WAITING    TASK_PENDING

   TASK_PENDING  the team has queued tasks: who waits, runs some first.        } both set and cleared by task.c, with
   WAITING       all have arrived, tasks remain; the last task's end releases. } the team's task_lock held
   CANCELLED     the region is cancelled: cancellable barriers are left at once. Until the region's end; task_lock.
   SLEEPER       somebody sleeps, or is about to, on this very word. Set by the sleeper, without the lock.

   1. To arrive: count down `awaited`. Zero makes you the last, and you alone act until you release.
   2. To release: exchange the word for the next episode's, flags cleared. The exchange tells whether SLEEPER was set;
      only then is there a futex_wake. It is the last touch of the barrier, which may be gone a moment later.
   3. To sleep: compare-exchange SLEEPER into the word one has seen, then futex_wait on that value. Whoever changed the
      word in between made one of the two fail; whoever changes it later finds SLEEPER. All of it is one word, so its
      modification order is the proof, and no fence is needed.
   4. To wake without a release (tasks, cancellation): change the word first, then look for SLEEPER. Waking everybody
      takes the flag away; those who go back to sleep set it again.

   Orderings. Arrival is acq_rel: what each thread did before is seen by the last (acquire; the count-downs are one
   release sequence). Release is a release and waiters' loads are acquires: what the last did, and through it all
   others, is seen by everybody behind the barrier. Flags are relaxed where task_lock is held by both ends, and a
   release where a waiter acts on the flag alone (CANCELLED). Every store to the word that may meet a sleeper's
   compare-exchange is itself a read-modify-write, or SLEEPER could be lost.

   The names and signatures are those that libgomp's other files call; tried with GCC 12.  */

#ifndef GOMP_BARRIER_H
#define GOMP_BARRIER_H 1

#include "mutex.h"

typedef struct
{
  unsigned generation __attribute__ ((aligned (64)));
  unsigned awaited __attribute__ ((aligned (64))); /* arrivals missing in this episode */
  unsigned awaited_final; /* the same for the region's end; a cancelled region leaves `awaited` anywhere */
  unsigned total;         /* members; the last to arrive reads it, the line being its own then */
} gomp_barrier_t;

/* What a thread remembers from its arrival: the word as it was, without the flags that say nothing about the episode,
   plus whether it came last. That is never stored back, so it may share TASK_PENDING's bit. */
typedef unsigned gomp_barrier_state_t;

#define BAR_TASK_PENDING 1u
#define BAR_WAS_LAST 1u
#define BAR_WAITING_FOR_TASK 2u
#define BAR_CANCELLED 4u
#define BAR_SLEEPER 8u
#define BAR_INCR 16u
#define BAR_EPISODE (~(BAR_INCR - 1))

struct gomp_team;
extern void gomp_barrier_wait (gomp_barrier_t *);
extern void gomp_barrier_wait_last (gomp_barrier_t *);
extern void gomp_barrier_wait_end (gomp_barrier_t *, gomp_barrier_state_t);
extern void gomp_team_barrier_wait (gomp_barrier_t *);
extern void gomp_team_barrier_wait_final (gomp_barrier_t *);
extern void gomp_team_barrier_wait_end (gomp_barrier_t *, gomp_barrier_state_t);
extern bool gomp_team_barrier_wait_cancel (gomp_barrier_t *);
extern bool gomp_team_barrier_wait_cancel_end (gomp_barrier_t *, gomp_barrier_state_t);
extern void gomp_team_barrier_wake (gomp_barrier_t *, int);
extern void gomp_team_barrier_cancel (struct gomp_team *);

/* Plain stores: the threads that will use it are told of it later, through something that orders. */
static inline void
gomp_barrier_init (gomp_barrier_t *bar, unsigned count)
{
  bar->generation = 0;
  bar->awaited = count;
  bar->awaited_final = count;
  bar->total = count;
}

/* By one thread that has yet to arrive, while others may be arriving: so the count is changed by a difference. The
   caller's own arrival, a release, hands `total` to whoever is last. */
static inline void
gomp_barrier_reinit (gomp_barrier_t *bar, unsigned count)
{
  __atomic_fetch_add (&bar->awaited, count - bar->total, MEMMODEL_ACQ_REL);
  bar->total = count;
}

static inline void
gomp_barrier_destroy (gomp_barrier_t *bar)
{
  (void) bar;
}

/* The word cannot move on before we have counted down, so it is read first. Acquire for CANCELLED alone: a cancellable
   barrier returns on it without waiting. */
static inline gomp_barrier_state_t
gomp_barrier_arrive (gomp_barrier_t *bar, unsigned *awaited)
{
  unsigned state = __atomic_load_n (&bar->generation, MEMMODEL_ACQUIRE) & (BAR_EPISODE | BAR_CANCELLED);
  if (__atomic_sub_fetch (awaited, 1, MEMMODEL_ACQ_REL) == 0)
    state |= BAR_WAS_LAST;
  return state;
}

static inline gomp_barrier_state_t
gomp_barrier_wait_start (gomp_barrier_t *bar)
{
  return gomp_barrier_arrive (bar, &bar->awaited);
}

static inline gomp_barrier_state_t
gomp_barrier_wait_cancel_start (gomp_barrier_t *bar)
{
  return gomp_barrier_arrive (bar, &bar->awaited);
}

static inline gomp_barrier_state_t
gomp_barrier_wait_final_start (gomp_barrier_t *bar)
{
  return gomp_barrier_arrive (bar, &bar->awaited_final);
}

static inline bool
gomp_barrier_last_thread (gomp_barrier_state_t state)
{
  return (state & BAR_WAS_LAST) != 0;
}

/* From here on the caller holds team->task_lock; nobody else touches a flag but SLEEPER meanwhile. */

/* Usually it is set already; then the line is left to those who watch it. */
static inline void
gomp_team_barrier_set_task_pending (gomp_barrier_t *bar)
{
  if (!(__atomic_load_n (&bar->generation, MEMMODEL_RELAXED) & BAR_TASK_PENDING))
    __atomic_fetch_or (&bar->generation, BAR_TASK_PENDING, MEMMODEL_RELAXED);
}

static inline void
gomp_team_barrier_clear_task_pending (gomp_barrier_t *bar)
{
  __atomic_fetch_and (&bar->generation, ~BAR_TASK_PENDING, MEMMODEL_RELAXED);
}

static inline void
gomp_team_barrier_set_waiting_for_tasks (gomp_barrier_t *bar)
{
  __atomic_fetch_or (&bar->generation, BAR_WAITING_FOR_TASK, MEMMODEL_RELAXED);
}

static inline bool
gomp_team_barrier_waiting_for_tasks (gomp_barrier_t *bar)
{
  return (__atomic_load_n (&bar->generation, MEMMODEL_RELAXED) & BAR_WAITING_FOR_TASK) != 0;
}

/* Relaxed: it is asked under the lock, and as a hint that may be late (GOMP_cancellation_point). */
static inline bool
gomp_team_barrier_cancelled (gomp_barrier_t *bar)
{
  return __builtin_expect ((__atomic_load_n (&bar->generation, MEMMODEL_RELAXED) & BAR_CANCELLED) != 0, 0);
}

/* The release when tasks held it up. It keeps SLEEPER for the gomp_team_barrier_wake (bar, 0) that follows it outside
   the lock. Release: it frees the waiters, who take no lock. */
static inline void
gomp_team_barrier_done (gomp_barrier_t *bar, gomp_barrier_state_t state)
{
  unsigned next = (state & BAR_EPISODE) + BAR_INCR;
  unsigned seen = __atomic_load_n (&bar->generation, MEMMODEL_RELAXED);
  while (!__atomic_compare_exchange_n (&bar->generation, &seen, next | (seen & BAR_SLEEPER), true, MEMMODEL_RELEASE,
				       MEMMODEL_RELAXED))
    ;
}

#endif
