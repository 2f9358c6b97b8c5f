/* The life of a module within one machine (module.c). Those over several nodes have the same steps (life.def).
 *
 *   1. made when its communicator is (component.c decides for which), with our functions
 *   2. enabled, in order of rising priority: the functions that the communicator has then are the next lower
 *      component's, and are saved; MPI_COMM_WORLD's is enabled when MPI begins, and makes the job's pool if all of the
 *      job is on this node
 *   3. used: it makes its group, or all ranks step aside
 *   4. disabled or destroyed: all that it holds is released
 *
 * Open MPI 4.1 disables a module once for each function it still owns, and destroys it without disabling where it owns
 * none, so step 4 may come several times or in either form. */
#include "offers.h"

#include "functions.h"
#include "module.h"
#include "over_nodes.h"
#include "parameters.h"
#include "sync.h"

#define KIND coll_smelt_module
#define OF_KIND(name) coll_smelt_##name
#define FOR_WORLD(module) coll_smelt_pool_begin(module)
#include "life.def"

bool coll_smelt_is_settled(const struct ompi_communicator_t *comm) {
  mca_coll_base_module_t *module = comm->c_coll ? comm->c_coll->coll_barrier_module : NULL;
  if (!module) return false;
  if (((opal_object_t *)module)->obj_class == OBJ_CLASS(coll_smelt_module))
    return ((coll_smelt_module *)module)->state != COLL_SMELT_UNUSED;
  return &coll_smelt_over_nodes && coll_smelt_over_nodes.is_settled(module);
}
