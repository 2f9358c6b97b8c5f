/* MPI_Reduce. */
#include "reduction.h"

size_t coll_smelt_prepare_reduce(const coll_smelt_module *module, coll_smelt_call *call) {
  return (void)module, coll_smelt_operand_bytes(call);
}
int coll_smelt_open_reduce(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call) {
  return coll_smelt_open_reduction(terms, call, coll_smelt_is_root(module, call));
}
int coll_smelt_run_reduce(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call) {
  return smelt_group_reduce(group, &terms->in.data, &terms->out.data, (size_t)call->count, &terms->fold.fold,
                            (unsigned)call->root);
}
int coll_smelt_start_reduce(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call,
                            smelt_request *request) {
  return smelt_group_start_reduce(group, &terms->in.data, &terms->out.data, (size_t)call->count, &terms->fold.fold,
                                  (unsigned)call->root, request);
}
void coll_smelt_close_reduce(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call,
                             int error) {
  (void)module, (void)call, (void)error;
  coll_smelt_close_reduction(terms);
}
