/* MPI_Wait and its kin. */
#ifndef PML_SMELT_WAITS_H
#define PML_SMELT_WAITS_H

#include "compat.h"

void pml_smelt_waits_begin(void);
void pml_smelt_waits_end(void);

#endif
