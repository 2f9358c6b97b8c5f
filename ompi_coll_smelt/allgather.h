/* MPI_Allgather and MPI_Allgatherv. Everybody's data go to the row that everybody receives. */
#ifndef COLL_SMELT_ALLGATHER_H
#define COLL_SMELT_ALLGATHER_H

#include "rows.h"

static inline coll_smelt_row coll_smelt_allgather_row(const coll_smelt_call *call, bool various) {
  return (coll_smelt_row){call->receive, call->count, call->type, various};
}

/* In place MPI says nothing of the sender's count and type. */
static inline void coll_smelt_clear_allgather(coll_smelt_call *call) {
  if (call->send == MPI_IN_PLACE) call->send_count = 0, call->send_type = NULL;
}
static inline size_t coll_smelt_prepare_allgather(const coll_smelt_module *module, coll_smelt_call *call) {
  (void)module;
  coll_smelt_clear_allgather(call);
  return coll_smelt_bytes(call->type, call->count);
}
/* The longest block. */
static inline size_t coll_smelt_prepare_allgatherv(const coll_smelt_module *module, coll_smelt_call *call) {
  coll_smelt_clear_allgather(call);
  size_t longest = 0;
  for (int i = 0; i < coll_smelt_size(module); ++i) {
    const size_t bytes = coll_smelt_row_bytes(call, coll_smelt_allgather_row(call, true), i);
    if (bytes > longest) longest = bytes;
  }
  return longest;
}

static inline int coll_smelt_open_allgather_row(coll_smelt_terms *terms, const coll_smelt_module *module,
                                                const coll_smelt_call *call, coll_smelt_row row) {
  const int error = coll_smelt_row_open(terms, call, row, coll_smelt_size(module)), me = coll_smelt_me(module);
  if (OPAL_UNLIKELY(error != OMPI_SUCCESS)) return error;
  if (call->send == MPI_IN_PLACE)
    coll_smelt_data_open(&terms->in, coll_smelt_row_block(call, row, me),
                         (coll_smelt_length)coll_smelt_row_count(call, row, me), row.type, false);
  else
    coll_smelt_data_open(&terms->in, call->send, call->send_count, call->send_type, false);
  return OMPI_SUCCESS;
}
static inline void coll_smelt_close_allgather_row(coll_smelt_terms *terms, const coll_smelt_module *module,
                                                  const coll_smelt_call *call, coll_smelt_row row, int error) {
  coll_smelt_data_close(&terms->in);
  if (OPAL_UNLIKELY(terms->packed && error == 0))
    coll_smelt_row_unpack(terms, call, row, coll_smelt_size(module),
                          call->send == MPI_IN_PLACE ? coll_smelt_me(module) : -1);
  coll_smelt_row_close(terms);
}

COLL_SMELT_ROW_FORM(allgather, allgather, false, &terms->in.data,
                    coll_smelt_row_of_group(terms, coll_smelt_allgather_row(call, false)),
                    coll_smelt_bytes(call->type, call->count))
COLL_SMELT_ROW_FORM(allgatherv, allgather, true, &terms->in.data,
                    coll_smelt_row_of_group(terms, coll_smelt_allgather_row(call, true)), terms->places)

#endif
