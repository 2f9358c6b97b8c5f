/* MPI_Scatterv. How long a row is only its root knows, so there is no length that all could decide
 * by: nonblocking ones are served where there is memory for any. */
#ifndef COLL_SMELT_SCATTERV_H
#define COLL_SMELT_SCATTERV_H

#include "blocks.h"

/* Elsewhere than on the root MPI says nothing of the data to send, and in place nothing of the root's data to
 * receive. */
static inline size_t coll_smelt_prepare_scatterv(const coll_smelt_module *module, coll_smelt_call *call) {
  if (!coll_smelt_is_root(module, call))
    call->send = NULL, call->send_type = NULL;
  else if (call->receive == MPI_IN_PLACE)
    call->count = 0, call->type = NULL;
  return SIZE_MAX;
}

static inline char *coll_smelt_scatterv_row(const coll_smelt_terms *terms, const coll_smelt_call *call) {
  return call->send_type ? coll_smelt_row(terms, call->send, call->send_type) : NULL;
}
static inline size_t coll_smelt_scatterv_bytes(const coll_smelt_terms *terms, const coll_smelt_call *call) {
  return call->type ? coll_smelt_bytes(call->type, call->count) : terms->places[call->root].bytes;
}

static inline int coll_smelt_open_scatterv(coll_smelt_terms *terms, const coll_smelt_module *module,
                                           const coll_smelt_call *call) {
  terms->packed = NULL;
  terms->places = NULL;
  if (call->send_type) {
    const int n = coll_smelt_size(module), error = coll_smelt_blocks_open(terms, call, call->send_type, n);
    if (error != OMPI_SUCCESS) return error;
    coll_smelt_blocks_pack(terms, call, call->send, call->send_type, n, call->type ? -1 : call->root);
  }
  if (call->type)
    coll_smelt_data_open(&terms->out, call->receive, call->count, call->type, true);
  else /* in place: where it lies in the row */
    terms->out.data = (smelt_data){.base = coll_smelt_scatterv_row(terms, call) + terms->places[call->root].offset};
  return OMPI_SUCCESS;
}
COLL_SMELT_RUNS(scatterv, coll_smelt_scatterv_row(terms, call), terms->places, &terms->out.data,
                coll_smelt_scatterv_bytes(terms, call), (unsigned)call->root)
static inline void coll_smelt_close_scatterv(coll_smelt_terms *terms, const coll_smelt_module *module,
                                             const coll_smelt_call *call, int error) {
  (void)module, (void)call, (void)error;
  if (call->type) coll_smelt_data_close(&terms->out);
  coll_smelt_blocks_close(terms);
}

#endif
