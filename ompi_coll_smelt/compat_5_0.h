/* Open MPI 5.0: coll interface 2.4.0; otherwise like 4.1. */
#ifndef COLL_SMELT_COMPAT_5_0_H
#define COLL_SMELT_COMPAT_5_0_H

#include "compat_ints.h"

#define COLL_SMELT_API MCA_COLL_BASE_VERSION_2_4_0
#define COLL_SMELT_EXPORT __attribute__((visibility("default")))
#define COLL_SMELT_POINTER

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

#define COLL_SMELT_BUILT_IN(framework, i) ((framework)->framework_static_components[i])

#endif
