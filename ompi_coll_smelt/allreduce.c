/* MPI_Allreduce and its other forms. */
#include "reduction.h"

static int open_allreduce(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call) {
  return (void)module, coll_smelt_open_reduction(terms, call, true);
}
static int run_allreduce(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call) {
  return smelt_group_allreduce(group, &terms->in.data, &terms->out.data, (size_t)call->count, &terms->fold.fold);
}
static int start_allreduce(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call,
                           smelt_request *request) {
  return smelt_group_start_allreduce(group, &terms->in.data, &terms->out.data, (size_t)call->count, &terms->fold.fold,
                                     request);
}
static void close_allreduce(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call,
                            int error) {
  (void)module, (void)call, (void)error;
  coll_smelt_close_reduction(terms);
}
const struct coll_smelt_form coll_smelt_form_allreduce = {open_allreduce, run_allreduce, start_allreduce,
                                                          close_allreduce};

/* MPI_Comm_idup agrees on numbers, one at a time (nonblocking.c). */
static bool is_open_mpis_own(const struct ompi_datatype_t *type, coll_smelt_length count, const struct ompi_op_t *op) {
  return count == 1 && type == &ompi_mpi_int.dt && (op == &ompi_mpi_op_max.op || op == &ompi_mpi_op_min.op);
}

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

int coll_smelt_iallreduce(const void *send, void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                          struct ompi_op_t *op, struct ompi_communicator_t *comm, ompi_request_t **request,
                          mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = {.send = send, .receive = receive, .count = count, .type = type, .op = op};
  const size_t bytes = coll_smelt_operand_bytes(&call);
  int code;
  if (bytes == 0) return coll_smelt_complete(request);
  if (!is_open_mpis_own(type, count, op) &&
      coll_smelt_begin(module, SMELT_COLLECTIVE_ALLREDUCE, &call, bytes, type->super.size, request, &code))
    return code;
  return module->lower.iallreduce(send, receive, count, type, op, comm, request, module->lower.iallreduce_module);
}

int coll_smelt_allreduce_init(const void *send, void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                              struct ompi_op_t *op, struct ompi_communicator_t *comm, struct ompi_info_t *info,
                              ompi_request_t **request, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = {.send = send, .receive = receive, .count = count, .type = type, .op = op};
  const size_t bytes = coll_smelt_operand_bytes(&call);
  int code;
  if (bytes > 0 && coll_smelt_keep(module, SMELT_COLLECTIVE_ALLREDUCE, &call, bytes, type->super.size, request, &code))
    return code;
  return module->lower.allreduce_init(send, receive, count, type, op, comm, info, request,
                                      module->lower.allreduce_init_module);
}
