/* Barrier over several nodes.
 *
 *   1. each rank tells its leader that it has come, by a reduction of one byte, and goes on to wait for step 3
 *   2. the leaders cross a barrier of their own
 *   3. each leader lets its node go: a broadcast of one byte
 *
 * So a node's ranks cost the leader one gathering before the network's part and one release after it, not two whole
 * barriers. */
#include "node_stages.h"

#include <errno.h>

static void nothing_to_combine(void *context, const void *left, void *right, size_t elements) {
  (void)context, (void)left, (void)right, (void)elements;
}

int coll_smelt_nodes_cross_barrier(coll_smelt_nodes *nodes) {
  static const smelt_fold arrive = {
      .element_bytes = 1, .into_right = nothing_to_combine, .flags = SMELT_FOLD_ANY_ORDER | SMELT_FOLD_COMMUTES};
  char token = 0, arrived = 0;
  const smelt_data in = {.base = &token}, out = {.base = &arrived};
  int error = OMPI_SUCCESS;
  if (nodes->group)
    coll_smelt_note(&error, coll_smelt_code(smelt_group_reduce(nodes->group, &in, &out, 1, &arrive, 0)));
  if (coll_smelt_nodes_leads(nodes))
    coll_smelt_note(&error, nodes->rail->c_coll->coll_barrier(nodes->rail, nodes->rail->c_coll->coll_barrier_module));
  if (nodes->group) coll_smelt_note(&error, coll_smelt_code(smelt_group_broadcast(nodes->group, &in, 1, 0)));
  return error;
}
