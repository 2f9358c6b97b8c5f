/* The life of a module, within one machine (module.c) and over several nodes (nodes.c): the same steps (life.def).
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
#include "nodes.h"
#include "parameters.h"
#include "say.h"
#include "sync.h"

/* Without all of them there is nothing to fall back to, and nothing to create a group with. */
static int save(coll_smelt_lower *lower, const struct ompi_communicator_t *comm) {
  if (coll_smelt_lower_is_complete(comm))
    return coll_smelt_lower_save(lower, comm) ? OMPI_SUCCESS : OMPI_ERR_NOT_SUPPORTED;
  if (coll_smelt_set.verbose >= 1 && ompi_comm_rank((struct ompi_communicator_t *)comm) == 0)
    coll_smelt_say("%s: not used, no other component serves it below (name more than smelt in --mca coll)",
                   comm->c_name);
  return OMPI_ERR_NOT_FOUND;
}

#define KIND coll_smelt_module
#define OF_KIND(name) coll_smelt_##name
#define FOR_WORLD(module) coll_smelt_pool_begin(module)
#include "life.def"

#define KIND coll_smelt_nodes
#define OF_KIND(name) coll_smelt_nodes_##name
#define FOR_WORLD(module) ((void)(module))
#define COLL_SMELT_OVER_NODES
#include "life.def"

bool coll_smelt_is_settled(const struct ompi_communicator_t *comm) {
  opal_object_t *module = comm->c_coll ? (opal_object_t *)comm->c_coll->coll_barrier_module : NULL;
  if (!module) return false;
  if (module->obj_class == OBJ_CLASS(coll_smelt_module))
    return ((coll_smelt_module *)module)->state != COLL_SMELT_UNUSED;
  return module->obj_class == OBJ_CLASS(coll_smelt_nodes) && ((coll_smelt_nodes *)module)->state != COLL_SMELT_UNUSED;
}
