/* Agreement of ranks on an outcome. */
#ifndef PML_SMELT_AGREE_H
#define PML_SMELT_AGREE_H

#include "compat.h"

#include <stdbool.h>

/* The greatest of these ranks' outcomes, with all of them; negative: it could not be found out. Outcomes are 0 and
 * more. `far`: some are on other nodes. */
int pml_smelt_agree(struct ompi_communicator_t *world, const int *ranks, unsigned count, int mine, bool far);

#endif
