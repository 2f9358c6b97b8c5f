/* The rarer ways of operations (fold.h): in halves, on types that are not predefined, on types with gaps. */
#include "fold.h"

#include <stdint.h>
#include <stdlib.h>

void coll_smelt_halves_into_right(coll_smelt_fold *fold, const void *left, void *right, size_t elements) {
  const size_t half = elements / 2, bytes = half * fold->fold.element_bytes;
  fold->fold.into_right(fold, left, right, half);
  fold->fold.into_right(fold, (const char *)left + bytes, (char *)right + bytes, elements - half);
}

void coll_smelt_halves_into_third(coll_smelt_fold *fold, const void *left, const void *right, void *result,
                                  size_t elements) {
  const size_t half = elements / 2, bytes = half * fold->fold.element_bytes;
  fold->fold.into_third(fold, left, right, result, half);
  fold->fold.into_third(fold, (const char *)left + bytes, (const char *)right + bytes, (char *)result + bytes,
                        elements - half);
}

/* --- type without gaps */

/* An element's bytes begin true_lb after the address that MPI calls the element's. */
void coll_smelt_gapless_into_right(void *context, const void *left, void *right, size_t elements) {
  coll_smelt_fold *fold = context;
  const ptrdiff_t lead = fold->type->super.true_lb;
  ompi_op_reduce(fold->op, (char *)left - lead, (char *)right - lead, elements, fold->type);
}

/* --- type with gaps */

enum { kBlockBytes = 32768, kAlignment = 64 };

static void gaps_into_right(void *context, const void *left, void *right, size_t elements) {
  coll_smelt_fold *fold = context;
  for (size_t done = 0; done < elements;) {
    const size_t count = elements - done < fold->block ? elements - done : fold->block;
    char *packed = (char *)right + done * fold->fold.element_bytes;
    coll_smelt_unpack(fold->type, count, fold->left, (const char *)left + done * fold->fold.element_bytes);
    coll_smelt_unpack(fold->type, count, fold->right, packed);
    ompi_op_reduce(fold->op, fold->left, fold->right, count, fold->type);
    coll_smelt_pack(fold->type, count, fold->right, packed);
    done += count;
  }
}

/* The address of element 0 in `room`, aligned, so that the lowest byte of all elements, `low` from it, is still inside.
   */
static char *element_zero(char *room, ptrdiff_t low) {
  const uintptr_t at = (uintptr_t)(room - low);
  return (char *)((at + kAlignment - 1) / kAlignment * kAlignment);
}

int coll_smelt_open_gaps(coll_smelt_fold *fold) {
  const opal_datatype_t *type = &fold->type->super;
  const ptrdiff_t extent = type->ub - type->lb, true_extent = type->true_ub - type->true_lb;
  const ptrdiff_t step = extent < 0 ? -extent : extent;
  fold->block = step > 0 && step < kBlockBytes ? (size_t)(kBlockBytes / step) : 1;
  const ptrdiff_t last = (ptrdiff_t)(fold->block - 1) * extent; /* negative where the type's extent is */
  const ptrdiff_t low = type->true_lb + (last < 0 ? last : 0);
  const size_t span = (size_t)(true_extent + (last < 0 ? -last : last)) + kAlignment;
  fold->allocation = malloc(2 * span);
  if (!fold->allocation) return OMPI_ERR_OUT_OF_RESOURCE;
  fold->left = element_zero(fold->allocation, low);
  fold->right = element_zero((char *)fold->allocation + span, low);
  fold->fold.into_right = gaps_into_right;
  return OMPI_SUCCESS;
}
