/* Nonblocking collectives under way: their queues, and Open MPI's progress.
 *
 * Each communicator has a lane in the order of the nonblocking calls, which is the same on all ranks, and each
 * persistent request one of its own, since ranks may start those in different orders. Only the first of a lane is under
 * way: the group would not advance a second one before it either (smelt/group.h), and so a lane has no limit.
 * Everything advances within opal_progress, which every function of MPI that waits or tests calls; there is no thread.
 *
 * Threads: one at a time is the owner of all that advances here, by a flag. A thread that finds the flag taken does not
 * wait for it, because the owner does the work. Only the owner touches the group of a lane that is not empty, takes
 * operations from lanes and takes lanes off the list of those that are not empty; a lock, held for a few stores, is
 * between it and those who add to them. A blocking collective, which uses the communicator's group itself, waits until
 * its lane is empty (coll_smelt_drain_lane). */
#include "lanes.h"

#include "counters.h"
#include "opal/runtime/opal_progress.h"

static opal_mutex_t lock;       /* of the lanes and the list */
static coll_smelt_lane *active; /* those that are not empty */
static atomic_bool any_active;  /* are there any? To be looked at without the lock */
static atomic_bool owned;
static atomic_bool registered;

/* Without threads the flag only keeps what is called from within from coming here again, and needs no locked access. */
static bool take(void) {
  if (coll_smelt_tally.threads) return !atomic_exchange_explicit(&owned, true, memory_order_acquire);
  if (atomic_load_explicit(&owned, memory_order_relaxed)) return false;
  atomic_store_explicit(&owned, true, memory_order_relaxed);
  return true;
}
/* release: the next owner finds the groups as this one left them. */
static void give(void) { atomic_store_explicit(&owned, false, memory_order_release); }

/* --- lanes; the first three with the lock held */

/* Only the holder of the lock writes, so no locked access is needed. release: see group_of in functions.c. */
static void count(coll_smelt_lane *lane, int more) {
  const int before = atomic_load_explicit(&lane->behind, memory_order_relaxed);
  atomic_store_explicit(&lane->behind, before + more, memory_order_release);
}

static void activate(coll_smelt_lane *lane) {
  lane->next_active = active;
  lane->link = &active;
  if (active) active->link = &lane->next_active;
  active = lane;
  atomic_store_explicit(&any_active, true, memory_order_relaxed);
}

static void deactivate(coll_smelt_lane *lane) {
  *lane->link = lane->next_active;
  if (lane->next_active) lane->next_active->link = lane->link;
  if (!active) atomic_store_explicit(&any_active, false, memory_order_relaxed);
}

static void append(coll_smelt_lane *lane, coll_smelt_queued *operation) {
  operation->next = NULL;
  OPAL_THREAD_LOCK(&lock);
  if (lane->first)
    lane->last->next = operation;
  else
    lane->first = operation;
  lane->last = operation;
  count(lane, 1);
  if (lane->first == operation) activate(lane);
  OPAL_THREAD_UNLOCK(&lock);
}

static coll_smelt_queued *first_of(coll_smelt_lane *lane) {
  OPAL_THREAD_LOCK(&lock);
  coll_smelt_queued *operation = lane->first;
  OPAL_THREAD_UNLOCK(&lock);
  return operation;
}

/* Are there more? If not, the lane is no longer to be touched: a thread that waits for it to be empty may free it. */
static bool remove_first(coll_smelt_lane *lane) {
  OPAL_THREAD_LOCK(&lock);
  lane->first = lane->first->next;
  const bool more = lane->first != NULL;
  if (!more) deactivate(lane);
  count(lane, -1);
  OPAL_THREAD_UNLOCK(&lock);
  return more;
}

/* --- progress; for the owner */

/* Operations completed. A request may be freed as soon as it is complete. */
static int advance(coll_smelt_lane *lane) {
  int completed = 0;
  for (bool more = true; more;) {
    coll_smelt_queued *operation = first_of(lane);
    if (!operation->step(operation)) break;
    more = remove_first(lane);
    ompi_request_complete(&operation->super.super, true);
    ++completed;
  }
  return completed;
}

static int progress(void) {
  if (!atomic_load_explicit(&any_active, memory_order_relaxed) || !take()) return 0;
  int completed = 0;
  OPAL_THREAD_LOCK(&lock);
  coll_smelt_lane *lane = active;
  OPAL_THREAD_UNLOCK(&lock);
  while (lane) {
    OPAL_THREAD_LOCK(&lock);
    coll_smelt_lane *next = lane->next_active; /* only we would remove it */
    OPAL_THREAD_UNLOCK(&lock);
    completed += advance(lane);
    lane = next;
  }
  give();
  return completed;
}

/* It registers once for all, because Open MPI says that to register and to unregister is expensive. */
static void register_progress(void) {
  if (!atomic_exchange_explicit(&registered, true, memory_order_relaxed)) opal_progress_register(progress);
}

void coll_smelt_lane_begin(coll_smelt_lane *lane, const void *owner) {
  lane->owner = owner;
  lane->first = lane->last = NULL;
  atomic_init(&lane->behind, 0);
}

void coll_smelt_post(coll_smelt_queued *operation) {
  coll_smelt_lane *lane = operation->lane;
  ompi_request_t *request = &operation->super.super;
  request->req_status.MPI_ERROR = MPI_SUCCESS;
  request->req_state = OMPI_REQUEST_ACTIVE;
  request->req_complete = REQUEST_PENDING;
  if (OPAL_UNLIKELY(!atomic_load_explicit(&registered, memory_order_relaxed))) register_progress();
  append(lane, operation);
  if (!take()) return;
  /* An owner before us may have completed it. */
  if (first_of(lane)) (void)advance(lane);
  give();
}

void coll_smelt_lane_count(coll_smelt_lane *lane, int more) {
  OPAL_THREAD_LOCK(&lock);
  count(lane, more);
  OPAL_THREAD_UNLOCK(&lock);
}

void coll_smelt_drain_lane(const coll_smelt_lane *lane, int left) {
  while (atomic_load_explicit(&lane->behind, memory_order_acquire) > left) opal_progress();
}

bool coll_smelt_abandon(const void *owner) {
  bool any = false;
  if (!atomic_load_explicit(&any_active, memory_order_relaxed)) return false;
  while (!take()) opal_progress();
  OPAL_THREAD_LOCK(&lock);
  for (coll_smelt_lane *lane = active, *next; lane; lane = next) {
    next = lane->next_active;
    if (lane->owner != owner) continue;
    deactivate(lane);
    lane->first = NULL;
    any = true;
  }
  OPAL_THREAD_UNLOCK(&lock);
  give();
  return any;
}

void coll_smelt_lanes_begin(void) { OBJ_CONSTRUCT(&lock, opal_mutex_t); }

void coll_smelt_lanes_end(void) {
  if (atomic_exchange_explicit(&registered, false, memory_order_relaxed)) opal_progress_unregister(progress);
  OBJ_DESTRUCT(&lock);
}
