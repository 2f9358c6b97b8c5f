/* Nonblocking collectives under way: their requests, their queues, and Open MPI's progress.
 *
 * Each communicator has a lane in the order of the nonblocking calls, which is the same on all ranks, and each
 * persistent request one of its own, since ranks may start those in different orders. Only the first of a lane is under
 * way: the group would not advance a second one before it either (smelt/group.h), and so a lane has no limit.
 * Everything advances within opal_progress, which every function of MPI that waits or tests calls; there is no thread.
 *
 * Threads: one at a time is the owner of all that advances here, by a flag that who finds it taken does not wait for
 * (the owner does the work). Only the owner touches the group of a lane that is not empty, takes operations from
 * lanes and takes lanes off the list of those that are not empty; a lock, held for a few stores, is between it and
 * those who add to them. A blocking collective, which uses the communicator's group itself, waits until its lane is
 * empty (coll_smelt_drain). */
#include "nonblocking.h"

#include "counters.h"
#include "nodes.h"
#include "ompi/communicator/communicator.h"
#include "opal/runtime/opal_progress.h"

static opal_mutex_t lock;            /* of the lanes, the list and what is unused */
static coll_smelt_lane *active;      /* those that are not empty */
static atomic_bool any_active;       /* are there any? To be looked at without the lock */
static coll_smelt_operation *unused; /* for later: Open MPI's own free list would need 16-byte atomics of us */
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

/* Only who holds the lock writes, so that no locked access is needed. release: see coll_smelt_group_of. */
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

static void append(coll_smelt_lane *lane, coll_smelt_operation *operation) {
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

static coll_smelt_operation *first_of(coll_smelt_lane *lane) {
  OPAL_THREAD_LOCK(&lock);
  coll_smelt_operation *operation = lane->first;
  OPAL_THREAD_UNLOCK(&lock);
  return operation;
}

/* Are there more? If not, the lane is no longer to be touched: who waits for it to be empty may free it. */
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
    coll_smelt_operation *operation = first_of(lane);
    if (!coll_smelt_operation_step(operation)) break;
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

/* Once for all: Open MPI says that to register and to unregister is expensive. */
static void register_progress(void) {
  if (!atomic_exchange_explicit(&registered, true, memory_order_relaxed)) opal_progress_register(progress);
}

void coll_smelt_lane_begin(coll_smelt_lane *lane, const void *owner) {
  lane->owner = owner;
  lane->first = lane->last = NULL;
  atomic_init(&lane->behind, 0);
}

void coll_smelt_post(coll_smelt_operation *operation) {
  coll_smelt_lane *lane = operation->lane;
  ompi_request_t *request = &operation->super.super;
  operation->begun = false;
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

void coll_smelt_want_room(coll_smelt_module *module, bool wants) {
  if (module->wants_room == wants) return;
  module->wants_room = wants;
  OPAL_THREAD_LOCK(&lock);
  count(&module->lane, wants ? 1 : -1);
  OPAL_THREAD_UNLOCK(&lock);
}

void coll_smelt_drain_lane(const coll_smelt_lane *lane, int left) {
  while (atomic_load_explicit(&lane->behind, memory_order_acquire) > left) opal_progress();
}

void coll_smelt_drain(coll_smelt_module *module) { coll_smelt_drain_lane(&module->lane, module->wants_room); }

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

/* --- requests */

static int free_operation(ompi_request_t **request) {
  if (!REQUEST_COMPLETE(*request)) return MPI_ERR_REQUEST;
  coll_smelt_operation_discard((coll_smelt_operation *)*request);
  *request = MPI_REQUEST_NULL;
  return OMPI_SUCCESS;
}

/* MPI forbids it. */
static int cancel_operation(ompi_request_t *request, int complete) {
  (void)request, (void)complete;
  return MPI_ERR_REQUEST;
}

static void construct(coll_smelt_operation *operation) {
  ompi_request_t *request = &operation->super.super;
  request->req_type = OMPI_REQUEST_COLL;
  request->req_status = ompi_status_empty;
  request->req_start = coll_smelt_restart;
  request->req_cancel = cancel_operation;
  operation->stages = NULL;
}

static void destruct(coll_smelt_operation *operation) { coll_smelt_nodes_free(operation); }

OBJ_CLASS_INSTANCE(coll_smelt_operation, ompi_coll_base_nbc_request_t, construct, destruct);

/* MPI keeps types and operations of nonblocking calls alive, but not those of persistent ones, which are complete when
 * it looks. */
static void retain(const coll_smelt_call *call) {
  if (call->send_type && !ompi_datatype_is_predefined(call->send_type)) OBJ_RETAIN(call->send_type);
  if (call->type && !ompi_datatype_is_predefined(call->type)) OBJ_RETAIN(call->type);
  if (call->op && !ompi_op_is_intrinsic(call->op)) OBJ_RETAIN(call->op);
}
static void release(coll_smelt_call *call) {
  if (call->send_type && !ompi_datatype_is_predefined(call->send_type)) OBJ_RELEASE(call->send_type);
  if (call->type && !ompi_datatype_is_predefined(call->type)) OBJ_RELEASE(call->type);
  if (call->op && !ompi_op_is_intrinsic(call->op)) OBJ_RELEASE(call->op);
}

/* NULL: no memory. */
static coll_smelt_operation *obtain(void) {
  OPAL_THREAD_LOCK(&lock);
  coll_smelt_operation *operation = unused;
  if (operation) unused = operation->next;
  OPAL_THREAD_UNLOCK(&lock);
  return operation ? operation : OBJ_NEW(coll_smelt_operation);
}

/* What all have in common. `lane`: NULL, a persistent request's own. */
static void set_up(coll_smelt_operation *operation, struct ompi_communicator_t *comm, const void *owner,
                   coll_smelt_lane *lane, smelt_collective which, const coll_smelt_call *call) {
  const bool persistent = lane == NULL;
  ompi_request_t *request = &operation->super.super;
  OMPI_REQUEST_INIT(request, persistent);
  request->req_free = free_operation; /* MPI may have put its own before it */
  request->req_mpi_object.comm = comm;
  OBJ_RETAIN(comm); /* which may be freed before this is complete */
  operation->module = NULL;
  operation->nodes = NULL;
  operation->messages = NULL;
  coll_smelt_lane_begin(&operation->own, owner);
  operation->lane = persistent ? &operation->own : lane;
  operation->which = which;
  operation->call = *call;
  if (persistent) retain(call);
}

coll_smelt_operation *coll_smelt_operation_new(coll_smelt_module *module, smelt_collective which,
                                               const coll_smelt_call *call, smelt_group *group, bool persistent) {
  coll_smelt_exchange exchange;
  if (call->exchange) {
    exchange = *call->exchange;
    if (persistent && coll_smelt_exchange_keep(module, &exchange) != OMPI_SUCCESS) return NULL;
  }
  coll_smelt_operation *operation = obtain();
  if (OPAL_UNLIKELY(!operation)) {
    if (call->exchange && persistent) coll_smelt_exchange_forget(module, &exchange);
    return NULL;
  }
  set_up(operation, module->comm, module, persistent ? NULL : &module->lane, which, call);
  operation->module = module;
  operation->group = group;
  if (!group) operation->lane = &operation->own; /* messages wait for nothing that goes before */
  if (call->exchange) operation->exchange = exchange, operation->call.exchange = &operation->exchange;
  return operation;
}

coll_smelt_operation *coll_smelt_nodes_operation_new(coll_smelt_nodes *nodes, smelt_collective which,
                                                     const coll_smelt_call *call, smelt_group *group, bool persistent) {
  coll_smelt_operation *operation = obtain();
  if (OPAL_UNLIKELY(!operation)) return NULL;
  set_up(operation, nodes->comm, nodes, persistent ? NULL : &nodes->lane, which, call);
  operation->nodes = nodes;
  operation->group = group;
  return operation;
}

void coll_smelt_operation_discard(coll_smelt_operation *operation) {
  ompi_request_t *request = &operation->super.super;
  struct ompi_communicator_t *comm = request->req_mpi_object.comm;
  if (request->req_persistent) {
    release(&operation->call);
    if (operation->nodes) coll_smelt_nodes_end(operation);
    if (operation->group) coll_smelt_group_free(operation->group);
    if (operation->call.exchange) coll_smelt_exchange_forget(operation->module, &operation->exchange);
  }
  free(operation->messages);
  OMPI_REQUEST_FINI(request);
  OPAL_THREAD_LOCK(&lock);
  operation->next = unused;
  unused = operation;
  OPAL_THREAD_UNLOCK(&lock);
  OBJ_RELEASE(comm);
}

void coll_smelt_requests_begin(void) { OBJ_CONSTRUCT(&lock, opal_mutex_t); }

void coll_smelt_requests_end(void) {
  if (atomic_exchange_explicit(&registered, false, memory_order_relaxed)) opal_progress_unregister(progress);
  for (coll_smelt_operation *operation; (operation = unused);) {
    unused = operation->next;
    OBJ_RELEASE(operation);
  }
  OBJ_DESTRUCT(&lock);
}
