/* The PML that Open MPI elected: messages that Smelt does not serve go on to it. */
#ifndef PML_SMELT_LOWER_H
#define PML_SMELT_LOWER_H

#include "compat.h"

#include "ompi/mca/pml/base/base.h"

extern mca_pml_base_module_t pml_smelt_lower; /* the winner's functions */
extern mca_pml_base_component_t pml_smelt_lower_component;
const char *pml_smelt_lower_name(void);
/* Our own component, once it is registered: Open MPI wants it named. */
extern const mca_base_component_t *pml_smelt_self;

#endif
