/* This file decides which communicators are served, and has the numbers of their members.
 *
 * The decision must be the same on all ranks, and nobody compares: it uses only knowledge that all of them share, the
 * communicator's kind and its members' names. A message carries the communicator's context id and the sender's number
 * among those that this process reaches; a table by context id leads from Open MPI's communicators to ours. Messages
 * may come before their communicator does: they wait like any others that nobody has asked for. */
#include "communicators.h"

#include "counters.h"
#include "endpoint.h"
#include "lower.h"
#include "node.h"
#include "peers.h"
#include "say.h"
#include "served.h"

#include "ompi/group/group.h"
#include "opal/util/info_subscriber.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* NULL: it can be; else why not. */
static const char *no_endpoint;
static const char *cannot_be_served(struct ompi_communicator_t *comm) {
  if (!pml_smelt_endpoint) return no_endpoint ? no_endpoint : "there is no MPI_COMM_WORLD (the program uses sessions)";
  if (OMPI_COMM_IS_INTER(comm)) return "it is an inter-communicator";
  if (pml_smelt_context(comm) < 0) return "its ranks have no number for it in common (it was made from a session)";
  if (pml_smelt_context(comm) > UINT16_MAX) return "there are too many communicators";
  ompi_group_t *group = comm->c_local_group;
  for (int rank = 0; rank < group->grp_proc_count; ++rank)
    if (pml_smelt_member_of(ompi_group_get_proc_name(group, rank)) < 0)
      return pml_smelt_peers_why_none() ? "not all of its ranks are of this job and on this node"
                                        : "not all of its ranks are of this job";
  return NULL;
}

static pml_smelt_communicator *new_communicator(struct ompi_communicator_t *comm) {
  ompi_group_t *group = comm->c_local_group;
  const size_t size = (size_t)group->grp_proc_count;
  const unsigned members = pml_smelt_members();
  pml_smelt_communicator *served =
      malloc(sizeof *served + members * sizeof *served->ranks + size * sizeof *served->members);
  if (!served) return NULL;
  served->context = (uint16_t)pml_smelt_context(comm);
  atomic_init(&served->promised, 0);
  served->ranks = (int32_t *)(served + 1);
  served->members = (uint16_t *)(served->ranks + members);
  for (unsigned i = 0; i < members; ++i) served->ranks[i] = -1;
  for (size_t rank = 0; rank < size; ++rank) {
    const int member = pml_smelt_member_of(ompi_group_get_proc_name(group, (int)rank));
    served->members[rank] = (uint16_t)member;
    served->ranks[member] = (int32_t)rank;
  }
  return served;
}

/* --- what a program promises of a communicator (MPI 4.0, section 7.4.4)
 *
 *   mpi_assert_no_any_source, mpi_assert_no_any_tag   nothing is gained: a communicator pays for wildcards from its
 *                                                     first one on. One that comes all the same is said, and served
 *   mpi_assert_allow_overtaking                       nothing either: within a node there is one way, and it has order
 *   mpi_assert_exact_length                           nothing: docs/mpi.md says what it could be good for */

#if OMPI_MAJOR_VERSION >= 5
typedef const char word;
#else
typedef char word;
#endif

static word *promise(opal_infosubscriber_t *object, word *key, word *value) {
  pml_smelt_communicator *served = pml_smelt_served((struct ompi_communicator_t *)object);
  const bool yes = strcasecmp(value, "true") == 0 || strcasecmp(value, "yes") == 0 || atoi(value) != 0;
  const unsigned which = strcmp(key, "mpi_assert_no_any_tag") == 0 ? PML_SMELT_NO_ANY_TAG : PML_SMELT_NO_ANY_SOURCE;
  if (served && yes) atomic_fetch_or_explicit(&served->promised, which, memory_order_relaxed);
  if (served && !yes) atomic_fetch_and_explicit(&served->promised, ~which, memory_order_relaxed);
  return yes ? "true" : "false";
}

/* The one below is told of all: it keeps its state in the communicator, and others may ask it for theirs. */
int pml_smelt_add_comm(struct ompi_communicator_t *comm) {
  const int error = pml_smelt_lower.pml_add_comm(comm);
  if (error != OMPI_SUCCESS) return error;
  if (comm == &ompi_mpi_comm_world.comm) {
    const int fatal = pml_smelt_node_join(comm, &no_endpoint); /* the others will serve it */
    if (fatal != OMPI_SUCCESS) return fatal;
    if (pml_smelt_verbose >= 1 && pml_smelt_peers_why_none() && ompi_comm_rank(comm) == 0)
      pml_smelt_say("messages between nodes: left to Open MPI's pml/%s: %s", pml_smelt_lower_name(),
                    pml_smelt_peers_why_none());
  }
  const char *why = cannot_be_served(comm);
  if (!why) {
    pml_smelt_communicator *served = new_communicator(comm);
    if (!served) return OMPI_ERR_OUT_OF_RESOURCE; /* the others will serve it */
    pml_smelt_by_context[served->context] = served;
    (void)opal_infosubscribe_subscribe(&comm->super, "mpi_assert_no_any_source", "false", promise);
    (void)opal_infosubscribe_subscribe(&comm->super, "mpi_assert_no_any_tag", "false", promise);
  }
  pml_smelt_count(why ? &pml_smelt_tally.communicators_left : &pml_smelt_tally.communicators_served);
  if (pml_smelt_verbose >= 1) pml_smelt_say_communicator(comm, why);
  return OMPI_SUCCESS;
}

/* Requests hold their communicator, so nothing is under way but messages that nobody will ask for. A correct program
 * has none (docs/mpi_reference.md); those that have come are lost, so that the next communicator of this context id
 * does not get them. (It may be the last request that brings us here, from within the endpoint.) */
int pml_smelt_del_comm(struct ompi_communicator_t *comm) {
  pml_smelt_communicator *served = pml_smelt_served(comm);
  if (served) {
    pml_smelt_by_context[served->context] = NULL;
    if (pml_smelt_endpoint) smelt_endpoint_forget(pml_smelt_endpoint, served->context);
    free(served);
  }
  return pml_smelt_lower.pml_del_comm(comm);
}
