/* MPI_Gather and MPI_Gatherv. The data go to the row that the root receives. How long a gatherv's is only its root
 * knows, so there is no length that all could decide by: nonblocking ones are served if there is memory for any. */
#ifndef COLL_SMELT_GATHER_H
#define COLL_SMELT_GATHER_H

#include "rows.h"

static inline coll_smelt_row coll_smelt_gather_row(const coll_smelt_call *call, bool various) {
  return (coll_smelt_row){call->receive, call->count, call->type, various};
}

/* Elsewhere than on the root MPI says nothing of the data to receive, and in place nothing of the root's data to
 * send. */
static inline void coll_smelt_clear_gather(const coll_smelt_module *module, coll_smelt_call *call) {
  if (!coll_smelt_is_root(module, call))
    call->receive = NULL, call->count = 0, call->type = NULL;
  else if (call->send == MPI_IN_PLACE)
    call->send_count = 0, call->send_type = NULL;
}
static inline size_t coll_smelt_gather_bytes(const coll_smelt_call *call) {
  return call->type ? coll_smelt_bytes(call->type, call->count) : coll_smelt_bytes(call->send_type, call->send_count);
}
static inline size_t coll_smelt_gatherv_bytes(const coll_smelt_terms *terms, const coll_smelt_call *call) {
  return call->send_type ? coll_smelt_bytes(call->send_type, call->send_count) : terms->places[call->root].bytes;
}
static inline size_t coll_smelt_prepare_gather(const coll_smelt_module *module, coll_smelt_call *call) {
  coll_smelt_clear_gather(module, call);
  return coll_smelt_gather_bytes(call);
}
static inline size_t coll_smelt_prepare_gatherv(const coll_smelt_module *module, coll_smelt_call *call) {
  coll_smelt_clear_gather(module, call);
  return SIZE_MAX;
}

/* A gatherv's data to send lie in one piece; if their type leaves gaps, in a place of their own. */
static inline bool coll_smelt_gather_aside(coll_smelt_terms *terms, const coll_smelt_call *call) {
  const size_t bytes = coll_smelt_gatherv_bytes(terms, call);
  if (terms->in.data.base || bytes == 0) return true;
  coll_smelt_data_close(&terms->in);
  terms->in.data = (smelt_data){.base = terms->aside = malloc(bytes)};
  if (!terms->aside) return false;
  coll_smelt_pack(call->send_type, (size_t)call->send_count, call->send, terms->aside);
  return true;
}

static inline int coll_smelt_open_gather_row(coll_smelt_terms *terms, const coll_smelt_module *module,
                                             const coll_smelt_call *call, coll_smelt_row row) {
  const int error = coll_smelt_row_open(terms, call, row, coll_smelt_size(module));
  if (OPAL_UNLIKELY(error != OMPI_SUCCESS)) return error;
  terms->aside = NULL;
  if (call->send_type)
    coll_smelt_data_open(&terms->in, call->send, call->send_count, call->send_type, false);
  else /* in place: where it lies in the row, and nobody looks at it where that is another one */
    terms->in.data = (smelt_data){.base = coll_smelt_row_own(terms, call, row, call->root)};
  if (!row.various || coll_smelt_gather_aside(terms, call)) return OMPI_SUCCESS;
  coll_smelt_row_close(terms);
  return OMPI_ERR_OUT_OF_RESOURCE;
}
static inline void coll_smelt_close_gather_row(coll_smelt_terms *terms, const coll_smelt_module *module,
                                               const coll_smelt_call *call, coll_smelt_row row, int error) {
  coll_smelt_data_close(&terms->in);
  if (OPAL_UNLIKELY(terms->packed && error == 0))
    coll_smelt_row_unpack(terms, call, row, coll_smelt_size(module), call->send_type ? -1 : call->root);
  if (row.various) free(terms->aside);
  coll_smelt_row_close(terms);
}

COLL_SMELT_ROW_FORM(gather, gather, false, &terms->in.data,
                    coll_smelt_row_of_group(terms, coll_smelt_gather_row(call, false)), coll_smelt_gather_bytes(call),
                    (unsigned)call->root)
COLL_SMELT_ROW_FORM(gatherv, gather, true, terms->in.data.base, coll_smelt_gatherv_bytes(terms, call),
                    coll_smelt_row_of_group(terms, coll_smelt_gather_row(call, true)), terms->places,
                    (unsigned)call->root)

#endif
