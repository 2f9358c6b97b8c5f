/* The requests of nonblocking and persistent collectives: born, begun, freed. lanes.c advances them. */
#include "requests.h"

static opal_mutex_t lock;            /* of the list */
static coll_smelt_operation *unused; /* for later: Open MPI's own free list would need 16-byte atomics of us */

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

/* MPI_Start and MPI_Startall. */
static int restart(size_t count, ompi_request_t **requests) {
  for (size_t i = 0; i < count; ++i) {
    coll_smelt_operation *operation = (coll_smelt_operation *)requests[i];
    const int error = operation->kind->open(operation);
    if (OPAL_UNLIKELY(error != OMPI_SUCCESS)) return error;
    coll_smelt_post(&operation->queued);
  }
  return OMPI_SUCCESS;
}

static void construct(coll_smelt_operation *operation) {
  ompi_request_t *request = &operation->queued.super.super;
  request->req_type = OMPI_REQUEST_COLL;
  request->req_status = ompi_status_empty;
  request->req_start = restart;
  request->req_cancel = cancel_operation;
  operation->memory = NULL;
  operation->memory_bytes = 0;
}

static void destruct(coll_smelt_operation *operation) { free(operation->memory); }

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
  if (operation) unused = (coll_smelt_operation *)operation->queued.next;
  OPAL_THREAD_UNLOCK(&lock);
  return operation ? operation : OBJ_NEW(coll_smelt_operation);
}

coll_smelt_operation *coll_smelt_operation_new(const coll_smelt_kind *kind, struct ompi_communicator_t *comm,
                                               const void *owner, coll_smelt_lane *lane, smelt_collective which,
                                               const coll_smelt_call *call, bool persistent) {
  coll_smelt_operation *operation = obtain();
  if (OPAL_UNLIKELY(!operation)) return NULL;
  ompi_request_t *request = &operation->queued.super.super;
  OMPI_REQUEST_INIT(request, persistent);
  request->req_free = free_operation; /* MPI may have put its own before it */
  request->req_mpi_object.comm = comm;
  OBJ_RETAIN(comm); /* which may be freed before this is complete */
  operation->queued.step = kind->step;
  coll_smelt_lane_begin(&operation->own, owner);
  operation->queued.lane = lane ? lane : &operation->own;
  operation->kind = kind;
  operation->module = NULL;
  operation->group = NULL;
  operation->state = NULL;
  operation->which = which;
  operation->call = *call;
  if (call->exchange) operation->exchange = *call->exchange, operation->call.exchange = &operation->exchange;
  if (persistent) retain(call);
  return operation;
}

void coll_smelt_operation_discard(coll_smelt_operation *operation) {
  ompi_request_t *request = &operation->queued.super.super;
  struct ompi_communicator_t *comm = request->req_mpi_object.comm;
  operation->kind->end(operation);
  if (request->req_persistent) release(&operation->call);
  free(operation->state);
  OMPI_REQUEST_FINI(request);
  OPAL_THREAD_LOCK(&lock);
  operation->queued.next = (coll_smelt_queued *)unused;
  unused = operation;
  OPAL_THREAD_UNLOCK(&lock);
  OBJ_RELEASE(comm);
}

int coll_smelt_operation_begin(coll_smelt_operation *operation, ompi_request_t **request) {
  const int error = operation->kind->open(operation);
  if (OPAL_UNLIKELY(error != OMPI_SUCCESS)) {
    coll_smelt_operation_discard(operation);
    return error;
  }
  *request = &operation->queued.super.super;
  coll_smelt_post(&operation->queued);
  return OMPI_SUCCESS;
}

void coll_smelt_requests_begin(void) { OBJ_CONSTRUCT(&lock, opal_mutex_t); }

void coll_smelt_requests_end(void) {
  for (coll_smelt_operation *operation; (operation = unused);) {
    unused = (coll_smelt_operation *)operation->queued.next;
    OBJ_RELEASE(operation);
  }
  OBJ_DESTRUCT(&lock);
}
