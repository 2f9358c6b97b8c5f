/* MPI_Scatter. The data come from consecutive places of the root's `send`; where the type leaves
 * gaps, they are packed into a place of their own first. */
#ifndef COLL_SMELT_SCATTER_H
#define COLL_SMELT_SCATTER_H

#include "form.h"

static inline size_t coll_smelt_scatter_bytes(const coll_smelt_call *call) {
  return call->send_type ? coll_smelt_bytes(call->send_type, call->send_count)
                         : coll_smelt_bytes(call->type, call->count);
}

/* Elsewhere than on the root MPI says nothing of the data to send, and in place nothing of the root's data to receive.
 * A start may be refused for the length of the whole row that is sent. */
static inline size_t coll_smelt_prepare_scatter(const coll_smelt_module *module, coll_smelt_call *call) {
  if (!coll_smelt_is_root(module, call))
    call->send = NULL, call->send_count = 0, call->send_type = NULL;
  else if (call->receive == MPI_IN_PLACE)
    call->count = 0, call->type = NULL;
  return coll_smelt_scatter_bytes(call) * (size_t)(coll_smelt_size(module) - 1);
}

static inline bool coll_smelt_scatter_pack(coll_smelt_terms *terms, const coll_smelt_module *module,
                                           const coll_smelt_call *call) {
  const size_t bytes = coll_smelt_scatter_bytes(call);
  if (!(terms->packed = malloc(bytes * (size_t)coll_smelt_size(module)))) return false;
  for (int i = 0; i < coll_smelt_size(module); ++i)
    if (call->type || i != call->root)
      coll_smelt_pack(call->send_type, (size_t)call->send_count,
                      coll_smelt_block(call->send, call->send_count, call->send_type, i),
                      terms->packed + bytes * (size_t)i);
  return true;
}

static inline char *coll_smelt_scatter_row(const coll_smelt_terms *terms, const coll_smelt_call *call) {
  if (!call->send_type) return NULL;
  return terms->packed ? terms->packed : (char *)call->send + call->send_type->super.true_lb;
}

static inline int coll_smelt_open_scatter(coll_smelt_terms *terms, const coll_smelt_module *module,
                                          const coll_smelt_call *call) {
  terms->packed = NULL;
  if (call->send_type && !coll_smelt_gapless(call->send_type) && !coll_smelt_scatter_pack(terms, module, call))
    return OMPI_ERR_OUT_OF_RESOURCE;
  if (call->type)
    coll_smelt_data_open(&terms->out, call->receive, call->count, call->type, true);
  else /* in place: where it lies in the row */
    terms->out.data =
        (smelt_data){.base = coll_smelt_scatter_row(terms, call) + coll_smelt_scatter_bytes(call) * (size_t)call->root};
  return OMPI_SUCCESS;
}
COLL_SMELT_RUNS(scatter, coll_smelt_scatter_row(terms, call), &terms->out.data, coll_smelt_scatter_bytes(call),
                (unsigned)call->root)
static inline void coll_smelt_close_scatter(coll_smelt_terms *terms, const coll_smelt_module *module,
                                            const coll_smelt_call *call, int error) {
  (void)module, (void)call, (void)error;
  coll_smelt_data_close(&terms->out);
  free(terms->packed);
}

#endif
