// To be preloaded under mpirun on one machine: Open MPI takes its ranks for those of several nodes, as PRETENDED_NODES
// says with one character for each rank of MPI_COMM_WORLD ("0011", "0101": the same character, the same node). Nothing
// but who shares a node with whom is pretended: messages between such nodes go through shared memory, so this shows
// what is right, and not how long it takes. It needs no rights, unlike two_nodes.sh, and has as many nodes as wanted.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "ompi_config.h"

#include "mpi.h"
#include "ompi/communicator/communicator.h"
#include "ompi/group/group.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/proc/proc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char node_of(int rank) {
  const char *nodes = getenv("PRETENDED_NODES");
  return nodes && rank < (int)strlen(nodes) ? nodes[rank] : '0';
}

static void move_ranks(void) {
  size_t count = 0;
  ompi_proc_t **procs = ompi_proc_all(&count);
  const char mine = node_of((int)ompi_proc_local()->super.proc_name.vpid);
  for (size_t i = 0; procs && i < count; ++i)
    if (node_of((int)procs[i]->super.proc_name.vpid) != mine) procs[i]->super.proc_flags = OPAL_PROC_ON_CLUSTER;
  free(procs);
}

// Whenever a communicator gets its collectives: after the ranks are known and their paths have been chosen, and again,
// as MPI_Intercomm_create sets the flags of the ranks it meets anew.
int mca_coll_base_comm_select(ompi_communicator_t *comm) {
  static int (*next)(ompi_communicator_t *);
  move_ranks();
  if (!next) {
    *(void **)&next = dlsym(RTLD_NEXT, "mca_coll_base_comm_select");
    if (!next) return OMPI_ERROR;
  }
  return next(comm);
}

// Ubuntu 24.04 and 26.04 link libmpi -Bsymbolic-functions: it calls its own function above. But this is asked from
// outside, by components that are offered a communicator.
bool ompi_group_have_remote_peers(ompi_group_t *group) {
  static bool (*next)(ompi_group_t *);
  move_ranks();
  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "ompi_group_have_remote_peers");
  return next && next(group);
}

int MPI_Get_processor_name(char *name, int *length) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  *length = snprintf(name, MPI_MAX_PROCESSOR_NAME, "pretended-%c", node_of(rank));
  return MPI_SUCCESS;
}
