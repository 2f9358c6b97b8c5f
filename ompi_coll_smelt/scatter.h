/* MPI_Scatter and MPI_Scatterv. The data come from the row that the root sends. How long a scatterv's is only its root
 * knows, so there is no length that all could decide by: nonblocking ones are served if there is memory for any. */
#ifndef COLL_SMELT_SCATTER_H
#define COLL_SMELT_SCATTER_H

#include "rows.h"

static inline coll_smelt_row coll_smelt_scatter_row(const coll_smelt_call *call, bool various) {
  return (coll_smelt_row){call->send, call->send_count, call->send_type, various};
}

/* Elsewhere than on the root MPI says nothing of the data to send, and in place nothing of the root's data to
 * receive. */
static inline void coll_smelt_clear_scatter(const coll_smelt_module *module, coll_smelt_call *call) {
  if (!coll_smelt_is_root(module, call))
    call->send = NULL, call->send_count = 0, call->send_type = NULL;
  else if (call->receive == MPI_IN_PLACE)
    call->count = 0, call->type = NULL;
}
static inline size_t coll_smelt_scatter_bytes(const coll_smelt_call *call) {
  return call->send_type ? coll_smelt_bytes(call->send_type, call->send_count)
                         : coll_smelt_bytes(call->type, call->count);
}
/* A start may be refused for the length of the whole row that is sent. */
static inline size_t coll_smelt_prepare_scatter(const coll_smelt_module *module, coll_smelt_call *call) {
  coll_smelt_clear_scatter(module, call);
  return coll_smelt_scatter_bytes(call) * (size_t)(coll_smelt_size(module) - 1);
}
static inline size_t coll_smelt_prepare_scatterv(const coll_smelt_module *module, coll_smelt_call *call) {
  coll_smelt_clear_scatter(module, call);
  return SIZE_MAX;
}

static inline int coll_smelt_open_scatter_row(coll_smelt_terms *terms, const coll_smelt_module *module,
                                              const coll_smelt_call *call, coll_smelt_row row) {
  const int error = coll_smelt_row_open(terms, call, row, coll_smelt_size(module));
  if (OPAL_UNLIKELY(error != OMPI_SUCCESS)) return error;
  if (OPAL_UNLIKELY(terms->packed != NULL))
    coll_smelt_row_pack(terms, call, row, coll_smelt_size(module), call->type ? -1 : call->root);
  if (call->type)
    coll_smelt_data_open(&terms->out, call->receive, call->count, call->type, true);
  else /* in place: where it lies in the row */
    terms->out.data = (smelt_data){.base = coll_smelt_row_own(terms, call, row, call->root)};
  return OMPI_SUCCESS;
}
static inline void coll_smelt_close_scatter_row(coll_smelt_terms *terms, const coll_smelt_module *module,
                                                const coll_smelt_call *call, coll_smelt_row row, int error) {
  (void)module, (void)call, (void)row, (void)error;
  coll_smelt_data_close(&terms->out);
  coll_smelt_row_close(terms);
}

COLL_SMELT_ROW_FORM(scatter, scatter, false, coll_smelt_row_of_group(terms, coll_smelt_scatter_row(call, false)),
                    &terms->out.data, coll_smelt_scatter_bytes(call), (unsigned)call->root)
COLL_SMELT_ROW_FORM(scatterv, scatter, true, coll_smelt_row_of_group(terms, coll_smelt_scatter_row(call, true)),
                    terms->places, &terms->out.data,
                    call->type ? coll_smelt_bytes(call->type, call->count) : terms->places[call->root].bytes,
                    (unsigned)call->root)

#endif
