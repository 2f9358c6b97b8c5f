/* MPI_Barrier. */
#ifndef COLL_SMELT_BARRIER_H
#define COLL_SMELT_BARRIER_H

#include "form.h"

static inline size_t coll_smelt_prepare_barrier(const coll_smelt_module *module, coll_smelt_call *call) {
  return (void)module, (void)call, 0;
}

static inline int coll_smelt_open_barrier(coll_smelt_terms *terms, const coll_smelt_module *module,
                                          const coll_smelt_call *call) {
  return (void)terms, (void)module, (void)call, OMPI_SUCCESS;
}
static inline void coll_smelt_close_barrier(coll_smelt_terms *terms, const coll_smelt_module *module,
                                            const coll_smelt_call *call, int error) {
  (void)terms, (void)module, (void)call, (void)error;
}
COLL_SMELT_RUNS(barrier, group)

#endif
