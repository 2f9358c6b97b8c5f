/* Lines for people. */
#ifndef PML_SMELT_SAY_H
#define PML_SMELT_SAY_H

#include "compat.h"

extern int pml_smelt_verbose;
void pml_smelt_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void pml_smelt_say_communicator(const struct ompi_communicator_t *comm, const char *left_because);

#endif
