/* The differences between the series of Open MPI, chosen by the headers that are compiled against: as in
 * ompi_coll_smelt/compat.h.
 *
 * Each compat_<series>.h defines
 *   PML_SMELT_API              the initialisers of the pml interface's version
 *   PML_SMELT_EXPORT           what makes the component's struct visible
 *   PML_SMELT_MODEX_SEND(error, component, data, bytes), PML_SMELT_MODEX_RECV(error, component, name, data, bytes)
 *                              words between processes before the first message; here within a node
 *   PML_SMELT_TELL_EVERYBODY(error, key, data, bytes)   the same over all nodes, by a key of our own
 *   pml_smelt_told             what one has told so; the caller frees it
 *   pml_smelt_job_size         how many processes the job has
 *   pml_smelt_context          a communicator's number, the same on all of its ranks; -1: they have none in common
 *   pml_smelt_take_from_below  the functions of a module that we do not have, from that of the PML below
 *   pml_smelt_steps_aside      NULL, or why this job's messages are not for us */
#ifndef PML_SMELT_COMPAT_H
#define PML_SMELT_COMPAT_H

#include "ompi_config.h"

#include "mpi.h"
#include "ompi/communicator/communicator.h"
#include "ompi/mca/pml/pml.h"

#include <stdint.h>

#if OMPI_MAJOR_VERSION == 4 && OMPI_MINOR_VERSION == 1
#include "compat_4_1.h"
#elif OMPI_MAJOR_VERSION == 5 && OMPI_MINOR_VERSION == 0
#include "compat_5_0.h"
#else
#error "pml/smelt knows Open MPI 4.1 and 5.0; write a compat_<series>.h for this one (see compat.h)"
#endif

#endif
