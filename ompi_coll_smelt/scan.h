/* MPI_Scan and MPI_Exscan. Of an exscan rank 0 has no result. */
#ifndef COLL_SMELT_SCAN_H
#define COLL_SMELT_SCAN_H

#include "reduction.h"

static inline int coll_smelt_open_scan(coll_smelt_terms *terms, const coll_smelt_module *module,
                                       const coll_smelt_call *call) {
  return (void)module, coll_smelt_open_reduction(terms, call, true);
}
static inline int coll_smelt_open_exscan(coll_smelt_terms *terms, const coll_smelt_module *module,
                                         const coll_smelt_call *call) {
  return coll_smelt_open_reduction(terms, call, coll_smelt_me(module) > 0);
}

COLL_SMELT_REDUCTION_FOR_ALL(scan)
COLL_SMELT_REDUCTION_FOR_ALL(exscan)

#endif
