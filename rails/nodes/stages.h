/* Collectives over several nodes, in one form. Each is a row of stages: within each node, between the leaders, within
 * each node again, and so on for each piece of a long message. A stage starts something and returns, or does it, where
 * the call is blocking and nothing else is under way; the next one begins once that is over. A blocking call runs its
 * stages to the end, a nonblocking or persistent one is taken further by Open MPI's progress (lanes.c). */
#ifndef COLL_SMELT_NODES_STAGES_H
#define COLL_SMELT_NODES_STAGES_H

#include "nodes.h"
#include "ompi/request/request.h"
#include "ompi_coll_smelt/form.h"

typedef enum coll_smelt_mode { COLL_SMELT_BLOCKING, COLL_SMELT_ONCE, COLL_SMELT_PERSISTENT } coll_smelt_mode;

/* The memory for one piece of a rank that carries a part: packed bytes. */
typedef struct coll_smelt_slot {
  char *mine;              /* this node's; in the end the result, unless another one is said to be */
  char *all;               /* of a reduction: every node's operands, or every node's part of this leader's slice */
  char *received;          /* the root's: a part that another rank of its node carries */
  int *counts, *places;    /* of an allgather: how much of each node's row belongs to the piece, and where; bytes */
  ompi_request_t *request; /* on the network; NULL: nothing */
} coll_smelt_slot;

/* A persistent call has so many calls at most that a leader's component below starts again and again. */
enum { COLL_SMELT_MOST_CALLS = 2 };

/* A call under way. */
typedef struct coll_smelt_crossing {
  const struct coll_smelt_course *course;
  coll_smelt_mode mode;
  coll_smelt_nodes *nodes;
  smelt_group *group; /* of the node; NULL: this rank is alone */
  smelt_collective which;
  const coll_smelt_call *call;
  coll_smelt_terms *terms;
  int stage;                                    /* the next */
  int error;                                    /* the first; the others go on, so that nobody waits for this rank */
  size_t bytes;                                 /* of the message; allgather: of a block */
  size_t piece;                                 /* the longest; bytes, of a reduction elements */
  int pieces;                                   /* of the message, or the longest row */
  int rails;                                    /* in use */
  int calls;                                    /* of the leaders', one after the other, for each piece */
  int way;                                      /* of a reduction */
  char *all;                                    /* of an allgather: all blocks, node by node */
  void *apart;                                  /* allocated for it */
  char token, arrived;                          /* of a barrier */
  smelt_request in_node[COLL_SMELT_MOST_RAILS]; /* under way within the node */
  coll_smelt_slot slots[COLL_SMELT_NODES_SLOTS];
  ompi_request_t *persistent[COLL_SMELT_MOST_CALLS];
} coll_smelt_crossing;

/* A collective.
 *   room         finds out how the message goes, and what memory that needs, in bytes; given that, puts its pointers
 *                into it
 *   open, close  what the program said, for one time; Open MPI codes
 *   call         the i-th that the leaders make for a piece; of a persistent one, to be made now and started later
 *   stages       how many there are
 *   needed       what must be over on the network before that stage; NULL: nothing
 *   begin        begins that stage, once what was begun within the node is over */
typedef struct coll_smelt_course {
  size_t (*room)(coll_smelt_crossing *c, char *memory);
  int (*open)(coll_smelt_crossing *c);
  void (*close)(coll_smelt_crossing *c);
  int (*call)(coll_smelt_crossing *c, int piece, int i, struct ompi_info_t *info, ompi_request_t **request);
  int (*stages)(const coll_smelt_crossing *c);
  coll_smelt_slot *(*needed)(coll_smelt_crossing *c, int stage);
  void (*begin)(coll_smelt_crossing *c, int stage);
} coll_smelt_course;
extern const coll_smelt_course coll_smelt_barrier_course, coll_smelt_broadcast_course, coll_smelt_reduction_course,
    coll_smelt_allgather_course;

/* To the end; and as far as it goes without waiting, true: that is the end. Then close has been called. */
void coll_smelt_cross(coll_smelt_crossing *c);
bool coll_smelt_cross_on(coll_smelt_crossing *c);

/* --- for courses */

static inline bool coll_smelt_carries(const coll_smelt_crossing *c) { return c->nodes->mine.place < c->rails; }
static inline coll_smelt_seat coll_smelt_root_seat(const coll_smelt_crossing *c) {
  return c->nodes->seats[c->call->root];
}
static inline bool coll_smelt_on_root_node(const coll_smelt_crossing *c) {
  return c->nodes->mine.node == coll_smelt_root_seat(c).node;
}
static inline bool coll_smelt_crosses_as_root(const coll_smelt_crossing *c) {
  return ompi_comm_rank(c->nodes->comm) == c->call->root;
}
static inline coll_smelt_slot *coll_smelt_slot_of(coll_smelt_crossing *c, int piece) {
  return &c->slots[piece % COLL_SMELT_NODES_SLOTS];
}
static inline size_t coll_smelt_aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

/* The data go from `root` to all of the node. `i`: of those that are under way together in this stage; -1: alone. */
void coll_smelt_broadcast_in_node(coll_smelt_crossing *c, int i, const smelt_data *data, size_t bytes, int root);
/* Notes the result of an operation of the group. */
static inline void coll_smelt_note_group(coll_smelt_crossing *c, int error) {
  coll_smelt_note(&c->error, coll_smelt_code(error));
}
/* Begins the i-th call of the leaders for a piece. */
void coll_smelt_between_leaders(coll_smelt_crossing *c, int piece, int i);

/* Copies between packed bytes and what the program has, from byte `at` on. */
void coll_smelt_give(const smelt_data *to, size_t at, size_t bytes, const char *from);
void coll_smelt_fetch(const smelt_data *from, size_t at, size_t bytes, char *to);

/* NAME of the component below, for the leaders: a single piece of a blocking call goes by the blocking function, which
 * is the quicker one. It is used in a function `call` of a course. */
#define COLL_SMELT_ON_RAIL(name, ...)                                                                \
  (c->mode == COLL_SMELT_PERSISTENT                                                                  \
       ? coll->coll_##name##_init(__VA_ARGS__, rail, info, request, coll->coll_##name##_init_module) \
   : c->mode == COLL_SMELT_BLOCKING && c->pieces == 1                                                \
       ? coll->coll_##name(__VA_ARGS__, rail, coll->coll_##name##_module)                            \
       : coll->coll_i##name(__VA_ARGS__, rail, request, coll->coll_i##name##_module))

#endif
