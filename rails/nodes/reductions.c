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
 * sliced way also the one before that. Pieces are packed bytes, a slot for each that is under way. */
#include "stages.h"

#include "ompi/mca/coll/base/coll_tags.h"
#include "ompi/mca/pml/pml.h"
#include "ompi_coll_smelt/reduce.h"

enum { kShort = 32768 }; /* bytes of all nodes' operands: so far one call of the leaders, not two that carry less */
enum { kLower, kWhole, kSliced };

/* --- what goes where */

static size_t count_of(const coll_smelt_crossing *c) { return (size_t)c->call->count; }
static size_t element_of(const coll_smelt_crossing *c) { return c->call->type->super.size; }
static size_t elements_of(const coll_smelt_crossing *c, int piece) {
  const size_t before = (size_t)piece * c->piece;
  return count_of(c) - before < c->piece ? count_of(c) - before : c->piece;
}
/* The part of a piece that rank `place` of each node carries, in elements; and this rank's own. */
static size_t part_of(const coll_smelt_crossing *c, int piece, int place) {
  return coll_smelt_part_length(elements_of(c, piece), c->rails, place);
}
static size_t own_part(const coll_smelt_crossing *c, int piece) { return part_of(c, piece, c->nodes->mine.place); }
/* The place where that part begins in the whole message, in bytes. */
static size_t offset_of(const coll_smelt_crossing *c, int piece, int place) {
  return ((size_t)piece * c->piece + coll_smelt_part_at(elements_of(c, piece), c->rails, place)) * element_of(c);
}
static size_t slice_of(const coll_smelt_crossing *c, size_t elements) {
  return (elements + (size_t)c->nodes->nodes - 1) / (size_t)c->nodes->nodes;
}

static bool to_all(const coll_smelt_crossing *c) { return c->which == SMELT_COLLECTIVE_ALLREDUCE; }
static bool receives(const coll_smelt_crossing *c) { return to_all(c) || coll_smelt_crosses_as_root(c); }
/* Does this one of the carriers have the result after step 2? */
static bool carrier_receives(const coll_smelt_crossing *c) { return to_all(c) || coll_smelt_on_root_node(c); }

static int way_of(const coll_smelt_crossing *c) {
  const coll_smelt_call *call = c->call;
  const int nodes = c->nodes->nodes;
  if (c->rails == 1 && c->pieces == 1 && coll_smelt_any_order(call->op, call->type) && coll_smelt_gapless(call->type))
    return kLower;
  return nodes == 2 || elements_of(c, 0) * element_of(c) * (size_t)nodes <= kShort ? kWhole : kSliced;
}

/* Slots are for the carriers, and for the root of a blocking call. The first part is the longest. */
static size_t room(coll_smelt_crossing *c, char *memory) {
  const bool blocking = c->mode == COLL_SMELT_BLOCKING;
  const size_t nodes = (size_t)c->nodes->nodes, element = element_of(c);
  const size_t most = element < COLL_SMELT_NODES_PIECE ? COLL_SMELT_NODES_PIECE / element : 1;
  c->bytes = count_of(c) * element;
  c->piece = blocking && count_of(c) > most ? most : count_of(c);
  c->pieces = (int)((count_of(c) + c->piece - 1) / c->piece);
  c->rails = blocking && c->bytes >= COLL_SMELT_NODES_SHARED ? c->nodes->rails : 1;
  c->way = way_of(c);
  c->calls = c->way == kSliced ? 2 : 1;
  const bool gathers = blocking && !to_all(c) && coll_smelt_crosses_as_root(c);
  if (!coll_smelt_carries(c) && !gathers) return 0;
  const size_t part = part_of(c, 0, 0), slices = slice_of(c, part) * element * nodes;
  const size_t mine = coll_smelt_aligned(slices), received = gathers ? coll_smelt_aligned(part * element) : 0;
  const size_t all = c->way == kLower ? 0 : coll_smelt_aligned(c->way == kWhole ? part * element * nodes : slices);
  const int used = c->pieces < COLL_SMELT_NODES_SLOTS ? c->pieces : COLL_SMELT_NODES_SLOTS;
  for (int i = 0; memory && i < used; ++i) {
    char *const slot = memory + (size_t)i * (mine + all + received);
    c->slots[i].mine = slot, c->slots[i].all = slot + mine, c->slots[i].received = slot + mine + all;
  }
  return (size_t)used * (mine + all + received);
}

static int open_call(coll_smelt_crossing *c) { return coll_smelt_open_reduction(c->terms, c->call, receives(c)); }
static void close_call(coll_smelt_crossing *c) { coll_smelt_close_reduction(c->terms); }

/* --- 1 */

/* Parts of contiguous memory are under way together; others are packed in their order. */
static void within_node(coll_smelt_crossing *c, int piece) {
  const smelt_data *program = &c->terms->in.data;
  const bool together = c->rails > 1 && program->base;
  for (int i = 0; i < c->rails; ++i) {
    const size_t elements = part_of(c, piece, i), at = offset_of(c, piece, i);
    const smelt_data out = {.base = i == c->nodes->mine.place ? coll_smelt_slot_of(c, piece)->mine : NULL};
    const smelt_fold *fold = &c->terms->fold.fold;
    smelt_data in = *program;
    if (in.base) in.base = (char *)in.base + at;
    if (elements == 0) continue;
    if (!c->group)
      coll_smelt_fetch(program, at, elements * element_of(c), out.base);
    else if (c->mode == COLL_SMELT_BLOCKING && !together)
      coll_smelt_note_group(c, smelt_group_reduce(c->group, &in, &out, elements, fold, (unsigned)i));
    else
      (void)smelt_group_start_reduce(c->group, &in, &out, elements, fold, (unsigned)i, &c->in_node[i]);
  }
}

/* --- 2 */

/* Gathers `bytes` of each leader, everywhere or at the root's. */
static int gather(coll_smelt_crossing *c, const void *from, void *to, size_t bytes, struct ompi_info_t *info,
                  ompi_request_t **request) {
  struct ompi_communicator_t *rail = c->nodes->rail;
  mca_coll_base_comm_coll_t *coll = rail->c_coll;
  struct ompi_datatype_t *byte = &ompi_mpi_byte.dt;
  const coll_smelt_length length = (coll_smelt_length)bytes;
  return to_all(c) ? COLL_SMELT_ON_RAIL(allgather, from, length, byte, to, length, byte)
                   : COLL_SMELT_ON_RAIL(gather, from, length, byte, to, length, byte, coll_smelt_root_seat(c).node);
}

static int by_lower(coll_smelt_crossing *c, char *mine, struct ompi_info_t *info, ompi_request_t **request) {
  struct ompi_communicator_t *rail = c->nodes->rail;
  mca_coll_base_comm_coll_t *coll = rail->c_coll;
  const coll_smelt_call *call = c->call;
  if (to_all(c)) return COLL_SMELT_ON_RAIL(allreduce, MPI_IN_PLACE, mine, call->count, call->type, call->op);
  const bool here = coll_smelt_on_root_node(c);
  return COLL_SMELT_ON_RAIL(reduce, here ? MPI_IN_PLACE : mine, here ? mine : NULL, call->count, call->type, call->op,
                            coll_smelt_root_seat(c).node);
}

/* Every node's operands, `bytes` apart: the last ones, which the others are combined into, from the right. */
static char *last_of_all(const coll_smelt_crossing *c, char *all, size_t bytes) {
  return all + bytes * (size_t)(c->nodes->nodes - 1);
}
static char *combine(const coll_smelt_crossing *c, char *all, size_t bytes, size_t elements) {
  const smelt_fold *fold = &c->terms->fold.fold;
  char *const result = last_of_all(c, all, bytes);
  for (int node = c->nodes->nodes - 2; node >= 0 && elements > 0; --node)
    coll_smelt_combine(fold, all + bytes * (size_t)node, result, elements);
  return result;
}

/* Sliced: leader i gets the i-th slice of everybody, and then everybody the combined ones. */
static int call(coll_smelt_crossing *c, int piece, int i, struct ompi_info_t *info, ompi_request_t **request) {
  struct ompi_communicator_t *rail = c->nodes->rail;
  mca_coll_base_comm_coll_t *coll = rail->c_coll;
  struct ompi_datatype_t *byte = &ompi_mpi_byte.dt;
  const coll_smelt_slot *slot = coll_smelt_slot_of(c, piece);
  const size_t part = own_part(c, piece), slice = slice_of(c, part) * element_of(c);
  const coll_smelt_length length = (coll_smelt_length)slice;
  if (c->way == kLower) return by_lower(c, slot->mine, info, request);
  if (c->way == kWhole) return gather(c, slot->mine, slot->all, part * element_of(c), info, request);
  if (i == 0) return COLL_SMELT_ON_RAIL(alltoall, slot->mine, length, byte, slot->all, length, byte);
  return gather(c, last_of_all(c, slot->all, slice), slot->mine, slice, info, request);
}

/* The sliced way's second half. The last slices may be shorter, or empty. */
static void combine_slice(coll_smelt_crossing *c, int piece) {
  const size_t elements = own_part(c, piece), slice = slice_of(c, elements);
  const size_t before = slice * (size_t)c->nodes->mine.node, left = before < elements ? elements - before : 0;
  if (elements == 0) return;
  (void)combine(c, coll_smelt_slot_of(c, piece)->all, slice * element_of(c), left < slice ? left : slice);
  coll_smelt_between_leaders(c, piece, 1);
}

/* --- 3 */

static void give(coll_smelt_crossing *c, int piece, int place, const char *result) {
  coll_smelt_give(&c->terms->out.data, offset_of(c, piece, place), part_of(c, piece, place) * element_of(c), result);
}

static void to_all_of_node(coll_smelt_crossing *c, int piece, const char *result) {
  const smelt_data *program = &c->terms->out.data;
  const bool together = c->rails > 1 && program->base;
  for (int i = 0; i < c->rails; ++i) {
    const size_t bytes = part_of(c, piece, i) * element_of(c);
    const bool mine = i == c->nodes->mine.place;
    smelt_data data = *program;
    if (mine)
      data = (smelt_data){.base = (void *)result};
    else if (data.base)
      data.base = (char *)data.base + offset_of(c, piece, i);
    if (bytes == 0) continue;
    coll_smelt_broadcast_in_node(c, together ? i : -1, &data, bytes, i);
    if (mine) give(c, piece, i, result);
  }
}

/* Messages within the node; nobody else uses its communicator. */
static void by_messages(coll_smelt_crossing *c, int piece, const char *result) {
  struct ompi_communicator_t *node = c->nodes->node;
  const int me = c->nodes->mine.place;
  if (!coll_smelt_crosses_as_root(c)) {
    coll_smelt_note(&c->error, MCA_PML_CALL(send((void *)result, own_part(c, piece) * element_of(c), &ompi_mpi_byte.dt,
                                                 coll_smelt_root_seat(c).place, MCA_COLL_BASE_TAG_REDUCE,
                                                 MCA_PML_BASE_SEND_STANDARD, node)));
    return;
  }
  for (int i = 0; i < c->rails; ++i) {
    char *received = coll_smelt_slot_of(c, piece)->received;
    if (i != me)
      coll_smelt_note(&c->error, MCA_PML_CALL(recv(received, part_of(c, piece, i) * element_of(c), &ompi_mpi_byte.dt, i,
                                                   MCA_COLL_BASE_TAG_REDUCE, node, MPI_STATUS_IGNORE)));
    give(c, piece, i, i == me ? result : received);
  }
}

/* Where nothing may wait, the result comes to all ranks of the root's node, and the others leave it there. */
static void leave(void *context, size_t offset, size_t bytes, const void *from) {
  (void)context, (void)offset, (void)bytes, (void)from;
}
static void by_broadcast(coll_smelt_crossing *c, char *result) {
  const bool leads = coll_smelt_carries(c);
  const smelt_data data = leads         ? (smelt_data){.base = result}
                          : receives(c) ? c->terms->out.data
                                        : (smelt_data){.unpack = leave};
  if (coll_smelt_root_seat(c).place != 0) coll_smelt_broadcast_in_node(c, -1, &data, c->bytes, 0);
  if (leads && receives(c)) give(c, 0, 0, result);
}

static void deliver(coll_smelt_crossing *c, int piece) {
  const coll_smelt_slot *slot = coll_smelt_slot_of(c, piece);
  const size_t part = own_part(c, piece);
  if (!carrier_receives(c)) return;
  char *const result = !coll_smelt_carries(c) ? NULL
                       : c->way == kWhole     ? combine(c, slot->all, part * element_of(c), part)
                                              : slot->mine;
  if (to_all(c))
    to_all_of_node(c, piece, result);
  else if (c->mode != COLL_SMELT_BLOCKING)
    by_broadcast(c, result);
  else if (coll_smelt_crosses_as_root(c) || coll_smelt_carries(c))
    by_messages(c, piece, result);
}

/* --- the whole: each step is four stages, of which each is for another piece */

enum { kWithin, kBetween, kSlices, kDeliver, kStages };

/* Steps from one stage of a piece to the next, and from the first to the last. */
static int later(const coll_smelt_crossing *c) { return c->pieces > 1; }
static int last(const coll_smelt_crossing *c) { return c->way == kSliced ? 2 * later(c) : later(c); }

static int piece_of(const coll_smelt_crossing *c, int stage) {
  const int step = stage / kStages, kind = stage % kStages;
  return kind == kDeliver ? step - last(c) : kind == kSlices ? step - later(c) : step;
}
static bool is_begun(const coll_smelt_crossing *c, int stage) {
  const int piece = piece_of(c, stage), kind = stage % kStages;
  if (piece < 0 || piece >= c->pieces) return false;
  return kind == kWithin || kind == kDeliver || (coll_smelt_carries(c) && (kind == kBetween || c->way == kSliced));
}

static int stages(const coll_smelt_crossing *c) { return kStages * (c->pieces + last(c)); }

static coll_smelt_slot *needed(coll_smelt_crossing *c, int stage) {
  return stage % kStages >= kSlices && is_begun(c, stage) ? coll_smelt_slot_of(c, piece_of(c, stage)) : NULL;
}

static void begin(coll_smelt_crossing *c, int stage) {
  const int piece = piece_of(c, stage);
  if (!is_begun(c, stage)) return;
  switch (stage % kStages) {
    case kWithin: within_node(c, piece); break;
    case kBetween:
      if (own_part(c, piece) > 0) coll_smelt_between_leaders(c, piece, 0);
      break;
    case kSlices: combine_slice(c, piece); break;
    case kDeliver: deliver(c, piece); break;
  }
}

const coll_smelt_course coll_smelt_reduction_course = {room, open_call, close_call, call, stages, needed, begin};
