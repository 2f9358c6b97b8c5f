/* Barrier over several nodes.
 *
 *   1. each rank tells its leader that it has come, by a reduction of one byte, and goes on to wait for step 3
 *   2. the leaders cross a barrier of their own
 *   3. each leader lets its node go: a broadcast of one byte
 *
 * So a node's ranks cost the leader one gathering before the network's part and one release after it, not two whole
 * barriers. */
#include "stages.h"

static size_t room(coll_smelt_crossing *c, char *memory) {
  (void)memory;
  c->pieces = c->rails = c->calls = 1;
  return 0;
}
static int open_call(coll_smelt_crossing *c) { return (void)c, OMPI_SUCCESS; }
static void close_call(coll_smelt_crossing *c) { (void)c; }

static int call(coll_smelt_crossing *c, int piece, int i, struct ompi_info_t *info, ompi_request_t **request) {
  struct ompi_communicator_t *rail = c->nodes->rail;
  mca_coll_base_comm_coll_t *coll = rail->c_coll;
  (void)piece, (void)i;
  if (c->mode == COLL_SMELT_PERSISTENT)
    return coll->coll_barrier_init(rail, info, request, coll->coll_barrier_init_module);
  return c->mode == COLL_SMELT_BLOCKING ? coll->coll_barrier(rail, coll->coll_barrier_module)
                                        : coll->coll_ibarrier(rail, request, coll->coll_ibarrier_module);
}

static void nothing_to_combine(void *context, const void *left, void *right, size_t elements) {
  (void)context, (void)left, (void)right, (void)elements;
}

static void arrive(coll_smelt_crossing *c) {
  static const smelt_fold fold = {
      .element_bytes = 1, .into_right = nothing_to_combine, .flags = SMELT_FOLD_ANY_ORDER | SMELT_FOLD_COMMUTES};
  const smelt_data token = {.base = &c->token}, arrived = {.base = &c->arrived};
  if (!c->group) return;
  if (c->mode == COLL_SMELT_BLOCKING)
    coll_smelt_note_group(c, smelt_group_reduce(c->group, &token, &arrived, 1, &fold, 0));
  else
    (void)smelt_group_start_reduce(c->group, &token, &arrived, 1, &fold, 0, &c->in_node[0]);
}

static int stages(const coll_smelt_crossing *c) { return (void)c, 3; }
static coll_smelt_slot *needed(coll_smelt_crossing *c, int stage) { return stage == 2 ? &c->slots[0] : NULL; }

static void begin(coll_smelt_crossing *c, int stage) {
  const smelt_data token = {.base = &c->token};
  switch (stage) {
    case 0: arrive(c); break;
    case 1:
      if (coll_smelt_carries(c)) coll_smelt_between_leaders(c, 0, 0);
      break;
    case 2: coll_smelt_broadcast_in_node(c, -1, &token, 1, 0); break;
  }
}

const coll_smelt_course coll_smelt_barrier_course = {room, open_call, close_call, call, stages, needed, begin};
