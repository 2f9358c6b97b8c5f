/* Smelt as Open MPI's point-to-point layer, for communicators whose ranks are all on this node, or are reached over
 * networks that were sampled. A communicator that it does not serve goes on to the PML that Open MPI has elected as if
 * ours were not there; a communicator is served wholly or not at all, so no message overtakes another on the way
 * between two layers. The files, each using only those that follow it:
 *
 *   component.c       the component's offers to Open MPI, and the election
 *   communicators.c   which communicators are served: ranks to members and back (served.c)
 *   probe.c           probing, and receiving a matched message
 *   send.c            sending in every mode, and persistent
 *   receive.c         receiving, and persistent
 *   node.c            the processes of this job on this node, and the endpoint (endpoint.c) that they share
 *   waits.c           MPI_Wait and its kin
 *   data.c            data with gaps
 *   requests.c        Open MPI's requests: born, completed, freed, cancelled, progressed
 *   peers.c           the processes on other nodes, and the rails (smelt/rail.h) to them
 *   agree.c           agreement of ranks on an outcome
 *   counters.c        counts of served calls, for MPI_T
 *   say.c, lower.c    lines for people, and the PML below
 *
 * Open MPI elects one PML for everything, and all processes must have elected the same. Ours loses the election and
 * then stands before the winner, as pml/monitoring does:
 *
 *   1. open: our name is added to those that may stand for election, as Open MPI ignores others
 *   2. init: a module with the lowest priority. Any other wins. The words that other processes need of this one are
 *      handed over now, before the processes exchange theirs
 *   3. finalize, which Open MPI calls first for those that have lost: the winner's component and functions are put
 *      aside, ours take their place. The losers are closed next, all that are in the framework's list, so we leave it.
 *      Open MPI tells the others the winner's name, so one process may have us and another not
 *   4. finalize again, by now as if we had won: the winner is put back, and ends. We go back into the list, to be
 *      closed with it */
#include "communicators.h"
#include "counters.h"
#include "lower.h"
#include "node.h"
#include "peers.h"
#include "probe.h"
#include "receive.h"
#include "requests.h"
#include "say.h"
#include "send.h"

#include "opal/mca/base/base.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/runtime/opal_progress.h"

#include <smelt/options.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern PML_SMELT_EXPORT mca_pml_base_component_t mca_pml_smelt_component;

static bool enabled;
static bool elected;                              /* somebody else was, and we stand before it */
static mca_base_component_list_item_t *list_item; /* ours, meanwhile */
static mca_pml_base_module_t module;

/* As in the collectives' component, which lies in the same folder and says so anyway: nobody has asked for messages
 * yet. */
static bool same_series(void) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0, major = 0, minor = 0;
  PMPI_Get_library_version(text, &length);
  if (sscanf(text, "Open MPI v%d.%d", &major, &minor) == 2 && major == OMPI_MAJOR_VERSION &&
      minor == OMPI_MINOR_VERSION)
    return true;
  if (pml_smelt_verbose >= 1)
    pml_smelt_say("not used: it was built for Open MPI %d.%d, and this is %.*s; build Smelt with this Open MPI",
                  OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, (int)strcspn(text, ","), text);
  return false;
}

static int setting(const char *name) {
  smelt_option option;
  for (unsigned i = 0; smelt_option_get(i, &option) == 0; ++i)
    if (strcmp(option.name, name) == 0) return atoi(option.value);
  return 0;
}

static int register_component(void) {
  pml_smelt_verbose = setting("SMELT_VERBOSE");
  if (!same_series()) return OPAL_ERR_NOT_AVAILABLE;
  const mca_base_component_t *component = pml_smelt_self = &mca_pml_smelt_component.pmlm_version;
  (void)mca_base_component_var_register(component, "enable",
                                        "1: messages between ranks of one node are Smelt's; 0: they are left to the "
                                        "PML that Open MPI elects",
                                        MCA_BASE_VAR_TYPE_BOOL, NULL, 0, 0, OPAL_INFO_LVL_1,
                                        MCA_BASE_VAR_SCOPE_READONLY, &enabled);
  (void)mca_base_component_var_register(
      component, "verbose", "1: a line per communicator, who serves it and why (SMELT_VERBOSE)", MCA_BASE_VAR_TYPE_INT,
      NULL, 0, 0, OPAL_INFO_LVL_1, MCA_BASE_VAR_SCOPE_READONLY, &pml_smelt_verbose);
  pml_smelt_nodes = false; /* where the networks are fast, long messages take longer than Open MPI's: docs/mpi.md */
  (void)mca_base_component_var_register(
      component, "nodes",
      "1: communicators over several nodes are served, too, where the networks were sampled (smelt network)",
      MCA_BASE_VAR_TYPE_BOOL, NULL, 0, 0, OPAL_INFO_LVL_3, MCA_BASE_VAR_SCOPE_READONLY, &pml_smelt_nodes);
  pml_smelt_network = NULL;
  (void)mca_base_component_var_register(
      component, "network", "network profile to use (a file that ends in .network) instead of this machine's usual one",
      MCA_BASE_VAR_TYPE_STRING, NULL, 0, 0, OPAL_INFO_LVL_3, MCA_BASE_VAR_SCOPE_READONLY, &pml_smelt_network);
  pml_smelt_register_counters(component);
  return OMPI_SUCCESS;
}

static int open_component(void) {
  if (!enabled) return OPAL_ERR_NOT_AVAILABLE;
  char *name = strdup(mca_pml_smelt_component.pmlm_version.mca_component_name); /* Open MPI frees it */
  return name && opal_pointer_array_add(&mca_pml_base_pml, name) >= 0 ? OMPI_SUCCESS : OPAL_ERR_OUT_OF_RESOURCE;
}

/* `--mca pml smelt`: there is nobody else. */
static bool alone(void) { return opal_list_get_size(&ompi_pml_base_framework.framework_components) == 1; }

static mca_pml_base_module_t *init(int *priority, bool progress_threads, bool threads) {
  if (!enabled) return NULL;
  if (alone()) {
    pml_smelt_say(
        "not used: --mca pml names no other component, which what is not Smelt's needs; leave the option out");
    return NULL;
  }
  const char *why = pml_smelt_steps_aside();
  if (why) {
    if (pml_smelt_verbose >= 1) pml_smelt_say("not used: %s", why);
    pml_smelt_stats_not_used(why);
    return NULL;
  }
  pml_smelt_threads = threads || progress_threads || opal_using_threads();
  *priority = 0;
  pml_smelt_node_announce();
  return &module;
}

/* Out of the list of components that will be closed. False: we are not in it. */
static bool leave_list(void) {
  mca_base_component_list_item_t *item;
  OPAL_LIST_FOREACH(item, &ompi_pml_base_framework.framework_components, mca_base_component_list_item_t)
  if (item->cli_component == &mca_pml_smelt_component.pmlm_version) {
    (void)opal_list_remove_item(&ompi_pml_base_framework.framework_components, &item->super);
    list_item = item;
    return true;
  }
  return false;
}

static void stand_before(void) {
  pml_smelt_lower_component = mca_pml_base_selected_component;
  pml_smelt_lower = mca_pml;
  mca_pml_base_selected_component = mca_pml_smelt_component;
  mca_pml = module;
  mca_pml.pml_progress = pml_smelt_lower.pml_progress; /* Open MPI registers it; our own is registered besides */
  pml_smelt_take_from_below(&mca_pml, &pml_smelt_lower);
  /* A message carries 16 bits of it. */
  mca_pml.pml_max_contextid =
      pml_smelt_lower.pml_max_contextid < UINT16_MAX ? pml_smelt_lower.pml_max_contextid : UINT16_MAX;
  mca_pml.pml_max_tag = pml_smelt_lower.pml_max_tag;
  mca_pml.pml_flags = pml_smelt_lower.pml_flags;
  elected = true;
  pml_smelt_stats_begin();
}

static int finalize(void) {
  if (!elected) {
    const bool won = mca_pml_base_selected_component.pmlm_finalize == finalize; /* nobody else stood: see enable() */
    if (!won && leave_list()) stand_before();
    return OMPI_SUCCESS;
  }
  elected = false;
  pml_smelt_stats_end();
  pml_smelt_node_leave(); /* which may know of requests that are not complete */
  pml_smelt_requests_end();
  mca_pml_base_selected_component = pml_smelt_lower_component;
  mca_pml = pml_smelt_lower;
  opal_list_append(&ompi_pml_base_framework.framework_components, &list_item->super);
  return pml_smelt_lower_component.pmlm_finalize ? pml_smelt_lower_component.pmlm_finalize() : OMPI_SUCCESS;
}

/* --- what is only passed on */

static int add_procs(struct ompi_proc_t **procs, size_t count) { return pml_smelt_lower.pml_add_procs(procs, count); }
static int del_procs(struct ompi_proc_t **procs, size_t count) { return pml_smelt_lower.pml_del_procs(procs, count); }
static int dump(struct ompi_communicator_t *comm, int verbose) { return pml_smelt_lower.pml_dump(comm, verbose); }
static int enable(bool yes) {
  static const pml_smelt_acts acts = {pml_smelt_start_send, pml_smelt_start_receive, pml_smelt_cancel_receive};
  if (!elected) { /* those that might have been elected have all declined */
    pml_smelt_say("not used: Open MPI has no PML that what is not Smelt's could go to");
    return OMPI_ERR_NOT_AVAILABLE;
  }
  const int error = yes ? pml_smelt_requests_begin(&acts) : OMPI_SUCCESS;
  if (error != OMPI_SUCCESS) return error;
  return pml_smelt_lower.pml_enable(yes);
}

static mca_pml_base_module_t module = {
    .pml_add_procs = add_procs,
    .pml_del_procs = del_procs,
    .pml_enable = enable,
    .pml_add_comm = pml_smelt_add_comm,
    .pml_del_comm = pml_smelt_del_comm,
    .pml_irecv_init = pml_smelt_irecv_init,
    .pml_irecv = pml_smelt_irecv,
    .pml_recv = pml_smelt_recv,
    .pml_isend_init = pml_smelt_isend_init,
    .pml_isend = pml_smelt_isend,
    .pml_send = pml_smelt_send,
    .pml_iprobe = pml_smelt_iprobe,
    .pml_probe = pml_smelt_probe,
    .pml_start = pml_smelt_start,
    .pml_improbe = pml_smelt_improbe,
    .pml_mprobe = pml_smelt_mprobe,
    .pml_imrecv = pml_smelt_imrecv,
    .pml_mrecv = pml_smelt_mrecv,
    .pml_dump = dump,
};

mca_pml_base_component_t mca_pml_smelt_component = {
    .pmlm_version =
        {
            PML_SMELT_API,
            .mca_component_name = "smelt",
            MCA_BASE_MAKE_VERSION(component, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION),
            .mca_open_component = open_component,
            .mca_register_component_params = register_component,
        },
    .pmlm_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT},
    .pmlm_init = init,
    .pmlm_finalize = finalize,
};
