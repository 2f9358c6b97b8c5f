/* The life of a module over several nodes (life.def), and the table by which the component finds it. */
#include "calls.h"
#include "ompi_coll_smelt/over_nodes.h"
#include "ompi_coll_smelt/parameters.h"
#include "ompi_coll_smelt/sync.h"

int coll_smelt_nodes_wanted;
coll_smelt_counter coll_smelt_nodes_created, coll_smelt_nodes_refused;

#define KIND coll_smelt_nodes
#define OF_KIND(name) coll_smelt_nodes_##name
#define FOR_WORLD(module) ((void)(module))
#define COLL_SMELT_OVER_NODES
#include "ompi_coll_smelt/life.def"

static void begin(const mca_base_component_t *component) {
  coll_smelt_offer_counter(component, "hierarchies_created",
                           "communicators over several nodes that Smelt serves or served", &coll_smelt_nodes_created);
  coll_smelt_offer_counter(component, "hierarchies_refused",
                           "communicators over several nodes on which Smelt stepped aside", &coll_smelt_nodes_refused);
  coll_smelt_nodes_wanted = coll_smelt_setting("SMELT_NODES", NULL);
}

static mca_coll_base_module_t *offer(struct ompi_communicator_t *comm) {
  return coll_smelt_nodes_wanted ? coll_smelt_nodes_offer(comm) : NULL;
}

static bool is_settled(mca_coll_base_module_t *module) {
  return ((opal_object_t *)module)->obj_class == OBJ_CLASS(coll_smelt_nodes) &&
         ((coll_smelt_nodes *)module)->state != COLL_SMELT_UNUSED;
}

const coll_smelt_over_nodes_table coll_smelt_over_nodes = {begin, offer, is_settled, &coll_smelt_nodes_created};
