/* How the stages of a collective over several nodes are run, and what they are made of.
 *
 * All ranks of a node start the group's operations in one order, and all leaders theirs, as each lane has only one call
 * under way, and blocking calls wait until it is empty. Persistent requests, which ranks may start in different orders,
 * have a lane and a group of their own, and between leaders persistent requests of the component below, made when they
 * are made themselves: that component keeps those apart. */
#include "stages.h"

#include <string.h>

/* --- what is under way */

static void network_is_over(coll_smelt_crossing *c, coll_smelt_slot *slot) {
  coll_smelt_note(&c->error, ompi_request_wait(&slot->request, MPI_STATUS_IGNORE));
  slot->request = NULL;
}

static void wait_for_node(coll_smelt_crossing *c) {
  for (int i = 0; i < COLL_SMELT_MOST_RAILS; ++i) {
    smelt_request *request = &c->in_node[i];
    coll_smelt_note_group(c, request->group ? smelt_group_wait(request) : request->result);
    *request = (smelt_request){0};
  }
}
static bool node_is_over(coll_smelt_crossing *c) {
  int done;
  for (int i = 0; i < COLL_SMELT_MOST_RAILS; ++i) {
    smelt_request *request = &c->in_node[i];
    if (request->group) (void)smelt_group_test(request, &done);
    if (request->group) return false;
    coll_smelt_note_group(c, request->result);
    *request = (smelt_request){0};
  }
  return true;
}

static void wait_for_network(coll_smelt_crossing *c, coll_smelt_slot *slot) {
  if (slot && slot->request) network_is_over(c, slot);
}
static bool is_on_network(coll_smelt_crossing *c, coll_smelt_slot *slot) {
  if (!slot || !slot->request) return false;
  if (!REQUEST_COMPLETE(slot->request)) return true;
  opal_atomic_rmb(); /* its data are read after it was seen to be complete */
  network_is_over(c, slot);
  return false;
}

/* --- the whole */

void coll_smelt_cross(coll_smelt_crossing *c) {
  for (const int stages = c->course->stages(c); c->stage < stages; ++c->stage) {
    wait_for_network(c, c->course->needed(c, c->stage));
    c->course->begin(c, c->stage);
    wait_for_node(c);
  }
  for (int i = 0; i < COLL_SMELT_NODES_SLOTS; ++i) wait_for_network(c, &c->slots[i]);
  c->course->close(c);
}

bool coll_smelt_cross_on(coll_smelt_crossing *c) {
  for (const int stages = c->course->stages(c); c->stage < stages; ++c->stage) {
    if (!node_is_over(c) || is_on_network(c, c->course->needed(c, c->stage))) return false;
    c->course->begin(c, c->stage);
  }
  if (!node_is_over(c)) return false;
  for (int i = 0; i < COLL_SMELT_NODES_SLOTS; ++i)
    if (is_on_network(c, &c->slots[i])) return false;
  c->course->close(c);
  return true;
}

/* --- what stages begin */

/* Blocking and alone it is done at once. A start that fails counts as complete, with its error. */
void coll_smelt_broadcast_in_node(coll_smelt_crossing *c, int i, const smelt_data *data, size_t bytes, int root) {
  if (!c->group || bytes == 0) return;
  if (c->mode == COLL_SMELT_BLOCKING && i < 0)
    coll_smelt_note_group(c, smelt_group_broadcast(c->group, data, bytes, (unsigned)root));
  else
    (void)smelt_group_start_broadcast(c->group, data, bytes, (unsigned)root, &c->in_node[i < 0 ? 0 : i]);
}

void coll_smelt_between_leaders(coll_smelt_crossing *c, int piece, int i) {
  coll_smelt_slot *slot = coll_smelt_slot_of(c, piece);
  int error;
  slot->request = NULL;
  if (c->mode == COLL_SMELT_PERSISTENT) {
    slot->request = c->persistent[i];
    error = slot->request->req_start(1, &slot->request);
  } else {
    error = c->course->call(c, piece, i, NULL, &slot->request);
  }
  coll_smelt_note(&c->error, error);
  if (error != OMPI_SUCCESS) slot->request = NULL;
}

void coll_smelt_give(const smelt_data *to, size_t at, size_t bytes, const char *from) {
  if (to->base)
    memcpy((char *)to->base + at, from, bytes);
  else
    to->unpack(to->context, at, bytes, from);
}

void coll_smelt_fetch(const smelt_data *from, size_t at, size_t bytes, char *to) {
  if (!from->base)
    from->pack(from->context, at, bytes, to);
  else if ((char *)from->base + at != to)
    memcpy(to, (char *)from->base + at, bytes);
}
