/* Collectives of blocks with a length, place and type each, which the group serves as one: MPI_Alltoallv, MPI_Alltoallw
 * and those of neighbours. */
#ifndef COLL_SMELT_EXCHANGE_H
#define COLL_SMELT_EXCHANGE_H

#include "form.h"
#include "neighbours.h"

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
  bool of_neighbours; /* neighbours.h says who they are; else all ranks, in their order */
} coll_smelt_exchange;

static inline coll_smelt_side coll_smelt_one(const void *buffer, coll_smelt_length count,
                                             struct ompi_datatype_t *type) {
  return (coll_smelt_side){.buffer = buffer, .how = COLL_SMELT_ONE, .count = count, .type = type};
}
static inline coll_smelt_side coll_smelt_alike(const void *buffer, coll_smelt_length count,
                                               struct ompi_datatype_t *type) {
  return (coll_smelt_side){.buffer = buffer, .how = COLL_SMELT_ALIKE, .count = count, .type = type};
}
static inline coll_smelt_side coll_smelt_by_elements(const void *buffer, coll_smelt_counts counts,
                                                     coll_smelt_places places, struct ompi_datatype_t *type) {
  return (coll_smelt_side){
      .buffer = buffer, .how = COLL_SMELT_BY_ELEMENTS, .counts = counts, .places = places, .type = type};
}
static inline coll_smelt_side coll_smelt_by_bytes(const void *buffer, coll_smelt_counts counts,
                                                  coll_smelt_places places, struct ompi_datatype_t *const *types) {
  return (coll_smelt_side){
      .buffer = buffer, .how = COLL_SMELT_BY_BYTES, .counts = counts, .places = places, .types = types};
}
static inline coll_smelt_side coll_smelt_by_far_bytes(const void *buffer, coll_smelt_counts counts,
                                                      coll_smelt_far_places places,
                                                      struct ompi_datatype_t *const *types) {
  return (coll_smelt_side){
      .buffer = buffer, .how = COLL_SMELT_BY_FAR_BYTES, .counts = counts, .far_places = places, .types = types};
}

/* In place MPI says nothing of the sender's arguments: the blocks to send lie where the receiver's data go. */
static inline coll_smelt_exchange coll_smelt_between_all(coll_smelt_side out, coll_smelt_side in) {
  const bool in_place = out.buffer == MPI_IN_PLACE;
  return (coll_smelt_exchange){in_place ? in : out, in, in_place, false};
}
/* None has a form in place. */
static inline coll_smelt_exchange coll_smelt_between_neighbours(coll_smelt_side out, coll_smelt_side in) {
  return (coll_smelt_exchange){.out = out, .in = in, .of_neighbours = true};
}

/* May the group serve it? The same on all ranks. */
static inline bool coll_smelt_exchange_suits(const coll_smelt_module *module, const coll_smelt_exchange *exchange) {
  return !exchange->of_neighbours ||
         (module->comm->c_topo != NULL && coll_smelt_size(module) <= COLL_SMELT_NEIGHBOURS_AMONG);
}

/* It serves a persistent call: the program's arrays are copied, and the types retained. An Open MPI code. */
int coll_smelt_exchange_keep(const coll_smelt_module *module, coll_smelt_exchange *exchange);
void coll_smelt_exchange_forget(const coll_smelt_module *module, coll_smelt_exchange *exchange);

/* Its list of the blocks to send (`out`), or to receive: how many they are, and the k-th, and whose. Those of
 * neighbours must have been found. */
int coll_smelt_exchange_blocks(const coll_smelt_module *module, const coll_smelt_exchange *exchange, bool out);
coll_smelt_part coll_smelt_exchange_block(const coll_smelt_module *module, const coll_smelt_exchange *exchange,
                                          bool out, int k, int *peer);

/* The form of them all (form.h). */
coll_smelt_prepare_function coll_smelt_prepare_exchange;
coll_smelt_open_function coll_smelt_open_exchange;
coll_smelt_close_function coll_smelt_close_exchange;
/* The lists of a call: the blocks that are sent, then those that are received. */
struct coll_smelt_lists {
  size_t room;
  smelt_block blocks[];
};
COLL_SMELT_RUNS(exchange, group, terms->lists->blocks, terms->outgoing, terms->lists->blocks + terms->outgoing,
                terms->incoming)

#endif
