/* Sending. Data with gaps are packed first; then a message is a row of bytes.
 *
 *   standard, ready   the endpoint decides: short ones are done at once
 *   synchronous       done when the message has met its receive
 *   buffered          copied to the program's buffer, and sent from there by a request of which nobody knows */
#include "pml_smelt.h"

#include "ompi/mca/pml/base/pml_base_bsend.h"

#include <stdlib.h>
#include <string.h>

static void count_send(size_t bytes, bool synchronous) {
  static uint64_t inbox, packet;
  if (!packet) smelt_endpoint_limits(pml_smelt_endpoint, &inbox, &packet);
  (void)synchronous;
  pml_smelt_count(bytes <= inbox    ? &pml_smelt_tally.inline_sends
                  : bytes <= packet ? &pml_smelt_tally.eager_sends
                                    : &pml_smelt_tally.rendezvous_sends);
}

static int pack(const void* buffer, size_t count, struct ompi_datatype_t* type, void* to, size_t bytes) {
  opal_convertor_t convertor;
  OBJ_CONSTRUCT(&convertor, opal_convertor_t);
  opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super, count, buffer, 0, &convertor);
  struct iovec vector = {.iov_base = to, .iov_len = bytes};
  uint32_t vectors = 1;
  size_t moved = bytes;
  const int32_t result = opal_convertor_pack(&convertor, &vector, &vectors, &moved);
  OBJ_DESTRUCT(&convertor);
  return result < 0 || moved != bytes ? OMPI_ERROR : OMPI_SUCCESS;
}

/* The bytes of a message: where they are, or packed into memory that *packed is to free. NULL: no memory. */
static const void* bytes_of(const void* buffer, size_t count, struct ompi_datatype_t* type, size_t bytes,
                            void** packed) {
  *packed = NULL;
  if (bytes == 0) return "";
  if (pml_smelt_in_one_piece(type, count)) return pml_smelt_begin_of(buffer, type);
  *packed = malloc(bytes);
  if (*packed && pack(buffer, count, type, *packed, bytes) != OMPI_SUCCESS) {
    free(*packed);
    *packed = NULL;
  }
  return *packed;
}

static int begin(const pml_smelt_communicator* served, smelt_transfer* transfer, int to, int tag, const void* data,
                 size_t bytes, mca_pml_base_send_mode_t mode) {
  const bool synchronous = mode == MCA_PML_BASE_SEND_SYNCHRONOUS;
  count_send(bytes, synchronous);
  return smelt_endpoint_send(pml_smelt_endpoint, transfer, served->members[to], served->context, tag, data, bytes,
                             synchronous) < 0
             ? OMPI_ERROR
             : OMPI_SUCCESS;
}

void pml_smelt_send_finish(pml_smelt_request* send) {
  if (send->mode == MCA_PML_BASE_SEND_BUFFERED) {
    if (send->packed) (void)mca_pml_base_bsend_request_free(send->packed);
  } else {
    free(send->packed);
  }
  send->packed = NULL;
  ompi_status_public_t* status = &send->super.req_status;
  status->MPI_SOURCE = ompi_comm_rank(send->comm);
  status->MPI_TAG = send->tag;
  status->MPI_ERROR = send->transfer.error ? MPI_ERR_OTHER : MPI_SUCCESS;
  status->_ucount = send->bytes;
}

static int send_buffered(const void* buffer, size_t count, struct ompi_datatype_t* type, int to, int tag,
                         struct ompi_communicator_t* comm, pml_smelt_communicator* served) {
  const size_t bytes = type->super.size * count;
  pml_smelt_request* send = pml_smelt_request_new(PML_SMELT_SEND, comm, served, false);
  if (!send) return OMPI_ERR_TEMP_OUT_OF_RESOURCE;
  send->mode = MCA_PML_BASE_SEND_BUFFERED;
  send->detached = true;
  send->tag = tag;
  send->bytes = bytes;
  int error = OMPI_SUCCESS;
  if (bytes > 0) {
    send->packed = mca_pml_base_bsend_request_alloc_buf(bytes);
    if (!send->packed)
      error = OMPI_ERR_BUFFER;
    else if (pml_smelt_in_one_piece(type, count))
      memcpy(send->packed, pml_smelt_begin_of(buffer, type), bytes);
    else
      error = pack(buffer, count, type, send->packed, bytes);
  }
  if (error == OMPI_SUCCESS) error = begin(served, &send->transfer, to, tag, send->packed, bytes, send->mode);
  if (error == OMPI_SUCCESS && !smelt_transfer_done(pml_smelt_endpoint, &send->transfer)) {
    pml_smelt_request_watch(send);
    return OMPI_SUCCESS;
  }
  pml_smelt_send_finish(send);
  pml_smelt_request_recycle(send);
  return error;
}

int pml_smelt_isend(const void* buffer, size_t count, struct ompi_datatype_t* type, int to, int tag,
                    mca_pml_base_send_mode_t mode, struct ompi_communicator_t* comm, struct ompi_request_t** request) {
  pml_smelt_communicator* served = pml_smelt_served(comm);
  if (!served) return pml_smelt_lower.pml_isend(buffer, count, type, to, tag, mode, comm, request);
  if (mode == MCA_PML_BASE_SEND_BUFFERED) {
    *request = &ompi_request_empty;
    return send_buffered(buffer, count, type, to, tag, comm, served);
  }
  pml_smelt_request* send = pml_smelt_request_new(PML_SMELT_SEND, comm, served, false);
  if (!send) return OMPI_ERR_TEMP_OUT_OF_RESOURCE;
  pml_smelt_request_activate(send);
  send->mode = mode;
  send->tag = tag;
  send->bytes = type->super.size * count;
  const void* data = bytes_of(buffer, count, type, send->bytes, &send->packed);
  const int error =
      data ? begin(served, &send->transfer, to, tag, data, send->bytes, mode) : OMPI_ERR_TEMP_OUT_OF_RESOURCE;
  if (error == OMPI_SUCCESS && !smelt_transfer_done(pml_smelt_endpoint, &send->transfer)) {
    *request = &send->super;
    pml_smelt_request_watch(send);
    return OMPI_SUCCESS;
  }
  /* All that is said of a send is whether it was cancelled. */
  *request = &ompi_request_empty;
  pml_smelt_send_finish(send);
  pml_smelt_request_recycle(send);
  return error;
}

int pml_smelt_send(const void* buffer, size_t count, struct ompi_datatype_t* type, int to, int tag,
                   mca_pml_base_send_mode_t mode, struct ompi_communicator_t* comm) {
  pml_smelt_communicator* served = pml_smelt_served(comm);
  if (!served) return pml_smelt_lower.pml_send(buffer, count, type, to, tag, mode, comm);
  if (mode == MCA_PML_BASE_SEND_BUFFERED) return send_buffered(buffer, count, type, to, tag, comm, served);
  smelt_transfer transfer;
  transfer.completed = NULL;
  void* packed;
  const size_t bytes = type->super.size * count;
  const void* data = bytes_of(buffer, count, type, bytes, &packed);
  if (!data) return OMPI_ERR_TEMP_OUT_OF_RESOURCE;
  int error = begin(served, &transfer, to, tag, data, bytes, mode);
  if (error == OMPI_SUCCESS) {
    for (unsigned round = 0; !smelt_transfer_done(pml_smelt_endpoint, &transfer);) pml_smelt_wait_a_little(&round);
    if (transfer.error) error = MPI_ERR_OTHER;
  }
  free(packed);
  return error;
}

int pml_smelt_isend_init(const void* buffer, size_t count, struct ompi_datatype_t* type, int to, int tag,
                         mca_pml_base_send_mode_t mode, struct ompi_communicator_t* comm,
                         struct ompi_request_t** request) {
  pml_smelt_communicator* served = pml_smelt_served(comm);
  if (!served) return pml_smelt_lower.pml_isend_init(buffer, count, type, to, tag, mode, comm, request);
  pml_smelt_request* send = pml_smelt_request_new(PML_SMELT_SEND, comm, served, true);
  if (!send) return OMPI_ERR_OUT_OF_RESOURCE;
  OMPI_DATATYPE_RETAIN(type);
  send->datatype = type;
  send->mode = mode;
  send->buffer = (void*)(uintptr_t)buffer;
  send->count = count;
  send->peer = to;
  send->tag = tag;
  send->bytes = type->super.size * count;
  *request = &send->super;
  return OMPI_SUCCESS;
}

int pml_smelt_start_send(pml_smelt_request* send) {
  pml_smelt_request_activate(send);
  int error;
  bool done = true;
  if (send->mode == MCA_PML_BASE_SEND_BUFFERED) {
    error = send_buffered(send->buffer, send->count, send->datatype, send->peer, send->tag, send->comm, send->served);
    send->transfer.error = 0;
  } else {
    const void* data = bytes_of(send->buffer, send->count, send->datatype, send->bytes, &send->packed);
    error = data ? begin(send->served, &send->transfer, send->peer, send->tag, data, send->bytes, send->mode)
                 : OMPI_ERR_TEMP_OUT_OF_RESOURCE;
    done = error != OMPI_SUCCESS || smelt_transfer_done(pml_smelt_endpoint, &send->transfer);
  }
  if (!done) {
    pml_smelt_request_watch(send);
    return OMPI_SUCCESS;
  }
  pml_smelt_send_finish(send);
  if (error != OMPI_SUCCESS) send->super.req_status.MPI_ERROR = MPI_ERR_OTHER;
  pml_smelt_request_complete(send);
  return error;
}
