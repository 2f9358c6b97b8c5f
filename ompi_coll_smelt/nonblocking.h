/* A nonblocking collective as a request of Open MPI's: what the program said, what must live until it is complete, and
 * its place in a lane. requests.c queues and advances operations, nonblocking.c makes them. */
#ifndef COLL_SMELT_NONBLOCKING_H
#define COLL_SMELT_NONBLOCKING_H

#include "exchange.h"
#include "ompi/mca/coll/base/coll_base_util.h"

typedef struct coll_smelt_operation {
  ompi_coll_base_nbc_request_t super; /* what MPI's nonblocking functions expect of their requests */
  struct coll_smelt_operation *next;  /* in its lane */
  coll_smelt_module *module;          /* NULL: the communicator spans several nodes, */
  struct coll_smelt_nodes *nodes;     /* and this is its module */
  struct coll_smelt_stages *stages; /* then; otherwise perhaps of an earlier operation that used this memory, or NULL */
  struct coll_smelt_messages *messages; /* of neighbours, by messages; NULL: it is not */
  coll_smelt_lane *lane;                /* the module's, or its own */
  smelt_group *group; /* in the same way; of this node, NULL: it has one rank; NULL, too, where it is by messages */
  coll_smelt_lane own;
  smelt_collective which;
  coll_smelt_call call;
  coll_smelt_exchange exchange; /* what `call` points to, where it does */
  bool begun;                   /* given to the group */
  smelt_request request;        /* then */
  coll_smelt_terms terms;       /* from the start on until it is complete */
} coll_smelt_operation;
OBJ_CLASS_DECLARATION(coll_smelt_operation);

/* requests.c. group: the module's; a persistent request's, which it owns from then on; NULL: it is by messages. NULL:
 * no memory. The communicator is retained until the request is freed. */
coll_smelt_operation *coll_smelt_operation_new(coll_smelt_module *module, smelt_collective which,
                                               const coll_smelt_call *call, smelt_group *group, bool persistent);
/* The same of a communicator over several nodes. `group`: a persistent request's own, or else the node's. */
coll_smelt_operation *coll_smelt_nodes_operation_new(struct coll_smelt_nodes *nodes, smelt_collective which,
                                                     const coll_smelt_call *call, smelt_group *group, bool persistent);
void coll_smelt_operation_discard(coll_smelt_operation *operation);
/* Puts it at the end of its lane; it may be complete when this returns. */
void coll_smelt_post(coll_smelt_operation *operation);

/* nonblocking.c. Takes it as far as it goes; true: complete, closed, and the result is in its status. For the owner of
 * the progress and the first of its lane only. */
bool coll_smelt_operation_step(coll_smelt_operation *operation);
/* node_stages.c: the same, and what comes before and after, where the communicator spans several nodes. open: an Open
 * MPI code. end: what a persistent request has between nodes goes. free: what is kept for later operations goes. */
int coll_smelt_nodes_open(coll_smelt_operation *operation);
bool coll_smelt_nodes_step(coll_smelt_operation *operation);
void coll_smelt_nodes_end(coll_smelt_operation *operation);
void coll_smelt_nodes_free(coll_smelt_operation *operation);
/* neighbour_messages.c. new: an Open MPI code; freed by free(). open: posts them all. step: true: all are over. */
int coll_smelt_messages_new(coll_smelt_module *module, const coll_smelt_exchange *exchange,
                            struct coll_smelt_messages **out);
void coll_smelt_messages_open(coll_smelt_operation *operation);
bool coll_smelt_messages_step(coll_smelt_operation *operation);
/* MPI_Start and MPI_Startall. */
int coll_smelt_restart(size_t count, ompi_request_t **requests);

#endif
