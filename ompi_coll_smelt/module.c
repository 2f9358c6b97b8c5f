/* The group of a module: created at the first persistent request, at the first reduction that cannot do without, or at
 * the first blocking call behind the SMELT_TUNE=patience first ones, in the pool or with two of the saved functions; or
 * all ranks step aside for good. offers.c has the other steps of a module's life. */
#include "module.h"

#include "ompi/datatype/ompi_datatype.h"
#include "ompi/op/op.h"
#include "opal/runtime/opal_progress.h"
#include "opal/util/proc.h"
#include "parameters.h"
#include "say.h"
#include "stats.h"
#include "sync.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static atomic_uint groups_alive;

unsigned coll_smelt_groups_alive(void) { return atomic_load(&groups_alive); }

/* An operation that is outstanding has retained the communicator, so there is none but in a program that ends MPI
 * before; then the others may be gone, and the group stays, as there are places that it was told of. */
void coll_smelt_let_go(coll_smelt_module *module) {
  if (module->gone) return;
  module->gone = true;
  if (!coll_smelt_abandon(module) && module->group) coll_smelt_group_free(module->group);
  module->group = NULL;
  module->state = COLL_SMELT_STEPPED_ASIDE;
  /* acquire: another thread's use of that memory before is over. */
  free(atomic_exchange_explicit(&module->lists, NULL, memory_order_acquire));
  free(module->neighbours);
  module->neighbours = NULL;
  coll_smelt_lower_release(&module->lower);
}

static void construct(coll_smelt_module *module) {
  module->comm = NULL;
  module->group = NULL;
  module->state = COLL_SMELT_UNUSED;
  module->gone = false;
  module->patience = 0;
  coll_smelt_lane_begin(&module->lane, module);
  module->wants_room = module->asked_for_room = false;
  module->used_by = COLL_SMELT_NOT_KNOWN;
  atomic_init(&module->lists, NULL);
  module->neighbours = NULL;
  memset(&module->lower, 0, sizeof module->lower);
}

static void destruct(coll_smelt_module *module) { coll_smelt_let_go(module); }

OBJ_CLASS_INSTANCE(coll_smelt_module, mca_coll_base_module_t, construct, destruct);

static void progress(void *context) {
  (void)context;
  opal_progress();
}

static int lower_broadcast(void *context, void *data, size_t bytes) {
  coll_smelt_module *module = context;
  int error = OMPI_SUCCESS;
  for (size_t at = 0; at < bytes && error == OMPI_SUCCESS;) {
    const size_t piece = bytes - at < INT_MAX ? bytes - at : INT_MAX;
    error = module->lower.bcast((char *)data + at, (coll_smelt_length)piece, &ompi_mpi_byte.dt, 0, module->comm,
                                module->lower.bcast_module);
    at += piece;
  }
  return error;
}

static int lower_minimum(void *context, int64_t *values, int count) {
  coll_smelt_module *module = context;
  return module->lower.allreduce(MPI_IN_PLACE, values, (coll_smelt_length)count, &ompi_mpi_int64_t.dt,
                                 &ompi_mpi_op_min.op, module->comm, module->lower.allreduce_module);
}

static void sync_seen(void *context, smelt_sync sync) {
  const coll_smelt_module *module = context;
  (void)sync;
  if (coll_smelt_set.verbose >= 1 && ompi_comm_rank(module->comm) == 0)
    coll_smelt_say_sync(module->comm, module->group);
}

static smelt_host host_of(coll_smelt_module *module) {
  return (smelt_host){
      .context = module,
      .progress = progress,
      .broadcast = lower_broadcast,
      .minimum = lower_minimum,
      .local_processes = (unsigned)opal_process_info.num_local_peers + 1,
      .crowded = opal_progress_yield_when_idle,
      .sync = coll_smelt_sync_of(module->comm),
      .sync_seen = sync_seen,
  };
}

/* The pool is that of the job's processes, which are all on this node, by their numbers in the job. It is made in
 * MPI_Init, when all have begun and nobody does anything else, so that all know of it, or that there is none, whatever
 * their threads do later. There the functions of the component below serve already. */
static smelt_pool *pool;

void coll_smelt_pool_begin(coll_smelt_module *module) {
  const smelt_host host = host_of(module);
  if (smelt_pool_create(&host, (unsigned)ompi_comm_size(module->comm), (unsigned)ompi_comm_rank(module->comm), &pool) !=
      0)
    pool = NULL;
}

void coll_smelt_pool_end(void) {
  smelt_pool_free(pool);
  pool = NULL;
}

/* -ERANGE, on all ranks: the pool has no place for this communicator. */
static int create_in_pool(coll_smelt_module *module, const smelt_host *host, smelt_group **group) {
  struct ompi_communicator_t *const comm = module->comm;
  unsigned number, members[SMELT_MAX_PARTICIPANTS];
  if (!pool || !COLL_SMELT_NUMBER(comm, &number)) return -ERANGE;
  const unsigned n = (unsigned)ompi_comm_size(comm);
  for (unsigned i = 0; i < n; ++i) members[i] = ompi_group_get_proc_name(comm->c_local_group, (int)i).vpid;
  return smelt_pool_group(pool, host, number, members, n, (unsigned)ompi_comm_rank(comm), group);
}

static int create_group(coll_smelt_module *module, smelt_group **group) {
  const smelt_host host = host_of(module);
  const int error = create_in_pool(module, &host, group);
  if (error != -ERANGE) return error;
  return smelt_group_create(&host, (unsigned)ompi_comm_size(module->comm), (unsigned)ompi_comm_rank(module->comm),
                            group);
}

const unsigned char coll_smelt_data_of[SMELT_COLLECTIVES] = {
#define SMELT_COLLECTIVE(NAME, name, mpi, root, data, ...) COLL_SMELT_##data,
#include <smelt/collectives.def>
#undef SMELT_COLLECTIVE
};

static void create(coll_smelt_module *module) {
  module->state = COLL_SMELT_CREATING;
  smelt_group *group = NULL;
  const int error = create_group(module, &group);
  module->group = error ? NULL : group;
  if (module->group) atomic_fetch_add(&groups_alive, 1);
  module->state = error ? COLL_SMELT_STEPPED_ASIDE : COLL_SMELT_SERVING;
  coll_smelt_increment(error ? &coll_smelt_tally.groups_refused : &coll_smelt_tally.groups_created);
  if (error) coll_smelt_stats_note(module->comm, coll_smelt_reason(error));
  if (coll_smelt_set.verbose >= 1 && ompi_comm_rank(module->comm) == 0) {
    if (error)
      coll_smelt_say_stepped_aside(module->comm, coll_smelt_reason(error));
    else
      coll_smelt_say_serving(module->comm, module->group);
  }
}

static void drain(coll_smelt_module *module) { coll_smelt_drain_lane(&module->lane, module->wants_room); }

smelt_group *coll_smelt_group_apart(coll_smelt_module *module) {
  const coll_smelt_state state = module->state;
  smelt_group *group = NULL;
  drain(module); /* the lower functions are called in the order of blocking calls */
  module->state = COLL_SMELT_CREATING;
  if (create_group(module, &group) != 0) group = NULL;
  module->state = state;
  if (group) atomic_fetch_add(&groups_alive, 1);
  return group;
}

void coll_smelt_group_free(smelt_group *group) {
  smelt_group_free(group);
  atomic_fetch_sub(&groups_alive, 1);
}

smelt_group *coll_smelt_group_now(coll_smelt_module *module) {
  if (module->state == COLL_SMELT_UNUSED) create(module);
  return module->group;
}

void coll_smelt_want_room(coll_smelt_module *module, bool wants) {
  if (module->wants_room == wants) return;
  module->wants_room = wants;
  coll_smelt_lane_count(&module->lane, wants ? 1 : -1);
}

static void ask_for_room(coll_smelt_module *module) {
  if (module->asked_for_room) return;
  (void)smelt_group_prepare(module->group); /* smelt_group_start_limit tells the outcome */
  module->asked_for_room = true;
  coll_smelt_want_room(module, false);
}

smelt_group *coll_smelt_catch_up(coll_smelt_module *module, smelt_collective which) {
  if (module->group) {
    drain(module);
    if (module->wants_room) ask_for_room(module);
    return module->group;
  }
  /* CREATING: a lower function may itself call a collective of this communicator, which is ours. */
  if (module->state != COLL_SMELT_UNUSED) return NULL;
  if (coll_smelt_data_of[which] != COLL_SMELT_REDUCES && module->patience > 0) {
    --module->patience;
    return NULL;
  }
  return coll_smelt_group_now(module);
}
