/* Nonblocking and persistent exchanges of neighbours that no group serves, by messages of our own, where the component
 * below would not answer as MPI says.
 *
 * In a ring of two, or of one, a rank has the same neighbour below and above, and each sends the other two blocks.
 * What goes up must arrive from below (neighbours.c). Open MPI's blocking forms know that; its nonblocking and
 * persistent ones send the lower block first and receive into the lower one first, so each block arrives in the place
 * of the other (https://github.com/open-mpi/ompi/issues/14430). A group answers rightly, but there is none for a
 * communicator's first calls, nor always later: the answer would depend on the communicator's age. So it is left to
 * nobody: all blocks are sent and received here, in the order of the lists, which is the right one.
 *
 * Each request has a tag of its own, as persistent ones may be started in different orders. */
#include "nonblocking.h"

#include "ompi/mca/coll/base/coll_tags.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/mca/topo/topo.h"

struct coll_smelt_messages {
  int32_t tag;
  int error;          /* the first */
  int posted, passed; /* of the messages; of these, so many are known to be over */
  ompi_request_t *requests[];
};

bool coll_smelt_suits_messages(const coll_smelt_module *module, const coll_smelt_exchange *exchange) {
  struct ompi_communicator_t *comm = module->comm;
  if (!exchange->of_neighbours || exchange->out.how == COLL_SMELT_ONE) return false; /* two blocks that are alike */
  if (!comm->c_topo || !OMPI_COMM_IS_CART(comm)) return false;
  const mca_topo_base_comm_cart_2_2_0_t *grid = comm->c_topo->mtc.cart;
  for (int d = 0; d < grid->ndims; ++d)
    if (grid->periods[d] && grid->dims[d] <= 2) return true;
  return false;
}

int coll_smelt_messages_new(coll_smelt_module *module, const coll_smelt_exchange *exchange,
                            struct coll_smelt_messages **out) {
  if (!coll_smelt_neighbours_of(module)) return OMPI_ERR_OUT_OF_RESOURCE;
  const int most =
      coll_smelt_exchange_blocks(module, exchange, true) + coll_smelt_exchange_blocks(module, exchange, false);
  struct coll_smelt_messages *messages = malloc(sizeof *messages + (size_t)most * sizeof messages->requests[0]);
  if (!messages) return OMPI_ERR_OUT_OF_RESOURCE;
  messages->tag = ompi_coll_base_nbc_reserve_tags(module->comm, 1);
  *out = messages;
  return OMPI_SUCCESS;
}

static void note(struct coll_smelt_messages *messages, int error) {
  if (messages->error == OMPI_SUCCESS) messages->error = error;
}

/* Where one cannot be posted, those that are must still come to their end. */
void coll_smelt_messages_open(coll_smelt_operation *operation) {
  struct coll_smelt_messages *messages = operation->messages;
  const coll_smelt_module *module = operation->module;
  const coll_smelt_exchange *exchange = operation->call.exchange;
  messages->posted = messages->passed = 0;
  messages->error = OMPI_SUCCESS;
  for (int out = 0; out < 2; ++out)
    for (int k = 0; k < coll_smelt_exchange_blocks(module, exchange, out) && messages->error == OMPI_SUCCESS; ++k) {
      int peer;
      const coll_smelt_part part = coll_smelt_exchange_block(module, exchange, out, k, &peer);
      ompi_request_t **request = &messages->requests[messages->posted];
      note(messages,
           out ? MCA_PML_CALL(isend(part.at, part.count, part.type, peer, messages->tag, MCA_PML_BASE_SEND_STANDARD,
                                    module->comm, request))
               : MCA_PML_CALL(irecv(part.at, part.count, part.type, peer, messages->tag, module->comm, request)));
      messages->posted += messages->error == OMPI_SUCCESS;
    }
}

bool coll_smelt_messages_step(coll_smelt_operation *operation) {
  struct coll_smelt_messages *messages = operation->messages;
  for (; messages->passed < messages->posted; ++messages->passed) {
    ompi_request_t **request = &messages->requests[messages->passed];
    if (!REQUEST_COMPLETE(*request)) return false;
    opal_atomic_rmb(); /* what it brought is read after it was seen to be complete */
    note(messages, ompi_request_wait(request, MPI_STATUS_IGNORE));
  }
  if (messages->error != OMPI_SUCCESS) operation->super.super.req_status.MPI_ERROR = messages->error;
  return true;
}
