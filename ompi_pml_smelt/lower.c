/* The PML below us, and our own: written by component.c, read by all. */
#include "lower.h"

mca_pml_base_module_t pml_smelt_lower;
mca_pml_base_component_t pml_smelt_lower_component;
const mca_base_component_t *pml_smelt_self;

const char *pml_smelt_lower_name(void) { return pml_smelt_lower_component.pmlm_version.mca_component_name; }
