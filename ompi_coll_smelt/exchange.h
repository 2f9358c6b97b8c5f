/* Collectives of blocks with a length, place and type each, which the group serves as one: MPI_Alltoallv, MPI_Alltoallw
 * and those of neighbours. Their files say what a block is; exchange.c does the rest. */
#ifndef COLL_SMELT_EXCHANGE_H
#define COLL_SMELT_EXCHANGE_H

#include "form.h"

/* Blocks that are sent, or received. The arrays are the program's, which leaves them as they are until the call is
 * complete, a persistent one until the request is freed. */
typedef struct coll_smelt_side {
  const void *buffer;
  enum {
    COLL_SMELT_ONE,         /* `count` elements, the same for all */
    COLL_SMELT_ALIKE,       /* `count` elements each, one block after the other */
    COLL_SMELT_BY_ELEMENTS, /* `counts`, at `places` in elements */
    COLL_SMELT_BY_BYTES,    /* `counts`, at `places` in bytes */
    COLL_SMELT_BY_FAR_BYTES /* `counts`, at `far_places` in bytes */
  } how;
  coll_smelt_length count;
  coll_smelt_counts counts;
  coll_smelt_places places;
  coll_smelt_far_places far_places;
  struct ompi_datatype_t *type;
  struct ompi_datatype_t *const *types; /* of each, or NULL: `type` */
} coll_smelt_side;

typedef struct coll_smelt_exchange {
  coll_smelt_side out, in;
  bool in_place; /* `out` is `in` */
} coll_smelt_exchange;

/* In place MPI says nothing of the sender's arguments: what is sent lies where the receiver's data go. */
static inline coll_smelt_exchange coll_smelt_exchange_of(coll_smelt_side out, coll_smelt_side in) {
  const bool in_place = out.buffer == MPI_IN_PLACE;
  return (coll_smelt_exchange){in_place ? in : out, in, in_place};
}

/* For each type that the call names. */
void coll_smelt_exchange_types(const coll_smelt_module *module, const coll_smelt_exchange *exchange,
                               void (*each)(struct ompi_datatype_t *type));

/* The three forms. No rank knows what the others send, so a nonblocking one needs memory for messages of any length. */
__attribute__((always_inline)) static inline bool coll_smelt_exchange_served(coll_smelt_module *module,
                                                                             smelt_collective which,
                                                                             const coll_smelt_exchange *exchange,
                                                                             int *code) {
  const coll_smelt_call call = {.exchange = exchange};
  return coll_smelt_serve(module, which, &call, &coll_smelt_form_exchange, code);
}
static inline bool coll_smelt_exchange_begun(coll_smelt_module *module, smelt_collective which,
                                             const coll_smelt_exchange *exchange, ompi_request_t **request, int *code) {
  const coll_smelt_call call = {.exchange = exchange};
  return coll_smelt_begin(module, which, &call, SIZE_MAX, 0, request, code);
}
static inline bool coll_smelt_exchange_kept(coll_smelt_module *module, smelt_collective which,
                                            const coll_smelt_exchange *exchange, ompi_request_t **request, int *code) {
  const coll_smelt_call call = {.exchange = exchange};
  return coll_smelt_keep(module, which, &call, SIZE_MAX, 0, request, code);
}

/* The functions of a collective in its three forms. PARAMETERS and ARGUMENTS, in LIST(...): what the interface has
 * before the communicator; EXCHANGE: what that means. */
#define LIST(...) __VA_ARGS__
#define COLL_SMELT_EXCHANGE(NAME, name, PARAMETERS, ARGUMENTS, EXCHANGE)                                    \
  int coll_smelt_##name(PARAMETERS, struct ompi_communicator_t *comm, mca_coll_base_module_t *base) {       \
    coll_smelt_module *module = (coll_smelt_module *)base;                                                  \
    const coll_smelt_exchange exchange = EXCHANGE;                                                          \
    int code;                                                                                               \
    if (coll_smelt_exchange_served(module, SMELT_COLLECTIVE_##NAME, &exchange, &code)) return code;         \
    return module->lower.name(ARGUMENTS, comm, module->lower.name##_module);                                \
  }                                                                                                         \
  int coll_smelt_i##name(PARAMETERS, struct ompi_communicator_t *comm, ompi_request_t **request,            \
                         mca_coll_base_module_t *base) {                                                    \
    coll_smelt_module *module = (coll_smelt_module *)base;                                                  \
    const coll_smelt_exchange exchange = EXCHANGE;                                                          \
    int code;                                                                                               \
    if (coll_smelt_exchange_begun(module, SMELT_COLLECTIVE_##NAME, &exchange, request, &code)) return code; \
    return module->lower.i##name(ARGUMENTS, comm, request, module->lower.i##name##_module);                 \
  }                                                                                                         \
  int coll_smelt_##name##_init(PARAMETERS, struct ompi_communicator_t *comm, struct ompi_info_t *info,      \
                               ompi_request_t **request, mca_coll_base_module_t *base) {                    \
    coll_smelt_module *module = (coll_smelt_module *)base;                                                  \
    const coll_smelt_exchange exchange = EXCHANGE;                                                          \
    int code;                                                                                               \
    if (coll_smelt_exchange_kept(module, SMELT_COLLECTIVE_##NAME, &exchange, request, &code)) return code;  \
    return module->lower.name##_init(ARGUMENTS, comm, info, request, module->lower.name##_init_module);     \
  }

#endif
