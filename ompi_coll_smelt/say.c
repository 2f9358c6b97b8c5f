/* Lines for people, on standard error, only when asked for (SMELT_VERBOSE or coll_smelt_verbose) or when something the
 * user asked for cannot be had. */
#include "say.h"

#include "ompi/communicator/communicator.h"
#include "ompi/group/group.h"
#include "parameters.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

const char *coll_smelt_name_of(const struct ompi_communicator_t *comm) {
  return comm->c_name[0] ? comm->c_name : "unnamed communicator";
}

/* One line: which method serves which sizes. */
static void say_collective(const struct ompi_communicator_t *comm, const smelt_group *group,
                           smelt_collective collective, const char *name) {
  char line[400], table[600] = "";
  size_t used = 0;
  for (unsigned i = 0; smelt_group_describe(group, collective, i, line, sizeof line) >= 0; ++i) {
    const int length = snprintf(table + used, sizeof table - used, "%s%s", i ? "; " : "", line);
    if (length < 0 || (size_t)length >= sizeof table - used) break;
    used += (size_t)length;
  }
  coll_smelt_say("%s (%d ranks): %s and i%s: %s", coll_smelt_name_of(comm),
                 ompi_comm_size((struct ompi_communicator_t *)comm), name, name, table);
}

/* Programs that make communicators by the thousand would drown in lines. */
enum { kToldOfAtMost = 16 };

void coll_smelt_say_sync(const struct ompi_communicator_t *comm, const smelt_group *group) {
  static atomic_uint told;
  if (coll_smelt_set.verbose < 2 && atomic_fetch_add(&told, 1) >= kToldOfAtMost) return;
  const char *why;
  const smelt_sync sync = smelt_group_sync(group, &why);
  coll_smelt_say("%s (%d ranks): %s synchronisation: %s%s", coll_smelt_name_of(comm),
                 ompi_comm_size((struct ompi_communicator_t *)comm), sync == SMELT_SYNC_STRICT ? "strict" : "loose",
                 why, smelt_group_sync_matters(group) ? "" : "; the limits between methods are the same for both");
}

void coll_smelt_say_serving(const struct ompi_communicator_t *comm, const smelt_group *group) {
  static atomic_uint told;
  const unsigned before = atomic_fetch_add(&told, 1);
  if (coll_smelt_set.verbose < 2 && before >= kToldOfAtMost) {
    if (before == kToldOfAtMost) coll_smelt_say("more communicators are served; SMELT_VERBOSE=2 tells of each");
    return;
  }
  char line[384];
  if (smelt_group_summary(group, line, sizeof line) >= 0)
    coll_smelt_say("%s (%d ranks): %s", coll_smelt_name_of(comm), ompi_comm_size((struct ompi_communicator_t *)comm),
                   line);
  const char *why;
  (void)smelt_group_sync(group, &why);
  if (*why) coll_smelt_say_sync(comm, group);
  if (coll_smelt_set.verbose < 2) return;
#define SMELT_COLLECTIVE(NAME, name, mpi, ...) say_collective(comm, group, SMELT_COLLECTIVE_##NAME, #mpi);
#include <smelt/collectives.def>
#undef SMELT_COLLECTIVE
}

const char *coll_smelt_reason(int error) {
  switch (-error) {
    case ENOTSUP:
      return "the ranks do not share a machine, a user, or the right to open each other's memory in /proc (run them in "
             "one container, as one user)";
    case ENOMEM: return "not enough shared memory (raise SMELT_SHM_MB, ulimit -f and -v, or the cgroup's limit)";
    case EINVAL: return "the ranks have different versions or settings of Smelt (give all the same)";
    case EIO: return "a collective of Open MPI's own failed while the ranks were getting ready";
    default: return strerror(-error);
  }
}

void coll_smelt_say_stepped_aside(const struct ompi_communicator_t *comm, const char *reason) {
  coll_smelt_say("%s (%d ranks%s): not used, Open MPI's other components serve it: %s", coll_smelt_name_of(comm),
                 ompi_comm_size((struct ompi_communicator_t *)comm),
                 ompi_group_have_remote_peers(comm->c_local_group) ? ", of several nodes" : "", reason);
}
