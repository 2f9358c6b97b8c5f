/* MPI_Bcast. */
#include "form.h"

static size_t bytes_of(const coll_smelt_call *call) { return coll_smelt_bytes(call->type, call->count); }

size_t coll_smelt_prepare_broadcast(const coll_smelt_module *module, coll_smelt_call *call) {
  return (void)module, bytes_of(call);
}

int coll_smelt_open_broadcast(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call) {
  coll_smelt_data_open(&terms->out, call->receive, call->count, call->type, !coll_smelt_is_root(module, call));
  return OMPI_SUCCESS;
}
int coll_smelt_run_broadcast(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call) {
  return smelt_group_broadcast(group, &terms->out.data, bytes_of(call), (unsigned)call->root);
}
int coll_smelt_start_broadcast(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call,
                               smelt_request *request) {
  return smelt_group_start_broadcast(group, &terms->out.data, bytes_of(call), (unsigned)call->root, request);
}
void coll_smelt_close_broadcast(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call,
                                int error) {
  (void)module, (void)call, (void)error;
  coll_smelt_data_close(&terms->out);
}
