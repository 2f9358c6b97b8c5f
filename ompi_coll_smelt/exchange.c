/* Blocks of MPI as lists of the group's. Those without gaps are read and written where they are; others, and blocks
 * that are overwritten in place, pass through memory of their own. */
#include "exchange.h"

#include <string.h>

static ptrdiff_t extent_of(const struct ompi_datatype_t *type) { return type->super.ub - type->super.lb; }
static size_t bytes_of(const coll_smelt_part *part) { return part->type->super.size * part->count; }

/* The program's i-th block. */
static coll_smelt_part block_of(const coll_smelt_side *side, int i) {
  coll_smelt_part part = {(char *)side->buffer, (size_t)side->count, side->types ? side->types[i] : side->type};
  switch (side->how) {
    case COLL_SMELT_ONE: return part;
    case COLL_SMELT_ALIKE: return part.at += i * (ptrdiff_t)part.count * extent_of(part.type), part;
    case COLL_SMELT_BY_ELEMENTS: part.at += coll_smelt_place_of(side->places, i) * extent_of(part.type); break;
    case COLL_SMELT_BY_BYTES: part.at += coll_smelt_place_of(side->places, i); break;
    case COLL_SMELT_BY_FAR_BYTES: part.at += coll_smelt_far_place_of(side->far_places, i); break;
  }
  part.count = coll_smelt_count_of(side->counts, i);
  return part;
}

static bool in_one_piece(const coll_smelt_part *part) {
  return ompi_datatype_is_contiguous_memory_layout(part->type, part->count > 1 ? 2 : 1);
}

/* A side's blocks in the order of the group's lists, which is that of the ranks. */
typedef struct row {
  const coll_smelt_side *side;
  const coll_smelt_neighbour *neighbours; /* NULL: all ranks */
  int count;
} row;

static row row_of(const coll_smelt_module *module, const coll_smelt_exchange *exchange, bool out) {
  const coll_smelt_side *side = out ? &exchange->out : &exchange->in;
  const coll_smelt_neighbours *all = module->neighbours;
  if (!exchange->of_neighbours) return (row){side, NULL, coll_smelt_size(module)};
  return out ? (row){side, all->list, all->outgoing} : (row){side, all->list + all->outgoing, all->incoming};
}
static int peer_of(const row *r, int k) { return r->neighbours ? r->neighbours[k].peer : k; }
static coll_smelt_part part_of(const row *r, int k) {
  if (OPAL_UNLIKELY(r->side->kept != NULL)) return r->side->kept[k];
  return block_of(r->side, r->neighbours ? r->neighbours[k].block : k);
}

int coll_smelt_exchange_blocks(const coll_smelt_module *module, const coll_smelt_exchange *exchange, bool out) {
  return row_of(module, exchange, out).count;
}
coll_smelt_part coll_smelt_exchange_block(const coll_smelt_module *module, const coll_smelt_exchange *exchange,
                                          bool out, int k, int *peer) {
  const row r = row_of(module, exchange, out);
  *peer = peer_of(&r, k);
  return part_of(&r, k);
}

/* --- what persistent calls keep */

int coll_smelt_exchange_keep(const coll_smelt_module *module, coll_smelt_exchange *exchange) {
  if (exchange->of_neighbours && !coll_smelt_neighbours_of((coll_smelt_module *)module))
    return OMPI_ERR_OUT_OF_RESOURCE;
  const row rows[] = {row_of(module, exchange, true), row_of(module, exchange, false)};
  coll_smelt_part *parts = malloc((size_t)(rows[0].count + rows[1].count + 1) * sizeof *parts);
  if (!parts) return OMPI_ERR_OUT_OF_RESOURCE;
  coll_smelt_part *next = parts;
  for (int r = 0; r < 2; ++r)
    for (int k = 0; k < rows[r].count; ++k, ++next) {
      *next = part_of(&rows[r], k);
      if (!ompi_datatype_is_predefined(next->type)) OBJ_RETAIN(next->type);
    }
  exchange->out.kept = parts;
  exchange->in.kept = parts + rows[0].count;
  return OMPI_SUCCESS;
}

void coll_smelt_exchange_forget(const coll_smelt_module *module, coll_smelt_exchange *exchange) {
  if (!exchange->out.kept) return;
  const int count = row_of(module, exchange, true).count + row_of(module, exchange, false).count;
  coll_smelt_part *parts = (coll_smelt_part *)exchange->out.kept;
  for (int k = 0; k < count; ++k)
    if (!ompi_datatype_is_predefined(parts[k].type)) OBJ_RELEASE(parts[k].type);
  free(parts);
}

/* --- memory for lists: a module keeps that of the last call for the next */

/* acquire and release: another thread's use of that memory before is over. */
static struct coll_smelt_lists *take_lists(coll_smelt_module *module, size_t blocks) {
  struct coll_smelt_lists *lists = atomic_exchange_explicit(&module->lists, NULL, memory_order_acquire);
  if (OPAL_LIKELY(lists && lists->room >= blocks)) return lists;
  free(lists);
  lists = malloc(sizeof *lists + blocks * sizeof lists->blocks[0]);
  if (lists) lists->room = blocks;
  return lists;
}
static void give_lists(coll_smelt_module *module, struct coll_smelt_lists *lists) {
  free(atomic_exchange_explicit(&module->lists, lists, memory_order_acq_rel));
}

/* --- the form */

/* Bytes of the blocks that cannot stay where they are. */
static size_t apart(const row *r, bool all) {
  size_t bytes = 0;
  for (int k = 0; k < r->count; ++k) {
    const coll_smelt_part part = part_of(r, k);
    if (all || !in_one_piece(&part)) bytes += bytes_of(&part);
  }
  return bytes;
}

/* Lists a side's blocks; those that cannot stay where they are lie one after the other from `aside` on. */
static void list(const row *r, bool all, char *aside, bool packs, smelt_block *blocks) {
  for (int k = 0; k < r->count; ++k) {
    const coll_smelt_part part = part_of(r, k);
    blocks[k] = (smelt_block){(unsigned)peer_of(r, k), part.at + part.type->super.true_lb, bytes_of(&part)};
    if (OPAL_LIKELY(!all && in_one_piece(&part))) continue;
    blocks[k].base = aside;
    if (packs && blocks[k].bytes > 0) coll_smelt_pack(part.type, part.count, part.at, aside);
    aside += blocks[k].bytes;
  }
}

/* No rank knows what the others send, so a nonblocking one needs memory for messages of any length. */
size_t coll_smelt_prepare_exchange(const coll_smelt_module *module, coll_smelt_call *call) {
  return (void)module, (void)call, SIZE_MAX;
}

int coll_smelt_open_exchange(coll_smelt_terms *terms, const coll_smelt_module *constant, const coll_smelt_call *call) {
  coll_smelt_module *module = (coll_smelt_module *)constant;
  const coll_smelt_exchange *exchange = call->exchange;
  if (exchange->of_neighbours && !coll_smelt_neighbours_of(module)) return OMPI_ERR_OUT_OF_RESOURCE;
  const row out = row_of(module, exchange, true), in = row_of(module, exchange, false);
  const size_t read = apart(&out, exchange->in_place), written = apart(&in, false);
  terms->aside = terms->packed = NULL;
  terms->outgoing = (size_t)out.count, terms->incoming = (size_t)in.count;
  terms->lists = take_lists(module, terms->outgoing + terms->incoming);
  if (!terms->lists || (read > 0 && !(terms->aside = malloc(read))) ||
      (written > 0 && !(terms->packed = malloc(written)))) {
    free(terms->aside);
    free(terms->lists);
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  list(&out, exchange->in_place, terms->aside, true, terms->lists->blocks);
  list(&in, false, terms->packed, false, terms->lists->blocks + out.count);
  return OMPI_SUCCESS;
}
void coll_smelt_close_exchange(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call,
                               int error) {
  const smelt_block *blocks = terms->lists->blocks + terms->outgoing;
  const row in = row_of(module, call->exchange, false);
  for (int k = 0; terms->packed && error == 0 && k < in.count; ++k) {
    const coll_smelt_part part = part_of(&in, k);
    if (!in_one_piece(&part) && bytes_of(&part) > 0) coll_smelt_unpack(part.type, part.count, part.at, blocks[k].base);
  }
  free(terms->aside);
  free(terms->packed);
  give_lists((coll_smelt_module *)module, terms->lists);
}
