/* The processes of this job on this node, and the endpoint that they share.
 *
 *   1. announce: each process hands over the words by which others find it, among those that Open MPI has processes
 *      exchange anyway; the first of the node has made the memory by then, and says where it is
 *   2. join, when the world's communicator is made: each reads the words of the others of its node. Where one has said
 *      nothing, or something else than expected, all find that. Else each maps the memory, and tries whether it may
 *      read its neighbour's own: where it may not, long messages come in pieces
 *   3. whether that has worked everywhere is known to all after a round of the launcher's own exchange, or, up to Open
 *      MPI 4.1, two rounds of messages of the PML below (agree.c). So either all members serve a communicator or none
 *      does
 *
 * Those of other nodes come then, where all of the job can have them (peers.c). */
#include "node.h"

#include "agree.h"
#include "counters.h"
#include "endpoint.h"
#include "lower.h"
#include "peers.h"
#include "waits.h"

#include "ompi/group/group.h"
#include "ompi/proc/proc.h"
#if OMPI_MAJOR_VERSION >= 5
#include "opal/mca/accelerator/base/base.h"
#else
#include "opal/runtime/opal_params.h"
#endif
#include "opal/mca/base/mca_base_var.h"
#include "opal/runtime/opal_progress.h"
#include "opal/util/proc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct card {
  char version[16]; /* of Smelt: all must run the same */
  uint32_t member, members;
  int32_t process;
  int32_t error; /* of the first: why there is no memory, or 0 */
  uint64_t proof, proof_at;
  smelt_endpoint_ticket ticket; /* of the first */
} card;

static card own;
static uint64_t proof = 0x736d656c742d706d;
static smelt_endpoint *offered; /* not joined by all yet */
static opal_jobid_t job;
static int32_t *member_of_rank; /* [rank in the job] */
static size_t ranks;
static unsigned members, elsewhere; /* of the job: on this node; those that we reach on others */
static bool together;

unsigned pml_smelt_members(void) { return members + elsewhere; }
bool pml_smelt_is_near(unsigned member) { return member < members; }
bool pml_smelt_reaches_nodes(void) { return elsewhere != 0; }

int pml_smelt_member_of(opal_process_name_t name) {
  return name.jobid == job && name.vpid < ranks ? member_of_rank[name.vpid] : -1;
}

/* --- 1 */

void pml_smelt_node_announce(void) {
  members = (unsigned)opal_process_info.num_local_peers + 1;
  memset(&own, 0, sizeof own);
  strncpy(own.version, smelt_version(), sizeof own.version - 1);
  own.member = (uint32_t)opal_process_info.my_local_rank;
  own.members = members;
  own.process = (int32_t)getpid();
  proof ^= (uint64_t)getpid() << 32;
  own.proof = proof;
  own.proof_at = (uint64_t)(uintptr_t)&proof;
  if (members > 1 && own.member == 0) own.error = smelt_endpoint_offer(members, &own.ticket, &offered);
  int error = OPAL_SUCCESS;
  PML_SMELT_MODEX_SEND(error, pml_smelt_self, &own, sizeof own);
  (void)error; /* the others will miss it */
  pml_smelt_peers_announce(members);
}

/* --- 2 */

static bool read_card(opal_process_name_t name, card *read) {
  void *data = NULL;
  size_t bytes = 0;
  int error = OPAL_SUCCESS;
  PML_SMELT_MODEX_RECV(error, pml_smelt_self, &name, &data, &bytes);
  const bool good = error == OPAL_SUCCESS && data && bytes == sizeof *read;
  if (good) memcpy(read, data, sizeof *read);
  free(data);
  return good;
}

static bool on_this_node(ompi_group_t *group, int rank) {
  const ompi_proc_t *proc = ompi_group_get_proc_ptr_raw(group, rank);
  /* one that is not known yet is elsewhere */
  return !ompi_proc_is_sentinel((ompi_proc_t *)proc) && OPAL_PROC_ON_LOCAL_NODE(proc->super.proc_flags);
}

/* Everybody's card, by member, and whose is whose. NULL, or why not, which all members find alike. */
static const char *read_cards(ompi_group_t *world, card *cards, int *rank_of) {
  unsigned found = 0;
  for (unsigned i = 0; i < members; ++i) rank_of[i] = -1;
  for (int rank = 0; rank < world->grp_proc_count; ++rank) {
    if (!on_this_node(world, rank)) continue;
    card read;
    const opal_process_name_t name = ompi_group_get_proc_name(world, rank);
    if (name.vpid == OPAL_PROC_MY_NAME.vpid)
      read = own;
    else if (!read_card(name, &read))
      return "not all ranks of this node have it (give all the same settings)";
    if (read.members != members || read.member >= members || rank_of[read.member] >= 0)
      return "the ranks do not agree on who shares this node";
    if (strncmp(read.version, own.version, sizeof read.version) != 0)
      return "the ranks have different versions of Smelt";
    rank_of[read.member] = rank;
    cards[read.member] = read;
    member_of_rank[name.vpid] = (int32_t)read.member;
    ++found;
  }
  return found == members ? NULL : "the ranks do not agree on who shares this node";
}

/* --- 3 */

/* The outcome, or the first reason against it. */
enum { kGood, kNoMemory, kNotShared, kDevices };

/* Buffers that a CPU may not be able to read: Open MPI was built for devices' memory and has found some, or looks for
 * it with every message. A message of one piece is copied here without asking for its kind. */
static bool may_have_devices(void) {
#if OMPI_MAJOR_VERSION >= 5
  const char *name = opal_accelerator_base_selected_component.base_version.mca_component_name;
  return name[0] && strcmp(name, "null") != 0;
#else
  return opal_cuda_support;
#endif
}

/* Other progress that is to go on while somebody waits for a message. */
static void progress_of_others(void *none) {
  (void)none;
  opal_progress();
}

/* Do the ranks here share CPUs? Open MPI says so of its own, or is told to; opal_progress hears of it later. */
static bool is_crowded(void) {
  const bool *crowded = NULL;
  const int variable = mca_base_var_find("ompi", "mpi", NULL, "yield_when_idle");
  return variable >= 0 && mca_base_var_get_value(variable, &crowded, NULL, NULL) == OPAL_SUCCESS && crowded && *crowded;
}

static int attach(const card *cards) {
  if (may_have_devices()) return kDevices;
  int error = cards[0].error;
  if (own.member != 0 && error == 0) error = smelt_endpoint_join(&cards[0].ticket, members, own.member, &offered);
  if (error == -ENOMEM) return kNoMemory;
  if (error != 0) return kNotShared;
  const card *next = &cards[(own.member + 1) % members];
  smelt_endpoint_set(offered, smelt_endpoint_reads(next->process, next->proof_at, next->proof), is_crowded(),
                     progress_of_others, NULL);
  if (!pml_smelt_threads) smelt_endpoint_one_thread(offered);
  return kGood;
}

static const char *reason(int outcome) {
  switch (outcome) {
    case kNoMemory: return "not enough shared memory (raise SMELT_SHM_MB, ulimit -f and -v, or the cgroup's limit)";
    case kNotShared:
      return "the ranks do not share a user or the right to open each other's memory in /proc (run them in one "
             "container, as one user)";
    case kDevices:
      return "buffers may lie in a device's memory (where none do: --mca opal_cuda_support 0, or accelerator null)";
    default: return "Open MPI's own exchange failed while the ranks were getting ready";
  }
}

/* Agrees with the others of this node. NULL, or why not. */
static const char *join_node(struct ompi_communicator_t *world, card *cards, int *rank_of) {
  if (members > SMELT_MAX_PARTICIPANTS) return "the node has too many ranks";
  const char *why = read_cards(world->c_local_group, cards, rank_of);
  if (why) return why;
  const int outcome = pml_smelt_agree(world, rank_of, members, attach(cards), false);
  return outcome == kGood ? NULL : reason(outcome);
}

/* Joins nobody: for a process that has rails to others. */
static const char *join_alone(void) {
  if (may_have_devices()) return reason(kDevices);
  member_of_rank[OPAL_PROC_MY_NAME.vpid] = 0;
  if (smelt_endpoint_offer(1, &own.ticket, &offered) != 0) return reason(kNoMemory);
  smelt_endpoint_set(offered, 1, 0, progress_of_others, NULL);
  if (!pml_smelt_threads) smelt_endpoint_one_thread(offered);
  return NULL;
}

/* Joins those of other nodes, should all of the job be able to. Their numbers follow those of this node. */
static int join_peers(struct ompi_communicator_t *world, const char *why_not) {
  int32_t *peer_of_rank = malloc(ranks * sizeof *peer_of_rank);
  int *all = malloc(ranks * sizeof *all);
  if (!peer_of_rank || !all) {
    free(peer_of_rank);
    free(all);
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  for (size_t rank = 0; rank < ranks; ++rank) all[rank] = (int)rank;
  const bool good = !why_not && pml_smelt_peers_connect(world->c_local_group, member_of_rank, peer_of_rank);
  int error = OMPI_SUCCESS;
  if (pml_smelt_agree(world, all, (unsigned)ranks, good ? 0 : 1, true) != 0) {
    pml_smelt_peers_refused();
  } else {
    error = pml_smelt_peers_begin(offered);
    for (size_t rank = 0; rank < ranks; ++rank)
      if (peer_of_rank[rank] >= 0) {
        const opal_process_name_t name = ompi_group_get_proc_name(world->c_local_group, (int)rank);
        member_of_rank[name.vpid] = (int32_t)members + peer_of_rank[rank];
        ++elsewhere;
      }
  }
  free(peer_of_rank);
  free(all);
  return error;
}

int pml_smelt_node_join(struct ompi_communicator_t *world, const char **why) {
  ompi_group_t *group = world->c_local_group;
  job = OPAL_PROC_MY_NAME.jobid;
  ranks = (size_t)group->grp_proc_count;
  const bool has_peers = pml_smelt_peers_plan(group, members);
  *why = "it is alone on this node";
  if (members < 2 && !has_peers) return OMPI_SUCCESS;
  member_of_rank = malloc(ranks * sizeof *member_of_rank);
  card *cards = malloc(members * sizeof *cards);
  int *rank_of = malloc(members * sizeof *rank_of);
  int error = OMPI_SUCCESS;
  *why = "not enough memory"; /* then Open MPI itself has little future */
  if (member_of_rank && cards && rank_of) {
    memset(member_of_rank, 0xff, ranks * sizeof *member_of_rank);
    *why = members < 2 ? join_alone() : join_node(world, cards, rank_of);
    if (has_peers) error = join_peers(world, *why);
    if (members < 2 && elsewhere == 0 && !*why) *why = "it is alone on this node";
  }
  free(cards);
  free(rank_of);
  if (*why) {
    smelt_endpoint_leave(offered, 0);
    offered = NULL;
    return error;
  }
  pml_smelt_endpoint = offered;
  smelt_endpoint_limits(offered, &pml_smelt_inbox_bytes, &pml_smelt_packet_bytes);
  offered = NULL;
  together = true;
  pml_smelt_waits_begin();
  return error;
}

void pml_smelt_node_leave(void) {
  pml_smelt_waits_end();
  pml_smelt_peers_end();
  smelt_endpoint *endpoint = pml_smelt_endpoint;
  pml_smelt_endpoint = NULL;
  smelt_endpoint_leave(endpoint ? endpoint : offered, together);
  offered = NULL;
  together = false;
  free(member_of_rank);
  member_of_rank = NULL;
  ranks = 0;
  elsewhere = 0;
}
