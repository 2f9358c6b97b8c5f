/* Rows of blocks of different lengths. */
#include "blocks.h"

int coll_smelt_blocks_open(coll_smelt_terms *terms, const coll_smelt_call *call, const struct ompi_datatype_t *type,
                           int n) {
  terms->packed = NULL;
  terms->places = n <= COLL_SMELT_FEW ? terms->few_places : malloc((size_t)n * sizeof *terms->places);
  if (!terms->places) return OMPI_ERR_OUT_OF_RESOURCE;
  const bool gapless = coll_smelt_gapless(type);
  const ptrdiff_t extent = type->super.ub - type->super.lb;
  size_t sum = 0;
  for (int i = 0; i < n; ++i) {
    const size_t bytes = coll_smelt_block_bytes(call, type, i);
    terms->places[i].bytes = bytes;
    terms->places[i].offset = gapless ? extent * coll_smelt_place_of(call->places, i) : (ptrdiff_t)sum;
    sum += bytes;
  }
  if (gapless || sum == 0 || (terms->packed = malloc(sum))) return OMPI_SUCCESS;
  coll_smelt_blocks_close(terms);
  return OMPI_ERR_OUT_OF_RESOURCE;
}

void coll_smelt_blocks_close(coll_smelt_terms *terms) {
  if (terms->places != terms->few_places) free(terms->places);
  free(terms->packed);
}

static bool is_empty(const coll_smelt_terms *terms, int i, int but) { return i == but || terms->places[i].bytes == 0; }

void coll_smelt_blocks_pack(const coll_smelt_terms *terms, const coll_smelt_call *call, const void *row,
                            struct ompi_datatype_t *type, int n, int but) {
  for (int i = 0; terms->packed && i < n; ++i)
    if (!is_empty(terms, i, but))
      coll_smelt_pack(type, coll_smelt_count_of(call->counts, i), coll_smelt_place(call, row, type, i),
                      terms->packed + terms->places[i].offset);
}

void coll_smelt_blocks_unpack(const coll_smelt_terms *terms, const coll_smelt_call *call, void *row,
                              struct ompi_datatype_t *type, int n, int but) {
  for (int i = 0; terms->packed && i < n; ++i)
    if (!is_empty(terms, i, but))
      coll_smelt_unpack(type, coll_smelt_count_of(call->counts, i), coll_smelt_place(call, row, type, i),
                        terms->packed + terms->places[i].offset);
}
