/* The row of blocks that a gather, a scatter or an allgather has on its root or everywhere, as a smelt_group wants it:
 * in packed bytes, block behind block or, in the vector forms, at offsets. If the type leaves gaps, the group gets
 * another row, which is packed. */
#ifndef COLL_SMELT_ROWS_H
#define COLL_SMELT_ROWS_H

#include "form.h"

typedef struct coll_smelt_row {
  const void *at;               /* the program's */
  coll_smelt_length count;      /* elements of each block, unless they are `various` */
  struct ompi_datatype_t *type; /* NULL: this rank has no row */
  bool various;                 /* the call's `counts` and `places` describe the blocks */
} coll_smelt_row;

/* That rank's block: its elements, its bytes, and where the program has it. */
static inline size_t coll_smelt_row_count(const coll_smelt_call *call, coll_smelt_row row, int rank) {
  return row.various ? coll_smelt_count_of(call->counts, rank) : (size_t)row.count;
}
static inline size_t coll_smelt_row_bytes(const coll_smelt_call *call, coll_smelt_row row, int rank) {
  return row.type->super.size * coll_smelt_row_count(call, row, rank);
}
static inline char *coll_smelt_row_block(const coll_smelt_call *call, coll_smelt_row row, int rank) {
  const ptrdiff_t elements =
      row.various ? coll_smelt_place_of(call->places, rank) : (ptrdiff_t)row.count * (ptrdiff_t)rank;
  return (char *)row.at + (row.type->super.ub - row.type->super.lb) * elements;
}

/* rows.c: the same for blocks that differ. */
int coll_smelt_row_open_various(coll_smelt_terms *terms, const coll_smelt_call *call, coll_smelt_row row, int n);

/* terms->packed, if the row has gaps, and terms->places, if its blocks differ; both are released by close.
 * OMPI_SUCCESS, or OMPI_ERR_OUT_OF_RESOURCE. */
static inline int coll_smelt_row_open(coll_smelt_terms *terms, const coll_smelt_call *call, coll_smelt_row row, int n) {
  terms->packed = NULL;
  terms->places = NULL;
  if (!row.type) return OMPI_SUCCESS;
  if (row.various) return coll_smelt_row_open_various(terms, call, row, n);
  if (coll_smelt_gapless(row.type)) return OMPI_SUCCESS;
  terms->packed = malloc(coll_smelt_bytes(row.type, row.count) * (size_t)n);
  return terms->packed ? OMPI_SUCCESS : OMPI_ERR_OUT_OF_RESOURCE;
}
static inline void coll_smelt_row_close(coll_smelt_terms *terms) {
  if (terms->places && terms->places != terms->few_places) free(terms->places);
  if (OPAL_UNLIKELY(terms->packed != NULL)) free(terms->packed);
}

/* The group's row, and that rank's block in it. */
static inline char *coll_smelt_row_of_group(const coll_smelt_terms *terms, coll_smelt_row row) {
  if (!row.type) return NULL;
  return terms->packed ? terms->packed : (char *)row.at + row.type->super.true_lb;
}
static inline char *coll_smelt_row_own(const coll_smelt_terms *terms, const coll_smelt_call *call, coll_smelt_row row,
                                       int rank) {
  return coll_smelt_row_of_group(terms, row) +
         (row.various ? terms->places[rank].offset : (ptrdiff_t)coll_smelt_row_bytes(call, row, 0) * rank);
}

/* Between the program's row and a packed one, if there is one: all blocks but one (or -1). */
void coll_smelt_row_pack(const coll_smelt_terms *terms, const coll_smelt_call *call, coll_smelt_row row, int n,
                         int but);
void coll_smelt_row_unpack(const coll_smelt_terms *terms, const coll_smelt_call *call, coll_smelt_row row, int n,
                           int but);

/* A form with a row, as coll_smelt_open_KIND_row and coll_smelt_close_KIND_row have it; then the group's function's
 * arguments. */
#define COLL_SMELT_ROW_FORM(name, kind, various, ...)                                                  \
  static inline int coll_smelt_open_##name(coll_smelt_terms *terms, const coll_smelt_module *module,   \
                                           const coll_smelt_call *call) {                              \
    return coll_smelt_open_##kind##_row(terms, module, call, coll_smelt_##kind##_row(call, various));  \
  }                                                                                                    \
  static inline void coll_smelt_close_##name(coll_smelt_terms *terms, const coll_smelt_module *module, \
                                             const coll_smelt_call *call, int error) {                 \
    coll_smelt_close_##kind##_row(terms, module, call, coll_smelt_##kind##_row(call, various), error); \
  }                                                                                                    \
  COLL_SMELT_RUNS(name, group, __VA_ARGS__)

#endif
