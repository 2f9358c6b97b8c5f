/* MPI_Reduce_scatter and MPI_Reduce_scatter_block.
 *
 * A group wants the row of all blocks in one piece, and the result in another place. So where the type leaves gaps the
 * row is packed first, and where the result replaces the row it is put there at the end. */
#ifndef COLL_SMELT_REDUCE_SCATTER_H
#define COLL_SMELT_REDUCE_SCATTER_H

#include "reduce.h"

#include <string.h>

enum { COLL_SMELT_ALIGNMENT = 64 }; /* as much as smelt/group.h promises operations */

static inline size_t coll_smelt_reduce_scatter_own_count(const coll_smelt_terms *terms, const coll_smelt_module *module,
                                                         const coll_smelt_call *call) {
  return terms->counts ? terms->counts[coll_smelt_me(module)] : (size_t)call->count;
}

/* Memory for data that have no place in the program's: the row, if it has gaps, and the result. */
static inline bool coll_smelt_reduce_scatter_find_room(coll_smelt_terms *terms, size_t row, size_t own, bool gaps) {
  const size_t bytes = (gaps ? row : 0) + own;
  terms->packed = aligned_alloc(COLL_SMELT_ALIGNMENT, (bytes / COLL_SMELT_ALIGNMENT + 1) * COLL_SMELT_ALIGNMENT);
  return terms->packed != NULL;
}

/* `counts` has been set. There are so many elements in all. */
static inline int coll_smelt_reduce_scatter_open_row(coll_smelt_terms *terms, const coll_smelt_module *module,
                                                     const coll_smelt_call *call, size_t elements) {
  const bool in_place = call->send == MPI_IN_PLACE, gaps = !coll_smelt_gapless(call->type);
  const char *send = in_place ? call->receive : call->send;
  const size_t row = elements * call->type->super.size;
  const int error = coll_smelt_fold_open(&terms->fold, call->op, call->type);
  if (OPAL_UNLIKELY(error != OMPI_SUCCESS)) return error;
  terms->packed = NULL;
  if ((in_place || gaps) &&
      !coll_smelt_reduce_scatter_find_room(
          terms, row, coll_smelt_reduce_scatter_own_count(terms, module, call) * call->type->super.size, gaps)) {
    coll_smelt_fold_close(&terms->fold);
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  if (gaps) coll_smelt_pack(call->type, elements, send, terms->packed);
  terms->in.data.base = gaps ? terms->packed : (char *)send + call->type->super.true_lb;
  terms->out.data.base = gaps       ? terms->packed + row
                         : in_place ? terms->packed
                                    : (char *)call->receive + call->type->super.true_lb;
  return OMPI_SUCCESS;
}

static inline size_t coll_smelt_prepare_reduce_scatter_block(const coll_smelt_module *module, coll_smelt_call *call) {
  return coll_smelt_operand_bytes(call) * (size_t)coll_smelt_size(module);
}
static inline int coll_smelt_open_reduce_scatter_block(coll_smelt_terms *terms, const coll_smelt_module *module,
                                                       const coll_smelt_call *call) {
  terms->counts = NULL;
  return coll_smelt_reduce_scatter_open_row(terms, module, call, (size_t)call->count * (size_t)coll_smelt_size(module));
}

static inline void coll_smelt_reduce_scatter_free_counts(coll_smelt_terms *terms) {
  if (terms->counts && terms->counts != terms->few_counts) free(terms->counts);
}

static inline size_t coll_smelt_prepare_reduce_scatter(const coll_smelt_module *module, coll_smelt_call *call) {
  size_t elements = 0;
  for (int i = 0; i < coll_smelt_size(module); ++i) elements += coll_smelt_count_of(call->counts, i);
  return elements * call->type->super.size;
}
static inline int coll_smelt_open_reduce_scatter(coll_smelt_terms *terms, const coll_smelt_module *module,
                                                 const coll_smelt_call *call) {
  const size_t n = (size_t)coll_smelt_size(module);
  size_t elements = 0;
  terms->counts =
      n <= sizeof terms->few_counts / sizeof *terms->few_counts ? terms->few_counts : malloc(n * sizeof *terms->counts);
  if (OPAL_UNLIKELY(!terms->counts)) return OMPI_ERR_OUT_OF_RESOURCE;
  for (size_t i = 0; i < n; ++i) elements += terms->counts[i] = coll_smelt_count_of(call->counts, i);
  const int error = coll_smelt_reduce_scatter_open_row(terms, module, call, elements);
  if (OPAL_UNLIKELY(error != OMPI_SUCCESS)) coll_smelt_reduce_scatter_free_counts(terms);
  return error;
}

static inline void coll_smelt_close_reduce_scatter(coll_smelt_terms *terms, const coll_smelt_module *module,
                                                   const coll_smelt_call *call, int error) {
  if (terms->packed) {
    const size_t own = coll_smelt_reduce_scatter_own_count(terms, module, call);
    if (error != 0 || own == 0) {
      /* nothing to put anywhere */
    } else if (coll_smelt_gapless(call->type)) {
      memcpy((char *)call->receive + call->type->super.true_lb, terms->out.data.base, own * call->type->super.size);
    } else {
      coll_smelt_unpack(call->type, own, call->receive, terms->out.data.base);
    }
    free(terms->packed);
  }
  coll_smelt_reduce_scatter_free_counts(terms);
  coll_smelt_fold_close(&terms->fold);
}
static inline void coll_smelt_close_reduce_scatter_block(coll_smelt_terms *terms, const coll_smelt_module *module,
                                                         const coll_smelt_call *call, int error) {
  coll_smelt_close_reduce_scatter(terms, module, call, error);
}
COLL_SMELT_RUNS(reduce_scatter_block, group, terms->in.data.base, terms->out.data.base, (size_t)call->count,
                &terms->fold.fold)
COLL_SMELT_RUNS(reduce_scatter, group, terms->in.data.base, terms->out.data.base, terms->counts, &terms->fold.fold)

#endif
