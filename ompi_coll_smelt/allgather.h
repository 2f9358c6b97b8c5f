/* MPI_Allgather. Everybody's data go to consecutive places of `receive`; where the type leaves
 * gaps, to a place of their own first. */
#ifndef COLL_SMELT_ALLGATHER_H
#define COLL_SMELT_ALLGATHER_H

#include "form.h"

static inline size_t coll_smelt_allgather_bytes(const coll_smelt_call *call) {
  return coll_smelt_bytes(call->type, call->count);
}

/* In place MPI says nothing of the sender's count and type. */
static inline size_t coll_smelt_prepare_allgather(const coll_smelt_module *module, coll_smelt_call *call) {
  (void)module;
  if (call->send == MPI_IN_PLACE) call->send_count = 0, call->send_type = NULL;
  return coll_smelt_allgather_bytes(call);
}

/* The place where the data of that rank go. */
static inline char *coll_smelt_allgather_block(const coll_smelt_call *call, int rank) {
  return coll_smelt_block(call->receive, call->count, call->type, rank);
}

static inline int coll_smelt_open_allgather(coll_smelt_terms *terms, const coll_smelt_module *module,
                                            const coll_smelt_call *call) {
  terms->packed = NULL;
  if (!coll_smelt_gapless(call->type) &&
      !(terms->packed = malloc(coll_smelt_allgather_bytes(call) * (size_t)coll_smelt_size(module))))
    return OMPI_ERR_OUT_OF_RESOURCE;
  if (call->send == MPI_IN_PLACE)
    coll_smelt_data_open(&terms->in, coll_smelt_allgather_block(call, coll_smelt_me(module)), call->count, call->type,
                         false);
  else
    coll_smelt_data_open(&terms->in, call->send, call->send_count, call->send_type, false);
  return OMPI_SUCCESS;
}
static inline char *coll_smelt_allgather_row(const coll_smelt_terms *terms, const coll_smelt_call *call) {
  return terms->packed ? terms->packed : (char *)call->receive + call->type->super.true_lb;
}
COLL_SMELT_RUNS(allgather, &terms->in.data, coll_smelt_allgather_row(terms, call), coll_smelt_allgather_bytes(call))
static inline void coll_smelt_close_allgather(coll_smelt_terms *terms, const coll_smelt_module *module,
                                              const coll_smelt_call *call, int error) {
  coll_smelt_data_close(&terms->in);
  if (!terms->packed) return;
  for (int i = 0; i < coll_smelt_size(module) && error == 0; ++i)
    if (!(call->send == MPI_IN_PLACE && i == coll_smelt_me(module)))
      coll_smelt_unpack(call->type, (size_t)call->count, coll_smelt_allgather_block(call, i),
                        terms->packed + coll_smelt_allgather_bytes(call) * (size_t)i);
  free(terms->packed);
}

#endif
