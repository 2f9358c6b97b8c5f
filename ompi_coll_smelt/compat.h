/* What differs between the series of Open MPI, chosen by the headers that are compiled against. A built component
 * serves one series only, because the structs it fills in differ; component.c checks that again when it is loaded.
 *
 * Each compat_<series>.h defines
 *   COLL_SMELT_API            the initialisers of the coll interface's version
 *   COLL_SMELT_EXPORT         what makes the component's struct visible
 *   COLL_SMELT_POINTER        a definition that the series wants beside the struct, or nothing
 *   coll_smelt_length          the type of an element count
 *   coll_smelt_counts, coll_smelt_places   of an array of these, and of displacements; with coll_smelt_count_at and
 *                              coll_smelt_place_at
 *   COLL_SMELT_OFFER(module, name)             when the module is made: announces the function `name`
 *   COLL_SMELT_INSTALL(module, comm, name)     when it is enabled: puts the function into the communicator
 *   COLL_SMELT_UNINSTALL(module, comm, name)   when it is disabled: puts the one that was saved back
 * where OFFER or the other two do nothing, as the framework or the component does that work in this series. */
#ifndef COLL_SMELT_COMPAT_H
#define COLL_SMELT_COMPAT_H

#include "ompi_config.h"

#include "mpi.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/coll.h"

#if OMPI_MAJOR_VERSION == 4 && OMPI_MINOR_VERSION == 1
#include "compat_4_1.h"
#elif OMPI_MAJOR_VERSION == 5 && OMPI_MINOR_VERSION == 0
#include "compat_5_0.h"
#elif OMPI_MAJOR_VERSION == 6
#include "compat_6_0.h"
#else
#error "coll/smelt knows Open MPI 4.1, 5.0 and 6; write a compat_<series>.h for this one (see compat.h)"
#endif

#endif
