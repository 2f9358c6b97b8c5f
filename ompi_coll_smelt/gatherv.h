/* MPI_Gatherv. Only its root knows how long a row is, so there is no length that all could decide by: nonblocking ones
 * are served if there is memory for any. The data to send lie in one piece; if their type leaves gaps, in a place of
 * their own. */
#ifndef COLL_SMELT_GATHERV_H
#define COLL_SMELT_GATHERV_H

#include "blocks.h"

/* Elsewhere than on the root MPI says nothing of the data to receive, and in place nothing of the root's data to
 * send. */
static inline size_t coll_smelt_prepare_gatherv(const coll_smelt_module *module, coll_smelt_call *call) {
  if (!coll_smelt_is_root(module, call))
    call->receive = NULL, call->type = NULL;
  else if (call->send == MPI_IN_PLACE)
    call->send_count = 0, call->send_type = NULL;
  return SIZE_MAX;
}

static inline char *coll_smelt_gatherv_row(const coll_smelt_terms *terms, const coll_smelt_call *call) {
  return call->type ? coll_smelt_row(terms, call->receive, call->type) : NULL;
}
static inline size_t coll_smelt_gatherv_bytes(const coll_smelt_terms *terms, const coll_smelt_call *call) {
  return call->send_type ? coll_smelt_bytes(call->send_type, call->send_count) : terms->places[call->root].bytes;
}

/* The data to send: terms->in, in one piece. */
static inline bool coll_smelt_gatherv_open_own(coll_smelt_terms *terms, const coll_smelt_call *call) {
  terms->aside = NULL;
  if (!call->send_type) { /* in place: where it lies in the row, and nobody looks at it where that is another one */
    terms->in.data.base = coll_smelt_gatherv_row(terms, call) + terms->places[call->root].offset;
    return true;
  }
  coll_smelt_data_open(&terms->in, call->send, call->send_count, call->send_type, false);
  const size_t bytes = coll_smelt_gatherv_bytes(terms, call);
  if (terms->in.data.base || bytes == 0) return true;
  coll_smelt_data_close(&terms->in);
  if (!(terms->aside = malloc(bytes))) return false;
  coll_smelt_pack(call->send_type, (size_t)call->send_count, call->send, terms->aside);
  terms->in.data.base = terms->aside;
  return true;
}

static inline int coll_smelt_open_gatherv(coll_smelt_terms *terms, const coll_smelt_module *module,
                                          const coll_smelt_call *call) {
  terms->packed = NULL;
  terms->places = NULL;
  if (call->type) {
    const int error = coll_smelt_blocks_open(terms, call, call->type, coll_smelt_size(module));
    if (error != OMPI_SUCCESS) return error;
  }
  if (coll_smelt_gatherv_open_own(terms, call)) return OMPI_SUCCESS;
  coll_smelt_blocks_close(terms);
  return OMPI_ERR_OUT_OF_RESOURCE;
}
COLL_SMELT_RUNS(gatherv, terms->in.data.base, coll_smelt_gatherv_bytes(terms, call),
                coll_smelt_gatherv_row(terms, call), terms->places, (unsigned)call->root)
static inline void coll_smelt_close_gatherv(coll_smelt_terms *terms, const coll_smelt_module *module,
                                            const coll_smelt_call *call, int error) {
  if (call->type && error == 0)
    coll_smelt_blocks_unpack(terms, call, call->receive, call->type, coll_smelt_size(module),
                             call->send_type ? -1 : call->root);
  free(terms->aside);
  coll_smelt_blocks_close(terms);
}

#endif
