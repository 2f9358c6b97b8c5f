/* The row of blocks that the vector forms of MPI's collectives describe, by counts and displacements, as a smelt_group
 * wants it: bytes and offsets. Where the type leaves gaps the row is another one, packed, block behind block. */
#ifndef COLL_SMELT_BLOCKS_H
#define COLL_SMELT_BLOCKS_H

#include "form.h"

static inline size_t coll_smelt_block_bytes(const coll_smelt_call *call, const struct ompi_datatype_t *type, int rank) {
  return type->super.size * coll_smelt_count_of(call->counts, rank);
}
/* The lengths of all together, and of the longest. */
static inline size_t coll_smelt_longest_block(const coll_smelt_call *call, const struct ompi_datatype_t *type, int n) {
  size_t longest = 0;
  for (int i = 0; i < n; ++i) {
    const size_t bytes = coll_smelt_block_bytes(call, type, i);
    if (bytes > longest) longest = bytes;
  }
  return longest;
}

/* The place of that rank's block in the program's own row. */
static inline char *coll_smelt_place(const coll_smelt_call *call, const void *row, const struct ompi_datatype_t *type,
                                     int rank) {
  return (char *)row + (type->super.ub - type->super.lb) * coll_smelt_place_of(call->places, rank);
}

/* terms->places and, with gaps, terms->packed; both released by close. OMPI_SUCCESS, or OMPI_ERR_OUT_OF_RESOURCE. */
int coll_smelt_blocks_open(coll_smelt_terms *terms, const coll_smelt_call *call, const struct ompi_datatype_t *type,
                           int n);
void coll_smelt_blocks_close(coll_smelt_terms *terms);
/* The group's row, where that of the program is `row`. */
static inline char *coll_smelt_row(const coll_smelt_terms *terms, const void *row, const struct ompi_datatype_t *type) {
  return terms->packed ? terms->packed : (char *)row + type->super.true_lb;
}
/* Between a packed row, if there is one, and the program's; all blocks but one (or -1). */
void coll_smelt_blocks_pack(const coll_smelt_terms *terms, const coll_smelt_call *call, const void *row,
                            struct ompi_datatype_t *type, int n, int but);
void coll_smelt_blocks_unpack(const coll_smelt_terms *terms, const coll_smelt_call *call, void *row,
                              struct ompi_datatype_t *type, int n, int but);

#endif
