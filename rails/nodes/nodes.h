/* Communicators that span several nodes. nodes.c says how they are served. */
#ifndef COLL_SMELT_NODES_H
#define COLL_SMELT_NODES_H

#include "ompi_coll_smelt/module.h"

/* Where a rank of the communicator is: nodes are numbered in the order of their lowest ranks, and a node's places in
 * the order of its ranks; place 0 leads. */
typedef struct coll_smelt_seat {
  int node, place;
} coll_smelt_seat;

/* Memory of a rank for one piece on its way: packed bytes. */
enum { COLL_SMELT_NODES_SLOTS = 3, COLL_SMELT_MOST_RAILS = 4 };

/* Bytes of a piece, and from which length on a message is shared out among the rails. Each piece, and each rail, is one
 * more meeting of a node's ranks: at 1 MiB, on two pretended nodes whose ranks share two busy CPUs, one piece and one
 * rail took half the time of four pieces, and of two rails. */
enum { COLL_SMELT_NODES_PIECE = 1 << 20, COLL_SMELT_NODES_SHARED = 2 << 20 };

typedef struct coll_smelt_nodes {
  mca_coll_base_module_t super;
  struct ompi_communicator_t *comm; /* its owner, so not retained */
  coll_smelt_state state;
  bool gone; /* let go of: disabled or destroyed */
  int patience;
  coll_smelt_user used_by;
  coll_smelt_lane lane; /* of nonblocking calls */
  coll_smelt_lower lower;
  /* The rest holds only while SERVING. */
  struct ompi_communicator_t *node; /* of the node's ranks */
  struct ompi_communicator_t *rail; /* of the ranks of this place on every node; MPI_COMM_NULL from place `rails` on */
  int rails;                        /* long messages are shared out among so many places; place 0's has the leaders */
  smelt_group *group;               /* the node's, owned by the module of `node`; NULL: one rank, alone */
  coll_smelt_seat *seats;           /* of every rank */
  int *before;                      /* [nodes + 1] of each node: how many ranks are on those before it */
  coll_smelt_seat mine;
  int nodes;
  bool consecutive;     /* each node's ranks follow each other: combining node by node keeps the order of the ranks */
  bool crowded;         /* somewhere ranks share CPUs */
  size_t element_limit; /* longest element of a reduction that no node refuses */
  size_t length_limit;  /* longest message */
  bool asked_for_room;  /* for longer ones */
  bool wants_room;      /* the next blocking call is to ask */
  char *scratch;        /* aligned; grows */
  size_t scratch_bytes;
} coll_smelt_nodes;
OBJ_CLASS_DECLARATION(coll_smelt_nodes);

/* SMELT_NODES: communicators that span several are served; 2: as if no node were crowded. */
extern int coll_smelt_nodes_wanted;
/* How many such communicators are or were served, and on how many the ranks stepped aside. */
extern coll_smelt_counter coll_smelt_nodes_created, coll_smelt_nodes_refused;

/* All that it holds; several times. */
void coll_smelt_nodes_let_go(coll_smelt_nodes *nodes);
/* Is a message of so many bytes, or a piece of it that long, to be served node by node? All ranks are told the same.
 * `ordered`: a reduction whose bits depend on the order of operands, and so must not depend on the communicator's age
 * or the message's length. For any other call a module that has no communicators yet lets the first calls pass before
 * it makes them. May communicate. */
bool coll_smelt_nodes_may_serve(coll_smelt_nodes *nodes, smelt_collective which, bool ordered, size_t bytes);
/* The same of a nonblocking call, in one piece, with elements of that size (0: there are none): never communicates, so
 * facts that are not known yet are left to the next blocking call. */
bool coll_smelt_nodes_may_begin(coll_smelt_nodes *nodes, smelt_collective which, bool ordered, size_t bytes,
                                size_t element);
/* The same of a persistent request, which may communicate. */
bool coll_smelt_nodes_may_keep(coll_smelt_nodes *nodes, smelt_collective which, bool ordered, size_t bytes,
                               size_t element);
/* True: all ranks said so. Communicates. */
bool coll_smelt_nodes_agree(coll_smelt_nodes *nodes, bool yes);
/* Another group of this node, for a persistent request; NULL: there is none, on all of the node. Communicates. */
smelt_group *coll_smelt_nodes_group_apart(coll_smelt_nodes *nodes);
/* This rank's scratch memory, of at least so many bytes; NULL: none. */
char *coll_smelt_nodes_scratch(coll_smelt_nodes *nodes, size_t bytes);
/* Counts a call that goes to the component below; those of the hierarchy's own making are not the program's. */
void coll_smelt_nodes_passed_on(const coll_smelt_nodes *nodes, smelt_collective which);
/* `amount` is shared out among `rails`: where does part `i` begin, and how long is it? */
static inline size_t coll_smelt_part_at(size_t amount, int rails, int i) {
  const size_t at = (amount + (size_t)rails - 1) / (size_t)rails * (size_t)i;
  return at < amount ? at : amount;
}
static inline size_t coll_smelt_part_length(size_t amount, int rails, int i) {
  return coll_smelt_part_at(amount, rails, i + 1) - coll_smelt_part_at(amount, rails, i);
}

/* Keeps the code of a call's first failure. The call goes on after it, so that the others do not wait. */
static inline void coll_smelt_note(int *first, int error) {
  if (*first == OMPI_SUCCESS) *first = error;
}

#endif
