/* The nonblocking and the persistent forms of barrier, broadcast, reduce, allreduce and allgather over several nodes.
 *
 * The steps are those of the blocking forms (node_barrier.c and so on): within each node, between the leaders, within
 * each node again. Nothing may wait, so each operation is a row of stages. A stage starts something and returns: an
 * operation of the node's group, or, on a leader, a nonblocking collective of the component below; the next one begins
 * once that is complete. requests.c advances the first operation of each lane, within Open MPI's progress.
 *
 * All ranks of a node start the group's operations in one order, and all leaders theirs, as each lane has only one
 * under way, and blocking calls wait until it is empty. Persistent requests, which ranks may start in different orders,
 * have a lane and a group of their own, and between leaders persistent requests of the component below, made when they
 * are made themselves: that component keeps those apart.
 *
 * What all ranks must agree on is left to blocking calls, and to what makes a persistent request, as within one node
 * (nonblocking.c). Messages go in one piece by one leader of each node. Reductions have the bits of the blocking ones:
 * the leaders combine the nodes' results in the same order. */
#include "node_stages.h"

#include "reduction.h"

#include <limits.h>
#include <string.h>

enum { kAlignment = 64, kShort = 32768, kMostCalls = 2 };

typedef coll_smelt_operation operation;

/* Between the leaders, of a reduction: see node_reductions.c. */
typedef enum way { kLower, kWhole, kSliced } way;

struct course;

typedef struct stages {
  const struct course *course;
  int next;                               /* stage */
  int error;                              /* the first; the others go on, so that nobody waits for this rank */
  smelt_request second;                   /* of the group; operation->request is the first */
  ompi_request_t *on_network;             /* NULL: nothing */
  ompi_request_t *persistent[kMostCalls]; /* of the component below */
  char token, arrived;                    /* barrier */
  way way;
  size_t bytes;         /* of the message; allgather: of a block */
  char *mine, *all;     /* leaders: the node's result, everybody's; allgather: all blocks */
  int *counts, *places; /* leaders, allgather: each node's row */
} stages;

/* A collective. room: finds out what memory it needs, and given that, puts its pointers into it. open and close: what
 * the program said, for one time. call: the i-th that the leaders make; of a persistent request, to be made now and
 * started later. stage: starts it; false: there is none. */
typedef struct course {
  int calls;
  size_t (*room)(operation *o, char *memory);
  int (*open)(operation *o);
  void (*close)(operation *o);
  int (*call)(operation *o, int i, struct ompi_info_t *info, ompi_request_t **request);
  bool (*stage)(operation *o, int stage);
} course;

static stages *stages_of(const operation *o) { return o->state; }
static bool leads(const operation *o) { return coll_smelt_nodes_leads(o->nodes); }
static bool is_root(const operation *o) { return ompi_comm_rank(o->nodes->comm) == o->call.root; }
static coll_smelt_seat root_seat(const operation *o) { return o->nodes->seats[o->call.root]; }
static bool on_root_node(const operation *o) { return o->nodes->mine.node == root_seat(o).node; }
static size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/* NAME of the component below, nonblocking or made to be persistent. */
#define ON_RAIL(name, ...)                                                                           \
  (coll_smelt_is_persistent(o)                                                                       \
       ? coll->coll_##name##_init(__VA_ARGS__, rail, info, request, coll->coll_##name##_init_module) \
       : coll->coll_i##name(__VA_ARGS__, rail, request, coll->coll_i##name##_module))

static void between_leaders(operation *o, int i) {
  stages *s = stages_of(o);
  int error;
  if (coll_smelt_is_persistent(o)) {
    s->on_network = s->persistent[i];
    error = s->on_network->req_start(1, &s->on_network);
  } else {
    error = s->course->call(o, i, NULL, &s->on_network);
  }
  coll_smelt_note(&s->error, error);
  if (error != OMPI_SUCCESS) s->on_network = NULL;
}

/* A start that fails counts as complete, with its error, so what it returns need not be looked at. */
static void broadcast_in_node(operation *o, const smelt_data *data, size_t bytes, int root, smelt_request *request) {
  if (o->group && bytes > 0) (void)smelt_group_start_broadcast(o->group, data, bytes, (unsigned)root, request);
}

/* Between a leader's own packed bytes and what the program has. */
static void give(const smelt_data *to, size_t bytes, const char *from) {
  if (to->base)
    memcpy(to->base, from, bytes);
  else
    to->unpack(to->context, 0, bytes, from);
}
static void fetch(const smelt_data *from, size_t bytes, char *to) {
  if (!from->base)
    from->pack(from->context, 0, bytes, to);
  else if (from->base != to)
    memcpy(to, from->base, bytes);
}

/* --- barrier */

static void nothing_to_combine(void *context, const void *left, void *right, size_t elements) {
  (void)context, (void)left, (void)right, (void)elements;
}

static size_t room_of_barrier(operation *o, char *memory) { return (void)o, (void)memory, 0; }
static int open_barrier(operation *o) { return (void)o, OMPI_SUCCESS; }
static void close_barrier(operation *o) { (void)o; }

static int call_barrier(operation *o, int i, struct ompi_info_t *info, ompi_request_t **request) {
  struct ompi_communicator_t *rail = o->nodes->rail;
  mca_coll_base_comm_coll_t *coll = rail->c_coll;
  (void)i;
  return coll_smelt_is_persistent(o) ? coll->coll_barrier_init(rail, info, request, coll->coll_barrier_init_module)
                                     : coll->coll_ibarrier(rail, request, coll->coll_ibarrier_module);
}

static bool stage_of_barrier(operation *o, int stage) {
  static const smelt_fold arrive = {
      .element_bytes = 1, .into_right = nothing_to_combine, .flags = SMELT_FOLD_ANY_ORDER | SMELT_FOLD_COMMUTES};
  stages *s = stages_of(o);
  const smelt_data token = {.base = &s->token}, arrived = {.base = &s->arrived};
  switch (stage) {
    case 0:
      if (o->group) (void)smelt_group_start_reduce(o->group, &token, &arrived, 1, &arrive, 0, &o->request);
      return true;
    case 1:
      if (leads(o)) between_leaders(o, 0);
      return true;
    case 2: broadcast_in_node(o, &token, 1, 0, &o->request); return true;
    default: return false;
  }
}

static const course barrier_course = {1, room_of_barrier, open_barrier, close_barrier, call_barrier, stage_of_barrier};

/* --- broadcast */

/* Where the leader has the bytes: in the program's buffer, or, where that has gaps, in `mine`. */
static bool has_gaps(const coll_smelt_call *call) {
  return !ompi_datatype_is_contiguous_memory_layout(call->type, call->count > 1 ? 2 : 1);
}

static size_t room_of_broadcast(operation *o, char *memory) {
  stages *s = stages_of(o);
  s->bytes = coll_smelt_bytes(o->call.type, o->call.count);
  if (!leads(o)) return 0;
  const bool aside = has_gaps(&o->call);
  s->mine = aside ? memory : (char *)o->call.receive + o->call.type->super.true_lb;
  return aside ? s->bytes : 0;
}

static int open_broadcast(operation *o) {
  coll_smelt_data_open(&o->terms.out, o->call.receive, o->call.count, o->call.type, !is_root(o));
  return OMPI_SUCCESS;
}
static void close_broadcast(operation *o) { coll_smelt_data_close(&o->terms.out); }

static int call_broadcast(operation *o, int i, struct ompi_info_t *info, ompi_request_t **request) {
  struct ompi_communicator_t *rail = o->nodes->rail;
  mca_coll_base_comm_coll_t *coll = rail->c_coll;
  (void)i;
  return ON_RAIL(bcast, stages_of(o)->mine, (coll_smelt_length)stages_of(o)->bytes, &ompi_mpi_byte.dt,
                 root_seat(o).node);
}

static bool stage_of_broadcast(operation *o, int stage) {
  stages *s = stages_of(o);
  const smelt_data *program = &o->terms.out.data;
  const bool aside = leads(o) && !program->base;
  const smelt_data data = aside ? (smelt_data){.base = s->mine} : *program;
  switch (stage) {
    case 0:
      if (!on_root_node(o)) return true;
      if (aside && is_root(o)) fetch(program, s->bytes, s->mine);
      broadcast_in_node(o, &data, s->bytes, root_seat(o).place, &o->request);
      return true;
    case 1:
      if (leads(o)) between_leaders(o, 0);
      return true;
    case 2:
      if (!on_root_node(o)) broadcast_in_node(o, &data, s->bytes, 0, &o->request);
      if (aside && !is_root(o)) give(program, s->bytes, s->mine);
      return true;
    default: return false;
  }
}

static const course broadcast_course = {
    1, room_of_broadcast, open_broadcast, close_broadcast, call_broadcast, stage_of_broadcast};

/* --- reduce and allreduce */

static bool to_all(const operation *o) { return o->which == SMELT_COLLECTIVE_ALLREDUCE; }
static bool receives(const operation *o) { return to_all(o) || is_root(o); }
/* Of the leaders: who has the result once they have met. */
static bool leader_receives(const operation *o) { return to_all(o) || on_root_node(o); }

static size_t elements(const operation *o) { return (size_t)o->call.count; }
static size_t slice_of(const operation *o) {
  return (elements(o) + (size_t)o->nodes->nodes - 1) / (size_t)o->nodes->nodes;
}
static size_t slice_bytes(const operation *o) { return slice_of(o) * o->call.type->super.size; }

static way way_of(const operation *o) {
  const int nodes = o->nodes->nodes;
  if (coll_smelt_any_order(o->call.op, o->call.type) && coll_smelt_gapless(o->call.type)) return kLower;
  return nodes == 2 || stages_of(o)->bytes * (size_t)nodes <= kShort ? kWhole : kSliced;
}

static size_t room_of_reduction(operation *o, char *memory) {
  stages *s = stages_of(o);
  const size_t nodes = (size_t)o->nodes->nodes;
  s->bytes = coll_smelt_operand_bytes(&o->call);
  s->way = way_of(o);
  if (!leads(o)) return 0;
  const size_t slices = slice_bytes(o) * nodes, mine = aligned(slices);
  s->mine = memory;
  s->all = memory ? memory + mine : NULL;
  return mine + (s->way == kLower ? 0 : s->way == kWhole ? s->bytes * nodes : slices);
}

static int open_reduction(operation *o) { return coll_smelt_open_reduction(&o->terms, &o->call, receives(o)); }
static void close_reduction(operation *o) {
  if (receives(o)) coll_smelt_data_close(&o->terms.out);
  coll_smelt_data_close(&o->terms.in);
  coll_smelt_fold_close(&o->terms.fold);
}

/* Every node's operands, `bytes` apart: the last ones, which the others are combined into. */
static char *last_of_all(const operation *o, size_t bytes) {
  return stages_of(o)->all + bytes * (size_t)(o->nodes->nodes - 1);
}
static char *combine(operation *o, size_t bytes, size_t count) {
  const smelt_fold *fold = &o->terms.fold.fold;
  char *const result = last_of_all(o, bytes);
  for (int node = o->nodes->nodes - 2; node >= 0 && count > 0; --node)
    fold->into_right(fold->context, stages_of(o)->all + bytes * (size_t)node, result, count);
  return result;
}
/* The last slices may be shorter, or empty. */
static void combine_slice(operation *o) {
  const size_t slice = slice_of(o), before = slice * (size_t)o->nodes->mine.node;
  const size_t left = before < elements(o) ? elements(o) - before : 0;
  (void)combine(o, slice_bytes(o), left < slice ? left : slice);
}

static int gather(operation *o, const char *from, char *to, size_t bytes, struct ompi_info_t *info,
                  ompi_request_t **request) {
  struct ompi_communicator_t *rail = o->nodes->rail;
  mca_coll_base_comm_coll_t *coll = rail->c_coll;
  struct ompi_datatype_t *byte = &ompi_mpi_byte.dt;
  const coll_smelt_length length = (coll_smelt_length)bytes;
  return to_all(o) ? ON_RAIL(allgather, from, length, byte, to, length, byte)
                   : ON_RAIL(gather, from, length, byte, to, length, byte, root_seat(o).node);
}

static int by_lower(operation *o, struct ompi_info_t *info, ompi_request_t **request) {
  struct ompi_communicator_t *rail = o->nodes->rail;
  mca_coll_base_comm_coll_t *coll = rail->c_coll;
  const coll_smelt_call *call = &o->call;
  char *const mine = stages_of(o)->mine;
  if (to_all(o)) return ON_RAIL(allreduce, MPI_IN_PLACE, mine, call->count, call->type, call->op);
  return ON_RAIL(reduce, on_root_node(o) ? MPI_IN_PLACE : mine, on_root_node(o) ? mine : NULL, call->count, call->type,
                 call->op, root_seat(o).node);
}

static int call_reduction(operation *o, int i, struct ompi_info_t *info, ompi_request_t **request) {
  struct ompi_communicator_t *rail = o->nodes->rail;
  mca_coll_base_comm_coll_t *coll = rail->c_coll;
  struct ompi_datatype_t *byte = &ompi_mpi_byte.dt;
  stages *s = stages_of(o);
  const coll_smelt_length length = (coll_smelt_length)slice_bytes(o);
  if (s->way == kLower) return by_lower(o, info, request);
  if (s->way == kWhole) return gather(o, s->mine, s->all, s->bytes, info, request);
  if (i == 0) return ON_RAIL(alltoall, s->mine, length, byte, s->all, length, byte);
  return gather(o, last_of_all(o, slice_bytes(o)), s->mine, slice_bytes(o), info, request);
}

/* The result comes to all ranks of the root's node, and the others leave it there. */
static void leave(void *context, size_t offset, size_t bytes, const void *from) {
  (void)context, (void)offset, (void)bytes, (void)from;
}

static void deliver(operation *o) {
  stages *s = stages_of(o);
  smelt_data data = receives(o) ? o->terms.out.data : (smelt_data){.unpack = leave};
  if (!leader_receives(o)) return;
  if (leads(o)) data = (smelt_data){.base = s->way == kWhole ? combine(o, s->bytes, elements(o)) : s->mine};
  if (to_all(o) || root_seat(o).place != 0) broadcast_in_node(o, &data, s->bytes, 0, &o->request);
  if (leads(o) && receives(o)) give(&o->terms.out.data, s->bytes, data.base);
}

static bool stage_of_reduction(operation *o, int stage) {
  stages *s = stages_of(o);
  const smelt_data *in = &o->terms.in.data, mine = {.base = leads(o) ? s->mine : NULL};
  switch (stage) {
    case 0:
      if (o->group)
        (void)smelt_group_start_reduce(o->group, in, &mine, elements(o), &o->terms.fold.fold, 0, &o->request);
      else
        fetch(in, s->bytes, s->mine);
      return true;
    case 1:
      if (leads(o)) between_leaders(o, 0);
      return true;
    case 2:
      if (!leads(o) || s->way != kSliced) return true;
      combine_slice(o);
      between_leaders(o, 1);
      return true;
    case 3: deliver(o); return true;
    default: return false;
  }
}

static const course reduction_course = {
    2, room_of_reduction, open_reduction, close_reduction, call_reduction, stage_of_reduction};

/* --- allgather */

static size_t row_at(const operation *o, int node) { return stages_of(o)->bytes * (size_t)o->nodes->before[node]; }
static bool in_place(const operation *o) { return o->call.send == MPI_IN_PLACE; }
static bool elsewhere(const operation *o) { return !o->nodes->consecutive || !coll_smelt_gapless(o->call.type); }

static size_t room_of_allgather(operation *o, char *memory) {
  stages *s = stages_of(o);
  const int nodes = o->nodes->nodes;
  const size_t ints = leads(o) ? aligned((size_t)nodes * sizeof(int)) : 0;
  s->bytes = coll_smelt_bytes(o->call.type, o->call.count);
  s->all = elsewhere(o) && memory ? memory + 2 * ints : (char *)o->call.receive + o->call.type->super.true_lb;
  if (memory && leads(o)) {
    s->counts = (int *)memory;
    s->places = (int *)(memory + ints);
    for (int node = 0; node < nodes; ++node) {
      s->places[node] = (int)row_at(o, node);
      s->counts[node] = (int)(row_at(o, node + 1) - row_at(o, node));
    }
  }
  return 2 * ints + (elsewhere(o) ? row_at(o, nodes) : 0);
}

static int open_allgather(operation *o) {
  const coll_smelt_call *call = &o->call;
  const int me = ompi_comm_rank(o->nodes->comm);
  if (in_place(o))
    coll_smelt_data_open(&o->terms.in, coll_smelt_block(call->receive, call->count, call->type, me), call->count,
                         call->type, false);
  else
    coll_smelt_data_open(&o->terms.in, call->send, call->send_count, call->send_type, false);
  return OMPI_SUCCESS;
}
static void close_allgather(operation *o) { coll_smelt_data_close(&o->terms.in); }

static int call_allgather(operation *o, int i, struct ompi_info_t *info, ompi_request_t **request) {
  struct ompi_communicator_t *rail = o->nodes->rail;
  mca_coll_base_comm_coll_t *coll = rail->c_coll;
  struct ompi_datatype_t *byte = &ompi_mpi_byte.dt;
  const stages *s = stages_of(o);
  (void)i;
  return ON_RAIL(allgatherv, MPI_IN_PLACE, 0, byte, s->all, coll_smelt_counts_of(s->counts),
                 coll_smelt_places_of(s->places), byte);
}

static void from_leader(operation *o, int first, int last, smelt_request *request) {
  const smelt_data rows = {.base = stages_of(o)->all + row_at(o, first)};
  broadcast_in_node(o, &rows, row_at(o, last) - row_at(o, first), 0, request);
}

/* In place, a rank's own is there already. */
static void put_in_places(operation *o) {
  const coll_smelt_nodes *nodes = o->nodes;
  const coll_smelt_call *call = &o->call;
  const int n = ompi_comm_size(nodes->comm), me = ompi_comm_rank(nodes->comm);
  for (int rank = 0; rank < n; ++rank) {
    const coll_smelt_seat seat = nodes->seats[rank];
    const char *from = stages_of(o)->all + stages_of(o)->bytes * (size_t)(nodes->before[seat.node] + seat.place);
    char *to = coll_smelt_block(call->receive, call->count, call->type, rank);
    if (in_place(o) && rank == me) continue;
    if (coll_smelt_gapless(call->type))
      memcpy(to + call->type->super.true_lb, from, stages_of(o)->bytes);
    else
      coll_smelt_unpack(call->type, (size_t)call->count, to, from);
  }
}

static bool stage_of_allgather(operation *o, int stage) {
  stages *s = stages_of(o);
  const int mine = o->nodes->mine.node;
  char *const row = s->all + row_at(o, mine);
  switch (stage) {
    case 0:
      if (o->group)
        (void)smelt_group_start_allgather(o->group, &o->terms.in.data, row, s->bytes, &o->request);
      else
        fetch(&o->terms.in.data, s->bytes, row);
      return true;
    case 1:
      if (leads(o)) between_leaders(o, 0);
      return true;
    case 2:
      from_leader(o, 0, mine, &o->request);
      from_leader(o, mine + 1, o->nodes->nodes, &s->second);
      return true;
    case 3:
      if (elsewhere(o) && s->error == OMPI_SUCCESS) put_in_places(o);
      return true;
    default: return false;
  }
}

static const course allgather_course = {
    1, room_of_allgather, open_allgather, close_allgather, call_allgather, stage_of_allgather};

/* --- an operation of that kind */

static int open(operation *o) {
  stages_of(o)->next = 0;
  stages_of(o)->error = OMPI_SUCCESS;
  return stages_of(o)->course->open(o);
}

/* False: it is not complete. */
static bool group_is_done(stages *s, smelt_request *request) {
  int done;
  if (request->group) (void)smelt_group_test(request, &done);
  if (request->group) return false;
  coll_smelt_note(&s->error, coll_smelt_code(request->result));
  *request = (smelt_request){0};
  return true;
}
static bool network_is_done(stages *s) {
  if (!s->on_network) return true;
  if (!REQUEST_COMPLETE(s->on_network)) return false;
  opal_atomic_rmb(); /* what it brought is read after it was seen to be complete */
  coll_smelt_note(&s->error, ompi_request_wait(&s->on_network, MPI_STATUS_IGNORE));
  s->on_network = NULL;
  return true;
}

static bool step(coll_smelt_queued *queued) {
  operation *o = (operation *)queued;
  stages *s = stages_of(o);
  do {
    if (!group_is_done(s, &o->request) || !group_is_done(s, &s->second) || !network_is_done(s)) return false;
  } while (s->course->stage(o, s->next++));
  s->course->close(o);
  queued->super.super.req_status.MPI_ERROR = s->error;
  return true;
}

static void end(operation *o) {
  for (int i = 0; o->state && i < kMostCalls; ++i)
    if (stages_of(o)->persistent[i]) (void)ompi_request_free(&stages_of(o)->persistent[i]);
  if (coll_smelt_is_persistent(o) && o->group) coll_smelt_group_free(o->group);
}

static const coll_smelt_kind by_stages = {open, step, end};

static const course *course_of(smelt_collective which) {
  switch (which) {
    case SMELT_COLLECTIVE_BARRIER: return &barrier_course;
    case SMELT_COLLECTIVE_BROADCAST: return &broadcast_course;
    case SMELT_COLLECTIVE_ALLGATHER: return &allgather_course;
    default: return &reduction_course;
  }
}

static bool make_room(operation *o) {
  stages *s = o->state = calloc(1, sizeof *s);
  if (!s) return false;
  s->course = course_of(o->which);
  o->request = (smelt_request){0};
  char *const memory = coll_smelt_operation_memory(o, s->course->room(o, NULL));
  if (memory) (void)s->course->room(o, memory);
  return memory != NULL;
}

static operation *operation_of(coll_smelt_nodes *nodes, smelt_collective which, const coll_smelt_call *call,
                               smelt_group *group, bool persistent) {
  operation *o = coll_smelt_operation_new(&by_stages, nodes->comm, nodes, persistent ? NULL : &nodes->lane, which, call,
                                          persistent);
  if (OPAL_UNLIKELY(!o)) return NULL;
  o->nodes = nodes;
  o->group = group;
  return o;
}

/* --- begun */

static int begin(coll_smelt_nodes *nodes, smelt_collective which, const coll_smelt_call *call,
                 ompi_request_t **request) {
  operation *o = operation_of(nodes, which, call, nodes->group, false);
  if (OPAL_UNLIKELY(!o)) return OMPI_ERR_OUT_OF_RESOURCE;
  if (OPAL_UNLIKELY(!make_room(o))) return coll_smelt_operation_discard(o), OMPI_ERR_OUT_OF_RESOURCE;
  return coll_smelt_operation_begin(o, request);
}

/* What a call moves, in bytes. */
static size_t bytes_of(const coll_smelt_nodes *nodes, smelt_collective which, const coll_smelt_call *call) {
  if (which == SMELT_COLLECTIVE_BARRIER) return 0;
  const size_t bytes = coll_smelt_bytes(call->type, call->count);
  return which == SMELT_COLLECTIVE_ALLGATHER ? bytes * (size_t)ompi_comm_size(nodes->comm) : bytes;
}
/* Is there nothing to do? In place MPI says nothing of the sender's type. */
static bool prepare(smelt_collective which, coll_smelt_call *call) {
  if (which == SMELT_COLLECTIVE_ALLGATHER && call->send == MPI_IN_PLACE) call->send_count = 0, call->send_type = NULL;
  return which != SMELT_COLLECTIVE_BARRIER && coll_smelt_bytes(call->type, call->count) == 0;
}

/* Combining node by node keeps the order of the ranks only where a node's ranks follow each other. */
static bool keeps_order(const coll_smelt_nodes *nodes, const coll_smelt_call *call) {
  return !call->op || nodes->consecutive || (call->op->o_flags & OMPI_OP_FLAGS_COMMUTE);
}
static bool is_ordered(const coll_smelt_call *call) { return call->op && !coll_smelt_any_order(call->op, call->type); }
static size_t element_of(const coll_smelt_call *call) { return call->op ? call->type->super.size : 0; }

bool coll_smelt_nodes_begin(coll_smelt_nodes *nodes, smelt_collective which, coll_smelt_call *call,
                            ompi_request_t **request, int *code) {
  if (prepare(which, call)) {
    *request = &ompi_request_empty;
    return *code = OMPI_SUCCESS, true;
  }
  if (which == SMELT_COLLECTIVE_ALLREDUCE && coll_smelt_is_agreement(call->count, call->type, call->op)) return false;
  if (!coll_smelt_nodes_may_begin(nodes, which, is_ordered(call), bytes_of(nodes, which, call), element_of(call)) ||
      !keeps_order(nodes, call)) {
    coll_smelt_increment(&coll_smelt_tally.nonblocking_passed_on[which]);
    return false;
  }
  *code = begin(nodes, which, call, request);
  if (OPAL_LIKELY(*code == OMPI_SUCCESS)) coll_smelt_increment(&coll_smelt_tally.nonblocking_served[which]);
  return true;
}

/* --- made to be begun again and again */

static bool has_room(smelt_group *group, size_t bytes) {
  if (bytes > smelt_group_start_limit(group)) (void)smelt_group_prepare(group);
  return bytes <= smelt_group_start_limit(group);
}

/* A group, memory and an operation, or nothing, on all ranks of all nodes. */
static operation *make(coll_smelt_nodes *nodes, smelt_collective which, const coll_smelt_call *call, size_t bytes) {
  smelt_group *group = nodes->group ? coll_smelt_nodes_group_apart(nodes) : NULL;
  const bool grouped = nodes->group ? group && has_room(group, bytes) : true;
  operation *o = operation_of(nodes, which, call, group, true);
  if (coll_smelt_nodes_agree(nodes, grouped && o && make_room(o))) return o;
  if (o)
    coll_smelt_operation_discard(o);
  else if (group)
    coll_smelt_group_free(group);
  return NULL;
}

/* The leaders' requests of the component below, in the same order on all of them. */
static int make_calls(operation *o, struct ompi_info_t *info) {
  stages *s = stages_of(o);
  const int calls = s->course == &reduction_course && s->way != kSliced ? 1 : s->course->calls;
  int error = OMPI_SUCCESS;
  for (int i = 0; leads(o) && i < calls && error == OMPI_SUCCESS; ++i)
    error = s->course->call(o, i, info, &s->persistent[i]);
  return error;
}

bool coll_smelt_nodes_keep(coll_smelt_nodes *nodes, smelt_collective which, coll_smelt_call *call,
                           struct ompi_info_t *info, ompi_request_t **request, int *code) {
  if (prepare(which, call)) return false;
  const size_t bytes = bytes_of(nodes, which, call);
  const bool ours =
      coll_smelt_nodes_may_keep(nodes, which, is_ordered(call), bytes, element_of(call)) && keeps_order(nodes, call);
  operation *o = ours ? make(nodes, which, call, bytes) : NULL;
  if (!o) {
    coll_smelt_increment(&coll_smelt_tally.persistent_passed_on[which]);
    return false;
  }
  *code = make_calls(o, info);
  if (OPAL_UNLIKELY(*code != OMPI_SUCCESS)) {
    coll_smelt_operation_discard(o);
    return true;
  }
  coll_smelt_increment(&coll_smelt_tally.persistent_served[which]);
  *request = &o->queued.super.super;
  return true;
}

/* --- blocking */

/* The longest piece that is under way at a time: a long message goes in such, but for an allgather's. */
static size_t piece_of(smelt_collective which, const coll_smelt_call *call, size_t bytes) {
  if (which == SMELT_COLLECTIVE_ALLGATHER) return bytes;
  const size_t longest = element_of(call) > COLL_SMELT_NODES_PIECE ? element_of(call) : COLL_SMELT_NODES_PIECE;
  return bytes < longest ? bytes : longest;
}

static bool may_serve(coll_smelt_nodes *nodes, smelt_collective which, const coll_smelt_call *call) {
  const size_t bytes = bytes_of(nodes, which, call);
  if (!coll_smelt_nodes_may_serve(nodes, which, is_ordered(call), piece_of(which, call, bytes))) return false;
  if (which == SMELT_COLLECTIVE_ALLGATHER) return bytes <= INT_MAX; /* the places of allgatherv are ints */
  return element_of(call) <= nodes->element_limit && keeps_order(nodes, call);
}

static int cross(coll_smelt_nodes *nodes, smelt_collective which, const coll_smelt_call *call) {
  switch (which) {
    case SMELT_COLLECTIVE_BARRIER: return coll_smelt_nodes_cross_barrier(nodes);
    case SMELT_COLLECTIVE_BROADCAST: return coll_smelt_nodes_cross_broadcast(nodes, call);
    case SMELT_COLLECTIVE_ALLGATHER: return coll_smelt_nodes_cross_allgather(nodes, call);
    default: return coll_smelt_nodes_cross_reduction(nodes, call, which == SMELT_COLLECTIVE_ALLREDUCE);
  }
}

bool coll_smelt_nodes_serve(coll_smelt_nodes *nodes, smelt_collective which, coll_smelt_call *call, int *code) {
  if (prepare(which, call)) return *code = OMPI_SUCCESS, true;
  if (OPAL_UNLIKELY(!may_serve(nodes, which, call))) {
    coll_smelt_nodes_passed_on(nodes, which);
    return false;
  }
  coll_smelt_increment(&coll_smelt_tally.served[which]);
  *code = cross(nodes, which, call);
  return true;
}
