/* Blocks of MPI as lists of the group's. Those without gaps are read and written where they are; others, and what is
 * overwritten in place, pass through memory of their own. */
#include "exchange.h"

#include <string.h>

/* A block as the program described it. */
typedef struct block {
  char *at;
  size_t count;
  struct ompi_datatype_t *type;
} block;

static ptrdiff_t extent_of(const struct ompi_datatype_t *type) { return type->super.ub - type->super.lb; }
static size_t bytes_of(const block *b) { return b->type->super.size * b->count; }

static block block_of(const coll_smelt_side *side, int i) {
  block b = {(char *)side->buffer, (size_t)side->count, side->types ? side->types[i] : side->type};
  switch (side->how) {
    case COLL_SMELT_ONE: return b;
    case COLL_SMELT_ALIKE: return b.at += i * (ptrdiff_t)b.count * extent_of(b.type), b;
    case COLL_SMELT_BY_ELEMENTS: b.at += coll_smelt_place_of(side->places, i) * extent_of(b.type); break;
    case COLL_SMELT_BY_BYTES: b.at += coll_smelt_place_of(side->places, i); break;
    case COLL_SMELT_BY_FAR_BYTES: b.at += coll_smelt_far_place_of(side->far_places, i); break;
  }
  b.count = coll_smelt_count_of(side->counts, i);
  return b;
}

static bool in_one_piece(const block *b) {
  return ompi_datatype_is_contiguous_memory_layout(b->type, b->count > 1 ? 2 : 1);
}

static int blocks_of(const coll_smelt_module *module, const coll_smelt_side *side) {
  (void)side;
  return coll_smelt_size(module);
}

void coll_smelt_exchange_types(const coll_smelt_module *module, const coll_smelt_exchange *exchange,
                               void (*each)(struct ompi_datatype_t *type)) {
  const coll_smelt_side *const sides[] = {&exchange->out, &exchange->in};
  for (int s = 0; s < 2; ++s) {
    if (!sides[s]->types) each(sides[s]->type);
    for (int i = 0; sides[s]->types && i < blocks_of(module, sides[s]); ++i) each(sides[s]->types[i]);
  }
}

/* --- memory for lists: a module keeps that of the last call for the next */

struct coll_smelt_lists {
  size_t room;
  smelt_block blocks[];
};

/* acquire and release: what another thread did with that memory before is over. */
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
void coll_smelt_exchange_end(coll_smelt_module *module) { give_lists(module, NULL); }

/* --- the form */

/* Bytes of the blocks that cannot stay where they are. */
static size_t apart(const coll_smelt_module *module, const coll_smelt_side *side, bool all) {
  size_t bytes = 0;
  for (int i = 0; i < blocks_of(module, side); ++i) {
    const block b = block_of(side, i);
    if (all || !in_one_piece(&b)) bytes += bytes_of(&b);
  }
  return bytes;
}

/* Lists a side's blocks; those that cannot stay where they are lie one after the other from `aside` on. */
static void list(const coll_smelt_module *module, const coll_smelt_side *side, bool all, char *aside, bool packs,
                 smelt_block *list) {
  for (int i = 0; i < blocks_of(module, side); ++i) {
    const block b = block_of(side, i);
    list[i] = (smelt_block){(unsigned)i, b.at + b.type->super.true_lb, bytes_of(&b)};
    if (OPAL_LIKELY(!all && in_one_piece(&b))) continue;
    list[i].base = aside;
    if (packs && list[i].bytes > 0) coll_smelt_pack(b.type, b.count, b.at, aside);
    aside += list[i].bytes;
  }
}

static int open_exchange(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call) {
  const coll_smelt_exchange *e = call->exchange;
  const size_t outgoing = (size_t)blocks_of(module, &e->out), incoming = (size_t)blocks_of(module, &e->in);
  const size_t read = apart(module, &e->out, e->in_place), written = apart(module, &e->in, false);
  terms->aside = terms->packed = NULL;
  terms->lists = take_lists((coll_smelt_module *)module, outgoing + incoming);
  if (!terms->lists || (read > 0 && !(terms->aside = malloc(read))) ||
      (written > 0 && !(terms->packed = malloc(written)))) {
    free(terms->aside);
    free(terms->lists);
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  terms->outgoing = outgoing, terms->incoming = incoming;
  list(module, &e->out, e->in_place, terms->aside, true, terms->lists->blocks);
  list(module, &e->in, false, terms->packed, false, terms->lists->blocks + outgoing);
  return OMPI_SUCCESS;
}
static int run_exchange(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call) {
  const smelt_block *out = terms->lists->blocks;
  (void)call;
  return smelt_group_exchange(group, out, terms->outgoing, out + terms->outgoing, terms->incoming);
}
static int start_exchange(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call,
                          smelt_request *request) {
  const smelt_block *out = terms->lists->blocks;
  (void)call;
  return smelt_group_start_exchange(group, out, terms->outgoing, out + terms->outgoing, terms->incoming, request);
}
static void close_exchange(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call,
                           int error) {
  const smelt_block *in = terms->lists->blocks + terms->outgoing;
  for (int i = 0; terms->packed && error == 0 && i < blocks_of(module, &call->exchange->in); ++i) {
    const block b = block_of(&call->exchange->in, i);
    if (!in_one_piece(&b) && bytes_of(&b) > 0) coll_smelt_unpack(b.type, b.count, b.at, in[i].base);
  }
  free(terms->aside);
  free(terms->packed);
  give_lists((coll_smelt_module *)module, terms->lists);
}
const struct coll_smelt_form coll_smelt_form_exchange = {open_exchange, run_exchange, start_exchange, close_exchange};
