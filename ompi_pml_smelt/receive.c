/* Receiving. Data with gaps go through a convertor as they come, piece by piece. */
#include "pml_smelt.h"

#include <errno.h>
#include <string.h>

static pml_smelt_request* request_of(smelt_transfer* transfer) {
  return (pml_smelt_request*)((char*)transfer - offsetof(pml_smelt_request, transfer));
}

static void unpack(smelt_transfer* transfer, uint64_t at, const void* data, uint64_t bytes) {
  (void)at; /* the pieces are consecutive, and the convertor knows where it is */
  struct iovec vector = {.iov_base = (IOVBASE_TYPE*)(uintptr_t)data, .iov_len = bytes};
  uint32_t vectors = 1;
  size_t moved = bytes;
  (void)opal_convertor_unpack(&request_of(transfer)->convertor, &vector, &vectors, &moved);
}

void* pml_smelt_place(pml_smelt_request* receive, void* buffer, size_t count, struct ompi_datatype_t* type,
                      size_t* room) {
  *room = type->super.size * count;
  receive->gaps = !pml_smelt_in_one_piece(type, count);
  receive->transfer.unpack = receive->gaps ? unpack : NULL;
  if (!receive->gaps) return pml_smelt_begin_of(buffer, type);
  if (!receive->datatype) { /* the program may free it before the message comes */
    OMPI_DATATYPE_RETAIN(type);
    receive->datatype = type;
  }
  opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &type->super, count, buffer, 0,
                                           &receive->convertor);
  return NULL;
}

void pml_smelt_status(const pml_smelt_communicator* served, const smelt_transfer* transfer,
                      ompi_status_public_t* status) {
  status->MPI_SOURCE = served->ranks[transfer->peer];
  status->MPI_TAG = transfer->tag;
  status->MPI_ERROR = transfer->error == 0           ? MPI_SUCCESS
                      : transfer->error == -EMSGSIZE ? MPI_ERR_TRUNCATE
                                                     : MPI_ERR_OTHER;
  status->_cancelled = 0;
  status->_ucount = transfer->length; /* of one that was cut off, too: as Open MPI's own */
}

void pml_smelt_receive_finish(pml_smelt_request* receive) {
  if (receive->gaps) opal_convertor_cleanup(&receive->convertor);
  pml_smelt_status(receive->served, &receive->transfer, &receive->super.req_status);
}

void pml_smelt_receive_completed(smelt_transfer* transfer) {
  pml_smelt_request* receive = request_of(transfer);
  pml_smelt_receive_finish(receive);
  pml_smelt_request_complete(receive);
}

/* 1: it is done, 0: it is not; or an error. */
static int post(const pml_smelt_communicator* served, smelt_transfer* transfer, int from, int tag, void* buffer,
                size_t room) {
  pml_smelt_count(&pml_smelt_tally.receives);
  if (from == MPI_ANY_SOURCE || tag == MPI_ANY_TAG) pml_smelt_count(&pml_smelt_tally.wildcards);
  return smelt_endpoint_receive(pml_smelt_endpoint, transfer, from == MPI_ANY_SOURCE ? -1 : served->members[from],
                                served->context, tag == MPI_ANY_TAG ? 0 : tag, tag == MPI_ANY_TAG, buffer, room);
}

int pml_smelt_irecv(void* buffer, size_t count, struct ompi_datatype_t* type, int from, int tag,
                    struct ompi_communicator_t* comm, struct ompi_request_t** request) {
  pml_smelt_communicator* served = pml_smelt_served(comm);
  if (!served) return pml_smelt_lower.pml_irecv(buffer, count, type, from, tag, comm, request);
  pml_smelt_request* receive = pml_smelt_request_new(PML_SMELT_RECEIVE, comm, served, false);
  if (!receive) return OMPI_ERR_TEMP_OUT_OF_RESOURCE;
  pml_smelt_request_activate(receive);
  size_t room;
  void* begin = pml_smelt_place(receive, buffer, count, type, &room);
  receive->transfer.completed = pml_smelt_receive_completed;
  *request = &receive->super;
  /* Unless it is done when this returns, somebody else completes it. */
  if (post(served, &receive->transfer, from, tag, begin, room) == 1) pml_smelt_receive_completed(&receive->transfer);
  return OMPI_SUCCESS;
}

int pml_smelt_recv(void* buffer, size_t count, struct ompi_datatype_t* type, int from, int tag,
                   struct ompi_communicator_t* comm, ompi_status_public_t* status) {
  pml_smelt_communicator* served = pml_smelt_served(comm);
  if (!served) return pml_smelt_lower.pml_recv(buffer, count, type, from, tag, comm, status);
  if (!pml_smelt_in_one_piece(type, count)) {
    ompi_request_t* request;
    int error = pml_smelt_irecv(buffer, count, type, from, tag, comm, &request);
    if (error != OMPI_SUCCESS) return error;
    pml_smelt_wait(request);
    if (status != MPI_STATUS_IGNORE) OMPI_COPY_STATUS(status, request->req_status, false);
    error = request->req_status.MPI_ERROR;
    (void)ompi_request_free(&request);
    return error;
  }
  smelt_transfer transfer;
  transfer.completed = NULL;
  transfer.unpack = NULL;
  transfer.holds = 0;
  if (post(served, &transfer, from, tag, pml_smelt_begin_of(buffer, type), type->super.size * count) == 0)
    for (unsigned round = 0; !smelt_transfer_done(pml_smelt_endpoint, &transfer);) pml_smelt_wait_a_little(&round);
  ompi_status_public_t outcome;
  pml_smelt_status(served, &transfer, &outcome);
  if (status != MPI_STATUS_IGNORE) OMPI_COPY_STATUS(status, outcome, false);
  return outcome.MPI_ERROR;
}

int pml_smelt_irecv_init(void* buffer, size_t count, struct ompi_datatype_t* type, int from, int tag,
                         struct ompi_communicator_t* comm, struct ompi_request_t** request) {
  pml_smelt_communicator* served = pml_smelt_served(comm);
  if (!served) return pml_smelt_lower.pml_irecv_init(buffer, count, type, from, tag, comm, request);
  pml_smelt_request* receive = pml_smelt_request_new(PML_SMELT_RECEIVE, comm, served, true);
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

int pml_smelt_start_receive(pml_smelt_request* receive) {
  pml_smelt_request_activate(receive);
  size_t room;
  void* begin = pml_smelt_place(receive, receive->buffer, receive->count, receive->datatype, &room);
  receive->transfer.completed = pml_smelt_receive_completed;
  if (post(receive->served, &receive->transfer, receive->peer, receive->tag, begin, room) == 1)
    pml_smelt_receive_completed(&receive->transfer);
  return OMPI_SUCCESS;
}

int pml_smelt_cancel_receive(struct ompi_request_t* request, int flag) {
  pml_smelt_request* receive = (pml_smelt_request*)request;
  (void)flag;
  if (request->req_state != OMPI_REQUEST_ACTIVE || REQUEST_COMPLETE(request) ||
      !smelt_endpoint_cancel(pml_smelt_endpoint, &receive->transfer))
    return OMPI_SUCCESS;
  if (receive->gaps) opal_convertor_cleanup(&receive->convertor);
  request->req_status._cancelled = true;
  pml_smelt_request_complete(receive);
  return OMPI_SUCCESS;
}
