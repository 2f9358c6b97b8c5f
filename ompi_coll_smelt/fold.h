/* Operations of MPI as a smelt_group wants them, built on the caller's stack for one call.
 *
 * A group hands over packed bytes; which of three ways they reach the operation depends on the type:
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
#ifndef COLL_SMELT_FOLD_H
#define COLL_SMELT_FOLD_H

#include "data.h"

#include "ompi/op/op.h"

#include <limits.h>
#include <stdlib.h>

typedef struct coll_smelt_fold {
  smelt_fold fold;
  struct ompi_op_t *op;
  struct ompi_datatype_t *type;
  ompi_op_base_handler_fn_t into_right; /* predefined operation on a predefined type */
  ompi_op_base_module_t *into_right_module;
  ompi_op_base_3buff_handler_fn_t into_third;
  ompi_op_base_module_t *into_third_module;
  /* Types with gaps: room for `block` elements each of left and right in the type's own layout, at these addresses. */
  size_t block;
  char *left, *right;
  void *allocation;
} coll_smelt_fold;

/* fold.c */
void coll_smelt_halves_into_right(coll_smelt_fold *fold, const void *left, void *right, size_t elements);
void coll_smelt_halves_into_third(coll_smelt_fold *fold, const void *left, const void *right, void *result,
                                  size_t elements);
void coll_smelt_gapless_into_right(void *context, const void *left, void *right, size_t elements);
int coll_smelt_open_gaps(coll_smelt_fold *fold);

/* Its counts are ints; more elements come in halves (fold.c). */
static inline void coll_smelt_predefined_into_right(void *context, const void *left, void *right, size_t elements) {
  coll_smelt_fold *fold = context;
  int count = (int)elements;
  if (OPAL_LIKELY(elements <= INT_MAX))
    fold->into_right(left, right, &count, &fold->type, fold->into_right_module);
  else
    coll_smelt_halves_into_right(fold, left, right, elements);
}
static inline void coll_smelt_predefined_into_third(void *context, const void *left, const void *right, void *result,
                                                    size_t elements) {
  coll_smelt_fold *fold = context;
  int count = (int)elements;
  if (OPAL_LIKELY(elements <= INT_MAX))
    fold->into_third(left, right, result, &count, &fold->type, fold->into_third_module);
  else
    coll_smelt_halves_into_third(fold, left, right, result, elements);
}

static inline bool coll_smelt_are_predefined(const struct ompi_op_t *op, const struct ompi_datatype_t *type) {
  return (op->o_flags & OMPI_OP_FLAGS_INTRINSIC) && ompi_datatype_is_predefined(type);
}

/* Which of the operation's functions serves the type; -1: none, as far as this table knows. */
static inline int coll_smelt_function_index(const struct ompi_op_t *op, const struct ompi_datatype_t *type) {
  if (!coll_smelt_are_predefined(op, type)) return -1;
  const int index = ompi_op_ddt_map[type->id];
  return index >= 0 && op->o_func.intrinsic.fns[index] ? index : -1;
}

/* Elements without rounding: integers, logicals, bytes, and pairs of integers. */
static inline bool coll_smelt_is_exact(int index, const struct ompi_datatype_t *type) {
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

/* Has the result the same bits in every order? Even the extremes of floating point have not: which of 0 and -0, or
 * which NaN, depends on which operand comes first. Sums of single bytes have not either: Open MPI's op/avx saturates
 * them, but only with two operands and as far as its vectors reach. */
static inline bool coll_smelt_any_order(const struct ompi_op_t *op, const struct ompi_datatype_t *type) {
  if (!coll_smelt_are_predefined(op, type) || !coll_smelt_is_exact(ompi_op_ddt_map[type->id], type)) return false;
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

static inline void coll_smelt_open_predefined(coll_smelt_fold *fold, int index) {
  fold->into_right = fold->op->o_func.intrinsic.fns[index];
  fold->into_right_module = fold->op->o_func.intrinsic.modules[index];
  fold->fold.into_right = coll_smelt_predefined_into_right;
  fold->into_third = fold->op->o_3buff_intrinsic.fns[index];
  fold->into_third_module = fold->op->o_3buff_intrinsic.modules[index];
  fold->fold.into_third = fold->into_third ? coll_smelt_predefined_into_third : NULL;
}

/* OMPI_SUCCESS, or OMPI_ERR_OUT_OF_RESOURCE (types with gaps only). It is not inlined: a call of its own leaves
 * registers to its callers (measured, reduce of 8 bytes in a tight loop, near: 22 ns, inlined 28). */
__attribute__((noinline, unused)) static int coll_smelt_fold_open(coll_smelt_fold *fold, struct ompi_op_t *op,
                                                                  struct ompi_datatype_t *type) {
  fold->op = op;
  fold->type = type;
  fold->allocation = NULL;
  fold->fold.element_bytes = type->super.size;
  fold->fold.context = fold;
  fold->fold.flags = (op->o_flags & OMPI_OP_FLAGS_COMMUTE ? SMELT_FOLD_COMMUTES : 0) |
                     (coll_smelt_any_order(op, type) ? SMELT_FOLD_ANY_ORDER : 0);
  fold->fold.into_third = NULL; /* Open MPI's three-operand form swaps the operands of operations not predefined */
  if (OPAL_UNLIKELY(!coll_smelt_gapless(type))) return coll_smelt_open_gaps(fold);
  const int index = coll_smelt_function_index(op, type);
  if (index >= 0)
    coll_smelt_open_predefined(fold, index);
  else
    fold->fold.into_right = coll_smelt_gapless_into_right;
  return OMPI_SUCCESS;
}

/* right = left op right, by the function that a group would take: with two operands Open MPI's op/avx saturates sums of
 * single bytes, and of two NaNs another may be kept. */
static inline void coll_smelt_combine(const smelt_fold *fold, const void *left, void *right, size_t elements) {
  if (fold->into_third)
    fold->into_third(fold->context, left, right, right, elements);
  else
    fold->into_right(fold->context, left, right, elements);
}

static inline void coll_smelt_fold_close(coll_smelt_fold *fold) {
  if (OPAL_UNLIKELY(fold->allocation != NULL)) free(fold->allocation);
}

#endif
