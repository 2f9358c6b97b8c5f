/* The part that collectives that combine operands have in common. */
#ifndef COLL_SMELT_REDUCTION_H
#define COLL_SMELT_REDUCTION_H

#include "form.h"

static inline size_t coll_smelt_operand_bytes(const coll_smelt_call *call) {
  return coll_smelt_bytes(call->type, call->count);
}

/* Operands and result of `count` elements each. Where there is no result MPI says nothing of `receive`, and
 * MPI_IN_PLACE is not allowed for `send`. */
static inline int coll_smelt_open_reduction(coll_smelt_terms *terms, const coll_smelt_call *call, bool receives) {
  const int error = coll_smelt_fold_open(&terms->fold, call->op, call->type);
  if (OPAL_UNLIKELY(error != OMPI_SUCCESS)) return error;
  coll_smelt_data_open(&terms->in, call->send == MPI_IN_PLACE ? call->receive : call->send, call->count, call->type,
                       false);
  if (receives)
    coll_smelt_data_open(&terms->out, call->receive, call->count, call->type, true);
  else
    terms->out.data = (smelt_data){0};
  return OMPI_SUCCESS;
}
static inline void coll_smelt_close_reduction(coll_smelt_terms *terms) {
  coll_smelt_data_close(&terms->out);
  coll_smelt_data_close(&terms->in);
  coll_smelt_fold_close(&terms->fold);
}

/* MPI_Allreduce, MPI_Scan and MPI_Exscan differ in the receivers, and in the group's function. */
#define COLL_SMELT_REDUCTION_FOR_ALL(name)                                                                 \
  static inline size_t coll_smelt_prepare_##name(const coll_smelt_module *module, coll_smelt_call *call) { \
    return (void)module, coll_smelt_operand_bytes(call);                                                   \
  }                                                                                                        \
  COLL_SMELT_RUNS(name, &terms->in.data, &terms->out.data, (size_t)call->count, &terms->fold.fold)         \
  static inline void coll_smelt_close_##name(coll_smelt_terms *terms, const coll_smelt_module *module,     \
                                             const coll_smelt_call *call, int error) {                     \
    (void)module, (void)call, (void)error;                                                                 \
    coll_smelt_close_reduction(terms);                                                                     \
  }

#endif
