/* Open MPI's MPI_Comm_idup goes on in the background with nonblocking collectives of its own on the communicator, in an
 * order of its own. They must not come into our lane, which is one for all, and are told by what they are: those of
 * intracommunicators by their arguments, the others by their communicator. */
#include "users.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/op/op.h"

/* The intracommunicator within an intercommunicator is used by Open MPI alone, for that. From 5.0 on, a place of the
 * list that is about to be given to a communicator holds OMPI_COMM_SENTINEL, which is 1. With the list's lock held no
 * other thread can free one of them, as a communicator leaves its place before. */
static bool is_within_another(const struct ompi_communicator_t *comm) {
  bool found = false;
  OPAL_THREAD_LOCK(&ompi_mpi_communicators.lock);
  for (int i = 0; i < ompi_mpi_communicators.size && !found; ++i) {
    const struct ompi_communicator_t *other = ompi_mpi_communicators.addr[i];
    if ((uintptr_t)other > 1) found = OMPI_COMM_IS_INTER(other) && other->c_local_comm == comm;
  }
  OPAL_THREAD_UNLOCK(&ompi_mpi_communicators.lock);
  return found;
}

bool coll_smelt_is_of_program(const struct ompi_communicator_t *comm, coll_smelt_user *known) {
  if (*known == COLL_SMELT_NOT_KNOWN) *known = is_within_another(comm) ? COLL_SMELT_OPEN_MPI : COLL_SMELT_PROGRAM;
  return *known == COLL_SMELT_PROGRAM;
}

/* One number at a time. */
bool coll_smelt_is_agreement(coll_smelt_length count, const struct ompi_datatype_t *type, const struct ompi_op_t *op) {
  return count == 1 && type == &ompi_mpi_int.dt && (op == &ompi_mpi_op_max.op || op == &ompi_mpi_op_min.op);
}
