/* The collectives that combine operands: MPI_Reduce, MPI_Allreduce, MPI_Scan and MPI_Exscan; and the parts that a
 * reduce_scatter shares. */
#ifndef COLL_SMELT_REDUCE_H
#define COLL_SMELT_REDUCE_H

#include "form.h"

static inline size_t coll_smelt_operand_bytes(const coll_smelt_call *call) {
  return coll_smelt_bytes(call->type, call->count);
}

/* Operands and result of `count` elements each. Where there is no result MPI says nothing of `receive`, and
 * MPI_IN_PLACE is not allowed for `send`. If the type leaves no gaps, as fold.h has found, the group takes both where
 * they lie, and nothing is to be closed. */
static inline int coll_smelt_open_reduction(coll_smelt_terms *terms, const coll_smelt_call *call, bool receives) {
  const void *send = call->send == MPI_IN_PLACE ? call->receive : call->send;
  const int error = coll_smelt_fold_open(&terms->fold, call->op, call->type);
  if (OPAL_UNLIKELY(error != OMPI_SUCCESS)) return error;
  terms->out.data = (smelt_data){0};
  if (OPAL_LIKELY(!terms->fold.allocation)) {
    terms->in.data.base = (char *)send + call->type->super.true_lb;
    terms->in.data.context = NULL;
    if (receives) terms->out.data.base = (char *)call->receive + call->type->super.true_lb;
    return OMPI_SUCCESS;
  }
  coll_smelt_data_open(&terms->in, send, call->count, call->type, false);
  if (receives) coll_smelt_data_open(&terms->out, call->receive, call->count, call->type, true);
  return OMPI_SUCCESS;
}
static inline void coll_smelt_close_gaps(coll_smelt_terms *terms) {
  coll_smelt_data_close(&terms->out);
  coll_smelt_data_close(&terms->in);
  coll_smelt_fold_close(&terms->fold);
}
static inline void coll_smelt_close_reduction(coll_smelt_terms *terms) {
  if (OPAL_UNLIKELY(terms->fold.allocation != NULL)) coll_smelt_close_gaps(terms);
}

/* `receives`: has this rank a result? The arguments of the group's function come behind the elements. */
#define COLL_SMELT_REDUCTION(name, receives, ...)                                                          \
  static inline size_t coll_smelt_prepare_##name(const coll_smelt_module *module, coll_smelt_call *call) { \
    return (void)module, coll_smelt_operand_bytes(call);                                                   \
  }                                                                                                        \
  static inline int coll_smelt_open_##name(coll_smelt_terms *terms, const coll_smelt_module *module,       \
                                           const coll_smelt_call *call) {                                  \
    return (void)module, coll_smelt_open_reduction(terms, call, receives);                                 \
  }                                                                                                        \
  static inline void coll_smelt_close_##name(coll_smelt_terms *terms, const coll_smelt_module *module,     \
                                             const coll_smelt_call *call, int error) {                     \
    (void)module, (void)call, (void)error, coll_smelt_close_reduction(terms);                              \
  }                                                                                                        \
  COLL_SMELT_RUNS(name, group, &terms->in.data, &terms->out.data, (size_t)call->count, __VA_ARGS__)

COLL_SMELT_REDUCTION(reduce, coll_smelt_is_root(module, call), &terms->fold.fold, (unsigned)call->root)
COLL_SMELT_REDUCTION(allreduce, true, &terms->fold.fold)
COLL_SMELT_REDUCTION(scan, true, &terms->fold.fold)
COLL_SMELT_REDUCTION(exscan, coll_smelt_me(module) > 0, &terms->fold.fold)

#endif
