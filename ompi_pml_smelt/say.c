/* Lines for people, on standard error, only when asked for (SMELT_VERBOSE, pml_smelt_verbose) or when something that
 * was asked for cannot be had. */
#include "say.h"

#include "lower.h"

#include <stdatomic.h>
#include <stdio.h>

int pml_smelt_verbose;

/* Programs that make communicators by the thousand would drown in lines. */
enum { kToldOfAtMost = 16 };

void pml_smelt_say_communicator(const struct ompi_communicator_t *comm, const char *left_because) {
  static atomic_uint told;
  if (ompi_comm_rank((struct ompi_communicator_t *)comm) != 0) return;
  const unsigned before = atomic_fetch_add_explicit(&told, 1, memory_order_relaxed);
  if (pml_smelt_verbose < 2 && before >= kToldOfAtMost) {
    if (before == kToldOfAtMost) pml_smelt_say("there are more communicators; SMELT_VERBOSE=2 tells of each");
    return;
  }
  const int n = ompi_comm_size((struct ompi_communicator_t *)comm);
  char name[MPI_MAX_OBJECT_NAME + 16];
  /* At this point most have no name yet. */
  snprintf(name, sizeof name, "communicator %u%s%s", (unsigned)pml_smelt_context(comm), comm->c_name[0] ? " " : "",
           comm->c_name);
  if (left_because)
    pml_smelt_say("%s (%d rank%s): left to Open MPI's pml/%s: %s", name, n, n == 1 ? "" : "s", pml_smelt_lower_name(),
                  left_because);
  else
    pml_smelt_say("%s (%d rank%s): served", name, n, n == 1 ? "" : "s");
}
