/* Reduce and allreduce over several nodes.
 *
 *   1. within each node: combined into a partial result P of its leader, in the order that smelt/group.h promises
 *   2. between the leaders: the result is  P_0 op (P_1 op (... P_last)),  nodes in the order of their lowest ranks
 *   3. reduce: to the root, where it does not lead its node, from its leader; allreduce: to all of each node
 *
 * A long message is shared out among the rails (nodes.c): then "leader" means, for each part, the rank that carries it.
 *
 * The leaders combine in that order themselves, whatever the length, so the bits are the same on all ranks, for every
 * root and every length, as they are within one node (where nodes share ranks differently, the order is another one).
 * Three ways to do so:
 *
 *   lower    what does not depend on the order, one piece: the component below reduces
 *   whole    two nodes, or a short message: each leader gets all partial results (of reduce: the root's alone), and
 *            combines them
 *   sliced   each leader gets one slice of all of them, combines that, and gets the other slices back. Over the network
 *            go twice the message at most, whatever the number of nodes: R. Rabenseifner, Optimization of collective
 *            reduction operations, ICCS 2004
 *
 * A long message goes in pieces: while a leader's memory combines one, the one before is on the network, and in the
 * sliced way also the one before that. Pieces are packed bytes in scratch memory, a slot for each that is under way. */
#include "node_stages.h"

#include "ompi/mca/coll/base/coll_tags.h"
#include "ompi/mca/pml/pml.h"

#include <string.h>

enum { kPiece = COLL_SMELT_NODES_PIECE, kShort = 32768, kAlignment = 64, kToAll = -1 };

typedef enum way { kLower, kWhole, kSliced } way;

typedef struct slot {
  char *mine;              /* this node's partial result; in the end the result, unless the way is whole */
  char *all;               /* whole: every node's partial result; sliced: every node's part of this leader's slice */
  char *received;          /* the root's: a part that another rank of its node carries */
  ompi_request_t *request; /* on the network; NULL: nothing */
} slot;

typedef struct reduction {
  coll_smelt_nodes *nodes;
  struct ompi_op_t *op;
  struct ompi_datatype_t *type;
  coll_smelt_fold fold;
  coll_smelt_data in, out;
  size_t count, element, per_piece; /* elements, bytes, elements */
  int pieces, rails;                /* rails: those in use */
  int root;                         /* or kToAll */
  coll_smelt_seat seat;             /* the root's */
  way way;
  slot slots[COLL_SMELT_NODES_SLOTS];
  int error;
} reduction;

static slot *slot_of(reduction *r, int piece) { return &r->slots[piece % COLL_SMELT_NODES_SLOTS]; }
static size_t elements_of(const reduction *r, int piece) {
  const size_t before = (size_t)piece * r->per_piece;
  return r->count - before < r->per_piece ? r->count - before : r->per_piece;
}
/* The part of a piece that rank `place` of each node carries, in elements; and this rank's own. */
static size_t part_of(const reduction *r, int piece, int place) {
  return coll_smelt_part_length(elements_of(r, piece), r->rails, place);
}
static size_t own_part(const reduction *r, int piece) { return part_of(r, piece, r->nodes->mine.place); }
/* Where that part begins in the whole message, in bytes. */
static size_t offset_of(const reduction *r, int piece, int place) {
  return ((size_t)piece * r->per_piece + coll_smelt_part_at(elements_of(r, piece), r->rails, place)) * r->element;
}
static size_t slice_of(const reduction *r, size_t elements) {
  return (elements + (size_t)r->nodes->nodes - 1) / (size_t)r->nodes->nodes;
}

static bool carries(const reduction *r) { return r->nodes->mine.place < r->rails; }
static bool is_root(const reduction *r) { return ompi_comm_rank(r->nodes->comm) == r->root; }
static bool on_root_node(const reduction *r) { return r->nodes->mine.node == r->seat.node; }
/* Of the carriers: who has the result after step 2. */
static bool carrier_receives(const reduction *r) { return r->root == kToAll || on_root_node(r); }

/* --- 1 */

static void note(reduction *r, int error) { coll_smelt_note(&r->error, coll_smelt_code(error)); }

static void wait_for_all(reduction *r, smelt_request *requests) {
  for (int i = 0; i < r->rails; ++i)
    if (requests[i].group) note(r, smelt_group_wait(&requests[i]));
}

/* Parts of contiguous memory are under way together; others are packed in their order. */
static void within_node(reduction *r, int piece) {
  smelt_group *group = r->nodes->group;
  smelt_request requests[COLL_SMELT_MOST_RAILS] = {{0}};
  for (int i = 0; i < r->rails; ++i) {
    const size_t elements = part_of(r, piece, i), at = offset_of(r, piece, i);
    smelt_data in = r->in.data;
    const smelt_data out = {.base = i == r->nodes->mine.place ? slot_of(r, piece)->mine : NULL};
    if (in.base) in.base = (char *)in.base + at;
    if (elements == 0) continue;
    if (group && in.base && r->rails > 1)
      note(r, smelt_group_start_reduce(group, &in, &out, elements, &r->fold.fold, (unsigned)i, &requests[i]));
    else if (group)
      note(r, smelt_group_reduce(group, &in, &out, elements, &r->fold.fold, (unsigned)i));
    else if (in.base)
      memcpy(out.base, in.base, elements * r->element);
    else
      in.pack(in.context, at, elements * r->element, out.base);
  }
  wait_for_all(r, requests);
}

/* --- 2 */

/* Gathers `bytes` of each leader, everywhere or at the root's. */
static void gather(reduction *r, const void *from, void *to, size_t bytes, ompi_request_t **request) {
  struct ompi_communicator_t *rail = r->nodes->rail;
  mca_coll_base_comm_coll_t *coll = rail->c_coll;
  struct ompi_datatype_t *byte = &ompi_mpi_byte.dt;
  const coll_smelt_length length = (coll_smelt_length)bytes;
  int error;
  if (r->root == kToAll)
    error =
        r->pieces == 1
            ? coll->coll_allgather(from, length, byte, to, length, byte, rail, coll->coll_allgather_module)
            : coll->coll_iallgather(from, length, byte, to, length, byte, rail, request, coll->coll_iallgather_module);
  else
    error = r->pieces == 1
                ? coll->coll_gather(from, length, byte, to, length, byte, r->seat.node, rail, coll->coll_gather_module)
                : coll->coll_igather(from, length, byte, to, length, byte, r->seat.node, rail, request,
                                     coll->coll_igather_module);
  coll_smelt_note(&r->error, error);
}

/* Leader i gets the i-th slice of everybody. */
static void exchange(reduction *r, const void *from, void *to, size_t bytes, ompi_request_t **request) {
  struct ompi_communicator_t *rail = r->nodes->rail;
  mca_coll_base_comm_coll_t *coll = rail->c_coll;
  struct ompi_datatype_t *byte = &ompi_mpi_byte.dt;
  const coll_smelt_length length = (coll_smelt_length)bytes;
  coll_smelt_note(&r->error, r->pieces == 1 ? coll->coll_alltoall(from, length, byte, to, length, byte, rail,
                                                                  coll->coll_alltoall_module)
                                            : coll->coll_ialltoall(from, length, byte, to, length, byte, rail, request,
                                                                   coll->coll_ialltoall_module));
}

static void by_lower(reduction *r, char *mine) {
  struct ompi_communicator_t *rail = r->nodes->rail;
  mca_coll_base_comm_coll_t *coll = rail->c_coll;
  const coll_smelt_length count = (coll_smelt_length)r->count;
  coll_smelt_note(&r->error, r->root == kToAll ? coll->coll_allreduce(MPI_IN_PLACE, mine, count, r->type, r->op, rail,
                                                                      coll->coll_allreduce_module)
                                               : coll->coll_reduce(on_root_node(r) ? MPI_IN_PLACE : mine,
                                                                   on_root_node(r) ? mine : NULL, count, r->type, r->op,
                                                                   r->seat.node, rail, coll->coll_reduce_module));
}

static void begin(reduction *r, int piece) {
  slot *slot = slot_of(r, piece);
  const size_t elements = own_part(r, piece);
  slot->request = NULL;
  if (elements == 0) return;
  switch (r->way) {
    case kLower: by_lower(r, slot->mine); break;
    case kWhole: gather(r, slot->mine, slot->all, elements * r->element, &slot->request); break;
    case kSliced: exchange(r, slot->mine, slot->all, slice_of(r, elements) * r->element, &slot->request); break;
  }
}

static void wait_for(reduction *r, slot *slot) {
  if (slot->request) coll_smelt_note(&r->error, ompi_request_wait(&slot->request, MPI_STATUS_IGNORE));
  slot->request = NULL;
}

/* Every node's operands, `bytes` apart, from the right, into the last node's. */
static char *combine(const reduction *r, char *all, size_t bytes, size_t elements) {
  char *const result = all + bytes * (size_t)(r->nodes->nodes - 1);
  for (int node = r->nodes->nodes - 2; node >= 0 && elements > 0; --node)
    r->fold.fold.into_right(r->fold.fold.context, all + bytes * (size_t)node, result, elements);
  return result;
}

/* The sliced way's second half. The last slices may be shorter, or empty. */
static void combine_slice(reduction *r, int piece) {
  slot *slot = slot_of(r, piece);
  wait_for(r, slot);
  const size_t elements = own_part(r, piece), slice = slice_of(r, elements);
  if (elements == 0) return;
  const size_t before = slice * (size_t)r->nodes->mine.node;
  const size_t left = before < elements ? elements - before : 0;
  char *const combined = combine(r, slot->all, slice * r->element, left < slice ? left : slice);
  gather(r, combined, slot->mine, slice * r->element, &slot->request);
}

static const char *finish(reduction *r, int piece) {
  slot *slot = slot_of(r, piece);
  wait_for(r, slot);
  const size_t elements = own_part(r, piece);
  if (r->way != kWhole || !carrier_receives(r)) return slot->mine;
  return combine(r, slot->all, elements * r->element, elements);
}

/* --- 3 */

static void give(reduction *r, int piece, int place, const char *result) {
  const size_t at = offset_of(r, piece, place), bytes = part_of(r, piece, place) * r->element;
  smelt_data *out = &r->out.data;
  if (out->base)
    memcpy((char *)out->base + at, result, bytes);
  else
    out->unpack(out->context, at, bytes, result);
}

static void to_all_of_node(reduction *r, int piece, const char *result) {
  smelt_group *group = r->nodes->group;
  smelt_request requests[COLL_SMELT_MOST_RAILS] = {{0}};
  for (int i = 0; i < r->rails; ++i) {
    const size_t bytes = part_of(r, piece, i) * r->element;
    const bool mine = i == r->nodes->mine.place;
    smelt_data data = r->out.data;
    if (mine)
      data = (smelt_data){.base = (void *)result};
    else if (data.base)
      data.base = (char *)data.base + offset_of(r, piece, i);
    if (bytes == 0) continue;
    if (group && r->out.data.base && r->rails > 1)
      note(r, smelt_group_start_broadcast(group, &data, bytes, (unsigned)i, &requests[i]));
    else if (group)
      note(r, smelt_group_broadcast(group, &data, bytes, (unsigned)i));
    if (mine) give(r, piece, i, result);
  }
  wait_for_all(r, requests);
}

/* Messages within the node; nobody else uses its communicator. */
static void to_root(reduction *r, int piece, const char *result) {
  struct ompi_communicator_t *node = r->nodes->node;
  const int me = r->nodes->mine.place;
  if (!is_root(r)) {
    coll_smelt_note(&r->error,
                    MCA_PML_CALL(send((void *)result, own_part(r, piece) * r->element, &ompi_mpi_byte.dt, r->seat.place,
                                      MCA_COLL_BASE_TAG_REDUCE, MCA_PML_BASE_SEND_STANDARD, node)));
    return;
  }
  for (int i = 0; i < r->rails; ++i) {
    char *received = slot_of(r, piece)->received;
    if (i != me)
      coll_smelt_note(&r->error, MCA_PML_CALL(recv(received, part_of(r, piece, i) * r->element, &ompi_mpi_byte.dt, i,
                                                   MCA_COLL_BASE_TAG_REDUCE, node, MPI_STATUS_IGNORE)));
    give(r, piece, i, i == me ? result : received);
  }
}

static void deliver(reduction *r, int piece) {
  const char *result = carries(r) ? finish(r, piece) : NULL;
  if (r->root == kToAll)
    to_all_of_node(r, piece, result);
  else if (is_root(r) || (carries(r) && on_root_node(r)))
    to_root(r, piece, result);
}

/* --- the whole */

static way way_of(const reduction *r) {
  const int nodes = r->nodes->nodes;
  if (r->rails == 1 && r->pieces == 1 && (r->fold.fold.flags & SMELT_FOLD_ANY_ORDER) && coll_smelt_gapless(r->type))
    return kLower;
  return nodes == 2 || elements_of(r, 0) * r->element * (size_t)nodes <= kShort ? kWhole : kSliced;
}

static size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/* The slots of who carries a part, and of the root. The first part is the longest. */
static bool make_slots(reduction *r) {
  const size_t nodes = (size_t)r->nodes->nodes, part = part_of(r, 0, 0);
  const size_t slices = slice_of(r, part) * r->element * nodes;
  const size_t mine = aligned(slices), all = aligned(r->way == kWhole ? part * r->element * nodes : slices);
  const size_t received = is_root(r) ? aligned(part * r->element) : 0, slot_bytes = mine + all + received;
  const int used = r->pieces < COLL_SMELT_NODES_SLOTS ? r->pieces : COLL_SMELT_NODES_SLOTS;
  if (!carries(r) && !is_root(r)) return true;
  char *scratch = coll_smelt_nodes_scratch(r->nodes, slot_bytes * (size_t)used);
  for (int i = 0; scratch && i < used; ++i, scratch += slot_bytes)
    r->slots[i] = (slot){.mine = scratch, .all = scratch + mine, .received = scratch + mine + all};
  return scratch != NULL;
}

static void run(reduction *r) {
  const int later = r->pieces > 1;                        /* steps from one stage of a piece to the next */
  const int last = r->way == kSliced ? 2 * later : later; /* and from the first to the last */
  for (int step = 0; step < r->pieces + last; ++step) {
    if (step < r->pieces) {
      within_node(r, step);
      if (carries(r)) begin(r, step);
    }
    if (r->way == kSliced && carries(r) && step >= later && step - later < r->pieces) combine_slice(r, step - later);
    if (step >= last) deliver(r, step - last);
  }
}

int coll_smelt_nodes_cross_reduction(coll_smelt_nodes *nodes, const coll_smelt_call *call, bool to_all) {
  const void *const send = call->send;
  void *const receive = call->receive;
  const coll_smelt_length count = call->count;
  struct ompi_datatype_t *const type = call->type;
  struct ompi_op_t *const op = call->op;
  const int root = to_all ? kToAll : call->root;
  reduction r = {.nodes = nodes, .op = op, .type = type, .count = (size_t)count, .root = root};
  r.element = type->super.size;
  r.per_piece = r.element < kPiece ? kPiece / r.element : 1;
  r.pieces = (int)((r.count + r.per_piece - 1) / r.per_piece);
  if (r.per_piece > r.count) r.per_piece = r.count;
  r.rails = r.count * r.element >= COLL_SMELT_NODES_SHARED ? nodes->rails : 1;
  if (root != kToAll) r.seat = nodes->seats[root];
  const bool receives = root == kToAll || is_root(&r);
  const int error = coll_smelt_fold_open(&r.fold, op, type);
  if (OPAL_UNLIKELY(error != OMPI_SUCCESS)) return error;
  coll_smelt_data_open(&r.in, send == MPI_IN_PLACE ? receive : send, count, type, false);
  if (receives) coll_smelt_data_open(&r.out, receive, count, type, true);
  r.way = way_of(&r);
  if (make_slots(&r))
    run(&r);
  else
    r.error = OMPI_ERR_OUT_OF_RESOURCE;
  if (receives) coll_smelt_data_close(&r.out);
  coll_smelt_data_close(&r.in);
  coll_smelt_fold_close(&r.fold);
  return r.error;
}
