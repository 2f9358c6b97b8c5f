/* Open MPI 4.1: pml interface 2.0.0. */
#ifndef PML_SMELT_COMPAT_4_1_H
#define PML_SMELT_COMPAT_4_1_H

#include "opal/mca/pmix/pmix.h"

#define PML_SMELT_API MCA_PML_BASE_VERSION_2_0_0
#define PML_SMELT_EXPORT OMPI_MODULE_DECLSPEC

#define PML_SMELT_MODEX_SEND(error, component, data, bytes) \
  OPAL_MODEX_SEND(error, OPAL_PMIX_LOCAL, component, data, bytes)
#define PML_SMELT_MODEX_RECV(error, component, name, data, bytes) OPAL_MODEX_RECV(error, component, name, data, bytes)

static inline int64_t pml_smelt_context(const struct ompi_communicator_t *comm) { return comm->c_contextid; }
static inline void pml_smelt_take_from_below(mca_pml_base_module_t *module, const mca_pml_base_module_t *below) {
  module->pml_ft_event = below->pml_ft_event;
}
static inline const char *pml_smelt_steps_aside(void) { return NULL; }

#endif
