/* The info key smelt_sync: the call that follows a communicator's collectives. */
#ifndef COLL_SMELT_SYNC_H
#define COLL_SMELT_SYNC_H

#include "compat.h"

#include <smelt/group.h>

/* Its value for this communicator; AUTO: none. */
smelt_sync coll_smelt_sync_of(const struct ompi_communicator_t *comm);
/* Puts what it says of this communicator into `info`, for one that is made of it. */
void coll_smelt_hand_sync_on(const struct ompi_communicator_t *comm, opal_info_t *info);
/* `is_settled`: has the communicator a group, or none for good? Then the key has no effect any more. */
void coll_smelt_sync_begin(bool (*is_settled)(const struct ompi_communicator_t *comm));
/* To be called once for a communicator, when it is made: MPI_Comm_set_info is listened to. */
void coll_smelt_subscribe(struct ompi_communicator_t *comm);

#endif
