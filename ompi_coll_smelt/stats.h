/* A rank's account at its end. */
#ifndef COLL_SMELT_STATS_H
#define COLL_SMELT_STATS_H

#include "compat.h"

/* begin: MPI begins, and may use us; not_used: it does not. note: a communicator was made, or `refused`, a string that
 * stays, says why one is not served. */
void coll_smelt_stats_begin(void);
void coll_smelt_stats_not_used(const char *why);
void coll_smelt_stats_note(const struct ompi_communicator_t *comm, const char *refused);
void coll_smelt_stats_end(void);

#endif
