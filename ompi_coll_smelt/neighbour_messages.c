/* Nonblocking and persistent exchanges of neighbours that no group serves, by messages of our own, where the component
 * below would not answer as MPI says.
 *
 * In a ring of two, or of one, a rank has the same neighbour below and above, and each sends the other two blocks.
 * A block that goes up must arrive from below (neighbours.c). Open MPI's blocking forms know that; its nonblocking and
 * persistent ones send the lower block first and receive into the lower one first, so each block arrives in the place
 * of the other (https://github.com/open-mpi/ompi/issues/14430). A group answers rightly, but there is none for a
 * communicator's first calls, nor always later: the answer would depend on the communicator's age. So it is left to
 * nobody: all blocks are sent and received here, in the order of the lists, which is the right one.
 *
 * Each request has a tag of its own, as persistent ones may be started in different orders. */
#include "neighbour_messages.h"

#include "ompi/mca/coll/base/coll_tags.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/mca/topo/topo.h"

typedef struct messages {
  int32_t tag;
  int error;          /* the first */
  int posted, passed; /* of the messages; of these, so many are known to be over */
  ompi_request_t *requests[];
} messages;

bool coll_smelt_suits_messages(const coll_smelt_module *module, const coll_smelt_exchange *exchange) {
  struct ompi_communicator_t *comm = module->comm;
  if (!exchange->of_neighbours || exchange->out.how == COLL_SMELT_ONE) return false; /* two blocks that are alike */
  if (!comm->c_topo || !OMPI_COMM_IS_CART(comm)) return false;
  const mca_topo_base_comm_cart_2_2_0_t *grid = comm->c_topo->mtc.cart;
  for (int d = 0; d < grid->ndims; ++d)
    if (grid->periods[d] && grid->dims[d] <= 2) return true;
  return false;
}

static void note(messages *m, int error) {
  if (m->error == OMPI_SUCCESS) m->error = error;
}

/* Where one cannot be posted, those that are must still come to their end. */
static int open(coll_smelt_operation *operation) {
  messages *m = operation->state;
  const coll_smelt_module *module = operation->module;
  const coll_smelt_exchange *exchange = operation->call.exchange;
  m->posted = m->passed = 0;
  m->error = OMPI_SUCCESS;
  for (int out = 0; out < 2; ++out)
    for (int k = 0; k < coll_smelt_exchange_blocks(module, exchange, out) && m->error == OMPI_SUCCESS; ++k) {
      int peer;
      const coll_smelt_part part = coll_smelt_exchange_block(module, exchange, out, k, &peer);
      ompi_request_t **request = &m->requests[m->posted];
      note(m, out ? MCA_PML_CALL(isend(part.at, part.count, part.type, peer, m->tag, MCA_PML_BASE_SEND_STANDARD,
                                       module->comm, request))
                  : MCA_PML_CALL(irecv(part.at, part.count, part.type, peer, m->tag, module->comm, request)));
      m->posted += m->error == OMPI_SUCCESS;
    }
  return OMPI_SUCCESS; /* the outcome is told when all are over */
}

static bool step(coll_smelt_queued *queued) {
  messages *m = ((coll_smelt_operation *)queued)->state;
  for (; m->passed < m->posted; ++m->passed) {
    ompi_request_t **request = &m->requests[m->passed];
    if (!REQUEST_COMPLETE(*request)) return false;
    opal_atomic_rmb(); /* its data are read after it was seen to be complete */
    note(m, ompi_request_wait(request, MPI_STATUS_IGNORE));
  }
  if (m->error != OMPI_SUCCESS) queued->super.super.req_status.MPI_ERROR = m->error;
  return true;
}

static void end(coll_smelt_operation *operation) {
  if (coll_smelt_is_persistent(operation)) coll_smelt_exchange_forget(operation->module, &operation->exchange);
}

static const coll_smelt_kind by_messages = {open, step, end};

static bool make(coll_smelt_operation *operation) {
  coll_smelt_module *module = operation->module;
  coll_smelt_exchange *exchange = &operation->exchange;
  if (!coll_smelt_neighbours_of(module)) return false;
  if (coll_smelt_is_persistent(operation) && coll_smelt_exchange_keep(module, exchange) != OMPI_SUCCESS) return false;
  const int most =
      coll_smelt_exchange_blocks(module, exchange, true) + coll_smelt_exchange_blocks(module, exchange, false);
  messages *m = malloc(sizeof *m + (size_t)most * sizeof m->requests[0]);
  if (!m) return false;
  m->tag = ompi_coll_base_nbc_reserve_tags(module->comm, 1);
  operation->state = m;
  return true;
}

/* In a lane of its own, as messages wait for nothing that goes before; NULL: no memory. */
static coll_smelt_operation *operation_of(coll_smelt_module *module, smelt_collective which,
                                          const coll_smelt_call *call, bool persistent) {
  coll_smelt_operation *operation =
      coll_smelt_operation_new(&by_messages, module->comm, module, NULL, which, call, persistent);
  if (OPAL_UNLIKELY(!operation)) return NULL;
  operation->module = module;
  if (make(operation)) return operation;
  coll_smelt_operation_discard(operation);
  return NULL;
}

int coll_smelt_begin_messages(coll_smelt_module *module, smelt_collective which, const coll_smelt_call *call,
                              ompi_request_t **request) {
  coll_smelt_operation *operation = operation_of(module, which, call, false);
  return operation ? coll_smelt_operation_begin(operation, request) : OMPI_ERR_OUT_OF_RESOURCE;
}

int coll_smelt_keep_messages(coll_smelt_module *module, smelt_collective which, const coll_smelt_call *call,
                             ompi_request_t **request) {
  coll_smelt_operation *operation = operation_of(module, which, call, true);
  if (OPAL_UNLIKELY(!operation)) return OMPI_ERR_OUT_OF_RESOURCE;
  *request = &operation->queued.super.super;
  return OMPI_SUCCESS;
}
