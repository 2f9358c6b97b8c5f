/* Agreement of all processes on the outcome of a step, before there is any channel of ours to carry it. */
#include "agree.h"

#include "lower.h"
#include "ompi/datatype/ompi_datatype.h"

#include "ompi/group/group.h"
#if OMPI_MAJOR_VERSION >= 5
#include "opal/runtime/opal_progress.h"
#endif

#include <stdatomic.h>
#include <stdlib.h>

static int worse(int a, int b) { return a > b ? a : b; }

#if OMPI_MAJOR_VERSION >= 5
/* It does not go by messages: from 5.0 on a process may look for some between MPI_COMM_WORLD's entry into the table of
 * communicators and its ob1 being told of it, and ob1 ends at one that comes then. */
static void all_there(pmix_status_t status, void *outcome) {
  /* release: all that came with it */
  atomic_store_explicit((atomic_int *)outcome, status == PMIX_SUCCESS ? 1 : -1, memory_order_release);
}

static bool fence(const pmix_proc_t *procs, unsigned count, bool far) {
  if (!far) return PMIx_Fence(procs, count, NULL, 0) == PMIX_SUCCESS;
  const bool yes = true;
  pmix_info_t collect;
  PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
  atomic_int outcome = 0;
  if (PMIx_Fence_nb(procs, count, &collect, 1, all_there, &outcome) != PMIX_SUCCESS) return false;
  /* acquire: all that came with it. Others may need our progress meanwhile. */
  int there;
  while ((there = atomic_load_explicit(&outcome, memory_order_acquire)) == 0) opal_progress();
  return there > 0;
}

int pml_smelt_agree(struct ompi_communicator_t *world, const int *ranks, unsigned count, int mine, bool far) {
  const char *key = far ? "smelt.pml.peers" : "smelt.pml.outcome";
  pmix_proc_t *procs = malloc(count * sizeof *procs);
  if (!procs) return -1;
  for (unsigned i = 0; i < count; ++i) {
    const opal_process_name_t name = ompi_group_get_proc_name(world->c_local_group, ranks[i]);
    OPAL_PMIX_CONVERT_NAME(&procs[i], &name);
  }
  int all = mine;
  pmix_value_t value;
  PMIX_VALUE_LOAD(&value, &mine, PMIX_INT);
  if (PMIx_Put(far ? PMIX_GLOBAL : PMIX_LOCAL, key, &value) != PMIX_SUCCESS || PMIx_Commit() != PMIX_SUCCESS ||
      !fence(procs, count, far))
    all = -1;
  for (unsigned i = 0; i < count && all >= 0; ++i) {
    pmix_value_t *theirs = NULL;
    if (PMIx_Get(&procs[i], key, NULL, 0, &theirs) == PMIX_SUCCESS && theirs->type == PMIX_INT)
      all = worse(all, theirs->data.integer);
    else
      all = -1;
    if (theirs) PMIX_VALUE_RELEASE(theirs);
  }
  free(procs);
  return all;
}
#else
enum { kTellFirst = -31001, kTellAll = -31002 }; /* tags that collectives do not use */

static int tell(int *value, int to, int tag, struct ompi_communicator_t *world) {
  return pml_smelt_lower.pml_send(value, 1, &ompi_mpi_int.dt, to, tag, MCA_PML_BASE_SEND_STANDARD, world);
}
static int hear(int *value, int from, int tag, struct ompi_communicator_t *world) {
  return pml_smelt_lower.pml_recv(value, 1, &ompi_mpi_int.dt, from, tag, world, MPI_STATUS_IGNORE);
}

/* All tell the first, which tells all. */
int pml_smelt_agree(struct ompi_communicator_t *world, const int *ranks, unsigned count, int mine, bool far) {
  (void)far;
  int all = mine;
  if (ompi_comm_rank(world) != ranks[0]) {
    if (tell(&mine, ranks[0], kTellFirst, world) != OMPI_SUCCESS ||
        hear(&all, ranks[0], kTellAll, world) != OMPI_SUCCESS)
      return -1;
    return all;
  }
  for (unsigned i = 1; i < count; ++i) {
    int theirs = 0;
    if (hear(&theirs, ranks[i], kTellFirst, world) != OMPI_SUCCESS) return -1;
    all = worse(all, theirs);
  }
  for (unsigned i = 1; i < count; ++i)
    if (tell(&all, ranks[i], kTellAll, world) != OMPI_SUCCESS) return -1;
  return all;
}
#endif
