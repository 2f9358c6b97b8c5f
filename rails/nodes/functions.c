/* The functions that Open MPI calls for communicators over several nodes: the rows of the table of collectives that say
 * so, in their three forms. */
#include "calls.h"
#include "ompi_coll_smelt/arguments.h"

#define OVER_NODE(NAME, mpi, arguments)
#define OVER_NODES(NAME, mpi, arguments)                                                             \
  COLL_SMELT_FUNCTIONS(coll_smelt_nodes_, coll_smelt_nodes, SMELT_COLLECTIVE_##NAME, mpi, arguments, \
                       coll_smelt_nodes_serve(module, SMELT_COLLECTIVE_##NAME, &call, &code))
#define SMELT_COLLECTIVE(NAME, name, mpi, root, data, arguments, nodes, ...) OVER_##nodes(NAME, mpi, arguments)
#include <smelt/collectives.def>
#undef SMELT_COLLECTIVE
