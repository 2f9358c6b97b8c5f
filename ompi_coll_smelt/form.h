/* A collective as the component serves it, in one file each (barrier.c, bcast.c, ...): what the program said, what the
 * group is told, and three forms of the call.
 *
 *   blocking      coll_smelt_serve
 *   nonblocking   coll_smelt_begin (nonblocking.c), a request that requests.c advances
 *   persistent    coll_smelt_keep: the same, begun again and again
 *
 * Each says whether the call was ours; where it was not, the component below is to be called. Everything that decides
 * is the same on all ranks: packed bytes, not counts or layouts, which may differ. */
#ifndef COLL_SMELT_FORM_H
#define COLL_SMELT_FORM_H

#include "coll_smelt.h"

#include "counters.h"
#include "data.h"
#include "ompi/communicator/communicator.h"

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
  char *packed; /* what the group writes, or a row of blocks, where the type leaves gaps */
  size_t *counts, few_counts[COLL_SMELT_FEW];      /* of each rank; `counts` is the other one, or allocated */
  char *aside;                                     /* what it reads, where that leaves gaps or is overwritten */
  struct coll_smelt_lists *lists;                  /* exchange.c */
  size_t outgoing, incoming;                       /* blocks in them */
  smelt_place *places, few_places[COLL_SMELT_FEW]; /* blocks.h; of each rank's block, in the same way */
  char *own;                                       /* what is sent, in one piece: gatherv.c */
} coll_smelt_terms;

/* What a collective's file defines. open: an Open MPI code, and where that is an error nothing is to be closed. run,
 * start: of the group, 0 or a negative errno. close: with what came of it. */
struct coll_smelt_form {
  int (*open)(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call);
  int (*run)(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call);
  int (*start)(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call, smelt_request *request);
  void (*close)(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call, int error);
};
#define SMELT_COLLECTIVE(NAME, name, ...) \
  extern const struct coll_smelt_form coll_smelt_form_##name __attribute__((visibility("hidden")));
#include <smelt/collectives.def>
#undef SMELT_COLLECTIVE

static inline int coll_smelt_me(const coll_smelt_module *module) { return ompi_comm_rank(module->comm); }
static inline int coll_smelt_size(const coll_smelt_module *module) { return ompi_comm_size(module->comm); }
static inline bool coll_smelt_is_root(const coll_smelt_module *module, const coll_smelt_call *call) {
  return coll_smelt_me(module) == call->root;
}

/* Where the data of that rank lie in a row of blocks of so many elements. */
static inline char *coll_smelt_block(const void *row, coll_smelt_length count, const struct ompi_datatype_t *type,
                                     int rank) {
  return (char *)row + (type->super.ub - type->super.lb) * (ptrdiff_t)count * rank;
}

/* What the group's own creation passes on is not the program's. */
static inline void coll_smelt_count_passed_on(const coll_smelt_module *module, smelt_collective which) {
  if (module->state != COLL_SMELT_CREATING) coll_smelt_increment(&coll_smelt_tally.passed_on[which]);
}

/* An Open MPI code for what a group's function returned. */
static inline int coll_smelt_code(int error) {
  return error == 0 ? OMPI_SUCCESS : error == -EMSGSIZE ? MPI_ERR_TRUNCATE : OMPI_ERROR;
}

/* The blocking form; true: it was ours, *code is what the call returns. The group says -ENOTSUP on all ranks alike;
 * other failures may be this rank's alone, as in Open MPI's own collectives. Inlined, so that the form's functions are
 * called directly. */
__attribute__((always_inline)) static inline bool coll_smelt_serve(coll_smelt_module *module, smelt_collective which,
                                                                   const coll_smelt_call *call,
                                                                   const struct coll_smelt_form *form, int *code) {
  smelt_group *group = coll_smelt_group_of(module, which);
  if (OPAL_LIKELY(group != NULL)) {
    coll_smelt_terms terms;
    if (OPAL_UNLIKELY((*code = form->open(&terms, module, call)) != OMPI_SUCCESS)) return true;
    const int error = form->run(&terms, group, call);
    form->close(&terms, module, call, error);
    if (OPAL_LIKELY(error != -ENOTSUP)) {
      if (OPAL_LIKELY(error == 0)) coll_smelt_increment(&coll_smelt_tally.served[which]);
      *code = coll_smelt_code(error);
      return true;
    }
  }
  coll_smelt_count_passed_on(module, which);
  return false;
}

/* nonblocking.c. Of so many bytes, with elements of that size; true: it was ours, *code is what the call returns. */
bool coll_smelt_begin(coll_smelt_module *module, smelt_collective which, const coll_smelt_call *call, size_t bytes,
                      size_t element, ompi_request_t **request, int *code);
bool coll_smelt_keep(coll_smelt_module *module, smelt_collective which, const coll_smelt_call *call, size_t bytes,
                     size_t element, ompi_request_t **request, int *code);

/* A nonblocking call that has nothing to do. */
static inline int coll_smelt_complete(ompi_request_t **request) { return *request = &ompi_request_empty, OMPI_SUCCESS; }

#endif
