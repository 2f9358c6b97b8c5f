/* MPI_Reduce and its other forms. */
#include "reduction.h"

static int open_reduce(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call) {
  return coll_smelt_open_reduction(terms, call, coll_smelt_is_root(module, call));
}
static int run_reduce(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call) {
  return smelt_group_reduce(group, &terms->in.data, &terms->out.data, (size_t)call->count, &terms->fold.fold,
                            (unsigned)call->root);
}
static int start_reduce(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call,
                        smelt_request *request) {
  return smelt_group_start_reduce(group, &terms->in.data, &terms->out.data, (size_t)call->count, &terms->fold.fold,
                                  (unsigned)call->root, request);
}
static void close_reduce(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call,
                         int error) {
  (void)module, (void)call, (void)error;
  coll_smelt_close_reduction(terms);
}
const struct coll_smelt_form coll_smelt_form_reduce = {open_reduce, run_reduce, start_reduce, close_reduce};

int coll_smelt_reduce(const void *send, void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                      struct ompi_op_t *op, int root, struct ompi_communicator_t *comm, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = {.send = send, .receive = receive, .count = count, .type = type, .op = op, .root = root};
  int code;
  if (coll_smelt_operand_bytes(&call) == 0) return OMPI_SUCCESS;
  if (OPAL_UNLIKELY(!module->group) && coll_smelt_is_first_reduction(module, op, type, count)) {
    coll_smelt_count_passed_on(module, SMELT_COLLECTIVE_REDUCE);
    return coll_smelt_first_reduce(module, send, receive, count, type, op, root);
  }
  if (coll_smelt_serve(module, SMELT_COLLECTIVE_REDUCE, &call, &coll_smelt_form_reduce, &code)) return code;
  return module->lower.reduce(send, receive, count, type, op, root, comm, module->lower.reduce_module);
}

int coll_smelt_ireduce(const void *send, void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                       struct ompi_op_t *op, int root, struct ompi_communicator_t *comm, ompi_request_t **request,
                       mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = {.send = send, .receive = receive, .count = count, .type = type, .op = op, .root = root};
  const size_t bytes = coll_smelt_operand_bytes(&call);
  int code;
  if (bytes == 0) return coll_smelt_complete(request);
  if (coll_smelt_begin(module, SMELT_COLLECTIVE_REDUCE, &call, bytes, type->super.size, request, &code)) return code;
  return module->lower.ireduce(send, receive, count, type, op, root, comm, request, module->lower.ireduce_module);
}

int coll_smelt_reduce_init(const void *send, void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                           struct ompi_op_t *op, int root, struct ompi_communicator_t *comm, struct ompi_info_t *info,
                           ompi_request_t **request, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = {.send = send, .receive = receive, .count = count, .type = type, .op = op, .root = root};
  const size_t bytes = coll_smelt_operand_bytes(&call);
  int code;
  if (bytes > 0 && coll_smelt_keep(module, SMELT_COLLECTIVE_REDUCE, &call, bytes, type->super.size, request, &code))
    return code;
  return module->lower.reduce_init(send, receive, count, type, op, root, comm, info, request,
                                   module->lower.reduce_init_module);
}
