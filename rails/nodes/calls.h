/* Calls on communicators over several nodes, and the functions that Open MPI calls for them. */
#ifndef COLL_SMELT_NODES_CALLS_H
#define COLL_SMELT_NODES_CALLS_H

#include "nodes.h"
#include "ompi_coll_smelt/requests.h"

/* Blocking, nonblocking and persistent. True: the call was ours, and *code is what it returns. `call` is prepared. */
bool coll_smelt_nodes_serve(coll_smelt_nodes *nodes, smelt_collective which, coll_smelt_call *call, int *code);
bool coll_smelt_nodes_begin(coll_smelt_nodes *nodes, smelt_collective which, coll_smelt_call *call,
                            ompi_request_t **request, int *code);
bool coll_smelt_nodes_keep(coll_smelt_nodes *nodes, smelt_collective which, coll_smelt_call *call,
                           struct ompi_info_t *info, ompi_request_t **request, int *code);

/* functions.c */
#define COLL_SMELT_OVER_NODES
#define COLL_SMELT_SLOT(name) __typeof__(*(mca_coll_base_module_##name##_fn_t)NULL) coll_smelt_nodes_##name;
#include "ompi_coll_smelt/slots.def"
#undef COLL_SMELT_OVER_NODES

#endif
