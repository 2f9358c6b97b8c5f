/* The functions of the component below, which serve what Smelt does not. */
#ifndef COLL_SMELT_LOWER_H
#define COLL_SMELT_LOWER_H

#include "compat.h"

/* Open MPI 4.1 has eleven components for all functions together. */
enum { COLL_SMELT_MOST_RETAINED = 16 };

/* Each function with the module that it wants as last argument. Mostly a few modules serve all functions, and each is
 * retained once: a communicator that is hardly used should cost nothing. */
typedef struct coll_smelt_lower {
#define COLL_SMELT_SLOT(name)              \
  mca_coll_base_module_##name##_fn_t name; \
  mca_coll_base_module_t *name##_module;
#include "slots.def"
  mca_coll_base_module_t *retained[COLL_SMELT_MOST_RETAINED];
  unsigned count;
} coll_smelt_lower;

/* Those that the communicator has now; an Open MPI code. */
int coll_smelt_lower_save(coll_smelt_lower *lower, const struct ompi_communicator_t *comm);
void coll_smelt_lower_release(coll_smelt_lower *lower);

#endif
