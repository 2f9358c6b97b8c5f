/* Open MPI 4.1: coll interface 2.0.0. */
#ifndef COLL_SMELT_COMPAT_4_1_H
#define COLL_SMELT_COMPAT_4_1_H

#include "compat_ints.h"

#define COLL_SMELT_API MCA_COLL_BASE_VERSION_2_0_0
#define COLL_SMELT_EXPORT OMPI_MODULE_DECLSPEC
#define COLL_SMELT_POINTER

static inline bool coll_smelt_info_get(opal_info_t *info, const char *key, char *text, size_t room) {
  int found = 0;
  return opal_info_get(info, key, (int)room - 1, text, &found) == OPAL_SUCCESS && found;
}

/* Do all ranks know the communicator by the same number? *number is that. */
#define COLL_SMELT_NUMBER(comm, number) (*(number) = (comm)->c_contextid, true)

#define COLL_SMELT_BUILT_IN(framework, i) ((framework)->framework_static_components[i])

#endif
