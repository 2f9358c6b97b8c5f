/* `mpirun --mca coll smelt` alone. */
#ifndef COLL_SMELT_LOWER_COMPONENTS_H
#define COLL_SMELT_LOWER_COMPONENTS_H

#include "compat.h"

/* The user's `--mca coll` is a list of what to take, and we are in it. */
bool coll_smelt_selected_by_name(void);
/* The components that such a list lacks to serve every communicator, "basic,self"; "": none. */
const char *coll_smelt_missing_components(void);
/* It adds them, and must be called once, while the framework opens us. */
void coll_smelt_add_lower_components(const mca_base_component_t *component);

#endif
