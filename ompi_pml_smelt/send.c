/* Sending.
 *
 *   standard, ready   the endpoint decides: short ones are done at once
 *   synchronous       done when the message has met its receive
 *   buffered          copied to the program's buffer, and sent from there by a request of which nobody knows */
#include "send.h"

#include "counters.h"
#include "data.h"
#include "endpoint.h"
#include "lower.h"
#include "node.h"

#include "ompi/mca/pml/base/pml_base_bsend.h"

#include <errno.h>

static void count_send(unsigned member, size_t bytes) {
  pml_smelt_count(!pml_smelt_is_near(member)        ? &pml_smelt_tally.far_sends
                  : bytes <= pml_smelt_inbox_bytes  ? &pml_smelt_tally.inline_sends
                  : bytes <= pml_smelt_packet_bytes ? &pml_smelt_tally.eager_sends
                                                    : &pml_smelt_tally.long_sends);
}

/* 1: it is done; 0: not yet; negative: it has not begun. */
static int begin(const pml_smelt_communicator *served, smelt_transfer *transfer, int to, int tag, const void *data,
                 size_t bytes, mca_pml_base_send_mode_t mode) {
  count_send(served->members[to], bytes);
  return smelt_endpoint_send(pml_smelt_endpoint, transfer, served->members[to], served->context, tag, data, bytes,
                             mode == MCA_PML_BASE_SEND_SYNCHRONOUS);
}

/* A short one that goes at once needs nothing kept for it. */
static bool send_now(const pml_smelt_communicator *served, int to, int tag, const void *buffer, size_t count,
                     struct ompi_datatype_t *type, mca_pml_base_send_mode_t mode) {
  const size_t bytes = type->super.size * count;
  if (mode == MCA_PML_BASE_SEND_SYNCHRONOUS || bytes > pml_smelt_packet_bytes || !pml_smelt_in_one_piece(type, count) ||
      !smelt_endpoint_send_now(pml_smelt_endpoint, served->members[to], served->context, tag,
                               pml_smelt_begin_of(buffer, type), bytes))
    return false;
  count_send(served->members[to], bytes);
  return true;
}

/* It is done: everything kept for it is given back. */
static void finish(pml_smelt_request *send) {
  pml_smelt_convert_end(send);
  if (send->copy) (void)mca_pml_base_bsend_request_free(send->copy);
  send->copy = NULL;
  ompi_status_public_t *status = &send->super.req_status;
  status->MPI_SOURCE = ompi_comm_rank(send->comm);
  status->MPI_TAG = send->tag;
  status->MPI_ERROR = send->transfer.error ? MPI_ERR_OTHER : MPI_SUCCESS;
  status->_ucount = send->bytes;
}

static void completed(smelt_transfer *transfer) {
  pml_smelt_request *send = pml_smelt_request_of(transfer);
  finish(send);
  if (send->detached)
    pml_smelt_request_recycle(send);
  else
    pml_smelt_request_complete(send);
}

/* The answer for a request: 1, 0 or negative, as begin(). The data have gaps or not. */
static int begin_request(pml_smelt_request *send, const void *buffer, size_t count, struct ompi_datatype_t *type,
                         int to) {
  const void *data = NULL;
  send->transfer.completed = completed;
  send->transfer.pack = NULL;
  if (send->copy)
    data = send->copy;
  else if (pml_smelt_in_one_piece(type, count))
    data = pml_smelt_begin_of(buffer, type);
  else {
    pml_smelt_convert(send, buffer, count, type);
    send->transfer.pack = pml_smelt_pack;
  }
  return begin(send->served, &send->transfer, to, send->tag, data, send->bytes, send->mode);
}

/* The code for what begin_request() has answered: if that is not 0, nobody else has the request: it is given back. */
static int code_of_begun(pml_smelt_request *send, int result) {
  if (result == 0) return OMPI_SUCCESS;
  finish(send);
  pml_smelt_request_recycle(send);
  return result < 0 ? OMPI_ERROR : OMPI_SUCCESS;
}

static int send_buffered(const void *buffer, size_t count, struct ompi_datatype_t *type, int to, int tag,
                         struct ompi_communicator_t *comm, pml_smelt_communicator *served) {
  pml_smelt_request *send = pml_smelt_request_new(PML_SMELT_SEND, comm, served, false);
  if (!send) return OMPI_ERR_TEMP_OUT_OF_RESOURCE;
  send->mode = MCA_PML_BASE_SEND_BUFFERED;
  send->detached = true;
  send->tag = tag;
  send->bytes = type->super.size * count;
  if (send->bytes > 0) {
    send->copy = mca_pml_base_bsend_request_alloc_buf(send->bytes);
    if (!send->copy) {
      pml_smelt_request_recycle(send);
      return OMPI_ERR_BUFFER;
    }
    pml_smelt_convert(send, buffer, count, type); /* which copies data without gaps, too */
    pml_smelt_pack(&send->transfer, 0, send->copy, send->bytes);
    pml_smelt_convert_end(send);
  }
  return code_of_begun(send, begin_request(send, buffer, count, type, to));
}

int pml_smelt_isend(const void *buffer, size_t count, struct ompi_datatype_t *type, int to, int tag,
                    mca_pml_base_send_mode_t mode, struct ompi_communicator_t *comm, struct ompi_request_t **request) {
  pml_smelt_communicator *served = pml_smelt_served(comm);
  if (!served) return pml_smelt_lower.pml_isend(buffer, count, type, to, tag, mode, comm, request);
  *request = &ompi_request_empty; /* for one that is done: all that is said of a send is whether it was cancelled */
  if (mode == MCA_PML_BASE_SEND_BUFFERED) return send_buffered(buffer, count, type, to, tag, comm, served);
  if (send_now(served, to, tag, buffer, count, type, mode)) return OMPI_SUCCESS;
  pml_smelt_request *send = pml_smelt_request_new(PML_SMELT_SEND, comm, served, false);
  if (!send) return OMPI_ERR_TEMP_OUT_OF_RESOURCE;
  pml_smelt_request_activate(send);
  send->mode = mode;
  send->tag = tag;
  send->bytes = type->super.size * count;
  const int result = begin_request(send, buffer, count, type, to);
  if (result == 0) *request = &send->super;
  return code_of_begun(send, result);
}

int pml_smelt_send(const void *buffer, size_t count, struct ompi_datatype_t *type, int to, int tag,
                   mca_pml_base_send_mode_t mode, struct ompi_communicator_t *comm) {
  pml_smelt_communicator *served = pml_smelt_served(comm);
  if (!served) return pml_smelt_lower.pml_send(buffer, count, type, to, tag, mode, comm);
  if (mode == MCA_PML_BASE_SEND_BUFFERED) return send_buffered(buffer, count, type, to, tag, comm, served);
  if (send_now(served, to, tag, buffer, count, type, mode)) return OMPI_SUCCESS;
  if (!pml_smelt_in_one_piece(type, count)) {
    ompi_request_t *request;
    const int error = pml_smelt_isend(buffer, count, type, to, tag, mode, comm, &request);
    return error != OMPI_SUCCESS || request == &ompi_request_empty
               ? error
               : pml_smelt_wait_and_free(request, MPI_STATUS_IGNORE);
  }
  smelt_transfer transfer;
  transfer.completed = NULL;
  transfer.pack = NULL;
  const int result =
      begin(served, &transfer, to, tag, pml_smelt_begin_of(buffer, type), type->super.size * count, mode);
  if (result < 0) return OMPI_ERROR;
  if (result == 0) pml_smelt_wait(&transfer);
  return transfer.error ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int pml_smelt_isend_init(const void *buffer, size_t count, struct ompi_datatype_t *type, int to, int tag,
                         mca_pml_base_send_mode_t mode, struct ompi_communicator_t *comm,
                         struct ompi_request_t **request) {
  pml_smelt_communicator *served = pml_smelt_served(comm);
  if (!served) return pml_smelt_lower.pml_isend_init(buffer, count, type, to, tag, mode, comm, request);
  pml_smelt_request *send = pml_smelt_request_new(PML_SMELT_SEND, comm, served, true);
  if (!send) return OMPI_ERR_OUT_OF_RESOURCE;
  OMPI_DATATYPE_RETAIN(type);
  send->datatype = type;
  send->mode = mode;
  send->buffer = (void *)(uintptr_t)buffer;
  send->count = count;
  send->peer = to;
  send->tag = tag;
  send->bytes = type->super.size * count;
  *request = &send->super;
  return OMPI_SUCCESS;
}

int pml_smelt_start_send(pml_smelt_request *send) {
  pml_smelt_request_activate(send);
  int error = OMPI_SUCCESS;
  if (send->mode == MCA_PML_BASE_SEND_BUFFERED) {
    error = send_buffered(send->buffer, send->count, send->datatype, send->peer, send->tag, send->comm, send->served);
    send->transfer.error = error == OMPI_SUCCESS ? 0 : -ENOBUFS;
  } else {
    const int result = begin_request(send, send->buffer, send->count, send->datatype, send->peer);
    if (result == 0) return OMPI_SUCCESS;
    if (result < 0) send->transfer.error = -EINVAL, error = OMPI_ERROR;
  }
  completed(&send->transfer);
  return error;
}
