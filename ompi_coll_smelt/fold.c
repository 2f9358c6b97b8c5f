/* Operations. A group hands over packed bytes; which of three ways they reach the operation depends on the type:
 *
 *   predefined operation, predefined type without gaps   Open MPI's function for the pair, looked up once per call
 *   any operation, type without gaps                     ompi_op_reduce on the very bytes
 *   any operation, type with gaps                        both operands are unpacked into the type's own layout,
 *                                                        combined there, and the result is packed again
 *
 * A group is also told what it may do with the order (SMELT_FOLD_...): all ranks name the same operation and type, so
 * all say the same.
 *
 * Operations that are not predefined always see the real datatype. "Predefined" is not "without gaps": MPI_DOUBLE_INT,
 * MPI_LONG_INT and MPI_SHORT_INT have some, and take the third way. */
#include "data.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

/* --- predefined operation, predefined type without gaps */

/* Its counts are ints. More elements come in halves, apart, so that the usual call saves no registers. */

static void predefined_into_right(void *context, const void *left, void *right, size_t elements);
static void predefined_into_third(void *context, const void *left, const void *right, void *result, size_t elements);

__attribute__((noinline, cold)) static void halves_into_right(void *context, const void *left, void *right,
                                                              size_t elements) {
  const size_t half = elements / 2, bytes = half * ((coll_smelt_fold *)context)->fold.element_bytes;
  predefined_into_right(context, left, right, half);
  predefined_into_right(context, (const char *)left + bytes, (char *)right + bytes, elements - half);
}

static void predefined_into_right(void *context, const void *left, void *right, size_t elements) {
  coll_smelt_fold *fold = context;
  int count = (int)elements;
  if (OPAL_LIKELY(elements <= INT_MAX))
    fold->into_right(left, right, &count, &fold->type, fold->into_right_module);
  else
    halves_into_right(context, left, right, elements);
}

__attribute__((noinline, cold)) static void halves_into_third(void *context, const void *left, const void *right,
                                                              void *result, size_t elements) {
  const size_t half = elements / 2, bytes = half * ((coll_smelt_fold *)context)->fold.element_bytes;
  predefined_into_third(context, left, right, result, half);
  predefined_into_third(context, (const char *)left + bytes, (const char *)right + bytes, (char *)result + bytes,
                        elements - half);
}

static void predefined_into_third(void *context, const void *left, const void *right, void *result, size_t elements) {
  coll_smelt_fold *fold = context;
  int count = (int)elements;
  if (OPAL_LIKELY(elements <= INT_MAX))
    fold->into_third(left, right, result, &count, &fold->type, fold->into_third_module);
  else
    halves_into_third(context, left, right, result, elements);
}

static bool are_predefined(const struct ompi_op_t *op, const struct ompi_datatype_t *type) {
  return (op->o_flags & OMPI_OP_FLAGS_INTRINSIC) && ompi_datatype_is_predefined(type);
}

/* Which of the operation's functions serves the type; -1: none, as far as this table knows. */
static int function_index(const struct ompi_op_t *op, const struct ompi_datatype_t *type) {
  if (!are_predefined(op, type)) return -1;
  const int index = ompi_op_ddt_map[type->id];
  return index >= 0 && op->o_func.intrinsic.fns[index] ? index : -1;
}

/* Elements without rounding: integers, logicals, bytes, and pairs of integers. */
static bool is_exact(int index, const struct ompi_datatype_t *type) {
  switch (index) {
    case OMPI_OP_BASE_TYPE_LOGICAL:
    case OMPI_OP_BASE_TYPE_BOOL:
    case OMPI_OP_BASE_TYPE_BYTE:
    case OMPI_OP_BASE_TYPE_2INTEGER:
    case OMPI_OP_BASE_TYPE_2INT:
    case OMPI_OP_BASE_TYPE_SHORT_INT:
    case OMPI_OP_BASE_TYPE_LONG_INT: return true;
    case OMPI_OP_BASE_TYPE_FLOAT_INT:
    case OMPI_OP_BASE_TYPE_DOUBLE_INT:
    case OMPI_OP_BASE_TYPE_LONG_DOUBLE_INT:
    case OMPI_OP_BASE_TYPE_2REAL:
    case OMPI_OP_BASE_TYPE_2DOUBLE_PRECISION: return false;
    default: return (type->super.flags & OMPI_DATATYPE_FLAG_DATA_TYPE) == OMPI_DATATYPE_FLAG_DATA_INT;
  }
}

/* Has the result the same bits in every order? Of floating point not even the extremes: which of 0 and -0, or which
 * NaN, depends on which operand comes first. Nor sums of single bytes: Open MPI's op/avx saturates them, but only as
 * far as its vectors reach. */
static inline bool is_any_order(const struct ompi_op_t *op, const struct ompi_datatype_t *type) {
  if (!are_predefined(op, type) || !is_exact(ompi_op_ddt_map[type->id], type)) return false;
  switch (op->op_type) {
    case OMPI_OP_SUM: return type->super.size > 1;
    case OMPI_OP_MAX:
    case OMPI_OP_MIN:
    case OMPI_OP_PROD:
    case OMPI_OP_LAND:
    case OMPI_OP_BAND:
    case OMPI_OP_LOR:
    case OMPI_OP_BOR:
    case OMPI_OP_LXOR:
    case OMPI_OP_BXOR:
    case OMPI_OP_MAXLOC:
    case OMPI_OP_MINLOC: return true;
    default: return false;
  }
}

bool coll_smelt_any_order(const struct ompi_op_t *op, const struct ompi_datatype_t *type) {
  return is_any_order(op, type);
}

static void open_predefined(coll_smelt_fold *fold, int index) {
  fold->into_right = fold->op->o_func.intrinsic.fns[index];
  fold->into_right_module = fold->op->o_func.intrinsic.modules[index];
  fold->fold.into_right = predefined_into_right;
  fold->into_third = fold->op->o_3buff_intrinsic.fns[index];
  fold->into_third_module = fold->op->o_3buff_intrinsic.modules[index];
  fold->fold.into_third = fold->into_third ? predefined_into_third : NULL;
}

/* --- type without gaps */

/* An element's bytes begin true_lb after the address that MPI calls the element's. */
static void gapless_into_right(void *context, const void *left, void *right, size_t elements) {
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

__attribute__((noinline, cold)) static int open_gaps(coll_smelt_fold *fold) {
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

int coll_smelt_fold_open(coll_smelt_fold *fold, struct ompi_op_t *op, struct ompi_datatype_t *type) {
  fold->op = op;
  fold->type = type;
  fold->allocation = NULL;
  fold->fold.element_bytes = type->super.size;
  fold->fold.context = fold;
  fold->fold.flags = (op->o_flags & OMPI_OP_FLAGS_COMMUTE ? SMELT_FOLD_COMMUTES : 0) |
                     (is_any_order(op, type) ? SMELT_FOLD_ANY_ORDER : 0);
  fold->fold.into_third = NULL; /* Open MPI's three-operand form swaps the operands of operations not predefined */
  if (OPAL_UNLIKELY(!coll_smelt_gapless(type))) return open_gaps(fold);
  const int index = function_index(op, type);
  if (index >= 0)
    open_predefined(fold, index);
  else
    fold->fold.into_right = gapless_into_right;
  return OMPI_SUCCESS;
}
