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
#include "node_stages.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

enum { kPiece = COLL_SMELT_NODES_PIECE, kAhead = 2 };

typedef struct allgather {
  coll_smelt_nodes *nodes;
  size_t bytes;                    /* of a block */
  char *all;                       /* every rank's block, node by node */
  size_t pieces;                   /* of the longest row */
  int *counts[kAhead];             /* on leaders, for each piece under way: how much of each row belongs to it, and */
  int *places[kAhead];             /* where; bytes */
  ompi_request_t *request[kAhead]; /* on the network; NULL: nothing */
  int error;
} allgather;

/* --- where things lie */

static size_t row_at(const allgather *a, int node) { return a->bytes * (size_t)a->nodes->before[node]; }
static size_t row(const allgather *a, int node) { return row_at(a, node + 1) - row_at(a, node); }

/* Of a row, what belongs to a piece; 0: the row is shorter. */
static size_t piece_of_row(const allgather *a, int node, size_t piece) {
  const size_t bytes = row(a, node), at = piece * kPiece;
  return bytes <= at ? 0 : bytes - at < kPiece ? bytes - at : kPiece;
}

static size_t longest_row(const allgather *a) {
  size_t longest = 0;
  for (int node = 0; node < a->nodes->nodes; ++node)
    if (row(a, node) > longest) longest = row(a, node);
  return longest;
}

/* --- 1 */

static void note(allgather *a, int error) { coll_smelt_note(&a->error, coll_smelt_code(error)); }

static void within_node(allgather *a, const smelt_data *own) {
  char *const to = a->all + row_at(a, a->nodes->mine.node);
  if (a->nodes->group)
    note(a, smelt_group_allgather(a->nodes->group, own, to, a->bytes));
  else if (!own->base)
    own->pack(own->context, 0, a->bytes, to);
  else if (own->base != to)
    memcpy(to, own->base, a->bytes);
}

/* --- 2, begun and ended. A single piece goes by the blocking function, which is the quicker one. */

static void between_nodes(allgather *a, size_t piece) {
  struct ompi_communicator_t *rail = a->nodes->rail;
  struct ompi_datatype_t *byte = &ompi_mpi_byte.dt;
  int *const counts = a->counts[piece % kAhead], *const places = a->places[piece % kAhead];
  for (int node = 0; node < a->nodes->nodes; ++node) {
    counts[node] = (int)piece_of_row(a, node, piece);
    places[node] = counts[node] > 0 ? (int)(row_at(a, node) + piece * kPiece) : 0;
  }
  ompi_request_t **request = &a->request[piece % kAhead];
  *request = NULL;
  int error;
  if (a->pieces == 1)
    error =
        rail->c_coll->coll_allgatherv(MPI_IN_PLACE, 0, byte, a->all, coll_smelt_counts_of(counts),
                                      coll_smelt_places_of(places), byte, rail, rail->c_coll->coll_allgatherv_module);
  else
    error = rail->c_coll->coll_iallgatherv(MPI_IN_PLACE, 0, byte, a->all, coll_smelt_counts_of(counts),
                                           coll_smelt_places_of(places), byte, rail, request,
                                           rail->c_coll->coll_iallgatherv_module);
  coll_smelt_note(&a->error, error);
}

static void wait_for(allgather *a, size_t piece) {
  ompi_request_t **request = &a->request[piece % kAhead];
  if (*request) coll_smelt_note(&a->error, ompi_request_wait(request, MPI_STATUS_IGNORE));
  *request = NULL;
}

/* --- 3 */

static void from_leader(allgather *a, size_t at, size_t bytes) {
  const smelt_data data = {.base = a->all + at};
  if (bytes > 0 && a->nodes->group) note(a, smelt_group_broadcast(a->nodes->group, &data, bytes, 0));
}

static void others_rows(allgather *a, size_t piece) {
  const int nodes = a->nodes->nodes, mine = a->nodes->mine.node;
  if (a->pieces == 1) { /* rows that follow each other go together */
    from_leader(a, 0, row_at(a, mine));
    from_leader(a, row_at(a, mine + 1), row_at(a, nodes) - row_at(a, mine + 1));
    return;
  }
  for (int node = 0; node < nodes; ++node)
    if (node != mine) from_leader(a, row_at(a, node) + piece * kPiece, piece_of_row(a, node, piece));
}

/* --- the whole */

static void run(allgather *a, const smelt_data *own) {
  const bool leads = coll_smelt_nodes_leads(a->nodes);
  within_node(a, own);
  if (leads) between_nodes(a, 0);
  for (size_t piece = 0; piece < a->pieces; ++piece) {
    if (leads && piece + 1 < a->pieces) between_nodes(a, piece + 1);
    if (leads) wait_for(a, piece);
    others_rows(a, piece);
  }
}

/* In place, a rank's own is there already. */
static void put_in_places(const allgather *a, void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                          bool in_place) {
  const coll_smelt_nodes *nodes = a->nodes;
  const int n = ompi_comm_size(nodes->comm), me = ompi_comm_rank(nodes->comm);
  for (int rank = 0; rank < n; ++rank) {
    const coll_smelt_seat seat = nodes->seats[rank];
    const char *from = a->all + a->bytes * (size_t)(nodes->before[seat.node] + seat.place);
    char *to = coll_smelt_block(receive, count, type, rank);
    if (in_place && rank == me) continue;
    if (coll_smelt_gapless(type))
      memcpy(to + type->super.true_lb, from, a->bytes);
    else
      coll_smelt_unpack(type, (size_t)count, to, from);
  }
}

static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

/* Memory for the leader's arrays and, if the blocks do not lie in the program's, for them. A long row's is not kept. */
static bool make_room(allgather *a, bool aside, void **allocated) {
  const size_t ints = aligned((size_t)a->nodes->nodes * sizeof(int)), arrays = 2 * kAhead * ints;
  const size_t blocks = aside ? row_at(a, a->nodes->nodes) : 0;
  *allocated = NULL;
  char *const room = coll_smelt_nodes_scratch(a->nodes, arrays + (blocks <= kPiece ? blocks : 0));
  if (!room) return false;
  for (int i = 0; i < kAhead; ++i) {
    a->counts[i] = (int *)(room + 2 * (size_t)i * ints);
    a->places[i] = (int *)(room + (2 * (size_t)i + 1) * ints);
  }
  if (!aside) return true;
  a->all = blocks <= kPiece ? room + arrays : (*allocated = malloc(blocks));
  return a->all != NULL;
}

int coll_smelt_nodes_cross_allgather(coll_smelt_nodes *nodes, const coll_smelt_call *call) {
  const void *const send = call->send;
  void *const receive = call->receive;
  const coll_smelt_length count = call->count;
  struct ompi_datatype_t *const type = call->type;
  const bool in_place = send == MPI_IN_PLACE, aside = !nodes->consecutive || !coll_smelt_gapless(type);
  allgather a = {.nodes = nodes, .bytes = coll_smelt_bytes(type, count), .all = (char *)receive + type->super.true_lb};
  void *allocated;
  a.pieces = (longest_row(&a) + kPiece - 1) / kPiece;
  if (!make_room(&a, aside, &allocated)) return OMPI_ERR_OUT_OF_RESOURCE;
  coll_smelt_data own;
  if (in_place)
    coll_smelt_data_open(&own, coll_smelt_block(receive, count, type, ompi_comm_rank(nodes->comm)), count, type, false);
  else
    coll_smelt_data_open(&own, send, call->send_count, call->send_type, false);
  run(&a, &own.data);
  coll_smelt_data_close(&own);
  if (aside && a.error == OMPI_SUCCESS) put_in_places(&a, receive, count, type, in_place);
  free(allocated);
  return a.error;
}
