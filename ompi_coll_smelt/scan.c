/* MPI_Scan and MPI_Exscan, and their other forms. Of an exscan rank 0 has no result. */
#include "reduction.h"

static int open_scan(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call) {
  return (void)module, coll_smelt_open_reduction(terms, call, true);
}
static int open_exscan(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call) {
  return coll_smelt_open_reduction(terms, call, coll_smelt_me(module) > 0);
}
static void close_either(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call,
                         int error) {
  (void)module, (void)call, (void)error;
  coll_smelt_close_reduction(terms);
}

/* --- scan */

static int run_scan(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call) {
  return smelt_group_scan(group, &terms->in.data, &terms->out.data, (size_t)call->count, &terms->fold.fold);
}
static int start_scan(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call,
                      smelt_request *request) {
  return smelt_group_start_scan(group, &terms->in.data, &terms->out.data, (size_t)call->count, &terms->fold.fold,
                                request);
}
const struct coll_smelt_form coll_smelt_form_scan = {open_scan, run_scan, start_scan, close_either};

int coll_smelt_scan(const void *send, void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                    struct ompi_op_t *op, struct ompi_communicator_t *comm, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = {.send = send, .receive = receive, .count = count, .type = type, .op = op};
  int code;
  if (coll_smelt_operand_bytes(&call) == 0) return OMPI_SUCCESS;
  if (OPAL_UNLIKELY(!module->group) && coll_smelt_is_first_of_any_order(module, op, type))
    coll_smelt_count_passed_on(module, SMELT_COLLECTIVE_SCAN);
  else if (coll_smelt_serve(module, SMELT_COLLECTIVE_SCAN, &call, &coll_smelt_form_scan, &code))
    return code;
  return module->lower.scan(send, receive, count, type, op, comm, module->lower.scan_module);
}

int coll_smelt_iscan(const void *send, void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                     struct ompi_op_t *op, struct ompi_communicator_t *comm, ompi_request_t **request,
                     mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = {.send = send, .receive = receive, .count = count, .type = type, .op = op};
  const size_t bytes = coll_smelt_operand_bytes(&call);
  int code;
  if (bytes == 0) return coll_smelt_complete(request);
  if (coll_smelt_begin(module, SMELT_COLLECTIVE_SCAN, &call, bytes, type->super.size, request, &code)) return code;
  return module->lower.iscan(send, receive, count, type, op, comm, request, module->lower.iscan_module);
}

int coll_smelt_scan_init(const void *send, void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                         struct ompi_op_t *op, struct ompi_communicator_t *comm, struct ompi_info_t *info,
                         ompi_request_t **request, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = {.send = send, .receive = receive, .count = count, .type = type, .op = op};
  const size_t bytes = coll_smelt_operand_bytes(&call);
  int code;
  if (bytes > 0 && coll_smelt_keep(module, SMELT_COLLECTIVE_SCAN, &call, bytes, type->super.size, request, &code))
    return code;
  return module->lower.scan_init(send, receive, count, type, op, comm, info, request, module->lower.scan_init_module);
}

/* --- exscan */

static int run_exscan(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call) {
  return smelt_group_exscan(group, &terms->in.data, &terms->out.data, (size_t)call->count, &terms->fold.fold);
}
static int start_exscan(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call,
                        smelt_request *request) {
  return smelt_group_start_exscan(group, &terms->in.data, &terms->out.data, (size_t)call->count, &terms->fold.fold,
                                  request);
}
const struct coll_smelt_form coll_smelt_form_exscan = {open_exscan, run_exscan, start_exscan, close_either};

int coll_smelt_exscan(const void *send, void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                      struct ompi_op_t *op, struct ompi_communicator_t *comm, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = {.send = send, .receive = receive, .count = count, .type = type, .op = op};
  int code;
  if (coll_smelt_operand_bytes(&call) == 0) return OMPI_SUCCESS;
  if (OPAL_UNLIKELY(!module->group) && coll_smelt_is_first_of_any_order(module, op, type))
    coll_smelt_count_passed_on(module, SMELT_COLLECTIVE_EXSCAN);
  else if (coll_smelt_serve(module, SMELT_COLLECTIVE_EXSCAN, &call, &coll_smelt_form_exscan, &code))
    return code;
  return module->lower.exscan(send, receive, count, type, op, comm, module->lower.exscan_module);
}

int coll_smelt_iexscan(const void *send, void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                       struct ompi_op_t *op, struct ompi_communicator_t *comm, ompi_request_t **request,
                       mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = {.send = send, .receive = receive, .count = count, .type = type, .op = op};
  const size_t bytes = coll_smelt_operand_bytes(&call);
  int code;
  if (bytes == 0) return coll_smelt_complete(request);
  if (coll_smelt_begin(module, SMELT_COLLECTIVE_EXSCAN, &call, bytes, type->super.size, request, &code)) return code;
  return module->lower.iexscan(send, receive, count, type, op, comm, request, module->lower.iexscan_module);
}

int coll_smelt_exscan_init(const void *send, void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                           struct ompi_op_t *op, struct ompi_communicator_t *comm, struct ompi_info_t *info,
                           ompi_request_t **request, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = {.send = send, .receive = receive, .count = count, .type = type, .op = op};
  const size_t bytes = coll_smelt_operand_bytes(&call);
  int code;
  if (bytes > 0 && coll_smelt_keep(module, SMELT_COLLECTIVE_EXSCAN, &call, bytes, type->super.size, request, &code))
    return code;
  return module->lower.exscan_init(send, receive, count, type, op, comm, info, request,
                                   module->lower.exscan_init_module);
}
