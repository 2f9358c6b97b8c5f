/* Broadcast over several nodes.
 *
 *   1. within the root's node: from the root to all, its leader among them
 *   2. from the leader of the root's node to the other leaders
 *   3. within the other nodes: from the leader to all
 *
 * A root that does not lead costs a hop through memory and none over the network. A long message goes in pieces: while
 * a leader's memory moves one, the next are on the network, kAhead of them, which the leaders have asked for already.
 *
 * The leaders handle packed bytes, in the program's own buffer where its type has no gaps, otherwise in scratch memory,
 * a slot for each piece under way. */
#include "nodes.h"

#include "counters.h"
#include "data.h"
#include "ompi/communicator/communicator.h"

#include <errno.h>
#include <string.h>

enum { kPiece = 65536, kAhead = COLL_SMELT_NODES_SLOTS };

typedef struct broadcast {
  coll_smelt_nodes *nodes;
  coll_smelt_data data;
  coll_smelt_seat root;
  size_t bytes;
  int pieces;
  char *scratch;                   /* where data.base is NULL, on leaders */
  ompi_request_t *request[kAhead]; /* on the network; NULL: nothing */
  int error;
} broadcast;

static size_t length_of(const broadcast *b, int piece) {
  const size_t at = (size_t)piece * kPiece;
  return b->bytes - at < kPiece ? b->bytes - at : kPiece;
}

/* Where a leader has the piece's bytes. */
static char *place_of(const broadcast *b, int piece) {
  return b->data.data.base ? (char *)b->data.data.base + (size_t)piece * kPiece
                           : b->scratch + (size_t)(piece % kAhead) * kPiece;
}

static bool holds_root(const broadcast *b) { return b->nodes->mine.node == b->root.node; }

/* Steps 1 and 3. */
static void within_node(broadcast *b, int piece, int from) {
  const coll_smelt_nodes *nodes = b->nodes;
  const size_t bytes = length_of(b, piece), at = (size_t)piece * kPiece;
  const bool leads = coll_smelt_nodes_leads(nodes), sends = nodes->mine.place == from;
  smelt_data data = b->data.data;
  if (leads)
    data = (smelt_data){.base = place_of(b, piece)};
  else if (data.base)
    data.base = (char *)data.base + at;
  const bool aside = leads && !b->data.data.base;
  if (aside && holds_root(b) && sends) b->data.data.pack(b->data.data.context, at, bytes, data.base);
  if (nodes->group)
    coll_smelt_note(&b->error,
                    coll_smelt_nodes_code(smelt_group_broadcast(nodes->group, &data, bytes, (unsigned)from)));
  if (aside && !(holds_root(b) && sends)) b->data.data.unpack(b->data.data.context, at, bytes, data.base);
}

/* Step 2, begun and ended. A single piece goes by the blocking function, which is the quicker one. */
static void between_nodes(broadcast *b, int piece) {
  struct ompi_communicator_t *leaders = b->nodes->leaders;
  ompi_request_t **request = &b->request[piece % kAhead];
  *request = NULL;
  const coll_smelt_length bytes = (coll_smelt_length)length_of(b, piece);
  int error;
  if (b->pieces == 1)
    error = leaders->c_coll->coll_bcast(place_of(b, piece), bytes, &ompi_mpi_byte.dt, b->root.node, leaders,
                                        leaders->c_coll->coll_bcast_module);
  else
    error = leaders->c_coll->coll_ibcast(place_of(b, piece), bytes, &ompi_mpi_byte.dt, b->root.node, leaders, request,
                                         leaders->c_coll->coll_ibcast_module);
  coll_smelt_note(&b->error, error);
}
static void wait_for(broadcast *b, int piece) {
  ompi_request_t **request = &b->request[piece % kAhead];
  if (*request) coll_smelt_note(&b->error, ompi_request_wait(request, MPI_STATUS_IGNORE));
  *request = NULL;
}

static void from_root_node(broadcast *b) {
  const bool leads = coll_smelt_nodes_leads(b->nodes);
  for (int piece = 0; piece < b->pieces; ++piece) {
    if (leads && piece >= kAhead) wait_for(b, piece - kAhead); /* its slot is wanted */
    within_node(b, piece, b->root.place);
    if (leads) between_nodes(b, piece);
  }
  if (!leads) return;
  for (int piece = b->pieces > kAhead ? b->pieces - kAhead : 0; piece < b->pieces; ++piece) wait_for(b, piece);
}

static void to_other_node(broadcast *b) {
  const bool leads = coll_smelt_nodes_leads(b->nodes);
  for (int piece = 0; leads && piece < b->pieces && piece < kAhead; ++piece) between_nodes(b, piece);
  for (int piece = 0; piece < b->pieces; ++piece) {
    if (leads) wait_for(b, piece);
    within_node(b, piece, 0);
    if (leads && piece + kAhead < b->pieces) between_nodes(b, piece + kAhead);
  }
}

static int serve(coll_smelt_nodes *nodes, void *buffer, coll_smelt_length count, struct ompi_datatype_t *type,
                 int root) {
  broadcast b = {.nodes = nodes, .root = nodes->seats[root], .bytes = coll_smelt_bytes(type, count)};
  b.pieces = (int)((b.bytes + kPiece - 1) / kPiece);
  coll_smelt_data_open(&b.data, buffer, count, type, ompi_comm_rank(nodes->comm) != root);
  if (coll_smelt_nodes_leads(nodes) && !b.data.data.base &&
      !(b.scratch = coll_smelt_nodes_scratch(nodes, b.bytes < kPiece ? b.bytes : (size_t)kAhead * kPiece)))
    b.error = OMPI_ERR_OUT_OF_RESOURCE;
  else if (holds_root(&b))
    from_root_node(&b);
  else
    to_other_node(&b);
  coll_smelt_data_close(&b.data);
  return b.error;
}

int coll_smelt_nodes_bcast(void *buffer, coll_smelt_length count, struct ompi_datatype_t *type, int root,
                           struct ompi_communicator_t *comm, mca_coll_base_module_t *base) {
  coll_smelt_nodes *nodes = (coll_smelt_nodes *)base;
  const size_t bytes = coll_smelt_bytes(type, count);
  if (bytes == 0) return OMPI_SUCCESS;
  if (OPAL_LIKELY(coll_smelt_nodes_serve(nodes, false, bytes < kPiece ? bytes : kPiece))) {
    coll_smelt_increment(&coll_smelt_tally.served[SMELT_COLLECTIVE_BROADCAST]);
    return serve(nodes, buffer, count, type, root);
  }
  coll_smelt_nodes_passed_on(nodes, SMELT_COLLECTIVE_BROADCAST);
  return nodes->lower.bcast(buffer, count, type, root, comm, nodes->lower.bcast_module);
}
