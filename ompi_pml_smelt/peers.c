/* The processes of this job on other nodes, and the rails to them (smelt_endpoint_carrier).
 *
 *   1. announce: a process that has a network profile opens its rails, and tells everybody how to connect; one that
 *      has none says so
 *   2. plan: each reads the words of all. Where one has said nothing, or has no rails, or is another kind of machine,
 *      all find that, and nothing is done: communicators over several nodes are left to the PML below
 *   3. connect: each connects to all that are not on its node, and waits until they answer: a process that computes
 *      after MPI_Init is waited for only if it was there once
 *   4. whether that has worked everywhere all agree upon (agree.c), and give the rails to the endpoint, or close them
 *
 * libsmelt_rail_ofi.so is opened here, and libfabric by that: a job on one node has neither. */
#include "peers.h"

#include "lower.h"

#include "ompi/group/group.h"
#include "opal/runtime/opal_progress.h"
#include "opal/util/arch.h"
#include "opal/util/proc.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool pml_smelt_nodes;
char *pml_smelt_network;

enum { kAnswerSeconds = 20 }; /* docs/mpi.md: for two nodes to reach each other over their rails */

static const smelt_endpoint_carrier *carrier;

typedef struct peer_card {
  char version[16]; /* of Smelt: all must run the same */
  uint32_t usable;  /* 0: no rails here */
  uint32_t architecture;
  uint32_t bytes;
  char address[SMELT_CARRIER_ADDRESS];
} peer_card;

static const char key[] = "smelt.pml.rails";
static peer_card own;
static void *rails; /* not the endpoint's yet */
static unsigned peers;
static const char *why_none;

/* --- 1 */

static void *open_library(void) {
  static const char *const places[] = {"/../../", "/../rails/"}; /* installed; built */
  static const char name[] = "libsmelt_rail_ofi.so.0";
  Dl_info self;
  char folder[PATH_MAX], path[PATH_MAX + 64];
  if (dladdr((const void *)&pml_smelt_lower, &self) && self.dli_fname && realpath(self.dli_fname, folder)) {
    char *end = strrchr(folder, '/');
    if (end) *end = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i) {
      snprintf(path, sizeof path, "%s%s%s", folder, places[i], name);
      void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
      if (library) return library;
    }
  }
  return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

/* It stays open. */
static bool load(void) {
  void *library = open_library();
  if (!library) return false;
  const smelt_endpoint_carrier *(*get)(void);
  void *found = dlsym(library, "smelt_rail_carrier");
  if (!found) return false;
  memcpy(&get, &found, sizeof get);
  carrier = get();
  return strcmp(carrier->version, smelt_version()) == 0;
}

static const char *open_rails(void) {
  if (!load()) return "libsmelt_rail_ofi.so.0 of this version is not to be found";
  const char *profile = pml_smelt_network && pml_smelt_network[0] ? pml_smelt_network : NULL;
  const int error = carrier->open(profile, &rails);
  size_t bytes = 0;
  if (error == 0 && carrier->address(rails, own.address, &bytes) == 0) {
    own.bytes = (uint32_t)bytes;
    return NULL;
  }
  switch (error) {
    case -ENOENT: return "there is no network profile here (smelt network sample)";
    case -EBADMSG: return "the network profile is damaged, of another version, or others may write it";
    case -ENOSYS: return "there is no libfabric here";
    case -ENODEV: return "none of the network profile's interfaces is here";
    default: return "the rails could not be opened";
  }
}

void pml_smelt_peers_announce(unsigned members) {
  if (pml_smelt_job_size() <= members) return;
  memset(&own, 0, sizeof own);
  strncpy(own.version, smelt_version(), sizeof own.version - 1);
  own.architecture = opal_local_arch;
  why_none = pml_smelt_nodes ? open_rails() : "not asked for (pml_smelt_nodes 1)";
  own.usable = why_none == NULL;
  int error = OPAL_SUCCESS;
  PML_SMELT_TELL_EVERYBODY(error, key, &own, offsetof(peer_card, address) + own.bytes);
  (void)error; /* the others will miss it */
}

/* --- 2 */

static bool read_card(opal_process_name_t name, peer_card *read) {
  uint8_t *data = NULL;
  size_t bytes = 0;
  memset(read, 0, sizeof *read);
  const bool told = pml_smelt_told(&name, key, &data, &bytes);
  const bool good = told && data && bytes >= offsetof(peer_card, address) && bytes <= sizeof *read;
  if (good) memcpy(read, data, bytes);
  free(data);
  return good && read->bytes == bytes - offsetof(peer_card, address);
}

static const char *look_at_cards(ompi_group_t *world) {
  for (int rank = 0; rank < world->grp_proc_count; ++rank) {
    const opal_process_name_t name = ompi_group_get_proc_name(world, rank);
    peer_card theirs;
    if (name.vpid == OPAL_PROC_MY_NAME.vpid) continue;
    if (!read_card(name, &theirs)) return "not all ranks have it (give all the same settings)";
    if (!theirs.usable) return "not all ranks have a network profile and rails";
    if (strncmp(theirs.version, own.version, sizeof own.version) != 0)
      return "the ranks have different versions of Smelt";
    if (theirs.architecture != own.architecture) return "the nodes are of different kinds";
  }
  return NULL;
}

bool pml_smelt_peers_plan(ompi_group_t *world, unsigned members) {
  if (rails) why_none = look_at_cards(world);
  if (rails && !why_none && (size_t)world->grp_proc_count - members > SMELT_CARRIER_PEERS)
    why_none = "there are too many ranks on other nodes";
  if (rails && why_none) pml_smelt_peers_end();
  return rails != NULL;
}

const char *pml_smelt_peers_why_none(void) { return why_none; }

/* --- 3 */

static int progress_rails(void) {
  carrier->progress(rails);
  return 0;
}

static bool all_answer(void) {
  for (unsigned peer = 0; peer < peers; ++peer)
    if (!carrier->answers(rails, peer)) return false;
  return true;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool pml_smelt_peers_connect(ompi_group_t *world, const int32_t *member_of_rank, int32_t *peer_of_rank) {
  peers = 0;
  /* From now on, as those to whom we have answered may be waiting for our answer still when we are not. */
  (void)opal_progress_register(progress_rails);
  for (int rank = 0; rank < world->grp_proc_count; ++rank) {
    const opal_process_name_t name = ompi_group_get_proc_name(world, rank);
    peer_of_rank[rank] = -1;
    if (member_of_rank[name.vpid] >= 0) continue;
    peer_card theirs;
    uint32_t peer = 0;
    if (!read_card(name, &theirs) || carrier->connect(rails, theirs.address, theirs.bytes, &peer) != 0) {
      why_none = "the rails of two nodes do not reach each other";
      return false;
    }
    peer_of_rank[rank] = (int32_t)peer;
    ++peers;
  }
  const double began = seconds();
  for (uint64_t turns = 0; !all_answer(); ++turns) {
    opal_progress();
    sched_yield();
    /* A clock may stand (libfaketime): a turn counts as well, by a part of its time. */
    if (seconds() - began + 1e-7 * (double)turns < kAnswerSeconds) continue;
    why_none = "a node did not answer over its rails";
    return false;
  }
  return true;
}

/* --- 4 */

int pml_smelt_peers_begin(smelt_endpoint *endpoint) {
  (void)opal_progress_unregister(progress_rails);
  if (smelt_endpoint_carry(endpoint, carrier, rails, peers) != 0) return OMPI_ERR_OUT_OF_RESOURCE;
  rails = NULL;
  return OMPI_SUCCESS;
}

void pml_smelt_peers_refused(void) {
  if (!why_none) why_none = "not all ranks could be reached, or not all nodes have shared memory";
  pml_smelt_peers_end();
}

void pml_smelt_peers_end(void) {
  if (!rails) return;
  (void)opal_progress_unregister(progress_rails);
  carrier->close(rails);
  rails = NULL;
}
