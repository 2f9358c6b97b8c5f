/* MPI_Bcast. */
#ifndef COLL_SMELT_BROADCAST_H
#define COLL_SMELT_BROADCAST_H

#include "form.h"

static inline size_t coll_smelt_broadcast_bytes(const coll_smelt_call *call) {
  return coll_smelt_bytes(call->type, call->count);
}

static inline size_t coll_smelt_prepare_broadcast(const coll_smelt_module *module, coll_smelt_call *call) {
  return (void)module, coll_smelt_broadcast_bytes(call);
}

static inline int coll_smelt_open_broadcast(coll_smelt_terms *terms, const coll_smelt_module *module,
                                            const coll_smelt_call *call) {
  coll_smelt_data_open(&terms->out, call->receive, call->count, call->type, !coll_smelt_is_root(module, call));
  return OMPI_SUCCESS;
}
static inline void coll_smelt_close_broadcast(coll_smelt_terms *terms, const coll_smelt_module *module,
                                              const coll_smelt_call *call, int error) {
  (void)module, (void)call, (void)error;
  coll_smelt_data_close(&terms->out);
}
COLL_SMELT_RUNS(broadcast, group, &terms->out.data, coll_smelt_broadcast_bytes(call), (unsigned)call->root)

#endif
