/* MPI_Wait, MPI_Test and their kin. Open MPI's own look at requests alone, and have everybody's progress made by the
 * waiters; with very many threads that is mostly waiting for each other. Where the requests are ours the endpoint waits
 * for them, and then Open MPI's own function finds them complete, and does the rest: statuses, errors, handles.
 *
 *   one, all      ours first, some at a time; other requests get on meanwhile, and are waited for afterwards
 *   any, some     only where all that are under way are ours, and not too many; else Open MPI's own
 *
 * A test of one of ours looks into the inbox, and Open MPI's own functions, which make everybody's progress, come now
 * and then. */
#include "waits.h"

#include "requests.h"

enum { kAtOnce = 64 }; /* transfers, on the stack */

static ompi_request_fns_t stock;
static bool replaced;

/* NULL: it is complete, or not ours. */
static smelt_transfer *pending(ompi_request_t *request) {
  return pml_smelt_is_ours(request) && request->req_state == OMPI_REQUEST_ACTIVE && !REQUEST_COMPLETE(request)
             ? &((pml_smelt_request *)request)->transfer
             : NULL;
}

static int test_one(ompi_request_t **request, int *completed, ompi_status_public_t *status) {
  if (pending(*request)) {
    (void)pml_smelt_look();
    *completed = false;
    if (pending(*request)) return OMPI_SUCCESS;
  }
  return stock.req_test(request, completed, status);
}

static int test_any(size_t count, ompi_request_t **requests, int *index, int *completed, ompi_status_public_t *status) {
  bool is_ours = false;
  for (size_t i = 0; i < count; ++i) {
    if (requests[i]->req_state == OMPI_REQUEST_INACTIVE) continue;
    if (!pending(requests[i])) return stock.req_test_any(count, requests, index, completed, status);
    is_ours = true;
  }
  if (is_ours) {
    (void)pml_smelt_look();
    bool any = false;
    for (size_t i = 0; i < count && !any; ++i)
      any = requests[i]->req_state != OMPI_REQUEST_INACTIVE && !pending(requests[i]);
    *index = MPI_UNDEFINED;
    *completed = false;
    if (!any) return OMPI_SUCCESS;
  }
  return stock.req_test_any(count, requests, index, completed, status);
}

static int wait_one(ompi_request_t **request, ompi_status_public_t *status) {
  smelt_transfer *transfer = pending(*request);
  if (transfer) pml_smelt_wait(transfer);
  return stock.req_wait(request, status);
}

/* The error comes first: nearly all requests have none. */
static bool has_failed(const ompi_request_t *request) {
  return request->req_status.MPI_ERROR != MPI_SUCCESS && pml_smelt_is_ours(request) &&
         request->req_state == OMPI_REQUEST_ACTIVE;
}

/* One of them has failed. The caller then looks for such requests, calls the error handler, and frees them. Open MPI's
 * own function, when one has failed before it looks, as all of ours have by then, waits for ever where several threads
 * are within (4.1.4), forgets a persistent one, and from 5.0.10 on, without statuses, all (its pull request 13636). */
__attribute__((cold, noinline)) static int end_failed(size_t count, ompi_request_t **requests,
                                                      ompi_status_public_t *statuses) {
  for (size_t i = 0; i < count; ++i) {
    const bool pending = requests[i]->req_state == OMPI_REQUEST_ACTIVE && !REQUEST_COMPLETE(requests[i]);
    const int error =
        pending ? MPI_ERR_PENDING : stock.req_wait(&requests[i], statuses ? &statuses[i] : MPI_STATUS_IGNORE);
    if (statuses) statuses[i].MPI_ERROR = error;
  }
  return MPI_ERR_IN_STATUS;
}

static int wait_all(size_t count, ompi_request_t **requests, ompi_status_public_t *statuses) {
  smelt_transfer *transfers[kAtOnce];
  unsigned found = 0;
  for (size_t i = 0; i < count; ++i) {
    smelt_transfer *transfer = pending(requests[i]);
    if (OPAL_UNLIKELY(!transfer)) continue;
    transfers[found++] = transfer;
    if (found == kAtOnce) pml_smelt_wait_for(transfers, found, found), found = 0;
  }
  if (found) pml_smelt_wait_for(transfers, found, found);
  bool failed = false;
  for (size_t i = 0; i < count && !failed; ++i) failed = has_failed(requests[i]);
  return failed ? end_failed(count, requests, statuses) : stock.req_wait_all(count, requests, statuses);
}

/* Waits until one is complete, where we may wait for them. */
static void wait_for_one(size_t count, ompi_request_t **requests) {
  smelt_transfer *transfers[kAtOnce];
  unsigned found = 0;
  for (size_t i = 0; i < count; ++i) {
    if (requests[i]->req_state != OMPI_REQUEST_ACTIVE) continue;
    if (found == kAtOnce || !(transfers[found] = pending(requests[i]))) return;
    ++found;
  }
  if (found) pml_smelt_wait_for(transfers, found, 1);
}

static int wait_any(size_t count, ompi_request_t **requests, int *index, ompi_status_public_t *status) {
  wait_for_one(count, requests);
  return stock.req_wait_any(count, requests, index, status);
}

static int wait_some(size_t count, ompi_request_t **requests, int *done, int *indices, ompi_status_public_t *statuses) {
  wait_for_one(count, requests);
  return stock.req_wait_some(count, requests, done, indices, statuses);
}

void pml_smelt_waits_begin(void) {
  if (replaced) return;
  replaced = true;
  stock = ompi_request_functions;
  ompi_request_functions.req_test = test_one;
  ompi_request_functions.req_test_any = test_any;
  ompi_request_functions.req_wait = wait_one;
  ompi_request_functions.req_wait_all = wait_all;
  ompi_request_functions.req_wait_any = wait_any;
  ompi_request_functions.req_wait_some = wait_some;
}

void pml_smelt_waits_end(void) {
  if (replaced) ompi_request_functions = stock;
  replaced = false;
}
