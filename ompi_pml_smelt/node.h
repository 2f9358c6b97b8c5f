/* The processes that are reached: those of this job on this node, and behind them those of other nodes. */
#ifndef PML_SMELT_NODE_H
#define PML_SMELT_NODE_H

#include "compat.h"

#include <stdbool.h>

/* The processes of this job on this node are members 0 .. n-1. */
void pml_smelt_node_announce(void); /* before Open MPI exchanges the processes' words */
/* With MPI_COMM_WORLD, which is the first of all. `*why`: NULL, or why there is no endpoint, on all of the node alike.
 * An error: this process cannot go on, as the others will. */
int pml_smelt_node_join(struct ompi_communicator_t *world, const char **why);
void pml_smelt_node_leave(void);
/* A process's number among them, or, from n on, of those of other nodes that are reached; -1: it is not one. */
int pml_smelt_member_of(opal_process_name_t name);
unsigned pml_smelt_members(void); /* of both kinds */
bool pml_smelt_is_near(unsigned member);
bool pml_smelt_reaches_nodes(void); /* there are some of other nodes */

#endif
