/* Receiving. Data with gaps go through a convertor as they come, piece by piece. */
#include "receive.h"

#include "counters.h"
#include "data.h"
#include "endpoint.h"
#include "lower.h"

#include <errno.h>
#include <string.h>

void *pml_smelt_place(pml_smelt_request *receive, void *buffer, size_t count, struct ompi_datatype_t *type,
                      size_t *room) {
  *room = type->super.size * count;
  receive->transfer.unpack = NULL;
  if (pml_smelt_in_one_piece(type, count)) return pml_smelt_begin_of(buffer, type);
  receive->transfer.unpack = pml_smelt_unpack;
  pml_smelt_convert(receive, buffer, count, type);
  return NULL;
}

/* Open MPI's words for the outcome. */
static void fill(const pml_smelt_communicator *served, const smelt_transfer *transfer, ompi_status_public_t *status) {
  const bool met = transfer->error == 0 || transfer->error == -EMSGSIZE;
  status->MPI_SOURCE = met ? served->ranks[transfer->peer] : MPI_ANY_SOURCE;
  status->MPI_TAG = met ? transfer->tag : MPI_ANY_TAG;
  status->MPI_ERROR = transfer->error == 0 ? MPI_SUCCESS : met ? MPI_ERR_TRUNCATE : MPI_ERR_OTHER;
  status->_cancelled = 0;
  status->_ucount = met ? transfer->length : 0; /* of one that was cut off, too: as Open MPI's own */
}

int pml_smelt_tell(const pml_smelt_communicator *served, const smelt_transfer *transfer, ompi_status_public_t *status) {
  ompi_status_public_t outcome;
  fill(served, transfer, &outcome);
  if (status != MPI_STATUS_IGNORE) OMPI_COPY_STATUS(status, outcome, false);
  return outcome.MPI_ERROR;
}

void pml_smelt_receive_completed(smelt_transfer *transfer) {
  pml_smelt_request *receive = pml_smelt_request_of(transfer);
  pml_smelt_convert_end(receive);
  fill(receive->served, transfer, &receive->super.req_status);
  pml_smelt_request_complete(receive);
}

/* 1: it is done, 0: it is not; or an error. */
static int post(const pml_smelt_communicator *served, smelt_transfer *transfer, int from, int tag, void *buffer,
                size_t room) {
  pml_smelt_count(&pml_smelt_tally.receives);
  pml_smelt_keep_promise(served, from, tag);
  return smelt_endpoint_receive(pml_smelt_endpoint, transfer, from == MPI_ANY_SOURCE ? -1 : served->members[from],
                                served->context, tag == MPI_ANY_TAG ? 0 : tag, tag == MPI_ANY_TAG, buffer, room);
}

/* A request's. Unless it is done when this returns, somebody else completes it. */
static void begin(pml_smelt_request *receive, void *buffer, size_t count, struct ompi_datatype_t *type, int from,
                  int tag) {
  pml_smelt_request_activate(receive);
  size_t room;
  void *at = pml_smelt_place(receive, buffer, count, type, &room);
  receive->transfer.completed = pml_smelt_receive_completed;
  if (post(receive->served, &receive->transfer, from, tag, at, room) == 1)
    pml_smelt_receive_completed(&receive->transfer);
}

int pml_smelt_irecv(void *buffer, size_t count, struct ompi_datatype_t *type, int from, int tag,
                    struct ompi_communicator_t *comm, struct ompi_request_t **request) {
  pml_smelt_communicator *served = pml_smelt_served(comm);
  if (!served) return pml_smelt_lower.pml_irecv(buffer, count, type, from, tag, comm, request);
  pml_smelt_request *receive = pml_smelt_request_new(PML_SMELT_RECEIVE, comm, served, false);
  if (!receive) return OMPI_ERR_TEMP_OUT_OF_RESOURCE;
  *request = &receive->super;
  begin(receive, buffer, count, type, from, tag);
  return OMPI_SUCCESS;
}

int pml_smelt_recv(void *buffer, size_t count, struct ompi_datatype_t *type, int from, int tag,
                   struct ompi_communicator_t *comm, ompi_status_public_t *status) {
  pml_smelt_communicator *served = pml_smelt_served(comm);
  if (!served) return pml_smelt_lower.pml_recv(buffer, count, type, from, tag, comm, status);
  if (!pml_smelt_in_one_piece(type, count)) {
    ompi_request_t *request;
    const int error = pml_smelt_irecv(buffer, count, type, from, tag, comm, &request);
    return error != OMPI_SUCCESS ? error : pml_smelt_wait_and_free(request, status);
  }
  smelt_transfer transfer;
  transfer.completed = NULL;
  transfer.unpack = NULL;
  transfer.holds = 0;
  if (post(served, &transfer, from, tag, pml_smelt_begin_of(buffer, type), type->super.size * count) == 0)
    pml_smelt_wait(&transfer);
  return pml_smelt_tell(served, &transfer, status);
}

int pml_smelt_irecv_init(void *buffer, size_t count, struct ompi_datatype_t *type, int from, int tag,
                         struct ompi_communicator_t *comm, struct ompi_request_t **request) {
  pml_smelt_communicator *served = pml_smelt_served(comm);
  if (!served) return pml_smelt_lower.pml_irecv_init(buffer, count, type, from, tag, comm, request);
  pml_smelt_request *receive = pml_smelt_request_new(PML_SMELT_RECEIVE, comm, served, true);
  if (!receive) return OMPI_ERR_TEMP_OUT_OF_RESOURCE;
  OMPI_DATATYPE_RETAIN(type);
  receive->datatype = type;
  receive->buffer = buffer;
  receive->count = count;
  receive->peer = from;
  receive->tag = tag;
  *request = &receive->super;
  return OMPI_SUCCESS;
}

int pml_smelt_start_receive(pml_smelt_request *receive) {
  begin(receive, receive->buffer, receive->count, receive->datatype, receive->peer, receive->tag);
  return OMPI_SUCCESS;
}

int pml_smelt_cancel_receive(struct ompi_request_t *request, int flag) {
  pml_smelt_request *receive = (pml_smelt_request *)request;
  (void)flag;
  if (request->req_state != OMPI_REQUEST_ACTIVE || REQUEST_COMPLETE(request) ||
      !smelt_endpoint_cancel(pml_smelt_endpoint, &receive->transfer))
    return OMPI_SUCCESS;
  pml_smelt_convert_end(receive);
  request->req_status._cancelled = true;
  pml_smelt_request_complete(receive);
  return OMPI_SUCCESS;
}
