/* The differences between the series of Open MPI, chosen by the headers that are compiled against. A built component
 * serves one series only, because the structs it fills in differ; component.c checks that again when it is loaded.
 *
 * Each compat_<series>.h defines
 *   COLL_SMELT_API            the initialisers of the coll interface's version
 *   COLL_SMELT_EXPORT         what makes the component's struct visible
 *   COLL_SMELT_POINTER        a definition that the series wants beside the struct, or nothing
 *   coll_smelt_length          the type of an element count
 *   coll_smelt_counts, coll_smelt_places, coll_smelt_far_places   arrays of counts, and of displacements, which
 *                             MPI_Neighbor_alltoallw has of another type; coll_smelt_count_of and so on: one of them;
 *                             coll_smelt_counts_of, coll_smelt_places_of: from an array of ints
 *   COLL_SMELT_NUMBER         of a communicator
 *   coll_smelt_info_get        the value of a key, cut to the room; false: it is not there
 *   COLL_SMELT_OFFER_AS(module, name, function)          when the module is made: announces the function `name`
 *   COLL_SMELT_INSTALL_AS(module, comm, name, function)  when it is enabled: puts the function into the communicator
 *   COLL_SMELT_UNINSTALL(module, comm, name)             when it is disabled: puts the one that was saved back
 * where OFFER or the other two do nothing, as the framework or the component does that work in this series. */
#ifndef COLL_SMELT_COMPAT_H
#define COLL_SMELT_COMPAT_H

#include "ompi_config.h"

#include "mpi.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/coll.h"
#include "opal/util/info.h"

#include <stdbool.h>
#include <stdio.h>

#if OMPI_MAJOR_VERSION == 4 && OMPI_MINOR_VERSION == 1
#include "compat_4_1.h"
#elif OMPI_MAJOR_VERSION == 5 && OMPI_MINOR_VERSION == 0
#include "compat_5_0.h"
#elif OMPI_MAJOR_VERSION == 6
#include "compat_6_0.h"
#else
#error "coll/smelt knows Open MPI 4.1, 5.0 and 6; write a compat_<series>.h for this one (see compat.h)"
#endif

#if OMPI_MAJOR_VERSION >= 5
static inline bool coll_smelt_info_get(opal_info_t *info, const char *key, char *text, size_t room) {
  opal_cstring_t *value = NULL;
  int found = 0;
  if (opal_info_get(info, key, &value, &found) != OPAL_SUCCESS || !found) return false;
  snprintf(text, room, "%s", value->string);
  OBJ_RELEASE(value);
  return true;
}

/* Do all ranks know the communicator by the same number? *number is that. Those made without a parent have none. */
#define COLL_SMELT_NUMBER(comm, number) (*(number) = (comm)->c_index, OMPI_COMM_IS_GLOBAL_INDEX(comm) != 0)
#endif

/* Collectives of neighbours have the types of their namesakes, all but one. */
#define SAME_TYPES(name, neighbours)                                                     \
  typedef mca_coll_base_module_##name##_fn_t mca_coll_base_module_##neighbours##_fn_t;   \
  typedef mca_coll_base_module_i##name##_fn_t mca_coll_base_module_i##neighbours##_fn_t; \
  typedef mca_coll_base_module_##name##_init_fn_t mca_coll_base_module_##neighbours##_init_fn_t;
SAME_TYPES(allgather, neighbor_allgather)
SAME_TYPES(allgatherv, neighbor_allgatherv)
SAME_TYPES(alltoall, neighbor_alltoall)
SAME_TYPES(alltoallv, neighbor_alltoallv)
#undef SAME_TYPES

#endif
