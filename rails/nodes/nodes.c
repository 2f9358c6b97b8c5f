/* Communicators that span several nodes: each node's part by shared memory, the part between nodes by one rank of each
 * node, its leader, through the components below. A collective over the network then has as many partners as there are
 * nodes, and every other rank waits in memory.
 *
 *   barrier.c      all of a node have come; the leaders' barrier; all of a node may go
 *   broadcast.c    within the root's node; from its leader to the others; within theirs
 *   reductions.c   within each node, to its leader; between the leaders; back
 *   allgather.c    within each node; between the leaders; the leaders' row, within each node
 *   stages.c       how these are run, blocking or not
 *   calls.c        the calls, and the agreements of all ranks before
 *   functions.c    the functions that Open MPI calls, of the same table as within a node
 *   offer.c        a module's life, and what the component knows of this folder
 *
 * Such a communicator's module is another one than that of a communicator within one node. Once it has been used for a
 * while, or for a reduction whose bits depend on the order (they must not depend on the communicator's age), the ranks
 * gather which of them share a node. If some do, the communicator of each node and that of the leaders are made, and
 * our module on the node's makes its group. All this with the functions saved. Where any node cannot, all ranks step
 * aside.
 *
 * One rank of each node is one path over the network. A long message is shared out among several, so that all of a node
 * combine and copy: the ranks of the same place on every node are a rail, as many as the smallest node has ranks, four
 * at most. The rails' communicators are made without us, so the components below serve them. The hierarchy of
 * broadcasts and reductions over clusters is that of T. Kielmann et al., MagPIe: MPI's collective communication
 * operations for clustered wide area systems, PPoPP 1999.
 *
 * Where ranks share CPUs it is not always quicker. A rank that waits gives its CPU away, so a call costs as many time
 * slices as ranks wait for each other one after the other: within a node, then its leader for the others, then the
 * others for the leader. Messages from everybody to everybody take as many steps as a tree has levels. And in a row of
 * broadcasts the sender within a node may be no more than the ring of a group ahead (16 messages, or 4 pieces: of more
 * than 280 bytes), where messages of Open MPI's are stored. So some are left to the components below then
 * (longest_in_crowd), but no reduction whose bits depend on the order. */
#include "nodes.h"

#include "ompi/datatype/ompi_datatype.h"
#include "ompi/group/group.h"
#include "ompi/op/op.h"
#include "ompi/proc/proc.h"
#include "ompi_coll_smelt/parameters.h"
#include "ompi_coll_smelt/say.h"
#include "ompi_coll_smelt/stats.h"
#include "ompi_coll_smelt/sync.h"
#include "opal/util/info.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* When MPI ends, Open MPI releases the communicators that the program has left, in the order of their numbers; one of
 * ours may come before the one it belongs to, and would leave a pointer to nothing behind. So it is retained once more,
 * which is undone here unless that has happened. */
static void keep(struct ompi_communicator_t *comm) {
  if (comm == MPI_COMM_NULL) return;
  OBJ_RETAIN(comm);
#ifdef OMPI_COMM_SET_EXTRA_RETAIN
  OMPI_COMM_SET_EXTRA_RETAIN(comm);
#endif
}

static void free_communicator(struct ompi_communicator_t **comm) {
  if (*comm == MPI_COMM_NULL) return;
  opal_object_t *object = (opal_object_t *)*comm;
  if (object->obj_reference_count > 1) OBJ_RELEASE(object);
  (void)ompi_comm_free(comm);
  *comm = MPI_COMM_NULL;
}

/* Ours on the node's communicator; for a node of several ranks. */
static coll_smelt_module *module_of_node(const coll_smelt_nodes *nodes) {
  return (coll_smelt_module *)nodes->node->c_coll->coll_barrier_module;
}

static void free_hierarchy(coll_smelt_nodes *nodes) {
  nodes->group = NULL; /* freed with its communicator */
  free_communicator(&nodes->rail);
  free_communicator(&nodes->node);
  free(nodes->seats);
  nodes->seats = NULL;
  free(nodes->before);
  nodes->before = NULL;
  free(nodes->scratch);
  nodes->scratch = NULL;
  nodes->scratch_bytes = 0;
}

void coll_smelt_nodes_let_go(coll_smelt_nodes *nodes) {
  if (nodes->gone) return;
  nodes->gone = true;
  nodes->state = COLL_SMELT_STEPPED_ASIDE;
  /* As within one node: operations that are outstanding now never end, and the group stays, because there are places
   * that it was told of. */
  if (coll_smelt_abandon(nodes) && nodes->group) module_of_node(nodes)->group = NULL;
  free_hierarchy(nodes);
  coll_smelt_lower_release(&nodes->lower);
}

static void construct(coll_smelt_nodes *nodes) {
  nodes->comm = NULL;
  nodes->state = COLL_SMELT_UNUSED;
  nodes->gone = false;
  nodes->patience = 0;
  nodes->used_by = COLL_SMELT_NOT_KNOWN;
  coll_smelt_lane_begin(&nodes->lane, nodes);
  memset(&nodes->lower, 0, sizeof nodes->lower);
  nodes->node = nodes->rail = MPI_COMM_NULL;
  nodes->rails = 0;
  nodes->group = NULL;
  nodes->seats = NULL;
  nodes->before = NULL;
  nodes->mine = (coll_smelt_seat){0, 0};
  nodes->nodes = 0;
  nodes->consecutive = nodes->crowded = nodes->asked_for_room = nodes->wants_room = false;
  nodes->element_limit = nodes->length_limit = 0;
  nodes->scratch = NULL;
  nodes->scratch_bytes = 0;
}

static void destruct(coll_smelt_nodes *nodes) { coll_smelt_nodes_let_go(nodes); }

OBJ_CLASS_INSTANCE(coll_smelt_nodes, mca_coll_base_module_t, construct, destruct);

static int lower_minimum(coll_smelt_nodes *nodes, int64_t *values, int count) {
  return nodes->lower.allreduce(MPI_IN_PLACE, values, (coll_smelt_length)count, &ompi_mpi_int64_t.dt,
                                &ompi_mpi_op_min.op, nodes->comm, nodes->lower.allreduce_module);
}

/* The lowest rank that shares this rank's node, which is what the node is known by until it has a number. */
static int lowest_on_my_node(struct ompi_communicator_t *comm) {
  for (int rank = 0; rank < ompi_comm_rank(comm); ++rank) {
    const ompi_proc_t *proc = ompi_group_get_proc_ptr_raw(comm->c_local_group, rank);
    /* one that is not known yet is elsewhere */
    if (!ompi_proc_is_sentinel((ompi_proc_t *)proc) && OPAL_PROC_ON_LOCAL_NODE(proc->super.proc_flags)) return rank;
  }
  return ompi_comm_rank(comm);
}

/* Ranks that share a node must have found the same lowest one, or nobody knows who is where. */
static bool consistent(const int *lowest, int n) {
  for (int rank = 0; rank < n; ++rank)
    if (lowest[rank] < 0 || lowest[rank] > rank || lowest[lowest[rank]] != lowest[rank]) return false;
  return true;
}

/* Seats from everybody's lowest rank; `lowest` of a node's first rank is used up as the count of its ranks. Returns how
 * many ranks the largest node has. */
static int number(coll_smelt_nodes *nodes, int *lowest, int n) {
  int largest = 1;
  nodes->nodes = 0;
  nodes->consecutive = true;
  for (int rank = 0; rank < n; ++rank) {
    const int first = lowest[rank];
    if (first == rank) {
      nodes->seats[rank] = (coll_smelt_seat){nodes->nodes++, 0};
      lowest[rank] = 1;
      continue;
    }
    nodes->seats[rank] = (coll_smelt_seat){nodes->seats[first].node, lowest[first]++};
    if (lowest[first] > largest) largest = lowest[first];
    if (nodes->seats[rank].node != nodes->seats[rank - 1].node) nodes->consecutive = false;
  }
  memset(nodes->before, 0, ((size_t)nodes->nodes + 1) * sizeof *nodes->before);
  for (int rank = 0; rank < n; ++rank) ++nodes->before[nodes->seats[rank].node + 1];
  for (int node = 0; node < nodes->nodes; ++node) nodes->before[node + 1] += nodes->before[node];
  nodes->mine = nodes->seats[ompi_comm_rank(nodes->comm)];
  nodes->rails = COLL_SMELT_MOST_RAILS;
  for (int rank = 0; rank < n; ++rank)
    if (nodes->seats[rank].place == 0 && lowest[rank] < nodes->rails) nodes->rails = lowest[rank];
  return largest;
}

/* Fills in the ranks' nodes and places; NULL, or why nothing is gained by going node by node, the same text on all
 * ranks. */
static const char *find_seats(coll_smelt_nodes *nodes, int *largest) {
  const int n = ompi_comm_size(nodes->comm);
  int *lowest = malloc((size_t)n * sizeof *lowest);
  nodes->seats = malloc((size_t)n * sizeof *nodes->seats);
  nodes->before = malloc(((size_t)n + 1) * sizeof *nodes->before);
  int mine = lowest && nodes->seats && nodes->before ? lowest_on_my_node(nodes->comm) : -1;
  /* A rank without memory cannot take part in the allgather, so that is asked first. */
  int64_t all_have = mine >= 0;
  const bool agreed = lower_minimum(nodes, &all_have, 1) == OMPI_SUCCESS && all_have;
  const bool gathered = agreed && nodes->lower.allgather(&mine, 1, &ompi_mpi_int.dt, lowest, 1, &ompi_mpi_int.dt,
                                                         nodes->comm, nodes->lower.allgather_module) == OMPI_SUCCESS;
  const bool known = gathered && consistent(lowest, n);
  if (known) *largest = number(nodes, lowest, n);
  free(lowest);
  if (!gathered) return "not enough memory";
  if (!known) return "the ranks do not agree on who shares a node";
  if (*largest == 1) return "each rank has a node of its own";
  if (*largest > SMELT_MAX_PARTICIPANTS) return "a node has too many ranks";
  if (nodes->nodes == 1) return "all ranks are on one node, though not all know of it";
  return NULL;
}

static struct ompi_communicator_t *split(coll_smelt_nodes *nodes, int color, int key, const char *preference) {
  struct ompi_communicator_t *made = MPI_COMM_NULL;
  opal_info_t info;
  OBJ_CONSTRUCT(&info, opal_info_t);
  if (preference) opal_info_set(&info, "ompi_comm_coll_preference", preference);
  coll_smelt_hand_sync_on(nodes->comm, &info);
  if (ompi_comm_split_with_info(nodes->comm, color, key, &info, &made, false) != OMPI_SUCCESS) made = MPI_COMM_NULL;
  OBJ_DESTRUCT(&info);
  keep(made);
  return made;
}

/* The group that our own module on the node's communicator has made; NULL: none. */
static smelt_group *group_of_node(const coll_smelt_nodes *nodes) {
  coll_smelt_module *module = module_of_node(nodes);
  const opal_object_t *object = (opal_object_t *)module;
  return object->obj_class == OBJ_CLASS(coll_smelt_module) ? coll_smelt_group_now(module) : NULL;
}

static const char *make_hierarchy(coll_smelt_nodes *nodes) {
  const bool carries = nodes->mine.place < nodes->rails;
  nodes->node = split(nodes, nodes->mine.node, nodes->mine.place, NULL);
  nodes->rail = split(nodes, carries ? nodes->mine.place : MPI_UNDEFINED, nodes->mine.node, "^smelt");
  const bool made = nodes->node != MPI_COMM_NULL && (!carries || nodes->rail != MPI_COMM_NULL);
  int64_t limits[4] = {made, INT64_MAX, INT64_MAX, true}; /* the last: is no node crowded? */
  if (made && ompi_comm_size(nodes->node) > 1) {
    nodes->group = group_of_node(nodes);
    if (nodes->group) {
      const size_t start = smelt_group_start_limit(nodes->group), element = smelt_group_element_limit(nodes->group);
      limits[1] = element < INT64_MAX ? (int64_t)element : INT64_MAX;
      limits[2] = start < INT64_MAX ? (int64_t)start : INT64_MAX;
      limits[3] = !smelt_group_crowded(nodes->group);
    } else {
      limits[0] = 0;
    }
  }
  if (lower_minimum(nodes, limits, 4) != OMPI_SUCCESS || !limits[0])
    return "the ranks of a node cannot share memory, or its communicator could not be made";
  nodes->element_limit = (size_t)limits[1];
  nodes->length_limit = (size_t)limits[2];
  nodes->crowded = !limits[3];
  return NULL;
}

static void say(const coll_smelt_nodes *nodes, int largest, const char *reason) {
  if (reason) {
    coll_smelt_say_stepped_aside(nodes->comm, reason);
    return;
  }
  const char *name = coll_smelt_name_of(nodes->comm);
  const int n = ompi_comm_size(nodes->comm);
  coll_smelt_say(
      "%s (%d ranks): %d nodes, %s%d ranks each%s: barrier, bcast, reduce, allreduce and allgather by shared memory "
      "within a node, between the nodes' leaders by Open MPI's other components",
      name, n, nodes->nodes, n == largest * nodes->nodes ? "" : "up to ", largest,
      nodes->consecutive ? ""
                         : " (not in the order of their ranks: operations that do not commute are left "
                           "to Open MPI's other components)");
  if (nodes->crowded)
    coll_smelt_say("%s (%d ranks): a node is crowded: %s", name, n,
                   coll_smelt_nodes_wanted == 2
                       ? "served all the same (SMELT_NODES=2)"
                       : "what is slower there is left to Open MPI's other components: broadcasts, allgathers, longer "
                         "reductions whose result does not depend on the order");
}

static void create(coll_smelt_nodes *nodes) {
  nodes->state = COLL_SMELT_CREATING;
  int largest = 0;
  const char *reason = find_seats(nodes, &largest);
  if (!reason) reason = make_hierarchy(nodes);
  if (reason) free_hierarchy(nodes);
  nodes->state = reason ? COLL_SMELT_STEPPED_ASIDE : COLL_SMELT_SERVING;
  coll_smelt_increment(reason ? &coll_smelt_nodes_refused : &coll_smelt_nodes_created);
  if (reason) coll_smelt_stats_note(nodes->comm, reason);
  if (coll_smelt_set.verbose >= 1 && ompi_comm_rank(nodes->comm) == 0) say(nodes, largest, reason);
}

/* The memory that long messages need, asked for once, on every node or on none. */
static void ask_for_room(coll_smelt_nodes *nodes) {
  int64_t limit = INT64_MAX;
  nodes->asked_for_room = true;
  nodes->wants_room = false;
  if (nodes->group) {
    (void)smelt_group_prepare(nodes->group);
    const size_t start = smelt_group_start_limit(nodes->group);
    if (start < INT64_MAX) limit = (int64_t)start;
  }
  if (lower_minimum(nodes, &limit, 1) == OMPI_SUCCESS) nodes->length_limit = (size_t)limit;
}

/* The longest messages that are served where a node is crowded, in bytes; collectives without a row: any. Measured on
 * two pretended nodes of two ranks each, which yield, on 2 CPUs, tuned / Smelt:
 *   broadcast   8 B 0.62, 256 B 0.24, 1 MiB 0.86
 *   reduce      1 MiB 0.61
 *   allreduce   256 B 0.59, 4 KiB 0.88, 1 MiB 0.53
 * Shorter reductions were not found to be slower; where between those lengths the limits lie was not measured, nor was
 * an allgather, which ends in a broadcast. */
static const struct {
  smelt_collective which;
  size_t longest;
} longest_in_crowd[] = {
    {SMELT_COLLECTIVE_BROADCAST, 0},
    {SMELT_COLLECTIVE_REDUCE, 64 << 10},
    {SMELT_COLLECTIVE_ALLREDUCE, 128},
    {SMELT_COLLECTIVE_ALLGATHER, 0},
};

static bool too_long_for_crowd(const coll_smelt_nodes *nodes, smelt_collective which, size_t bytes) {
  if (OPAL_LIKELY(!nodes->crowded) || coll_smelt_nodes_wanted == 2) return false;
  for (size_t i = 0; i < sizeof longest_in_crowd / sizeof longest_in_crowd[0]; ++i)
    if (longest_in_crowd[i].which == which) return bytes > longest_in_crowd[i].longest;
  return false;
}

bool coll_smelt_nodes_may_serve(coll_smelt_nodes *nodes, smelt_collective which, bool ordered, size_t bytes) {
  if (OPAL_UNLIKELY(nodes->state == COLL_SMELT_UNUSED)) {
    if (!ordered && nodes->patience > 0) {
      --nodes->patience;
      return false;
    }
    create(nodes);
  }
  /* CREATING: a lower function may itself call a collective of this communicator, which is ours. */
  if (nodes->state != COLL_SMELT_SERVING) return false;
  if (OPAL_UNLIKELY(nodes->wants_room)) {
    coll_smelt_drain_lane(&nodes->lane, 0);
    ask_for_room(nodes);
  }
  if (!ordered && too_long_for_crowd(nodes, which, bytes)) return false;
  coll_smelt_drain_lane(&nodes->lane, 0);
  if (OPAL_UNLIKELY(bytes > nodes->length_limit) && !nodes->asked_for_room) ask_for_room(nodes);
  return bytes <= nodes->length_limit;
}

/* In one piece, so longer ones are quicker elsewhere; but not where bits would depend on the length. The component
 * below takes lengths in bytes as ints. */
static bool may_be_outstanding(const coll_smelt_nodes *nodes, smelt_collective which, bool ordered, size_t bytes,
                               size_t element) {
  if (nodes->state != COLL_SMELT_SERVING || bytes > INT_MAX || element > nodes->element_limit) return false;
  return ordered || (bytes <= COLL_SMELT_NODES_PIECE && !too_long_for_crowd(nodes, which, bytes));
}

bool coll_smelt_nodes_may_begin(coll_smelt_nodes *nodes, smelt_collective which, bool ordered, size_t bytes,
                                size_t element) {
  if (!coll_smelt_is_of_program(nodes->comm, &nodes->used_by)) return false;
  if (nodes->state == COLL_SMELT_UNUSED && nodes->patience > 0) --nodes->patience;
  if (!may_be_outstanding(nodes, which, ordered, bytes, element)) return false;
  if (bytes > nodes->length_limit && !nodes->asked_for_room) nodes->wants_room = true;
  return bytes <= nodes->length_limit;
}

bool coll_smelt_nodes_may_keep(coll_smelt_nodes *nodes, smelt_collective which, bool ordered, size_t bytes,
                               size_t element) {
  if (!coll_smelt_is_of_program(nodes->comm, &nodes->used_by)) return false;
  if (nodes->state == COLL_SMELT_UNUSED) create(nodes);
  if (!may_be_outstanding(nodes, which, ordered, bytes, element)) return false;
  /* An outstanding operation calls the leaders' component when its turn comes, which must be before us on all of
   * them. */
  coll_smelt_drain_lane(&nodes->lane, 0);
  return true;
}

bool coll_smelt_nodes_agree(coll_smelt_nodes *nodes, bool yes) {
  int64_t all = yes;
  return lower_minimum(nodes, &all, 1) == OMPI_SUCCESS && all;
}

smelt_group *coll_smelt_nodes_group_apart(coll_smelt_nodes *nodes) {
  return coll_smelt_group_apart(module_of_node(nodes));
}

void coll_smelt_nodes_passed_on(const coll_smelt_nodes *nodes, smelt_collective which) {
  if (nodes->state != COLL_SMELT_CREATING) coll_smelt_increment(&coll_smelt_tally.passed_on[which]);
}

char *coll_smelt_nodes_scratch(coll_smelt_nodes *nodes, size_t bytes) {
  if (OPAL_LIKELY(bytes <= nodes->scratch_bytes)) return nodes->scratch;
  enum { kAlignment = 64, kLeast = 4096 };
  const size_t wanted = bytes < kLeast ? kLeast : (bytes + kAlignment - 1) / kAlignment * kAlignment;
  free(nodes->scratch);
  nodes->scratch = aligned_alloc(kAlignment, wanted);
  nodes->scratch_bytes = nodes->scratch ? wanted : 0;
  return nodes->scratch;
}
