/* Broadcast over several nodes.
 *
 *   1. within the root's node: from the root to all, its leader among them
 *   2. from the leader of the root's node to the other leaders; a long message shared out among the rails
 *   3. within the other nodes: from the leader, or each part from who has it, to all
 *
 * A root that does not lead costs a hop through memory and none over the network. A long message goes in pieces: while
 * memory moves one, the next are on the network, kAhead of them, which the receivers have asked for already.
 *
 * Who carries a rail handles packed bytes, in the program's own buffer where its type has no gaps, otherwise in scratch
 * memory, a slot for each piece under way. */
#include "node_stages.h"

#include <errno.h>
#include <string.h>

enum { kPiece = COLL_SMELT_NODES_PIECE, kAhead = COLL_SMELT_NODES_SLOTS };

typedef struct broadcast {
  coll_smelt_nodes *nodes;
  coll_smelt_data data;
  coll_smelt_seat root;
  size_t bytes;
  int pieces, rails;               /* rails: those in use */
  char *scratch;                   /* where data.base is NULL, on carriers */
  ompi_request_t *request[kAhead]; /* on the network; NULL: nothing */
  int error;
} broadcast;

static size_t length_of(const broadcast *b, int piece) {
  const size_t at = (size_t)piece * kPiece;
  return b->bytes - at < kPiece ? b->bytes - at : kPiece;
}

static bool carries(const broadcast *b) { return b->nodes->mine.place < b->rails; }

/* Where a carrier has the piece's bytes. */
static char *place_of(const broadcast *b, int piece) {
  return b->data.data.base ? (char *)b->data.data.base + (size_t)piece * kPiece
                           : b->scratch + (size_t)(piece % kAhead) * kPiece;
}

static bool holds_root(const broadcast *b) { return b->nodes->mine.node == b->root.node; }

/* Step 1. */
static void from_root(broadcast *b, int piece) {
  const coll_smelt_nodes *nodes = b->nodes;
  const size_t bytes = length_of(b, piece), at = (size_t)piece * kPiece;
  const bool sends = nodes->mine.place == b->root.place, aside = carries(b) && !b->data.data.base;
  smelt_data data = b->data.data;
  if (carries(b))
    data = (smelt_data){.base = place_of(b, piece)};
  else if (data.base)
    data.base = (char *)data.base + at;
  if (aside && sends) b->data.data.pack(b->data.data.context, at, bytes, data.base);
  if (nodes->group)
    coll_smelt_note(&b->error,
                    coll_smelt_code(smelt_group_broadcast(nodes->group, &data, bytes, (unsigned)b->root.place)));
  if (aside && !sends) b->data.data.unpack(b->data.data.context, at, bytes, data.base);
}

/* Step 3. Parts that go to and from contiguous memory are under way together; otherwise they come in their order. */
static void from_carriers(broadcast *b, int piece) {
  const coll_smelt_nodes *nodes = b->nodes;
  const size_t bytes = length_of(b, piece), at = (size_t)piece * kPiece;
  smelt_request requests[COLL_SMELT_MOST_RAILS] = {{0}};
  for (int i = 0; i < b->rails; ++i) {
    const size_t part_at = coll_smelt_part_at(bytes, b->rails, i), part = coll_smelt_part_length(bytes, b->rails, i);
    if (part == 0) continue;
    smelt_data data = b->data.data;
    const bool mine = i == nodes->mine.place;
    if (mine)
      data = (smelt_data){.base = place_of(b, piece) + part_at};
    else if (data.base)
      data.base = (char *)data.base + at + part_at;
    int error = 0;
    if (!b->data.data.base || b->rails == 1)
      error = nodes->group ? smelt_group_broadcast(nodes->group, &data, part, (unsigned)i) : 0;
    else
      error = smelt_group_start_broadcast(nodes->group, &data, part, (unsigned)i, &requests[i]);
    coll_smelt_note(&b->error, coll_smelt_code(error));
    if (mine && !b->data.data.base) b->data.data.unpack(b->data.data.context, at + part_at, part, data.base);
  }
  for (int i = 0; i < b->rails; ++i)
    if (requests[i].group) coll_smelt_note(&b->error, coll_smelt_code(smelt_group_wait(&requests[i])));
}

/* Step 2, begun and ended. A single piece goes by the blocking function, which is the quicker one. */
static void between_nodes(broadcast *b, int piece) {
  struct ompi_communicator_t *rail = b->nodes->rail;
  const int i = b->nodes->mine.place;
  ompi_request_t **request = &b->request[piece % kAhead];
  *request = NULL;
  const size_t bytes = length_of(b, piece), part = coll_smelt_part_length(bytes, b->rails, i);
  if (part == 0) return;
  char *at = place_of(b, piece) + coll_smelt_part_at(bytes, b->rails, i);
  int error;
  if (b->pieces == 1)
    error = rail->c_coll->coll_bcast(at, (coll_smelt_length)part, &ompi_mpi_byte.dt, b->root.node, rail,
                                     rail->c_coll->coll_bcast_module);
  else
    error = rail->c_coll->coll_ibcast(at, (coll_smelt_length)part, &ompi_mpi_byte.dt, b->root.node, rail, request,
                                      rail->c_coll->coll_ibcast_module);
  coll_smelt_note(&b->error, error);
}
static void wait_for(broadcast *b, int piece) {
  ompi_request_t **request = &b->request[piece % kAhead];
  if (*request) coll_smelt_note(&b->error, ompi_request_wait(request, MPI_STATUS_IGNORE));
  *request = NULL;
}

static void on_root_node(broadcast *b) {
  for (int piece = 0; piece < b->pieces; ++piece) {
    if (carries(b) && piece >= kAhead) wait_for(b, piece - kAhead); /* its slot is wanted */
    from_root(b, piece);
    if (carries(b)) between_nodes(b, piece);
  }
  if (!carries(b)) return;
  for (int piece = b->pieces > kAhead ? b->pieces - kAhead : 0; piece < b->pieces; ++piece) wait_for(b, piece);
}

static void on_other_node(broadcast *b) {
  for (int piece = 0; carries(b) && piece < b->pieces && piece < kAhead; ++piece) between_nodes(b, piece);
  for (int piece = 0; piece < b->pieces; ++piece) {
    if (carries(b)) wait_for(b, piece);
    from_carriers(b, piece);
    if (carries(b) && piece + kAhead < b->pieces) between_nodes(b, piece + kAhead);
  }
}

int coll_smelt_nodes_cross_broadcast(coll_smelt_nodes *nodes, const coll_smelt_call *call) {
  void *const buffer = call->receive;
  const coll_smelt_length count = call->count;
  struct ompi_datatype_t *const type = call->type;
  const int root = call->root;
  broadcast b = {.nodes = nodes, .root = nodes->seats[root], .bytes = coll_smelt_bytes(type, count)};
  b.pieces = (int)((b.bytes + kPiece - 1) / kPiece);
  b.rails = b.bytes >= COLL_SMELT_NODES_SHARED ? nodes->rails : 1;
  coll_smelt_data_open(&b.data, buffer, count, type, ompi_comm_rank(nodes->comm) != root);
  if (carries(&b) && !b.data.data.base &&
      !(b.scratch = coll_smelt_nodes_scratch(nodes, b.bytes < kPiece ? b.bytes : (size_t)kAhead * kPiece)))
    b.error = OMPI_ERR_OUT_OF_RESOURCE;
  else if (holds_root(&b))
    on_root_node(&b);
  else
    on_other_node(&b);
  coll_smelt_data_close(&b.data);
  return b.error;
}
