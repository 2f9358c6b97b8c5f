/* What differs between the series of Open MPI: see ompi_coll_smelt/compat.h. So far there is one. */
#ifndef PML_SMELT_COMPAT_H
#define PML_SMELT_COMPAT_H

#include "ompi_config.h"

#include "mpi.h"

#if OMPI_MAJOR_VERSION == 4 && OMPI_MINOR_VERSION == 1
#define PML_SMELT_API MCA_PML_BASE_VERSION_2_0_0
#define PML_SMELT_EXPORT OMPI_MODULE_DECLSPEC
#else
#error "pml/smelt knows Open MPI 4.1 (see compat.h)"
#endif

#endif
