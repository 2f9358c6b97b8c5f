/* MPI_Reduce. */
#ifndef COLL_SMELT_REDUCE_H
#define COLL_SMELT_REDUCE_H

#include "reduction.h"

static inline size_t coll_smelt_prepare_reduce(const coll_smelt_module *module, coll_smelt_call *call) {
  return (void)module, coll_smelt_operand_bytes(call);
}
static inline int coll_smelt_open_reduce(coll_smelt_terms *terms, const coll_smelt_module *module,
                                         const coll_smelt_call *call) {
  return coll_smelt_open_reduction(terms, call, coll_smelt_is_root(module, call));
}
static inline int coll_smelt_run_reduce(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call) {
  return smelt_group_reduce(group, &terms->in.data, &terms->out.data, (size_t)call->count, &terms->fold.fold,
                            (unsigned)call->root);
}
static inline int coll_smelt_start_reduce(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call,
                                          smelt_request *request) {
  return smelt_group_start_reduce(group, &terms->in.data, &terms->out.data, (size_t)call->count, &terms->fold.fold,
                                  (unsigned)call->root, request);
}
static inline void coll_smelt_close_reduce(coll_smelt_terms *terms, const coll_smelt_module *module,
                                           const coll_smelt_call *call, int error) {
  (void)module, (void)call, (void)error;
  coll_smelt_close_reduction(terms);
}

#endif
