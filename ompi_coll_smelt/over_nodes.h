/* Communicators over several nodes. The house rails/nodes serves them, if it was built into this component; nothing of
 * it is known here but this table. */
#ifndef COLL_SMELT_OVER_NODES_H
#define COLL_SMELT_OVER_NODES_H

#include "counters.h"

typedef struct coll_smelt_over_nodes_table {
  void (*begin)(const mca_base_component_t *component);               /* when the component is registered */
  mca_coll_base_module_t *(*offer)(struct ompi_communicator_t *comm); /* as coll_smelt_offer */
  bool (*is_settled)(mca_coll_base_module_t *module);                 /* as coll_smelt_is_settled, of any module */
  coll_smelt_counter *created;                                        /* communicators that are or were served */
} coll_smelt_over_nodes_table;

/* A weak reference: where the house was left out, the address is NULL. */
extern const coll_smelt_over_nodes_table coll_smelt_over_nodes __attribute__((weak));

#endif
