/* A collective as the component serves it, in a header of its name (barrier.h, broadcast.h, ...) or that of its kin
 * (reduce.h): the program's call, and the terms that the group is told. functions.c makes of these the functions that
 * Open MPI calls: the blocking one, of which they become a part, the nonblocking and the persistent one
 * (nonblocking.c). If a call is not ours, the component below is to be called. Everything that decides is the same on
 * all ranks: packed bytes, not counts or layouts, which may differ. */
#ifndef COLL_SMELT_FORM_H
#define COLL_SMELT_FORM_H

#include "fold.h"
#include "module.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

/* The arguments of a call; those that a collective does not have are 0. broadcast: its buffer is `receive`. */
typedef struct coll_smelt_call {
  const void *send;
  coll_smelt_length send_count; /* only where it is not `count` for both */
  struct ompi_datatype_t *send_type;
  void *receive;
  coll_smelt_length count;
  coll_smelt_counts counts; /* of each rank, where they may differ */
  struct ompi_datatype_t *type;
  struct ompi_op_t *op;
  int root;
  /* Counts and places belong to the program, which must leave them as they are until the call is complete, or its
   * persistent request freed. */
  coll_smelt_places places;                   /* of a row of blocks, where counts may differ */
  const struct coll_smelt_exchange *exchange; /* exchange.h; instead of all the others */
} coll_smelt_call;

/* Blocks that need no memory of their own. */
enum { COLL_SMELT_FEW = 16 };

/* The same in the group's terms, until the call is complete; which of these a collective uses is its own matter. */
typedef struct coll_smelt_terms {
  coll_smelt_data in, out;
  coll_smelt_fold fold;
  char *packed; /* the place that the group writes to, or a row of blocks, if the type leaves gaps */
  size_t *counts, few_counts[COLL_SMELT_FEW];      /* of each rank; `counts` is the other one, or allocated */
  char *aside;                                     /* the place that it reads, if that has gaps or is overwritten */
  struct coll_smelt_lists *lists;                  /* exchange.c */
  size_t outgoing, incoming;                       /* blocks in them */
  smelt_place *places, few_places[COLL_SMELT_FEW]; /* rows.h; of each rank's block, in the same way */
} coll_smelt_terms;

/* The functions that a collective's file defines, coll_smelt_prepare_NAME and so on.
 *   prepare     clears those arguments of which MPI says nothing (in place, or elsewhere than on the root), and returns
 *               how much memory a nonblocking call may need, in bytes: 0: there is nothing to do, the same on all ranks
 *   open        an Open MPI code; where that is an error nothing is to be closed
 *   close       with what came of it, 0 or a negative errno
 *   run         the blocking call from open to close: *code is what it returns; false: the group does not serve it.
 *               Inlined into the function that Open MPI calls, as the others of the form then are
 *   start       of the group, between open and close: 0 or a negative errno */
typedef size_t coll_smelt_prepare_function(const coll_smelt_module *module, coll_smelt_call *call);
typedef int coll_smelt_open_function(coll_smelt_terms *terms, const coll_smelt_module *module,
                                     const coll_smelt_call *call);
typedef void coll_smelt_close_function(coll_smelt_terms *terms, const coll_smelt_module *module,
                                       const coll_smelt_call *call, int error);
typedef bool coll_smelt_run_function(const coll_smelt_module *module, smelt_group *group, const coll_smelt_call *call,
                                     int *code);
typedef int coll_smelt_start_function(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call,
                                      smelt_request *request);
typedef struct coll_smelt_form {
  coll_smelt_prepare_function *prepare;
  coll_smelt_open_function *open;
  coll_smelt_close_function *close;
  coll_smelt_run_function *run;
  coll_smelt_start_function *start;
} coll_smelt_form;

/* An Open MPI code for what a group's function returned. */
static inline int coll_smelt_code(int error) {
  return error == 0 ? OMPI_SUCCESS : error == -EMSGSIZE ? MPI_ERR_TRUNCATE : OMPI_ERROR;
}

/* A form's run and start, behind its open and close: the group's function of that name, with `group` and arguments that
 * are told in `terms` and `call`. */
#define COLL_SMELT_RUNS(name, ...)                                                                                    \
  __attribute__((always_inline)) static inline bool coll_smelt_run_##name(                                            \
      const coll_smelt_module *module, smelt_group *group, const coll_smelt_call *call, int *code) {                  \
    coll_smelt_terms opened, *terms = &opened;                                                                        \
    if (OPAL_UNLIKELY((*code = coll_smelt_open_##name(terms, module, call)) != OMPI_SUCCESS)) return true;            \
    const int error = smelt_group_##name(__VA_ARGS__);                                                                \
    coll_smelt_close_##name(terms, module, call, error);                                                              \
    *code = coll_smelt_code(error);                                                                                   \
    return error != -ENOTSUP;                                                                                         \
  }                                                                                                                   \
  static inline int coll_smelt_start_##name(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call, \
                                            smelt_request *request) {                                                 \
    (void)terms, (void)call;                                                                                          \
    return smelt_group_start_##name(__VA_ARGS__, request);                                                            \
  }

/* functions.c */
const coll_smelt_form *coll_smelt_form_of(smelt_collective which);

static inline bool coll_smelt_is_root(const coll_smelt_module *module, const coll_smelt_call *call) {
  return coll_smelt_me(module) == call->root;
}

/* Where the data of that rank lie in a row of blocks of so many elements. */
static inline char *coll_smelt_block(const void *row, coll_smelt_length count, const struct ompi_datatype_t *type,
                                     int rank) {
  return (char *)row + (type->super.ub - type->super.lb) * (ptrdiff_t)count * rank;
}

#endif
