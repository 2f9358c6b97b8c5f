/* Calls on communicators over several nodes. */
#ifndef COLL_SMELT_NODE_CALLS_H
#define COLL_SMELT_NODE_CALLS_H

#include "nodes.h"
#include "requests.h"

/* Blocking, nonblocking and persistent. True: the call was ours, and *code is what it returns. `call` is prepared. */
bool coll_smelt_nodes_serve(coll_smelt_nodes *nodes, smelt_collective which, coll_smelt_call *call, int *code);
bool coll_smelt_nodes_begin(coll_smelt_nodes *nodes, smelt_collective which, coll_smelt_call *call,
                            ompi_request_t **request, int *code);
bool coll_smelt_nodes_keep(coll_smelt_nodes *nodes, smelt_collective which, coll_smelt_call *call,
                           struct ompi_info_t *info, ompi_request_t **request, int *code);

#endif
