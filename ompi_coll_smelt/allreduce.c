/* MPI_Allreduce and its other forms. */
#include "reduction.h"

static int open_allreduce(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call) {
  return (void)module, coll_smelt_open_reduction(terms, call, true);
}

/* MPI_Comm_idup agrees on numbers, one at a time (nonblocking.c). */
static bool is_open_mpis_own(const coll_smelt_call *call) {
  return call->count == 1 && call->type == &ompi_mpi_int.dt &&
         (call->op == &ompi_mpi_op_max.op || call->op == &ompi_mpi_op_min.op);
}

COLL_SMELT_REDUCTION_FOR_ALL(ALLREDUCE, allreduce, open_allreduce, is_open_mpis_own)

int coll_smelt_allreduce(const void *send, void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                         struct ompi_op_t *op, struct ompi_communicator_t *comm, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = {.send = send, .receive = receive, .count = count, .type = type, .op = op};
  int code;
  if (coll_smelt_operand_bytes(&call) == 0) return OMPI_SUCCESS;
  if (OPAL_UNLIKELY(!module->group) && coll_smelt_is_first_reduction(module, op, type, count)) {
    coll_smelt_count_passed_on(module, SMELT_COLLECTIVE_ALLREDUCE);
    return coll_smelt_first_allreduce(module, send, receive, count, type, op);
  }
  if (coll_smelt_serve(module, SMELT_COLLECTIVE_ALLREDUCE, &call, &coll_smelt_form_allreduce, &code)) return code;
  return module->lower.allreduce(send, receive, count, type, op, comm, module->lower.allreduce_module);
}
