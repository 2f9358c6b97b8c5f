/* MPI_Alltoall. Rows of blocks without gaps are read and written where they are; others, and rows that are overwritten
 * in place, pass through rows of their own. */
#ifndef COLL_SMELT_ALLTOALL_H
#define COLL_SMELT_ALLTOALL_H

#include "form.h"

#include <string.h>

static inline size_t coll_smelt_alltoall_bytes(const coll_smelt_call *call) {
  return coll_smelt_bytes(call->type, call->count);
}

/* In place MPI says nothing of the sender's count and type: the blocks to send lie where the receiver's data go. */
static inline size_t coll_smelt_prepare_alltoall(const coll_smelt_module *module, coll_smelt_call *call) {
  if (call->send == MPI_IN_PLACE) call->send_count = call->count, call->send_type = call->type;
  return coll_smelt_alltoall_bytes(call) * (size_t)(coll_smelt_size(module) - 1); /* the blocks for others */
}

static inline int coll_smelt_open_alltoall(coll_smelt_terms *terms, const coll_smelt_module *module,
                                           const coll_smelt_call *call) {
  const size_t blocks = (size_t)coll_smelt_size(module), row = coll_smelt_alltoall_bytes(call) * blocks;
  const bool in_place = call->send == MPI_IN_PLACE;
  terms->packed = terms->aside = NULL;
  if (!coll_smelt_gapless(call->type) && !(terms->packed = malloc(row))) return OMPI_ERR_OUT_OF_RESOURCE;
  if (!in_place && coll_smelt_gapless(call->send_type)) return OMPI_SUCCESS;
  if (!(terms->aside = malloc(row))) return free(terms->packed), OMPI_ERR_OUT_OF_RESOURCE;
  coll_smelt_pack(call->send_type, blocks * (size_t)call->send_count, in_place ? call->receive : call->send,
                  terms->aside);
  return OMPI_SUCCESS;
}
static inline const char *coll_smelt_alltoall_row_in(const coll_smelt_terms *terms, const coll_smelt_call *call) {
  return terms->aside ? terms->aside : (const char *)call->send + call->send_type->super.true_lb;
}
static inline char *coll_smelt_alltoall_row_out(const coll_smelt_terms *terms, const coll_smelt_call *call) {
  return terms->packed ? terms->packed : (char *)call->receive + call->type->super.true_lb;
}
static inline void coll_smelt_close_alltoall(coll_smelt_terms *terms, const coll_smelt_module *module,
                                             const coll_smelt_call *call, int error) {
  free(terms->aside);
  if (!terms->packed) return;
  if (error == 0)
    coll_smelt_unpack(call->type, (size_t)coll_smelt_size(module) * (size_t)call->count, call->receive, terms->packed);
  free(terms->packed);
}
COLL_SMELT_RUNS(alltoall, group, coll_smelt_alltoall_row_in(terms, call), coll_smelt_alltoall_row_out(terms, call),
                coll_smelt_alltoall_bytes(call))

#endif
