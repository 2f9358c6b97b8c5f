/* Data with gaps, and without. */
#ifndef PML_SMELT_DATA_H
#define PML_SMELT_DATA_H

#include "requests.h"

/* Have the data of `count` of `type` no gaps, and where do they begin? */
static inline bool pml_smelt_in_one_piece(const struct ompi_datatype_t *type, size_t count) {
  /* Open MPI's own question has an int for the count: more than one is as good as any. */
  return count == 0 || type->super.size == 0 ||
         opal_datatype_is_contiguous_memory_layout(&type->super, count == 1 ? 1 : 2);
}
static inline void *pml_smelt_begin_of(const void *buffer, const struct ompi_datatype_t *type) {
  return (char *)(uintptr_t)buffer + type->super.true_lb;
}

/* A request's convertor for data with gaps. The type is kept as well: the program may free it before they
 * have moved. */
void pml_smelt_convert(pml_smelt_request *request, const void *buffer, size_t count, struct ompi_datatype_t *type);
void pml_smelt_convert_end(pml_smelt_request *request);
void pml_smelt_pack(smelt_transfer *send, uint64_t at, void *data, uint64_t bytes);
void pml_smelt_unpack(smelt_transfer *receive, uint64_t at, const void *data, uint64_t bytes);

#endif
