/* Broadcast over several nodes.
 *
 *   1. within the root's node: from the root to all, its leader among them
 *   2. from the leader of the root's node to the other leaders; a long message shared out among the rails
 *   3. within the other nodes: from the leader, or each part from the rank that has it, to all
 *
 * A root that does not lead costs a hop through memory and none over the network. A long message goes in pieces: while
 * memory moves one, the next are on the network, one for each slot, which the receivers have asked for already.
 *
 * The carriers handle packed bytes, in the program's own buffer where its type has no gaps, otherwise in the slots. */
#include "stages.h"

static const smelt_data *program(const coll_smelt_crossing *c) { return &c->terms->out.data; }
static size_t at(const coll_smelt_crossing *c, int piece) { return (size_t)piece * c->piece; }
static size_t length_of(const coll_smelt_crossing *c, int piece) {
  return c->bytes - at(c, piece) < c->piece ? c->bytes - at(c, piece) : c->piece;
}
static size_t part_at(const coll_smelt_crossing *c, int piece, int place) {
  return coll_smelt_part_at(length_of(c, piece), c->rails, place);
}
static size_t part_of(const coll_smelt_crossing *c, int piece, int place) {
  return coll_smelt_part_length(length_of(c, piece), c->rails, place);
}

static bool has_gaps(const coll_smelt_call *call) {
  return !ompi_datatype_is_contiguous_memory_layout(call->type, call->count > 1 ? 2 : 1);
}

/* The place where a carrier has the piece's bytes. */
static char *place_of(coll_smelt_crossing *c, int piece) {
  return has_gaps(c->call) ? coll_smelt_slot_of(c, piece)->mine
                           : (char *)c->call->receive + c->call->type->super.true_lb + at(c, piece);
}

static size_t room(coll_smelt_crossing *c, char *memory) {
  const bool blocking = c->mode == COLL_SMELT_BLOCKING;
  c->bytes = coll_smelt_bytes(c->call->type, c->call->count);
  c->piece = blocking && c->bytes > COLL_SMELT_NODES_PIECE ? COLL_SMELT_NODES_PIECE : c->bytes;
  c->pieces = (int)((c->bytes + c->piece - 1) / c->piece);
  c->rails = blocking && c->bytes >= COLL_SMELT_NODES_SHARED ? c->nodes->rails : 1;
  c->calls = 1;
  if (!coll_smelt_carries(c) || !has_gaps(c->call)) return 0;
  const int used = c->pieces < COLL_SMELT_NODES_SLOTS ? c->pieces : COLL_SMELT_NODES_SLOTS;
  for (int i = 0; memory && i < used; ++i) c->slots[i].mine = memory + (size_t)i * c->piece;
  return (size_t)used * c->piece;
}

static int open_call(coll_smelt_crossing *c) {
  coll_smelt_data_open(&c->terms->out, c->call->receive, c->call->count, c->call->type, !coll_smelt_crosses_as_root(c));
  return OMPI_SUCCESS;
}
static void close_call(coll_smelt_crossing *c) { coll_smelt_data_close(&c->terms->out); }

/* Step 2. */
static int call(coll_smelt_crossing *c, int piece, int i, struct ompi_info_t *info, ompi_request_t **request) {
  struct ompi_communicator_t *rail = c->nodes->rail;
  mca_coll_base_comm_coll_t *coll = rail->c_coll;
  const int place = c->nodes->mine.place;
  (void)i;
  return COLL_SMELT_ON_RAIL(bcast, place_of(c, piece) + part_at(c, piece, place),
                            (coll_smelt_length)part_of(c, piece, place), &ompi_mpi_byte.dt,
                            coll_smelt_root_seat(c).node);
}
static void between_nodes(coll_smelt_crossing *c, int piece) {
  if (coll_smelt_carries(c) && piece < c->pieces && part_of(c, piece, c->nodes->mine.place) > 0)
    coll_smelt_between_leaders(c, piece, 0);
}

/* Step 1, and what a carrier that is not the root keeps of it. */
static void from_root(coll_smelt_crossing *c, int piece) {
  const bool carries = coll_smelt_carries(c);
  const size_t bytes = length_of(c, piece);
  smelt_data data = *program(c);
  if (carries)
    data = (smelt_data){.base = place_of(c, piece)};
  else if (data.base)
    data.base = (char *)data.base + at(c, piece);
  if (carries && coll_smelt_crosses_as_root(c)) coll_smelt_fetch(program(c), at(c, piece), bytes, data.base);
  coll_smelt_broadcast_in_node(c, -1, &data, bytes, coll_smelt_root_seat(c).place);
}
static void keep(coll_smelt_crossing *c, int piece) {
  if (coll_smelt_carries(c) && !program(c)->base && !coll_smelt_crosses_as_root(c))
    coll_smelt_give(program(c), at(c, piece), length_of(c, piece), place_of(c, piece));
}

/* Step 3. Parts that go to and from contiguous memory are under way together; otherwise they come in their order. */
static void from_carriers(coll_smelt_crossing *c, int piece) {
  const bool together = c->rails > 1 && program(c)->base;
  for (int i = 0; i < c->rails; ++i) {
    const size_t bytes = part_of(c, piece, i), begin = at(c, piece) + part_at(c, piece, i);
    const bool mine = i == c->nodes->mine.place;
    smelt_data data = *program(c);
    if (bytes == 0) continue;
    if (mine)
      data = (smelt_data){.base = place_of(c, piece) + part_at(c, piece, i)};
    else if (data.base)
      data.base = (char *)data.base + begin;
    coll_smelt_broadcast_in_node(c, together ? i : -1, &data, bytes, i);
    if (mine && !program(c)->base) coll_smelt_give(program(c), begin, bytes, data.base);
  }
}

/* On the root's node a piece has two stages: from the root; to the other nodes. On the others the first pieces are
 * asked for, and then a piece has two: to all of the node; the one that takes its slot is asked for. */
static int stages(const coll_smelt_crossing *c) { return 2 * c->pieces + !coll_smelt_on_root_node(c); }

static coll_smelt_slot *needed(coll_smelt_crossing *c, int stage) {
  if (coll_smelt_on_root_node(c)) return stage % 2 == 0 ? coll_smelt_slot_of(c, stage / 2) : NULL;
  return stage % 2 == 1 ? coll_smelt_slot_of(c, stage / 2) : NULL;
}

static void begin(coll_smelt_crossing *c, int stage) {
  const int piece = stage / 2;
  if (coll_smelt_on_root_node(c)) {
    if (stage % 2 == 0) {
      from_root(c, piece);
    } else {
      keep(c, piece);
      between_nodes(c, piece);
    }
  } else if (stage == 0) {
    for (int i = 0; i < COLL_SMELT_NODES_SLOTS; ++i) between_nodes(c, i);
  } else if (stage % 2 == 1) {
    from_carriers(c, piece);
  } else {
    between_nodes(c, piece - 1 + COLL_SMELT_NODES_SLOTS);
  }
}

const coll_smelt_course coll_smelt_broadcast_course = {room, open_call, close_call, call, stages, needed, begin};
