/* Rows whose blocks differ, and rows with gaps. */
#include "rows.h"

int coll_smelt_row_open_various(coll_smelt_terms *terms, const coll_smelt_call *call, coll_smelt_row row, int n) {
  terms->places = n <= COLL_SMELT_FEW ? terms->few_places : malloc((size_t)n * sizeof *terms->places);
  if (!terms->places) return OMPI_ERR_OUT_OF_RESOURCE;
  const bool gapless = coll_smelt_gapless(row.type);
  size_t sum = 0;
  for (int i = 0; i < n; ++i) {
    const size_t bytes = coll_smelt_row_bytes(call, row, i);
    terms->places[i].bytes = bytes;
    terms->places[i].offset = gapless ? coll_smelt_row_block(call, row, i) - (char *)row.at : (ptrdiff_t)sum;
    sum += bytes;
  }
  if (gapless || sum == 0 || (terms->packed = malloc(sum))) return OMPI_SUCCESS;
  coll_smelt_row_close(terms);
  return OMPI_ERR_OUT_OF_RESOURCE;
}

void coll_smelt_row_pack(const coll_smelt_terms *terms, const coll_smelt_call *call, coll_smelt_row row, int n,
                         int but) {
  for (int i = 0; terms->packed && i < n; ++i)
    if (i != but && coll_smelt_row_bytes(call, row, i) > 0)
      coll_smelt_pack(row.type, coll_smelt_row_count(call, row, i), coll_smelt_row_block(call, row, i),
                      coll_smelt_row_own(terms, call, row, i));
}

void coll_smelt_row_unpack(const coll_smelt_terms *terms, const coll_smelt_call *call, coll_smelt_row row, int n,
                           int but) {
  for (int i = 0; terms->packed && i < n; ++i)
    if (i != but && coll_smelt_row_bytes(call, row, i) > 0)
      coll_smelt_unpack(row.type, coll_smelt_row_count(call, row, i), coll_smelt_row_block(call, row, i),
                        coll_smelt_row_own(terms, call, row, i));
}
