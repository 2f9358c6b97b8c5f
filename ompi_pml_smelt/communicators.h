/* This header says which communicators are served. */
#ifndef PML_SMELT_COMMUNICATORS_H
#define PML_SMELT_COMMUNICATORS_H

#include "compat.h"

int pml_smelt_add_comm(struct ompi_communicator_t *comm);
int pml_smelt_del_comm(struct ompi_communicator_t *comm);

#endif
