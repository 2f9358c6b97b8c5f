/* Smelt as a collective component of Open MPI: the collectives of smelt/collectives.def. Here are the structs that Open
 * MPI finds in the file, and the decision which communicators are ours. The files, each using only those that follow
 * it:
 *
 *   component.c          the component
 *   offers.c             the life of a module: offered, enabled, disabled
 *   functions.c          the functions that Open MPI calls, made of the table and of arguments.h
 *   nonblocking.c        nonblocking and persistent calls within one machine
 *   neighbour_messages.c  those that no group serves and Open MPI would answer wrongly
 *   first_reductions.c   reductions of a communicator that has no group yet
 *   requests.c           requests of nonblocking and persistent calls
 *   NAME.h               a collective within one machine, of each row of the table (form.h)
 *   rows.c               rows of blocks, as gather, scatter and allgather have them
 *   exchange.c           all-to-all and neighbours (neighbours.c), with blocks that differ
 *   module.c             a communicator's module and its group
 *   lanes.c              the order of outstanding operations, and Open MPI's progress
 *   lower.c, slots.def   the functions of the component below
 *   users.c              whose nonblocking calls they are
 *   data.c, fold.c       buffers and operations of MPI as the group wants them
 *   sync.c               the info key for what follows the calls
 *   lower_components.c   `--mca coll smelt` alone: loads the components that serve everything else
 *   stats.c, counters.c  counts of the calls served, for smelt run, for people, for MPI_T
 *   say.c, parameters.c  lines for people, and the user's settings
 *
 * The house rails/nodes adds files of its own to the component, which serve communicators over several nodes
 * (over_nodes.h).
 *
 * That decision must be the same on all ranks, and nobody compares: it uses only facts that all of them know alike: the
 * communicator's kind, size and members, and settings that mpirun gives to all. Facts that may differ (may this process
 * open the others' memory? is there enough?) are found out, and agreed on, when the group is created. */
#include "lower_components.h"
#include "module.h"
#include "offers.h"
#include "ompi/group/group.h"
#include "over_nodes.h"
#include "parameters.h"
#include "requests.h"
#include "say.h"
#include "stats.h"
#include "sync.h"

#include <smelt/base.h>
#include <stdio.h>
#include <string.h>

extern COLL_SMELT_EXPORT mca_coll_base_component_t mca_coll_smelt_component;

enum { kPriorityWhenNamed = 90 }; /* as docs/mpi.md sets it by hand */

/* The structs that both sides fill in belong to one series; a library of another may be loaded under the same file
   name. */
static bool same_series(void) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0, major = 0, minor = 0;
  PMPI_Get_library_version(text, &length);
  if (sscanf(text, "Open MPI v%d.%d", &major, &minor) == 2 && major == OMPI_MAJOR_VERSION &&
      minor == OMPI_MINOR_VERSION)
    return true;
  coll_smelt_say("not used: it was built for Open MPI %d.%d, and this is %.*s; build Smelt with this Open MPI",
                 OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, (int)strcspn(text, ","), text);
  coll_smelt_stats_not_used("it was built for another series of Open MPI");
  return false;
}

static int register_component(void) {
  if (!same_series()) return OPAL_ERR_NOT_AVAILABLE;
  const mca_base_component_t *component = &mca_coll_smelt_component.collm_version;
  coll_smelt_register_parameters(component, coll_smelt_missing_components());
  coll_smelt_register_counters(component);
  coll_smelt_set.verbose = coll_smelt_setting("SMELT_VERBOSE", NULL);
  coll_smelt_set.patience = coll_smelt_setting("SMELT_TUNE=patience", NULL);
  if (&coll_smelt_over_nodes) coll_smelt_over_nodes.begin(component);
  return OMPI_SUCCESS;
}

/* A user who names us on the command line wants us used, and need not know of a second switch. */
static int open_component(void) {
  bool set = false;
  coll_smelt_set.priority = coll_smelt_setting("SMELT_PRIORITY", &set);
  if (!set && coll_smelt_selected_by_name()) coll_smelt_set.priority = kPriorityWhenNamed;
  coll_smelt_lanes_begin();
  coll_smelt_requests_begin();
  coll_smelt_sync_begin(coll_smelt_is_settled);
  coll_smelt_add_lower_components(&mca_coll_smelt_component.collm_version);
  return OMPI_SUCCESS;
}

/* A program may leave communicators behind, and with them groups that use the memory. */
static int close_component(void) {
  coll_smelt_stats_end();
  coll_smelt_lanes_end();
  coll_smelt_requests_end();
  if (coll_smelt_groups_alive() == 0) coll_smelt_pool_end(), smelt_groups_end();
  return OMPI_SUCCESS;
}

static int init_query(bool progress_threads, bool threads) {
  (void)progress_threads;
  coll_smelt_tally.threads = threads;
  if (coll_smelt_set.priority > 0) {
    coll_smelt_stats_begin();
    return OMPI_SUCCESS;
  }
  coll_smelt_stats_not_used("the priority of Open MPI's component coll/smelt is 0");
  return OMPI_ERR_NOT_AVAILABLE;
}

/* Processes that one mpirun started know the same of each other. Those that were spawned or connected may not, not even
 * whether they share a machine. */
static bool of_one_job(ompi_group_t *group) {
  const opal_process_name_t first = ompi_group_get_proc_name(group, 0);
  for (int i = 1; i < group->grp_proc_count; ++i)
    if (ompi_group_get_proc_name(group, i).jobid != first.jobid) return false;
  return true;
}

static bool is_ours(struct ompi_communicator_t *comm) {
  const int size = ompi_comm_size(comm);
  return !OMPI_COMM_IS_INTER(comm) && size > 1 && of_one_job(comm->c_local_group);
}

static mca_coll_base_module_t *offer_over_nodes(struct ompi_communicator_t *comm) {
  static const char left_out[] = "this Smelt was built without what serves several nodes (-Drails=auto builds it)";
  static bool told;
  if (&coll_smelt_over_nodes) return coll_smelt_over_nodes.offer(comm);
  coll_smelt_stats_note(comm, left_out);
  if (!told && coll_smelt_set.verbose >= 1 && ompi_comm_rank(comm) == 0) coll_smelt_say_stepped_aside(comm, left_out);
  told = true;
  return NULL;
}

static mca_coll_base_module_t *comm_query(struct ompi_communicator_t *comm, int *priority) {
  *priority = coll_smelt_set.priority;
  if (*priority == 0 || !is_ours(comm)) return NULL;
  coll_smelt_stats_note(comm, NULL);
  if (ompi_group_have_remote_peers(comm->c_local_group)) return offer_over_nodes(comm);
  return ompi_comm_size(comm) <= SMELT_MAX_PARTICIPANTS ? coll_smelt_offer(comm) : NULL;
}

mca_coll_base_component_t mca_coll_smelt_component = {
    .collm_version =
        {
            COLL_SMELT_API,
            .mca_component_name = "smelt",
            MCA_BASE_MAKE_VERSION(component, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION),
            .mca_register_component_params = register_component,
            .mca_open_component = open_component,
            .mca_close_component = close_component,
        },
    .collm_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT},
    .collm_init_query = init_query,
    .collm_comm_query = comm_query,
};
COLL_SMELT_POINTER
