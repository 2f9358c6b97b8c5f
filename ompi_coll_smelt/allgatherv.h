/* MPI_Allgatherv. */
#ifndef COLL_SMELT_ALLGATHERV_H
#define COLL_SMELT_ALLGATHERV_H

#include "blocks.h"

/* In place MPI says nothing of the sender's count and type. */
static inline size_t coll_smelt_prepare_allgatherv(const coll_smelt_module *module, coll_smelt_call *call) {
  if (call->send == MPI_IN_PLACE) call->send_count = 0, call->send_type = NULL;
  return coll_smelt_longest_block(call, call->type, coll_smelt_size(module));
}

static inline int coll_smelt_open_allgatherv(coll_smelt_terms *terms, const coll_smelt_module *module,
                                             const coll_smelt_call *call) {
  const int me = coll_smelt_me(module);
  const int error = coll_smelt_blocks_open(terms, call, call->type, coll_smelt_size(module));
  if (error != OMPI_SUCCESS) return error;
  if (call->send == MPI_IN_PLACE)
    coll_smelt_data_open(&terms->in, coll_smelt_place(call, call->receive, call->type, me),
                         (coll_smelt_length)coll_smelt_count_of(call->counts, me), call->type, false);
  else
    coll_smelt_data_open(&terms->in, call->send, call->send_count, call->send_type, false);
  return OMPI_SUCCESS;
}
COLL_SMELT_RUNS(allgatherv, &terms->in.data, coll_smelt_row(terms, call->receive, call->type), terms->places)
static inline void coll_smelt_close_allgatherv(coll_smelt_terms *terms, const coll_smelt_module *module,
                                               const coll_smelt_call *call, int error) {
  coll_smelt_data_close(&terms->in);
  if (error == 0)
    coll_smelt_blocks_unpack(terms, call, call->receive, call->type, coll_smelt_size(module),
                             call->send == MPI_IN_PLACE ? coll_smelt_me(module) : -1);
  coll_smelt_blocks_close(terms);
}

#endif
