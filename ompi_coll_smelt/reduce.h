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
COLL_SMELT_RUNS(reduce, &terms->in.data, &terms->out.data, (size_t)call->count, &terms->fold.fold, (unsigned)call->root)
static inline void coll_smelt_close_reduce(coll_smelt_terms *terms, const coll_smelt_module *module,
                                           const coll_smelt_call *call, int error) {
  (void)module, (void)call, (void)error;
  coll_smelt_close_reduction(terms);
}

#endif
