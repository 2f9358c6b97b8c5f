/* A rank's account at its end: to the smelt run above it (SMELT_STATS), which makes one line of all ranks'
 * accounts, or else to people (SMELT_STATS=1), by one rank. The beginning is told, too: a rank that is killed has no
 * end. */
#include "stats.h"

#include "ompi/communicator/communicator.h"
#include "over_nodes.h"
#include "parameters.h"
#include "say.h"

#include <smelt/options.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Written where a communicator is made: by one thread, or under Open MPI's own lock. */
static int ranks, rank;         /* of the largest communicator */
static const char *why_refused; /* the last reason why one was not served */
static bool begun;              /* the file has been told of the beginning */

static const char *const names[SMELT_COLLECTIVES] = {
#define SMELT_COLLECTIVE(NAME, name, mpi, ...) [SMELT_COLLECTIVE_##NAME] = #mpi,
#include <smelt/collectives.def>
#undef SMELT_COLLECTIVE
};

static unsigned long long now(coll_smelt_counter *counter) {
  return atomic_load_explicit(counter, memory_order_relaxed);
}

void coll_smelt_stats_begin(void) {
  char line[64];
  snprintf(line, sizeof line, "{\"part\":\"coll\",\"pid\":%d,\"begin\":true}", (int)getpid());
  begun = true;
  (void)smelt_stats_append(line);
}

void coll_smelt_stats_not_used(const char *why) {
  char line[256];
  snprintf(line, sizeof line, "{\"part\":\"coll\",\"pid\":%d,\"refused\":\"%s\"}", (int)getpid(), why);
  (void)smelt_stats_append(line);
}

void coll_smelt_stats_note(const struct ompi_communicator_t *comm, const char *refused) {
  if (refused) why_refused = refused;
  if (ompi_comm_size((struct ompi_communicator_t *)comm) <= ranks) return;
  ranks = ompi_comm_size((struct ompi_communicator_t *)comm);
  rank = ompi_comm_rank((struct ompi_communicator_t *)comm);
}

static void say(unsigned long long served, unsigned long long passed_on) {
  if (rank != 0 || coll_smelt_setting("SMELT_STATS", NULL) == 0) return;
  coll_smelt_say("rank 0 of %d: %llu collectives served, %llu left to Open MPI's other components%s%s", ranks, served,
                 passed_on, why_refused ? ": " : "", why_refused ? why_refused : "");
}

void coll_smelt_stats_end(void) {
  if (!begun) return;
  begun = false;
  unsigned long long served = 0, passed_on = 0;
  char of_each[1024] = "";
  size_t used = 0;
  for (int i = 0; i < SMELT_COLLECTIVES; ++i) {
    const unsigned long long here = now(&coll_smelt_tally.served[i]) + now(&coll_smelt_tally.nonblocking_served[i]) +
                                    now(&coll_smelt_tally.persistent_served[i]);
    served += here;
    passed_on += now(&coll_smelt_tally.passed_on[i]) + now(&coll_smelt_tally.nonblocking_passed_on[i]) +
                 now(&coll_smelt_tally.persistent_passed_on[i]);
    if (here == 0) continue;
    const int length =
        snprintf(of_each + used, sizeof of_each - used, "%s\"%s\":%llu", used ? "," : "", names[i], here);
    if (length > 0 && (size_t)length < sizeof of_each - used) used += (size_t)length;
  }
  of_each[used] = 0;
  char line[1536];
  snprintf(line, sizeof line,
           "{\"part\":\"coll\",\"pid\":%d,\"end\":true,\"rank\":%d,\"ranks\":%d,\"served\":%llu,\"passed_on\":%llu,"
           "\"patience\":%d,\"communicators\":%llu,\"why\":\"%s\",\"each\":{%s}}",
           (int)getpid(), rank, ranks, served, passed_on, coll_smelt_set.patience,
           now(&coll_smelt_tally.groups_created) + (&coll_smelt_over_nodes ? now(coll_smelt_over_nodes.created) : 0),
           why_refused ? why_refused : "", of_each);
  if (smelt_stats_append(line) != 0) say(served, passed_on);
}
