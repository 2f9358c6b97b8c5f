/* The communicators that are served: ranks to members and back. */
#ifndef PML_SMELT_SERVED_H
#define PML_SMELT_SERVED_H

#include "compat.h"

#include <stdatomic.h>
#include <stdint.h>

typedef struct pml_smelt_communicator {
  uint16_t context;
  uint16_t *members;    /* [rank] */
  int32_t *ranks;       /* [member]; -1: not in it */
  atomic_uint promised; /* PML_SMELT_NO_ANY_..., by its info */
} pml_smelt_communicator;
extern pml_smelt_communicator *pml_smelt_by_context[UINT16_MAX + 1];
/* NULL: the winner's. */
static inline pml_smelt_communicator *pml_smelt_served(const struct ompi_communicator_t *comm) {
  return pml_smelt_by_context[(uint16_t)pml_smelt_context(comm)];
}
enum { PML_SMELT_NO_ANY_SOURCE = 1, PML_SMELT_NO_ANY_TAG = 2 };
/* A receive or probe that breaks such a promise is said, once, and served. */
void pml_smelt_say_broken(int from, int tag);
static inline void pml_smelt_keep_promise(const pml_smelt_communicator *served, int from, int tag) {
  if (from != MPI_ANY_SOURCE && tag != MPI_ANY_TAG) return;
  const unsigned promised = atomic_load_explicit(&served->promised, memory_order_relaxed);
  if ((from == MPI_ANY_SOURCE && (promised & PML_SMELT_NO_ANY_SOURCE)) ||
      (tag == MPI_ANY_TAG && (promised & PML_SMELT_NO_ANY_TAG)))
    pml_smelt_say_broken(from, tag);
}

#endif
