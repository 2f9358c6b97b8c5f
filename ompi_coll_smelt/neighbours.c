/* The neighbours of a communicator, over grids and graphs.
 *
 * The order of the blocks is MPI's: of a grid, dimension after dimension, the one below and the one above; of a graph,
 * that of its edges. Where two ranks have several blocks for each other these are matched in the order of the lists,
 * which is that of the edges. In a grid, what goes up arrives from below; so there what is sent up comes first, as does
 * what is received from below, and in a ring of two, or of one, the right ones meet. */
#include "neighbours.h"

#include "ompi/mca/topo/topo.h"

#include <stdlib.h>

/* Adds a block unless there is nobody. */
static int add(coll_smelt_neighbour *list, int count, int peer, int block) {
  if (peer == MPI_PROC_NULL) return count;
  list[count] = (coll_smelt_neighbour){peer, block};
  return count + 1;
}

static void shift(struct ompi_communicator_t *comm, int dimension, int *below, int *above) {
  const mca_topo_base_comm_cart_2_2_0_t *grid = comm->c_topo->mtc.cart;
  *below = *above = MPI_PROC_NULL;
  if (grid->dims[dimension] > 1)
    (void)comm->c_topo->topo.cart.cart_shift(comm, dimension, 1, below, above);
  else if (grid->dims[dimension] == 1 && grid->periods[dimension])
    *below = *above = ompi_comm_rank(comm);
}

/* Both lists in MPI's order, with room for what `room` says. */
static void list_neighbours(struct ompi_communicator_t *comm, coll_smelt_neighbour *out, int *outgoing,
                            coll_smelt_neighbour *in, int *incoming) {
  const mca_topo_base_comm_cgd_union_t topology = comm->c_topo->mtc;
  *outgoing = *incoming = 0;
  if (OMPI_COMM_IS_CART(comm)) {
    for (int d = 0; d < topology.cart->ndims; ++d) {
      int below, above;
      shift(comm, d, &below, &above);
      *outgoing = add(out, *outgoing, above, 2 * d + 1);
      *outgoing = add(out, *outgoing, below, 2 * d);
      *incoming = add(in, *incoming, below, 2 * d);
      *incoming = add(in, *incoming, above, 2 * d + 1);
    }
  } else if (OMPI_COMM_IS_GRAPH(comm)) {
    const int me = ompi_comm_rank(comm), first = me > 0 ? topology.graph->index[me - 1] : 0;
    for (int k = 0; first + k < topology.graph->index[me]; ++k) {
      *outgoing = add(out, *outgoing, topology.graph->edges[first + k], k);
      *incoming = add(in, *incoming, topology.graph->edges[first + k], k);
    }
  } else if (OMPI_COMM_IS_DIST_GRAPH(comm)) {
    for (int k = 0; k < topology.dist_graph->outdegree; ++k)
      *outgoing = add(out, *outgoing, topology.dist_graph->out[k], k);
    for (int k = 0; k < topology.dist_graph->indegree; ++k)
      *incoming = add(in, *incoming, topology.dist_graph->in[k], k);
  }
}

/* The most blocks that either list may have. */
static int most_blocks(struct ompi_communicator_t *comm) {
  const mca_topo_base_comm_cgd_union_t topology = comm->c_topo->mtc;
  if (OMPI_COMM_IS_CART(comm)) return 2 * topology.cart->ndims;
  if (OMPI_COMM_IS_GRAPH(comm)) return topology.graph->index[ompi_comm_size(comm) - 1];
  if (!OMPI_COMM_IS_DIST_GRAPH(comm)) return 0;
  const int out = topology.dist_graph->outdegree, in = topology.dist_graph->indegree;
  return out > in ? out : in;
}

/* They are sorted by rank, otherwise as they were. There are few ranks (COLL_SMELT_NEIGHBOURS_AMONG). */
static coll_smelt_neighbour *sort(const coll_smelt_neighbour *list, int count, int ranks, coll_smelt_neighbour *to) {
  for (int peer = 0; peer < ranks; ++peer)
    for (int k = 0; k < count; ++k)
      if (list[k].peer == peer) *to++ = list[k];
  return to;
}

const coll_smelt_neighbours *coll_smelt_neighbours_of(coll_smelt_module *module) {
  if (OPAL_LIKELY(module->neighbours != NULL)) return module->neighbours;
  struct ompi_communicator_t *comm = module->comm;
  const size_t room = (size_t)most_blocks(comm);
  coll_smelt_neighbour *const out = malloc((2 * room + 1) * sizeof *out), *const in = out + room;
  coll_smelt_neighbours *found = malloc(sizeof *found + 2 * room * sizeof found->list[0]);
  if (out && found) {
    list_neighbours(comm, out, &found->outgoing, in, &found->incoming);
    coll_smelt_neighbour *after = sort(out, found->outgoing, ompi_comm_size(comm), found->list);
    (void)sort(in, found->incoming, ompi_comm_size(comm), after);
    module->neighbours = found;
  } else {
    free(found);
  }
  free(out);
  return module->neighbours;
}
