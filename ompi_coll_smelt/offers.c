/* The life of a module, within one machine (module.c) and over several nodes (nodes.c).
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

/* --- 4 */

static int disable(mca_coll_base_module_t *base, struct ompi_communicator_t *comm) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  if (module->gone) return OMPI_SUCCESS;
  (void)comm;
#define COLL_SMELT_SLOT(name) COLL_SMELT_UNINSTALL(module, comm, name);
#include "slots.def"
  coll_smelt_let_go(module);
  return OMPI_SUCCESS;
}

static int disable_nodes(mca_coll_base_module_t *base, struct ompi_communicator_t *comm) {
  coll_smelt_nodes *nodes = (coll_smelt_nodes *)base;
  if (nodes->gone) return OMPI_SUCCESS;
  (void)comm;
#define COLL_SMELT_NODES_SLOT(name) COLL_SMELT_UNINSTALL(nodes, comm, name);
#include "slots.def"
  coll_smelt_nodes_let_go(nodes);
  return OMPI_SUCCESS;
}

/* --- 2 */

/* Without all of them there is nothing to fall back to, and nothing to create a group with. */
static int save(coll_smelt_lower *lower, const struct ompi_communicator_t *comm) {
  if (coll_smelt_lower_is_complete(comm))
    return coll_smelt_lower_save(lower, comm) ? OMPI_SUCCESS : OMPI_ERR_NOT_SUPPORTED;
  if (coll_smelt_set.verbose >= 1 && ompi_comm_rank((struct ompi_communicator_t *)comm) == 0)
    coll_smelt_say("%s: not used, no other component serves it below (name more than smelt in --mca coll)",
                   comm->c_name);
  return OMPI_ERR_NOT_FOUND;
}

static int enable(mca_coll_base_module_t *base, struct ompi_communicator_t *comm) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const int error = save(&module->lower, comm);
  if (error != OMPI_SUCCESS) return error;
  if (comm == &ompi_mpi_comm_world.comm) coll_smelt_pool_begin(module);
#define COLL_SMELT_SLOT(name) COLL_SMELT_INSTALL_AS(module, comm, name, coll_smelt_##name);
#include "slots.def"
  coll_smelt_subscribe(comm);
  return OMPI_SUCCESS;
}

static int enable_nodes(mca_coll_base_module_t *base, struct ompi_communicator_t *comm) {
  coll_smelt_nodes *nodes = (coll_smelt_nodes *)base;
  const int error = save(&nodes->lower, comm);
  if (error != OMPI_SUCCESS) return error;
#define COLL_SMELT_NODES_SLOT(name) COLL_SMELT_INSTALL_AS(nodes, comm, name, coll_smelt_nodes_##name);
#include "slots.def"
  coll_smelt_subscribe(comm);
  return OMPI_SUCCESS;
}

/* --- 1 */

mca_coll_base_module_t *coll_smelt_offer(struct ompi_communicator_t *comm) {
  coll_smelt_module *module = OBJ_NEW(coll_smelt_module);
  if (!module) return NULL;
  module->comm = comm;
  module->patience = coll_smelt_set.patience;
  module->super.coll_module_enable = enable;
  module->super.coll_module_disable = disable;
#define COLL_SMELT_SLOT(name) COLL_SMELT_OFFER_AS(module, name, coll_smelt_##name);
#include "slots.def"
  return &module->super;
}

mca_coll_base_module_t *coll_smelt_offer_nodes(struct ompi_communicator_t *comm) {
  coll_smelt_nodes *nodes = OBJ_NEW(coll_smelt_nodes);
  if (!nodes) return NULL;
  nodes->comm = comm;
  nodes->patience = coll_smelt_set.patience;
  nodes->super.coll_module_enable = enable_nodes;
  nodes->super.coll_module_disable = disable_nodes;
#define COLL_SMELT_NODES_SLOT(name) COLL_SMELT_OFFER_AS(nodes, name, coll_smelt_nodes_##name);
#include "slots.def"
  return &nodes->super;
}

bool coll_smelt_is_settled(const struct ompi_communicator_t *comm) {
  opal_object_t *module = comm->c_coll ? (opal_object_t *)comm->c_coll->coll_barrier_module : NULL;
  if (!module) return false;
  if (module->obj_class == OBJ_CLASS(coll_smelt_module))
    return ((coll_smelt_module *)module)->state != COLL_SMELT_UNUSED;
  return module->obj_class == OBJ_CLASS(coll_smelt_nodes) && ((coll_smelt_nodes *)module)->state != COLL_SMELT_UNUSED;
}
