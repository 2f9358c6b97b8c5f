/* The blocking, the nonblocking and the persistent calls of communicators over several nodes: each is a row of stages
 * (stages.h), and what all ranks must agree on before is found out here. As within one node (nonblocking.c) that
 * is left to blocking calls, and to the making of a persistent request. Nonblocking messages go in one piece by one
 * leader of each node; reductions have the bits of the blocking ones, as the leaders combine the nodes' results in the
 * same order. */
#include "calls.h"

#include "stages.h"

#include <limits.h>

static const coll_smelt_course *course_of(smelt_collective which) {
  switch (which) {
    case SMELT_COLLECTIVE_BARRIER: return &coll_smelt_barrier_course;
    case SMELT_COLLECTIVE_BROADCAST: return &coll_smelt_broadcast_course;
    case SMELT_COLLECTIVE_ALLGATHER: return &coll_smelt_allgather_course;
    default: return &coll_smelt_reduction_course;
  }
}

/* --- what a call is */

/* Is there nothing to do? In place MPI says nothing of the sender's type. */
static bool prepare(smelt_collective which, coll_smelt_call *call) {
  if (which == SMELT_COLLECTIVE_ALLGATHER && call->send == MPI_IN_PLACE) call->send_count = 0, call->send_type = NULL;
  return which != SMELT_COLLECTIVE_BARRIER && coll_smelt_bytes(call->type, call->count) == 0;
}

/* The bytes that it moves. */
static size_t bytes_of(const coll_smelt_nodes *nodes, smelt_collective which, const coll_smelt_call *call) {
  if (which == SMELT_COLLECTIVE_BARRIER) return 0;
  const size_t bytes = coll_smelt_bytes(call->type, call->count);
  return which == SMELT_COLLECTIVE_ALLGATHER ? bytes * (size_t)ompi_comm_size(nodes->comm) : bytes;
}
/* The size of an operand's element. */
static size_t element_of(const coll_smelt_call *call) { return call->op ? call->type->super.size : 0; }
/* The length that is under way at a time: a long message goes in pieces, but for an allgather's. */
static size_t piece_of(smelt_collective which, const coll_smelt_call *call, size_t bytes) {
  if (which == SMELT_COLLECTIVE_ALLGATHER) return bytes;
  const size_t longest = element_of(call) > COLL_SMELT_NODES_PIECE ? element_of(call) : COLL_SMELT_NODES_PIECE;
  return bytes < longest ? bytes : longest;
}

/* Combining node by node keeps the order of the ranks only where a node's ranks follow each other. */
static bool keeps_order(const coll_smelt_nodes *nodes, const coll_smelt_call *call) {
  return !call->op || nodes->consecutive || (call->op->o_flags & OMPI_OP_FLAGS_COMMUTE);
}
static bool is_ordered(const coll_smelt_call *call) { return call->op && !coll_smelt_any_order(call->op, call->type); }

/* --- blocking */

static bool may_serve(coll_smelt_nodes *nodes, smelt_collective which, const coll_smelt_call *call) {
  const size_t bytes = bytes_of(nodes, which, call);
  if (!coll_smelt_nodes_may_serve(nodes, which, is_ordered(call), piece_of(which, call, bytes))) return false;
  if (which == SMELT_COLLECTIVE_ALLGATHER) return bytes <= INT_MAX; /* the places of allgatherv are ints */
  return element_of(call) <= nodes->element_limit && keeps_order(nodes, call);
}

static int cross(coll_smelt_nodes *nodes, smelt_collective which, const coll_smelt_call *call) {
  coll_smelt_terms terms;
  coll_smelt_crossing c = {.course = course_of(which),
                           .mode = COLL_SMELT_BLOCKING,
                           .nodes = nodes,
                           .group = nodes->group,
                           .which = which,
                           .call = call,
                           .terms = &terms};
  const size_t bytes = c.course->room(&c, NULL);
  if (bytes > 0) {
    char *const memory = coll_smelt_nodes_scratch(nodes, bytes);
    if (OPAL_UNLIKELY(!memory)) return OMPI_ERR_OUT_OF_RESOURCE;
    (void)c.course->room(&c, memory);
  }
  const int error = c.course->open(&c);
  if (OPAL_UNLIKELY(error != OMPI_SUCCESS)) return error;
  coll_smelt_cross(&c);
  return c.error;
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

/* --- operations */

static coll_smelt_crossing *crossing_of(const coll_smelt_operation *operation) { return operation->state; }

static int open(coll_smelt_operation *operation) {
  coll_smelt_crossing *c = crossing_of(operation);
  c->stage = 0;
  c->error = OMPI_SUCCESS;
  return c->course->open(c);
}

static bool step(coll_smelt_queued *queued) {
  coll_smelt_crossing *c = crossing_of((coll_smelt_operation *)queued);
  if (!coll_smelt_cross_on(c)) return false;
  queued->super.super.req_status.MPI_ERROR = c->error;
  return true;
}

static void end(coll_smelt_operation *operation) {
  coll_smelt_crossing *c = crossing_of(operation); /* NULL: there was no memory for it */
  for (int i = 0; c && i < COLL_SMELT_MOST_CALLS; ++i)
    if (c->persistent[i]) (void)ompi_request_free(&c->persistent[i]);
  if (coll_smelt_is_persistent(operation) && operation->group) coll_smelt_group_free(operation->group);
}

static const coll_smelt_kind over_nodes = {open, step, end};

static coll_smelt_operation *operation_of(coll_smelt_nodes *nodes, smelt_collective which, const coll_smelt_call *call,
                                          smelt_group *group, bool persistent) {
  coll_smelt_operation *operation = coll_smelt_operation_new(&over_nodes, nodes->comm, nodes,
                                                             persistent ? NULL : &nodes->lane, which, call, persistent);
  if (OPAL_UNLIKELY(!operation)) return NULL;
  operation->group = group;
  return operation;
}

/* Aligned memory of so many bytes, kept for the next operation unless it is much; NULL: none. */
static char *memory_of(coll_smelt_operation *operation, size_t bytes) {
  enum { kAlignment = 64, kLeast = 4096, kKept = 64 << 10 };
  if (operation->memory && bytes <= operation->memory_bytes && operation->memory_bytes <= kKept)
    return operation->memory;
  free(operation->memory);
  operation->memory_bytes = (bytes < kLeast ? kLeast : bytes + kAlignment - 1) / kAlignment * kAlignment;
  operation->memory = aligned_alloc(kAlignment, operation->memory_bytes);
  if (!operation->memory) operation->memory_bytes = 0;
  return operation->memory;
}

/* The crossing and its memory; false: there is none. */
static bool make_room(coll_smelt_operation *operation, coll_smelt_nodes *nodes) {
  coll_smelt_crossing *c = operation->state = calloc(1, sizeof *c);
  if (!c) return false;
  c->course = course_of(operation->which);
  c->mode = coll_smelt_is_persistent(operation) ? COLL_SMELT_PERSISTENT : COLL_SMELT_ONCE;
  c->nodes = nodes;
  c->group = operation->group;
  c->which = operation->which;
  c->call = &operation->call;
  c->terms = &operation->terms;
  const size_t bytes = c->course->room(c, NULL);
  if (bytes == 0) return true;
  char *const memory = memory_of(operation, bytes);
  if (memory) (void)c->course->room(c, memory);
  return memory != NULL;
}

/* --- nonblocking */

static int begin(coll_smelt_nodes *nodes, smelt_collective which, const coll_smelt_call *call,
                 ompi_request_t **request) {
  coll_smelt_operation *operation = operation_of(nodes, which, call, nodes->group, false);
  if (OPAL_UNLIKELY(!operation)) return OMPI_ERR_OUT_OF_RESOURCE;
  if (OPAL_LIKELY(make_room(operation, nodes))) return coll_smelt_operation_begin(operation, request);
  coll_smelt_operation_discard(operation);
  return OMPI_ERR_OUT_OF_RESOURCE;
}

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

/* --- persistent */

static bool has_room(smelt_group *group, size_t bytes) {
  if (bytes > smelt_group_start_limit(group)) (void)smelt_group_prepare(group);
  return bytes <= smelt_group_start_limit(group);
}

/* A group, memory and an operation, or nothing, on all ranks of all nodes. */
static coll_smelt_operation *make(coll_smelt_nodes *nodes, smelt_collective which, const coll_smelt_call *call,
                                  size_t bytes) {
  smelt_group *group = nodes->group ? coll_smelt_nodes_group_apart(nodes) : NULL;
  const bool grouped = nodes->group ? group && has_room(group, bytes) : true;
  coll_smelt_operation *operation = operation_of(nodes, which, call, group, true);
  if (coll_smelt_nodes_agree(nodes, grouped && operation && make_room(operation, nodes))) return operation;
  if (operation)
    coll_smelt_operation_discard(operation);
  else if (group)
    coll_smelt_group_free(group);
  return NULL;
}

/* The leaders' requests of the component below, in the same order on all of them. */
static int make_calls(coll_smelt_crossing *c, struct ompi_info_t *info) {
  int error = OMPI_SUCCESS;
  for (int i = 0; coll_smelt_carries(c) && i < c->calls && error == OMPI_SUCCESS; ++i)
    error = c->course->call(c, 0, i, info, &c->persistent[i]);
  return error;
}

bool coll_smelt_nodes_keep(coll_smelt_nodes *nodes, smelt_collective which, coll_smelt_call *call,
                           struct ompi_info_t *info, ompi_request_t **request, int *code) {
  if (prepare(which, call)) return false;
  const size_t bytes = bytes_of(nodes, which, call);
  const bool ours =
      coll_smelt_nodes_may_keep(nodes, which, is_ordered(call), bytes, element_of(call)) && keeps_order(nodes, call);
  coll_smelt_operation *operation = ours ? make(nodes, which, call, bytes) : NULL;
  if (!operation) {
    coll_smelt_increment(&coll_smelt_tally.persistent_passed_on[which]);
    return false;
  }
  *code = make_calls(crossing_of(operation), info);
  if (OPAL_UNLIKELY(*code != OMPI_SUCCESS)) {
    coll_smelt_operation_discard(operation);
    return true;
  }
  coll_smelt_increment(&coll_smelt_tally.persistent_served[which]);
  *request = &operation->queued.super.super;
  return true;
}
