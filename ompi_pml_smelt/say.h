/* Lines for people. */
#ifndef PML_SMELT_SAY_H
#define PML_SMELT_SAY_H

#include "compat.h"

#include <smelt/options.h>

#define pml_smelt_say(...) smelt_say("pml/smelt", __VA_ARGS__)
extern int pml_smelt_verbose;
void pml_smelt_say_communicator(const struct ompi_communicator_t *comm, const char *left_because);

#endif
