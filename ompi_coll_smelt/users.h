/* Whose nonblocking collectives are these? */
#ifndef COLL_SMELT_USERS_H
#define COLL_SMELT_USERS_H

#include "compat.h"

typedef enum coll_smelt_user { COLL_SMELT_NOT_KNOWN, COLL_SMELT_PROGRAM, COLL_SMELT_OPEN_MPI } coll_smelt_user;

/* Are this communicator's the program's own? *known remembers. */
bool coll_smelt_is_of_program(const struct ompi_communicator_t *comm, coll_smelt_user *known);
/* Is this allreduce one by which Open MPI agrees on numbers? */
bool coll_smelt_is_agreement(coll_smelt_length count, const struct ompi_datatype_t *type, const struct ompi_op_t *op);

#endif
