/* Allgather over several nodes.
 *
 *   1. within each node: everybody's block to all of the node
 *   2. between the leaders: each node's row of blocks to all of them, by the component below; as nodes may have
 *      different numbers of ranks, by its allgatherv
 *   3. within each node: the other nodes' rows, from the leader to all
 *
 * Over the network goes what each node lacks, once, as in the ring that is best for long messages within one network,
 * but in as many steps as the leaders need, not as many as there are ranks (J. L. Traff, Efficient allgather for
 * regular SMP-clusters, EuroPVM/MPI 2006). Long rows go in pieces: while memory moves one, the next is on the network.
 *
 * Blocks lie node by node, and within a node place by place. Where that is the order of the ranks, and the type has no
 * gaps, they lie so in the program's own memory. Otherwise they are put in their places at the end: whether this is
 * needed, each rank knows for itself, as their types may differ. */
#include "stages.h"

#include <string.h>

/* --- where things lie */

static size_t row_at(const coll_smelt_crossing *c, int node) { return c->bytes * (size_t)c->nodes->before[node]; }
static size_t row(const coll_smelt_crossing *c, int node) { return row_at(c, node + 1) - row_at(c, node); }
static size_t piece_at(const coll_smelt_crossing *c, int node, int piece) {
  return row_at(c, node) + (size_t)piece * c->piece;
}

/* The part of a row that belongs to a piece; 0: the row is shorter. */
static size_t piece_of_row(const coll_smelt_crossing *c, int node, int piece) {
  const size_t bytes = row(c, node), at = (size_t)piece * c->piece;
  return bytes <= at ? 0 : bytes - at < c->piece ? bytes - at : c->piece;
}

static size_t longest_row(const coll_smelt_crossing *c) {
  size_t longest = 0;
  for (int node = 0; node < c->nodes->nodes; ++node)
    if (row(c, node) > longest) longest = row(c, node);
  return longest;
}

static bool is_in_place(const coll_smelt_crossing *c) { return c->call->send == MPI_IN_PLACE; }
static bool is_elsewhere(const coll_smelt_crossing *c) {
  return !c->nodes->consecutive || !coll_smelt_gapless(c->call->type);
}
/* A long row's memory is not kept for the next call. */
static bool is_apart(const coll_smelt_crossing *c) {
  return is_elsewhere(c) && c->mode == COLL_SMELT_BLOCKING && row_at(c, c->nodes->nodes) > COLL_SMELT_NODES_PIECE;
}

static void list_piece(coll_smelt_crossing *c, int piece) {
  const coll_smelt_slot *slot = coll_smelt_slot_of(c, piece);
  for (int node = 0; node < c->nodes->nodes; ++node) {
    slot->counts[node] = (int)piece_of_row(c, node, piece);
    slot->places[node] = slot->counts[node] > 0 ? (int)piece_at(c, node, piece) : 0;
  }
}

static size_t room(coll_smelt_crossing *c, char *memory) {
  const size_t ints = coll_smelt_aligned((size_t)c->nodes->nodes * sizeof(int));
  c->bytes = coll_smelt_bytes(c->call->type, c->call->count);
  const size_t longest = longest_row(c);
  c->piece = c->mode == COLL_SMELT_BLOCKING && longest > COLL_SMELT_NODES_PIECE ? COLL_SMELT_NODES_PIECE : longest;
  c->pieces = (int)((longest + c->piece - 1) / c->piece);
  c->rails = c->calls = 1;
  const int used = !coll_smelt_carries(c) ? 0 : c->pieces < COLL_SMELT_NODES_SLOTS ? c->pieces : COLL_SMELT_NODES_SLOTS;
  const size_t arrays = 2 * (size_t)used * ints;
  c->all = is_elsewhere(c) && memory ? memory + arrays : (char *)c->call->receive + c->call->type->super.true_lb;
  for (int i = 0; memory && i < used; ++i) {
    c->slots[i].counts = (int *)(memory + 2 * (size_t)i * ints);
    c->slots[i].places = (int *)(memory + (2 * (size_t)i + 1) * ints);
  }
  if (memory && used > 0) list_piece(c, 0);
  return arrays + (is_elsewhere(c) && !is_apart(c) ? row_at(c, c->nodes->nodes) : 0);
}

static int open_call(coll_smelt_crossing *c) {
  const coll_smelt_call *call = c->call;
  coll_smelt_data *in = &c->terms->in;
  if (is_apart(c) && !(c->all = c->apart = malloc(row_at(c, c->nodes->nodes)))) return OMPI_ERR_OUT_OF_RESOURCE;
  if (is_in_place(c))
    coll_smelt_data_open(in, coll_smelt_block(call->receive, call->count, call->type, ompi_comm_rank(c->nodes->comm)),
                         call->count, call->type, false);
  else
    coll_smelt_data_open(in, call->send, call->send_count, call->send_type, false);
  return OMPI_SUCCESS;
}

/* In place, a rank's own is there already. */
static void put_in_places(const coll_smelt_crossing *c) {
  const coll_smelt_nodes *nodes = c->nodes;
  const coll_smelt_call *call = c->call;
  const int n = ompi_comm_size(nodes->comm), me = ompi_comm_rank(nodes->comm);
  for (int rank = 0; rank < n; ++rank) {
    const coll_smelt_seat seat = nodes->seats[rank];
    const char *from = c->all + c->bytes * (size_t)(nodes->before[seat.node] + seat.place);
    char *to = coll_smelt_block(call->receive, call->count, call->type, rank);
    if (is_in_place(c) && rank == me) continue;
    if (coll_smelt_gapless(call->type))
      memcpy(to + call->type->super.true_lb, from, c->bytes);
    else
      coll_smelt_unpack(call->type, (size_t)call->count, to, from);
  }
}

static void close_call(coll_smelt_crossing *c) {
  coll_smelt_data_close(&c->terms->in);
  if (is_elsewhere(c) && c->error == OMPI_SUCCESS) put_in_places(c);
  free(c->apart);
}

/* --- 1 */

static void within_node(coll_smelt_crossing *c) {
  const smelt_data *own = &c->terms->in.data;
  char *const to = c->all + row_at(c, c->nodes->mine.node);
  if (!c->group)
    coll_smelt_fetch(own, 0, c->bytes, to);
  else if (c->mode == COLL_SMELT_BLOCKING)
    coll_smelt_note_group(c, smelt_group_allgather(c->group, own, to, c->bytes));
  else
    (void)smelt_group_start_allgather(c->group, own, to, c->bytes, &c->in_node[0]);
}

/* --- 2 */

static int call(coll_smelt_crossing *c, int piece, int i, struct ompi_info_t *info, ompi_request_t **request) {
  struct ompi_communicator_t *rail = c->nodes->rail;
  mca_coll_base_comm_coll_t *coll = rail->c_coll;
  struct ompi_datatype_t *byte = &ompi_mpi_byte.dt;
  const coll_smelt_slot *slot = coll_smelt_slot_of(c, piece);
  (void)i;
  return COLL_SMELT_ON_RAIL(allgatherv, MPI_IN_PLACE, 0, byte, c->all, coll_smelt_counts_of(slot->counts),
                            coll_smelt_places_of(slot->places), byte);
}

static void between_nodes(coll_smelt_crossing *c, int piece) {
  if (!coll_smelt_carries(c) || piece >= c->pieces) return;
  if (piece > 0) list_piece(c, piece); /* the first one's was listed when room was made */
  coll_smelt_between_leaders(c, piece, 0);
}

/* --- 3 */

static void from_leader(coll_smelt_crossing *c, int i, size_t at, size_t bytes) {
  const smelt_data data = {.base = c->all + at};
  coll_smelt_broadcast_in_node(c, c->mode == COLL_SMELT_BLOCKING ? -1 : i, &data, bytes, 0);
}

static void others_rows(coll_smelt_crossing *c, int piece) {
  const int nodes = c->nodes->nodes, mine = c->nodes->mine.node;
  if (c->pieces == 1) { /* rows that follow each other go together */
    from_leader(c, 0, 0, row_at(c, mine));
    from_leader(c, 1, row_at(c, mine + 1), row_at(c, nodes) - row_at(c, mine + 1));
    return;
  }
  for (int node = 0; node < nodes; ++node)
    if (node != mine) from_leader(c, 0, piece_at(c, node, piece), piece_of_row(c, node, piece));
}

/* --- the whole: after the first two, each piece has two stages: the next one is put on the network; to all of the node
 * */

static int stages(const coll_smelt_crossing *c) { return 2 + 2 * c->pieces; }

static coll_smelt_slot *needed(coll_smelt_crossing *c, int stage) {
  return stage >= 2 && stage % 2 == 1 ? coll_smelt_slot_of(c, (stage - 2) / 2) : NULL;
}

static void begin(coll_smelt_crossing *c, int stage) {
  const int piece = (stage - 2) / 2;
  if (stage == 0)
    within_node(c);
  else if (stage == 1)
    between_nodes(c, 0);
  else if (stage % 2 == 0)
    between_nodes(c, piece + 1);
  else
    others_rows(c, piece);
}

const coll_smelt_course coll_smelt_allgather_course = {room, open_call, close_call, call, stages, needed, begin};
