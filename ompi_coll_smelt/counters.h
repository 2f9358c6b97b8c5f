/* How often Smelt served a collective, passed one on to the component below, made a group or was refused one. */
#ifndef COLL_SMELT_COUNTERS_H
#define COLL_SMELT_COUNTERS_H

#include "compat.h"

#include <smelt/group.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef atomic_ullong coll_smelt_counter;

typedef struct coll_smelt_counters {
  coll_smelt_counter served[SMELT_COLLECTIVES];
  coll_smelt_counter passed_on[SMELT_COLLECTIVES];
  coll_smelt_counter nonblocking_served[SMELT_COLLECTIVES];
  coll_smelt_counter nonblocking_passed_on[SMELT_COLLECTIVES];
  coll_smelt_counter persistent_served[SMELT_COLLECTIVES];
  coll_smelt_counter persistent_passed_on[SMELT_COLLECTIVES];
  coll_smelt_counter groups_created;
  coll_smelt_counter groups_refused;
  bool threads; /* several threads may count at once */
} coll_smelt_counters;

extern coll_smelt_counters coll_smelt_tally;

/* A locked addition costs as much as a good part of a small collective, and most programs have one thread in MPI. */
static inline void coll_smelt_increment(coll_smelt_counter *counter) {
  if (coll_smelt_tally.threads)
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
  else
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* They are MPI_T performance variables, coll_smelt_bcast_served, _ibcast_served, _bcast_init_served and so on. */
void coll_smelt_register_counters(const mca_base_component_t *component);
/* One more of them. */
void coll_smelt_offer_counter(const mca_base_component_t *component, const char *name, const char *help,
                              coll_smelt_counter *counter);

#endif
