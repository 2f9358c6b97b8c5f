/* Open MPI's requests, and their owners over time.
 *
 * A request that is under way is completed by a thread that makes progress, and freed by the program, perhaps before
 * that. The second of the two puts it back. Which is second is decided in `phase`:
 *
 *   life, counted upwards | DONE: the completer is through with it | FREED: the program is
 *
 * The completer is through when Open MPI has been told, not before: a completion may call back (collectives,
 * one-sided), and the callback, or the program that sees it complete, may free the request or start it again. If
 * another life has begun when the completer comes back, it has nothing more to say; it may look, since the memory of
 * requests remains that of requests. */
#include "requests.h"

#include "counters.h"
#include "endpoint.h"

#include "ompi/runtime/mpiruntime.h"
#include "opal/class/opal_free_list.h"
#include "opal/runtime/opal_progress.h"

#include <sched.h>
#include <string.h>

enum { kFreed = 1, kDone = 2, kFlags = kFreed | kDone, kLife = 4 };

static opal_free_list_t free_requests;
static bool begun;
static pml_smelt_acts acts_of;

static int cancel(ompi_request_t *request, int flag) {
  return ((pml_smelt_request *)request)->kind == PML_SMELT_RECEIVE ? acts_of.cancel_receive(request, flag)
                                                                   : OMPI_SUCCESS; /* as in Open MPI's own */
}

static void construct(pml_smelt_request *request) {
  request->super.req_type = OMPI_REQUEST_PML;
  request->super.req_start = pml_smelt_start;
  request->super.req_free = pml_smelt_request_free;
  request->super.req_cancel = cancel;
  memset(&request->transfer, 0, sizeof request->transfer);
  atomic_init(&request->phase, 0);
  OBJ_CONSTRUCT(&request->convertor, opal_convertor_t);
}
static void destruct(pml_smelt_request *request) { OBJ_DESTRUCT(&request->convertor); }

OBJ_CLASS_INSTANCE(pml_smelt_request, ompi_request_t, construct, destruct);

int pml_smelt_requests_begin(const pml_smelt_acts *acts) {
  acts_of = *acts;
  if (begun) return OMPI_SUCCESS;
  OBJ_CONSTRUCT(&free_requests, opal_free_list_t);
  const int error =
      opal_free_list_init(&free_requests, sizeof(pml_smelt_request), opal_cache_line_size, OBJ_CLASS(pml_smelt_request),
                          0, opal_cache_line_size, 16, -1, 64, NULL, 0, NULL, NULL, NULL);
  begun = error == OMPI_SUCCESS;
  if (begun) (void)opal_progress_register(pml_smelt_progress);
  return error;
}

void pml_smelt_requests_end(void) {
  if (!begun) return;
  (void)opal_progress_unregister(pml_smelt_progress);
  OBJ_DESTRUCT(&free_requests);
  begun = false;
}

/* --- birth, and the place to go back to */

pml_smelt_request *pml_smelt_request_new(pml_smelt_kind kind, struct ompi_communicator_t *comm,
                                         pml_smelt_communicator *served, bool persistent) {
  pml_smelt_request *request = (pml_smelt_request *)opal_free_list_get(&free_requests);
  if (!request) return NULL;
  OBJ_RETAIN(comm);
  OMPI_REQUEST_INIT(&request->super, persistent);
  request->super.req_mpi_object.comm = comm;
  request->super.req_status._cancelled = 0;
  request->kind = kind;
  request->mode = MCA_PML_BASE_SEND_STANDARD;
  request->detached = false;
  request->comm = comm;
  request->served = served;
  request->datatype = NULL;
  request->gaps = false;
  request->copy = NULL;
  request->transfer.pack = NULL;
  request->transfer.completed = NULL;
  request->transfer.unpack = NULL;
  request->transfer.holds = 0;
  /* relaxed: nobody else knows of it. One that is not started yet is done with. */
  const unsigned life = atomic_load_explicit(&request->phase, memory_order_relaxed) | kFlags;
  atomic_store_explicit(&request->phase, (life + 1) | (persistent ? kDone : 0), memory_order_relaxed);
  return request;
}

void pml_smelt_request_recycle(pml_smelt_request *request) {
  OMPI_REQUEST_FINI(&request->super);
  if (request->datatype) OMPI_DATATYPE_RELEASE(request->datatype);
  struct ompi_communicator_t *comm = request->comm;
  OBJ_RELEASE(comm); /* a macro that uses its argument several times */
  opal_free_list_return(&free_requests, &request->super.super);
}

void pml_smelt_request_activate(pml_smelt_request *request) {
  request->super.req_status = (ompi_status_public_t){
      .MPI_SOURCE = MPI_ANY_SOURCE, .MPI_TAG = MPI_ANY_TAG, .MPI_ERROR = MPI_SUCCESS, ._cancelled = 0, ._ucount = 0};
  request->super.req_complete = REQUEST_PENDING;
  request->super.req_state = OMPI_REQUEST_ACTIVE;
  /* relaxed: its completer is told of it later */
  const unsigned life = atomic_load_explicit(&request->phase, memory_order_relaxed) | kFlags;
  atomic_store_explicit(&request->phase, life + 1, memory_order_relaxed);
}

/* --- its end */

/* Sets a flag of this life; false: another life has begun. `*before`: the phase. Where one thread at a time is within,
 * no exchange is needed. */
static bool mark(pml_smelt_request *request, unsigned life, unsigned flag, unsigned *before) {
  /* relaxed: the exchange decides */
  *before = atomic_load_explicit(&request->phase, memory_order_relaxed);
  if (!pml_smelt_threads) {
    if (*before / kLife != life) return false;
    atomic_store_explicit(&request->phase, *before | flag, memory_order_relaxed);
    return true;
  }
  /* acquire, release: the other one of the two has done with it */
  do {
    if (*before / kLife != life) return false;
  } while (!atomic_compare_exchange_weak_explicit(&request->phase, before, *before | flag, memory_order_acq_rel,
                                                  memory_order_relaxed));
  return true;
}

void pml_smelt_request_complete(pml_smelt_request *request) {
  /* relaxed: of this life it is told with the request */
  unsigned phase = atomic_load_explicit(&request->phase, memory_order_relaxed);
  const unsigned life = phase / kLife;
  /* Freed before: nobody can be told that the message was longer than the buffer. MPI calls that fatal, and Open MPI's
   * own end the job. */
  if ((phase & kFreed) && request->super.req_status.MPI_ERROR == MPI_ERR_TRUNCATE)
    (void)ompi_mpi_abort(request->comm, MPI_ERR_TRUNCATE);
  /* release: the status, and the data. Open MPI's own exchange only acquires on some processors. */
  atomic_thread_fence(memory_order_release);
  (void)ompi_request_complete(&request->super, true);
  if (mark(request, life, kDone, &phase) && (phase & kFreed)) pml_smelt_request_recycle(request);
}

int pml_smelt_request_free(ompi_request_t **freed) {
  pml_smelt_request *request = (pml_smelt_request *)*freed;
  *freed = MPI_REQUEST_NULL;
  OMPI_REQUEST_FINI(&request->super); /* the program cannot name it any more */
  /* relaxed: it is the program's, which is within one life of it */
  const unsigned life = atomic_load_explicit(&request->phase, memory_order_relaxed) / kLife;
  unsigned before;
  if (mark(request, life, kFreed, &before) && (before & kDone)) pml_smelt_request_recycle(request);
  return OMPI_SUCCESS;
}

/* --- waiting */

int pml_smelt_progress(void) { return pml_smelt_endpoint ? smelt_endpoint_progress(pml_smelt_endpoint) : 0; }

bool pml_smelt_look(void) {
  enum { kOthers = 16 };
  static unsigned looks; /* by all threads. Relaxed, and not as one: a number that is lost changes nothing */
  const unsigned number = __atomic_load_n(&looks, __ATOMIC_RELAXED) + 1;
  __atomic_store_n(&looks, number, __ATOMIC_RELAXED);
  if (number % kOthers == 0) opal_progress(); /* ours, too */
  return smelt_endpoint_progress(pml_smelt_endpoint) != 0;
}

void pml_smelt_wait(smelt_transfer *transfer) { pml_smelt_wait_for(&transfer, 1, 1); }

void pml_smelt_wait_for(smelt_transfer *const *transfers, unsigned count, unsigned needed) {
  (void)smelt_endpoint_wait(pml_smelt_endpoint, transfers, count, needed);
}

/* The transfer is done a moment before the request is complete. */
int pml_smelt_wait_and_free(ompi_request_t *request, ompi_status_public_t *status) {
  if (!REQUEST_COMPLETE(request)) pml_smelt_wait(&((pml_smelt_request *)request)->transfer);
  while (!REQUEST_COMPLETE(request)) /* its completer is about to say so */
    sched_yield();
  opal_atomic_rmb();
  if (status != MPI_STATUS_IGNORE) OMPI_COPY_STATUS(status, request->req_status, false);
  const int error = request->req_status.MPI_ERROR;
  (void)ompi_request_free(&request);
  return error;
}

/* --- persistent ones */

int pml_smelt_start(size_t count, ompi_request_t **requests) {
  for (size_t i = 0; i < count; ++i) {
    ompi_request_t *request = requests[i];
    if (!request || request->req_type != OMPI_REQUEST_PML) continue; /* as Open MPI's own do */
    int error;
    if (request->req_start != pml_smelt_start)
      error = request->req_start(1, &requests[i]); /* which may put another in its place */
    else if (((pml_smelt_request *)request)->kind == PML_SMELT_SEND)
      error = acts_of.start_send((pml_smelt_request *)request);
    else
      error = acts_of.start_receive((pml_smelt_request *)request);
    if (error != OMPI_SUCCESS) return error;
  }
  return OMPI_SUCCESS;
}
