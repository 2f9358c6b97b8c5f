/* MPI_Gather. The data go to consecutive places of the root's `receive`; where the type leaves
 * gaps, to a place of their own first. */
#ifndef COLL_SMELT_GATHER_H
#define COLL_SMELT_GATHER_H

#include "form.h"

static inline size_t coll_smelt_gather_bytes(const coll_smelt_call *call) {
  return call->type ? coll_smelt_bytes(call->type, call->count) : coll_smelt_bytes(call->send_type, call->send_count);
}

/* Elsewhere than on the root MPI says nothing of the data to receive, and in place nothing of the root's data to
 * send. */
static inline size_t coll_smelt_prepare_gather(const coll_smelt_module *module, coll_smelt_call *call) {
  if (!coll_smelt_is_root(module, call))
    call->receive = NULL, call->count = 0, call->type = NULL;
  else if (call->send == MPI_IN_PLACE)
    call->send_count = 0, call->send_type = NULL;
  return coll_smelt_gather_bytes(call);
}

static inline int coll_smelt_open_gather(coll_smelt_terms *terms, const coll_smelt_module *module,
                                         const coll_smelt_call *call) {
  terms->packed = NULL;
  if (call->type && !coll_smelt_gapless(call->type) &&
      !(terms->packed = malloc(coll_smelt_gather_bytes(call) * (size_t)coll_smelt_size(module))))
    return OMPI_ERR_OUT_OF_RESOURCE;
  if (call->send_type)
    coll_smelt_data_open(&terms->in, call->send, call->send_count, call->send_type, false);
  else
    coll_smelt_data_open(&terms->in, coll_smelt_block(call->receive, call->count, call->type, call->root), call->count,
                         call->type, false);
  return OMPI_SUCCESS;
}
static inline char *coll_smelt_gather_row(const coll_smelt_terms *terms, const coll_smelt_call *call) {
  if (!call->type) return NULL;
  return terms->packed ? terms->packed : (char *)call->receive + call->type->super.true_lb;
}
COLL_SMELT_RUNS(gather, &terms->in.data, coll_smelt_gather_row(terms, call), coll_smelt_gather_bytes(call),
                (unsigned)call->root)
static inline void coll_smelt_close_gather(coll_smelt_terms *terms, const coll_smelt_module *module,
                                           const coll_smelt_call *call, int error) {
  coll_smelt_data_close(&terms->in);
  if (!terms->packed) return;
  for (int i = 0; i < coll_smelt_size(module) && error == 0; ++i)
    if (call->send_type || i != call->root)
      coll_smelt_unpack(call->type, (size_t)call->count, coll_smelt_block(call->receive, call->count, call->type, i),
                        terms->packed + coll_smelt_gather_bytes(call) * (size_t)i);
  free(terms->packed);
}

#endif
