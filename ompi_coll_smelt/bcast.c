/* MPI_Bcast and its other forms. */
#include "form.h"

static size_t bytes_of(const coll_smelt_call *call) { return coll_smelt_bytes(call->type, call->count); }

static int open_broadcast(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call) {
  coll_smelt_data_open(&terms->out, call->receive, call->count, call->type, !coll_smelt_is_root(module, call));
  return OMPI_SUCCESS;
}
static int run_broadcast(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call) {
  return smelt_group_broadcast(group, &terms->out.data, bytes_of(call), (unsigned)call->root);
}
static int start_broadcast(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call,
                           smelt_request *request) {
  return smelt_group_start_broadcast(group, &terms->out.data, bytes_of(call), (unsigned)call->root, request);
}
static void close_broadcast(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call,
                            int error) {
  (void)module, (void)call, (void)error;
  coll_smelt_data_close(&terms->out);
}
const struct coll_smelt_form coll_smelt_form_broadcast = {open_broadcast, run_broadcast, start_broadcast,
                                                          close_broadcast};

int coll_smelt_bcast(void *buffer, coll_smelt_length count, struct ompi_datatype_t *type, int root,
                     struct ompi_communicator_t *comm, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = {.receive = buffer, .count = count, .type = type, .root = root};
  int code;
  if (bytes_of(&call) == 0) return OMPI_SUCCESS;
  if (coll_smelt_serve(module, SMELT_COLLECTIVE_BROADCAST, &call, &coll_smelt_form_broadcast, &code)) return code;
  return module->lower.bcast(buffer, count, type, root, comm, module->lower.bcast_module);
}

int coll_smelt_ibcast(void *buffer, coll_smelt_length count, struct ompi_datatype_t *type, int root,
                      struct ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = {.receive = buffer, .count = count, .type = type, .root = root};
  const size_t bytes = bytes_of(&call);
  int code;
  if (bytes == 0) return coll_smelt_complete(request);
  if (coll_smelt_begin(module, SMELT_COLLECTIVE_BROADCAST, &call, bytes, 0, request, &code)) return code;
  return module->lower.ibcast(buffer, count, type, root, comm, request, module->lower.ibcast_module);
}

int coll_smelt_bcast_init(void *buffer, coll_smelt_length count, struct ompi_datatype_t *type, int root,
                          struct ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                          mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = {.receive = buffer, .count = count, .type = type, .root = root};
  const size_t bytes = bytes_of(&call);
  int code;
  if (bytes > 0 && coll_smelt_keep(module, SMELT_COLLECTIVE_BROADCAST, &call, bytes, 0, request, &code)) return code;
  return module->lower.bcast_init(buffer, count, type, root, comm, info, request, module->lower.bcast_init_module);
}
