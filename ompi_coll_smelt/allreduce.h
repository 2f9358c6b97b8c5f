/* MPI_Allreduce. */
#ifndef COLL_SMELT_ALLREDUCE_H
#define COLL_SMELT_ALLREDUCE_H

#include "reduction.h"

static inline int coll_smelt_open_allreduce(coll_smelt_terms *terms, const coll_smelt_module *module,
                                            const coll_smelt_call *call) {
  return (void)module, coll_smelt_open_reduction(terms, call, true);
}

COLL_SMELT_REDUCTION_FOR_ALL(allreduce)

#endif
