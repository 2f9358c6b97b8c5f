/* Lines for people. */
#ifndef COLL_SMELT_SAY_H
#define COLL_SMELT_SAY_H

#include "compat.h"

#include <smelt/group.h>
#include <smelt/options.h>

#define coll_smelt_say(...) smelt_say("coll/smelt", __VA_ARGS__)
const char *coll_smelt_name_of(const struct ompi_communicator_t *comm);
/* The service of a new group for its communicator, or the reason why it is not served. */
void coll_smelt_say_serving(const struct ompi_communicator_t *comm, const smelt_group *group);
void coll_smelt_say_stepped_aside(const struct ompi_communicator_t *comm, const char *reason);
/* Says which limits hold from here on, as the group has seen. */
void coll_smelt_say_sync(const struct ompi_communicator_t *comm, const smelt_group *group);
/* A negative errno of smelt_group_create, in words. */
const char *coll_smelt_reason(int error);

#endif
