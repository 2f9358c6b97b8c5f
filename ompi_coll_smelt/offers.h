/* The component's offer for a communicator: a module. */
#ifndef COLL_SMELT_OFFERS_H
#define COLL_SMELT_OFFERS_H

#include "compat.h"

/* For a communicator within one machine; NULL: no memory. */
mca_coll_base_module_t *coll_smelt_offer(struct ompi_communicator_t *comm);
/* Has the communicator's module a group, or none for good? */
bool coll_smelt_is_settled(const struct ompi_communicator_t *comm);

#endif
