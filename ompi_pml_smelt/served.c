/* The table of the communicators that are served, filled by communicators.c, and what breaks their promises. */
#include "served.h"

#include "say.h"

pml_smelt_communicator *pml_smelt_by_context[UINT16_MAX + 1];

void pml_smelt_say_broken(int from, int tag) {
  static atomic_flag said = ATOMIC_FLAG_INIT;
  if (atomic_flag_test_and_set_explicit(&said, memory_order_relaxed)) return;
  pml_smelt_say(
      "the program asks for messages of %s on a communicator whose info promises that it does not (%s); served "
      "all the same, but take the promise away: another MPI may lose the message",
      from == MPI_ANY_SOURCE && tag == MPI_ANY_TAG ? "any source and any tag"
      : from == MPI_ANY_SOURCE                     ? "any source"
                                                   : "any tag",
      from == MPI_ANY_SOURCE ? "mpi_assert_no_any_source" : "mpi_assert_no_any_tag");
}
