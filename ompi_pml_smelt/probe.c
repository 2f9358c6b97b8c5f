/* Probing. A message that a matched probe takes stays where it is, held by a request that only the message's handle
 * knows, until it is received. */
#include "probe.h"

#include "counters.h"
#include "data.h"
#include "endpoint.h"
#include "lower.h"
#include "node.h"
#include "receive.h"

#include "opal/runtime/opal_progress.h"

#include <sched.h>

/* Somebody else's message may come first, so others get the CPU. */
static void wait_a_little(unsigned *round) {
  enum { kFewLooks = 100, kOthers = 16 };
  if (smelt_endpoint_progress(pml_smelt_endpoint))
    *round = 0;
  else if (++*round > kFewLooks || pml_smelt_reaches_nodes()) /* there a look takes as long as many others */
    sched_yield();
  if (*round % kOthers == 0) opal_progress();
}

static bool look(const pml_smelt_communicator *served, int from, int tag, ompi_status_public_t *status) {
  smelt_transfer seen = {.error = 0};
  pml_smelt_keep_promise(served, from, tag);
  if (!smelt_endpoint_probe(pml_smelt_endpoint, from == MPI_ANY_SOURCE ? -1 : served->members[from], served->context,
                            tag == MPI_ANY_TAG ? 0 : tag, tag == MPI_ANY_TAG, &seen.peer, &seen.tag, &seen.length))
    return false;
  (void)pml_smelt_tell(served, &seen, status);
  return true;
}

/* It may lie behind others, which are taken in one by one where they are waited for. */
static bool look_behind(const pml_smelt_communicator *served, int from, int tag, ompi_status_public_t *status) {
  enum { kMost = 128 };
  bool found = look(served, from, tag, status), more = true;
  for (unsigned i = 0; i < kMost && more && !found; ++i) {
    more = pml_smelt_look();
    found = look(served, from, tag, status);
  }
  return found;
}

int pml_smelt_iprobe(int from, int tag, struct ompi_communicator_t *comm, int *matched, ompi_status_public_t *status) {
  pml_smelt_communicator *served = pml_smelt_served(comm);
  if (!served) return pml_smelt_lower.pml_iprobe(from, tag, comm, matched, status);
  pml_smelt_count(&pml_smelt_tally.probes);
  *matched = look_behind(served, from, tag, status);
  return OMPI_SUCCESS;
}

int pml_smelt_probe(int from, int tag, struct ompi_communicator_t *comm, ompi_status_public_t *status) {
  pml_smelt_communicator *served = pml_smelt_served(comm);
  if (!served) return pml_smelt_lower.pml_probe(from, tag, comm, status);
  pml_smelt_count(&pml_smelt_tally.probes);
  enum { kAsk = 4096 }; /* rounds in vain, until somebody is asked whether it lives */
  for (unsigned round = 0; !look(served, from, tag, status);) {
    wait_a_little(&round);
    if (round % kAsk == kAsk - 1 &&
        smelt_endpoint_lost(pml_smelt_endpoint, from == MPI_ANY_SOURCE ? -1 : served->members[from]))
      return look(served, from, tag, status) ? OMPI_SUCCESS : MPI_ERR_OTHER;
  }
  return OMPI_SUCCESS;
}

/* A receive that only holds its message. 1: it has, 0: not yet. */
static int post_holder(pml_smelt_request *holder, int from, int tag) {
  holder->transfer.holds = 1;
  pml_smelt_keep_promise(holder->served, from, tag);
  pml_smelt_count(&pml_smelt_tally.probes);
  return smelt_endpoint_receive(pml_smelt_endpoint, &holder->transfer,
                                from == MPI_ANY_SOURCE ? -1 : holder->served->members[from], holder->served->context,
                                tag == MPI_ANY_TAG ? 0 : tag, tag == MPI_ANY_TAG, NULL, 0);
}

static int hand_over(pml_smelt_request *holder, struct ompi_message_t **handle, ompi_status_public_t *status) {
  if (holder->transfer.error) { /* there is none, and will be none: its sender has died */
    pml_smelt_request_recycle(holder);
    return MPI_ERR_OTHER;
  }
  ompi_message_t *message = ompi_message_alloc();
  if (!message) return OMPI_ERR_TEMP_OUT_OF_RESOURCE;
  (void)pml_smelt_tell(holder->served, &holder->transfer, status);
  message->comm = holder->comm;
  message->req_ptr = holder;
  message->peer = holder->served->ranks[holder->transfer.peer];
  message->count = holder->transfer.length;
  *handle = message;
  return OMPI_SUCCESS;
}

int pml_smelt_improbe(int from, int tag, struct ompi_communicator_t *comm, int *matched,
                      struct ompi_message_t **message, ompi_status_public_t *status) {
  pml_smelt_communicator *served = pml_smelt_served(comm);
  if (!served) return pml_smelt_lower.pml_improbe(from, tag, comm, matched, message, status);
  *matched = 0;
  *message = MPI_MESSAGE_NULL;
  if (!look_behind(served, from, tag, MPI_STATUS_IGNORE)) return OMPI_SUCCESS;
  pml_smelt_request *holder = pml_smelt_request_new(PML_SMELT_HOLDER, comm, served, false);
  if (!holder) return OMPI_ERR_TEMP_OUT_OF_RESOURCE;
  /* Somebody else may have taken the message: then this does not wait for the next one, unless that comes just now. */
  if (post_holder(holder, from, tag) == 0 && smelt_endpoint_cancel(pml_smelt_endpoint, &holder->transfer)) {
    pml_smelt_request_recycle(holder);
    return OMPI_SUCCESS;
  }
  while (!smelt_transfer_done(pml_smelt_endpoint, &holder->transfer)) /* another thread is about to hand it over */
    sched_yield();
  const int error = hand_over(holder, message, status);
  *matched = error == OMPI_SUCCESS;
  return error;
}

int pml_smelt_mprobe(int from, int tag, struct ompi_communicator_t *comm, struct ompi_message_t **message,
                     ompi_status_public_t *status) {
  pml_smelt_communicator *served = pml_smelt_served(comm);
  if (!served) return pml_smelt_lower.pml_mprobe(from, tag, comm, message, status);
  pml_smelt_request *holder = pml_smelt_request_new(PML_SMELT_HOLDER, comm, served, false);
  if (!holder) return OMPI_ERR_TEMP_OUT_OF_RESOURCE;
  if (post_holder(holder, from, tag) == 0) pml_smelt_wait(&holder->transfer);
  return hand_over(holder, message, status);
}

int pml_smelt_imrecv(void *buffer, size_t count, struct ompi_datatype_t *type, struct ompi_message_t **message,
                     struct ompi_request_t **request) {
  struct ompi_communicator_t *comm = (*message)->comm;
  pml_smelt_communicator *served = pml_smelt_served(comm);
  if (!served) return pml_smelt_lower.pml_imrecv(buffer, count, type, message, request);
  pml_smelt_request *holder = (*message)->req_ptr;
  pml_smelt_request *receive = pml_smelt_request_new(PML_SMELT_RECEIVE, comm, served, false);
  if (!receive) return OMPI_ERR_TEMP_OUT_OF_RESOURCE;
  pml_smelt_count(&pml_smelt_tally.receives);
  pml_smelt_request_activate(receive);
  size_t room;
  void *begin = pml_smelt_place(receive, buffer, count, type, &room);
  receive->transfer.completed = pml_smelt_receive_completed;
  *request = &receive->super;
  if (smelt_endpoint_receive_held(pml_smelt_endpoint, &receive->transfer, &holder->transfer, begin, room))
    pml_smelt_receive_completed(&receive->transfer);
  pml_smelt_request_recycle(holder);
  ompi_message_return(*message);
  *message = MPI_MESSAGE_NULL;
  return OMPI_SUCCESS;
}

int pml_smelt_mrecv(void *buffer, size_t count, struct ompi_datatype_t *type, struct ompi_message_t **message,
                    ompi_status_public_t *status) {
  if (!pml_smelt_served((*message)->comm)) return pml_smelt_lower.pml_mrecv(buffer, count, type, message, status);
  ompi_request_t *request;
  const int error = pml_smelt_imrecv(buffer, count, type, message, &request);
  return error != OMPI_SUCCESS ? error : pml_smelt_wait_and_free(request, status);
}
