/* SPDX-License-Identifier: MIT
   Part of Smelt; licence in LICENSE at the top of the repository.

   The waiting half of the yardstick barrier; bar.h tells the protocol and the orderings.  */

#include <limits.h>
#include "wait.h"

/* Until the word, SLEEPER apart, is no longer `seen`; returns what it is now, without SLEEPER. Spins as long as
   libgomp's policy says (GOMP_SPINCOUNT, OMP_WAIT_POLICY, and less with more threads than CPUs), then sleeps. */
static unsigned
await_change (gomp_barrier_t *bar, unsigned seen)
{
  unsigned *word = &bar->generation;
  unsigned long long spins = gomp_spin_count_var;
  unsigned now;

  if (__builtin_expect (__atomic_load_n (&gomp_managed_threads, MEMMODEL_RELAXED) > gomp_available_cpus, 0))
    spins = gomp_throttled_spin_count_var;
  for (;;)
    {
      /* Acquire, here and below: the caller acts on the word at once. */
      now = __atomic_load_n (word, MEMMODEL_ACQUIRE);
      if ((now & ~BAR_SLEEPER) != seen)
	return now & ~BAR_SLEEPER;
      if (spins-- == 0)
	break;
      cpu_relax ();
    }
  for (;;)
    {
      /* Relaxed: it publishes nothing but itself, and a failure is loaded again below. */
      if (!(now & BAR_SLEEPER)
	  && !__atomic_compare_exchange_n (word, &now, seen | BAR_SLEEPER, false, MEMMODEL_RELAXED, MEMMODEL_RELAXED)
	  && (now & ~BAR_SLEEPER) != seen)
	return __atomic_load_n (word, MEMMODEL_ACQUIRE) & ~BAR_SLEEPER;
      futex_wait ((int *) word, (int) (seen | BAR_SLEEPER));
      now = __atomic_load_n (word, MEMMODEL_ACQUIRE);
      if ((now & ~BAR_SLEEPER) != seen)
	return now & ~BAR_SLEEPER;
    }
}

/* Has the barrier that was entered with `state` released its threads? Only the episode counts: in the next one, others
   may already have made tasks, or cancelled. */
static inline bool
is_over (unsigned now, gomp_barrier_state_t state)
{
  return (now & BAR_EPISODE) != (state & BAR_EPISODE);
}

/* By the last to arrive. `awaited` is written before: the release publishes it. */
static inline void
release (gomp_barrier_t *bar, gomp_barrier_state_t state)
{
  unsigned *word = &bar->generation;
  if (__atomic_exchange_n (word, (state & BAR_EPISODE) + BAR_INCR, MEMMODEL_RELEASE) & BAR_SLEEPER)
    futex_wake ((int *) word, INT_MAX); /* by address only: the barrier may be gone */
}

void
gomp_barrier_wait_end (gomp_barrier_t *bar, gomp_barrier_state_t state)
{
  unsigned now = state & ~BAR_WAS_LAST;
  if (gomp_barrier_last_thread (state))
    {
      bar->awaited = bar->total;
      release (bar, state);
    }
  else
    while (!is_over (now, state))
      now = await_change (bar, now);
}

void
gomp_barrier_wait (gomp_barrier_t *bar)
{
  gomp_barrier_wait_end (bar, gomp_barrier_wait_start (bar));
}

/* Arrives, but does not wait: for those who will not touch the barrier again, so that the one who waits may destroy
   it. */
void
gomp_barrier_wait_last (gomp_barrier_t *bar)
{
  gomp_barrier_state_t state = gomp_barrier_wait_start (bar);
  if (gomp_barrier_last_thread (state))
    gomp_barrier_wait_end (bar, state);
}

/* The caller has changed the word, or seen it changed under the lock, so a relaxed load finds the SLEEPER of all who
   had not seen that change. A count of 0 stands for all of them. The barrier is still there: the caller is a member of
   the team, who is waited for, or holds the lock, without which the team's last tasks cannot end. */
void
gomp_team_barrier_wake (gomp_barrier_t *bar, int count)
{
  unsigned *word = &bar->generation;
  if (!(__atomic_load_n (word, MEMMODEL_RELAXED) & BAR_SLEEPER))
    return;
  if (count == 0)
    __atomic_fetch_and (word, ~BAR_SLEEPER, MEMMODEL_RELAXED);
  futex_wake ((int *) word, count == 0 ? INT_MAX : count);
}

/* The barriers of a team. True: left because the region is cancelled, which only a cancellable one does. */
static bool
team_barrier_end (gomp_barrier_t *bar, gomp_barrier_state_t state, bool cancellable)
{
  unsigned now;

  if (gomp_barrier_last_thread (state))
    {
      struct gomp_team *team = gomp_thread ()->ts.team;
      bar->awaited = bar->total;
      team->work_share_cancelled = 0;
      /* Everybody has arrived, so no member can make a task any more; if there is none, there will be none. */
      if (__builtin_expect (team->task_count == 0, 1))
	{
	  release (bar, state);
	  return false;
	}
      gomp_barrier_handle_tasks (state); /* lets the others help; may already call gomp_team_barrier_done */
      state &= ~BAR_WAS_LAST;
    }
  for (now = state; !is_over (now, state);)
    {
      if (cancellable && (now & BAR_CANCELLED))
	return true;
      /* As long as tasks are queued, nobody waits: `seen` never has TASK_PENDING. */
      now = await_change (bar, now & ~BAR_TASK_PENDING);
      if (!is_over (now, state) && (now & BAR_TASK_PENDING) && !(cancellable && (now & BAR_CANCELLED)))
	gomp_barrier_handle_tasks (state);
    }
  return false;
}

void
gomp_team_barrier_wait_end (gomp_barrier_t *bar, gomp_barrier_state_t state)
{
  team_barrier_end (bar, state, false);
}

void
gomp_team_barrier_wait (gomp_barrier_t *bar)
{
  team_barrier_end (bar, gomp_barrier_wait_start (bar), false);
}

void
gomp_team_barrier_wait_final (gomp_barrier_t *bar)
{
  gomp_barrier_state_t state = gomp_barrier_wait_final_start (bar);
  if (gomp_barrier_last_thread (state))
    bar->awaited_final = bar->total;
  team_barrier_end (bar, state, false);
}

bool
gomp_team_barrier_wait_cancel_end (gomp_barrier_t *bar, gomp_barrier_state_t state)
{
  return team_barrier_end (bar, state, true);
}

bool
gomp_team_barrier_wait_cancel (gomp_barrier_t *bar)
{
  return team_barrier_end (bar, gomp_barrier_wait_start (bar), true);
}

/* Release: a waiter leaves on the flag alone. */
void
gomp_team_barrier_cancel (struct gomp_team *team)
{
  gomp_barrier_t *bar = &team->barrier;
  bool first;

  gomp_mutex_lock (&team->task_lock);
  first = !(__atomic_fetch_or (&bar->generation, BAR_CANCELLED, MEMMODEL_RELEASE) & BAR_CANCELLED);
  gomp_mutex_unlock (&team->task_lock);
  if (first)
    gomp_team_barrier_wake (bar, 0);
}
