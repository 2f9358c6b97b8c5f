/* A nonblocking collective as a request of Open MPI's: the program's call, the memory that must live until it is
 * complete, and its place in a lane. */
#ifndef COLL_SMELT_REQUESTS_H
#define COLL_SMELT_REQUESTS_H

#include "exchange.h"

typedef struct coll_smelt_operation coll_smelt_operation;

/* How an operation is carried out: by a group (nonblocking.c), by messages (neighbour_messages.c), or over several
 * nodes (rails/nodes). */
typedef struct coll_smelt_kind {
  int (*open)(coll_smelt_operation *operation); /* each time it starts; an Open MPI code */
  bool (*step)(coll_smelt_queued *operation);   /* lanes.h */
  void (*end)(coll_smelt_operation *operation); /* the request is freed */
} coll_smelt_kind;

struct coll_smelt_operation {
  coll_smelt_queued queued;
  const coll_smelt_kind *kind;
  coll_smelt_module *module; /* NULL: the communicator spans several nodes */
  coll_smelt_lane own;       /* where it has one of its own */
  smelt_collective which;
  coll_smelt_call call;
  coll_smelt_exchange exchange; /* the lists that `call` points to, if it does */
  smelt_group *group;           /* the module's; a persistent request's own */
  bool begun;                   /* given to the group */
  smelt_request request;        /* then */
  coll_smelt_terms terms;       /* from the start on until it is complete */
  void *state;                  /* the kind's own, by malloc; freed with the request */
  char *memory;                 /* kept for the operation that uses this one's memory next */
  size_t memory_bytes;
};
OBJ_CLASS_DECLARATION(coll_smelt_operation);

static inline bool coll_smelt_is_persistent(const coll_smelt_operation *operation) {
  return operation->queued.super.super.req_persistent;
}

void coll_smelt_requests_begin(void);
void coll_smelt_requests_end(void);
/* NULL: no memory. `lane`: NULL, one of its own. The communicator is retained until the request is freed. */
coll_smelt_operation *coll_smelt_operation_new(const coll_smelt_kind *kind, struct ompi_communicator_t *comm,
                                               const void *owner, coll_smelt_lane *lane, smelt_collective which,
                                               const coll_smelt_call *call, bool persistent);
void coll_smelt_operation_discard(coll_smelt_operation *operation);
/* Opens it and puts it into its lane, or discards it; an Open MPI code. */
int coll_smelt_operation_begin(coll_smelt_operation *operation, ompi_request_t **request);

#endif
