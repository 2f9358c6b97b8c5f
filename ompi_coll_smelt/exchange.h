/* Collectives of blocks with a length, place and type each, which the group serves as one: MPI_Alltoallv, MPI_Alltoallw
 * and those of neighbours. Their files say what a block is; exchange.c does the rest. */
#ifndef COLL_SMELT_EXCHANGE_H
#define COLL_SMELT_EXCHANGE_H

#include "form.h"

/* A block as the program described it. */
typedef struct coll_smelt_part {
  char *at;
  size_t count;
  struct ompi_datatype_t *type;
} coll_smelt_part;

/* Blocks that are sent, or received. The arrays are the program's, which leaves them as they are until the call is
 * complete. */
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
  const coll_smelt_part *kept;          /* a persistent call's, in the order of the list: instead of all that */
} coll_smelt_side;

typedef struct coll_smelt_exchange {
  coll_smelt_side out, in;
  bool in_place;      /* `out` is `in` */
  bool of_neighbours; /* neighbours.c says who they are; else all ranks, in their order */
} coll_smelt_exchange;

/* In place MPI says nothing of the sender's arguments: what is sent lies where the receiver's data go. */
static inline coll_smelt_exchange coll_smelt_exchange_of(coll_smelt_side out, coll_smelt_side in) {
  const bool in_place = out.buffer == MPI_IN_PLACE;
  return (coll_smelt_exchange){in_place ? in : out, in, in_place, false};
}

/* For a persistent call: the program's arrays are copied, and the types retained. An Open MPI code. */
int coll_smelt_exchange_keep(const coll_smelt_module *module, coll_smelt_exchange *exchange);
void coll_smelt_exchange_forget(const coll_smelt_module *module, coll_smelt_exchange *exchange);

/* What its list says of the blocks that are sent (`out`), or received: how many they are, and the k-th, and whose.
 * Those of neighbours must have been found. */
int coll_smelt_exchange_blocks(const coll_smelt_module *module, const coll_smelt_exchange *exchange, bool out);
coll_smelt_part coll_smelt_exchange_block(const coll_smelt_module *module, const coll_smelt_exchange *exchange,
                                          bool out, int k, int *peer);

/* neighbour_messages.c: would the component below answer nonblocking and persistent calls otherwise than MPI says? Then
 * those that no group serves go by messages (nonblocking.c). Open MPI codes. */
bool coll_smelt_suits_messages(const coll_smelt_module *module, const coll_smelt_exchange *exchange);
int coll_smelt_begin_messages(coll_smelt_module *module, smelt_collective which, const coll_smelt_exchange *exchange,
                              ompi_request_t **request);
int coll_smelt_keep_messages(coll_smelt_module *module, smelt_collective which, const coll_smelt_exchange *exchange,
                             ompi_request_t **request);

/* neighbours.c. The blocks of a collective of neighbours, by rank: which rank, and which block of the program's. */
typedef struct coll_smelt_neighbour {
  int peer, block;
} coll_smelt_neighbour;
typedef struct coll_smelt_neighbours {
  int outgoing, incoming;
  coll_smelt_neighbour list[]; /* the outgoing, then the incoming */
} coll_smelt_neighbours;
/* Found at first use; NULL: no memory. */
const coll_smelt_neighbours *coll_smelt_neighbours_of(coll_smelt_module *module);
/* Everybody looks at everybody in an exchange; messages between a few neighbours do not. Above so many ranks these are
 * left to the component below. */
enum { COLL_SMELT_NEIGHBOURS_AMONG = 16 };

static inline bool coll_smelt_exchange_suits(const coll_smelt_module *module, const coll_smelt_exchange *exchange) {
  return !exchange->of_neighbours ||
         (module->comm->c_topo != NULL && coll_smelt_size(module) <= COLL_SMELT_NEIGHBOURS_AMONG);
}

/* The three forms. No rank knows what the others send, so a nonblocking one needs memory for messages of any length. */
__attribute__((always_inline)) static inline bool coll_smelt_exchange_served(coll_smelt_module *module,
                                                                             smelt_collective which,
                                                                             const coll_smelt_exchange *exchange,
                                                                             int *code) {
  const coll_smelt_call call = {.exchange = exchange};
  if (coll_smelt_exchange_suits(module, exchange))
    return coll_smelt_serve(module, which, &call, &coll_smelt_form_exchange, code);
  coll_smelt_count_passed_on(module, which);
  return false;
}
static inline bool coll_smelt_exchange_begun(coll_smelt_module *module, smelt_collective which,
                                             const coll_smelt_exchange *exchange, ompi_request_t **request, int *code) {
  const coll_smelt_call call = {.exchange = exchange};
  if (!coll_smelt_exchange_suits(module, exchange))
    coll_smelt_increment(&coll_smelt_tally.nonblocking_passed_on[which]);
  else if (coll_smelt_begin(module, which, &call, SIZE_MAX, 0, request, code))
    return true;
  if (OPAL_LIKELY(!coll_smelt_suits_messages(module, exchange))) return false;
  *code = coll_smelt_begin_messages(module, which, exchange, request);
  return true;
}
static inline bool coll_smelt_exchange_kept(coll_smelt_module *module, smelt_collective which,
                                            const coll_smelt_exchange *exchange, ompi_request_t **request, int *code) {
  const coll_smelt_call call = {.exchange = exchange};
  if (!coll_smelt_exchange_suits(module, exchange))
    coll_smelt_increment(&coll_smelt_tally.persistent_passed_on[which]);
  else if (coll_smelt_keep(module, which, &call, SIZE_MAX, 0, request, code))
    return true;
  if (OPAL_LIKELY(!coll_smelt_suits_messages(module, exchange))) return false;
  *code = coll_smelt_keep_messages(module, which, exchange, request);
  return true;
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
