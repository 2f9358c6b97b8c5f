/* The life of a module.
 *
 *   1. made when its communicator is (component.c decides for which)
 *   2. enabled, in order of rising priority: what the communicator has then is the next lower component's, and is
 *      saved; MPI_COMM_WORLD's is when MPI begins, and makes the job's pool if all of the job is on this node
 *   3. first persistent request, first reduction that cannot do without, or first blocking call when patience is over:
 *      the group is created, in the pool or with two of the saved functions, or all ranks step aside for good
 *   4. disabled or destroyed: the group and the saved modules are released
 *
 * Open MPI 4.1 disables a module once for each function it still owns, and destroys it without disabling where it owns
 * none, so step 4 may come several times or in either form. */
#include "coll_smelt.h"

#include "counters.h"
#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/op/op.h"
#include "opal/runtime/opal_progress.h"
#include "opal/util/proc.h"

#include <limits.h>
#include <stdatomic.h>
#include <string.h>

static atomic_uint groups_alive;

unsigned coll_smelt_groups_alive(void) { return atomic_load(&groups_alive); }

/* --- 4 */

/* Whoever has an operation outstanding has retained the communicator, so there is none but in a program that ends MPI
 * before; then the others may be gone, and the group stays, as there are places that it was told of. */
static void let_go(coll_smelt_module *module) {
  if (module->gone) return;
  module->gone = true;
  if (!coll_smelt_abandon(module) && module->group) coll_smelt_group_free(module->group);
  module->group = NULL;
  module->state = COLL_SMELT_STEPPED_ASIDE;
  coll_smelt_exchange_end(module);
  coll_smelt_release_all(&module->lower.retained);
}

static int disable(mca_coll_base_module_t *base, struct ompi_communicator_t *comm) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  if (module->gone) return OMPI_SUCCESS;
  (void)comm;
#define COLL_SMELT_SLOT(name) COLL_SMELT_UNINSTALL(module, comm, name);
#include "slots.def"
  let_go(module);
  return OMPI_SUCCESS;
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

static void destruct(coll_smelt_module *module) { let_go(module); }

OBJ_CLASS_INSTANCE(coll_smelt_module, mca_coll_base_module_t, construct, destruct);

/* --- 2 */

/* Without all of them there is nothing to fall back to, and nothing to create a group with. */
static bool complete(const struct ompi_communicator_t *comm) {
#define COLL_SMELT_SLOT(name) \
  if (!comm->c_coll->coll_##name##_module) return false;
#include "slots.def"
  return true;
}

bool coll_smelt_retain(coll_smelt_retained *retained, mca_coll_base_module_t *module) {
  for (unsigned i = retained->count; i-- > 0;)
    if (retained->modules[i] == module) return true;
  if (retained->count == COLL_SMELT_MOST_RETAINED) return false;
  OBJ_RETAIN(module);
  retained->modules[retained->count++] = module;
  return true;
}

void coll_smelt_release_all(coll_smelt_retained *retained) {
  while (retained->count > 0) {
    mca_coll_base_module_t *last = retained->modules[--retained->count];
    OBJ_RELEASE(last); /* a macro that uses its argument several times */
  }
}

static bool save(coll_smelt_lower *lower, const struct ompi_communicator_t *comm) {
#define COLL_SMELT_SLOT(name)                                \
  lower->name = comm->c_coll->coll_##name;                   \
  lower->name##_module = comm->c_coll->coll_##name##_module; \
  if (!coll_smelt_retain(&lower->retained, lower->name##_module)) return false;
#include "slots.def"
  return true;
}

static void create_pool(coll_smelt_module *module);

static int enable(mca_coll_base_module_t *base, struct ompi_communicator_t *comm) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  if (!complete(comm)) {
    if (mca_coll_smelt_component.verbose >= 1 && ompi_comm_rank(comm) == 0)
      coll_smelt_say("%s: not used, no other component serves it below (name more than smelt in --mca coll)",
                     comm->c_name);
    return OMPI_ERR_NOT_FOUND;
  }
  if (!save(&module->lower, comm)) return OMPI_ERR_NOT_SUPPORTED;
  if (comm == &ompi_mpi_comm_world.comm) create_pool(module);
#define COLL_SMELT_SLOT(name) COLL_SMELT_INSTALL(module, comm, name);
#include "slots.def"
  coll_smelt_subscribe(comm);
  return OMPI_SUCCESS;
}

/* --- 1 */

coll_smelt_module *coll_smelt_module_new(struct ompi_communicator_t *comm) {
  coll_smelt_module *module = OBJ_NEW(coll_smelt_module);
  if (!module) return NULL;
  module->comm = comm;
  module->patience = mca_coll_smelt_component.patience;
  module->super.coll_module_enable = enable;
  module->super.coll_module_disable = disable;
#define COLL_SMELT_SLOT(name) COLL_SMELT_OFFER(module, name);
#include "slots.def"
  return module;
}

/* --- 3 */

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
  if (mca_coll_smelt_component.verbose >= 1 && ompi_comm_rank(module->comm) == 0) coll_smelt_say_sync(module);
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

/* Of the job's processes, which are all on this node, by their numbers in the job: made in MPI_Init, when all have
 * begun and nobody does anything else, so that all know of it, or that there is none, whatever their threads do later.
 * There the functions of the component below serve already. */
static smelt_pool *pool;

static void create_pool(coll_smelt_module *module) {
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

enum { kNOTHING, kMOVES, kREDUCES };
static const unsigned char data_of[] = {
#define SMELT_COLLECTIVE(NAME, name, mpi, root, data, ...) k##data,
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
  if (mca_coll_smelt_component.verbose >= 1 && ompi_comm_rank(module->comm) == 0) {
    if (error)
      coll_smelt_say_stepped_aside(module, error);
    else
      coll_smelt_say_serving(module);
  }
}

smelt_group *coll_smelt_group_apart(coll_smelt_module *module) {
  const coll_smelt_state state = module->state;
  smelt_group *group = NULL;
  coll_smelt_drain(module); /* the lower functions are called in the order of blocking calls */
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

void coll_smelt_ask_for_room(coll_smelt_module *module) {
  if (module->asked_for_room) return;
  coll_smelt_drain(module);
  (void)smelt_group_prepare(module->group); /* what came of it, smelt_group_start_limit tells */
  module->asked_for_room = true;
  coll_smelt_want_room(module, false);
}

smelt_group *coll_smelt_catch_up(coll_smelt_module *module, smelt_collective which) {
  if (module->group) {
    coll_smelt_drain(module);
    if (module->wants_room) coll_smelt_ask_for_room(module);
    return module->group;
  }
  /* CREATING: a lower function may itself call a collective of this communicator, which is ours. */
  if (module->state != COLL_SMELT_UNUSED) return NULL;
  if (data_of[which] != kREDUCES && module->patience > 0) {
    --module->patience;
    return NULL;
  }
  return coll_smelt_group_now(module);
}
