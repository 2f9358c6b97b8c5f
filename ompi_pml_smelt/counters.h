/* Counts of the messages served, for MPI_T and for the end of the job. */
#ifndef PML_SMELT_COUNTERS_H
#define PML_SMELT_COUNTERS_H

#include "compat.h"

#include <stdatomic.h>
#include <stdbool.h>

typedef struct pml_smelt_counters {
  atomic_ullong inline_sends, eager_sends, long_sends, far_sends;
  atomic_ullong receives, probes;
  atomic_ullong communicators_served, communicators_left;
} pml_smelt_counters;
extern pml_smelt_counters pml_smelt_tally;
extern bool pml_smelt_threads;
static inline void pml_smelt_count(atomic_ullong *counter) {
  if (pml_smelt_threads)
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
  else
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
}
void pml_smelt_register_counters(const mca_base_component_t *component);
/* For the smelt run above us (SMELT_STATS): messages are ours from here on; or are not, and why; the counts.
 */
void pml_smelt_stats_begin(void);
void pml_smelt_stats_not_used(const char *why);
void pml_smelt_stats_end(void);

#endif
