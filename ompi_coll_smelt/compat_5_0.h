/* Open MPI 5.0: coll interface 2.4.0; otherwise like 4.1. */
#ifndef COLL_SMELT_COMPAT_5_0_H
#define COLL_SMELT_COMPAT_5_0_H

#include "compat_ints.h"

#define COLL_SMELT_API MCA_COLL_BASE_VERSION_2_4_0
#define COLL_SMELT_EXPORT __attribute__((visibility("default")))
#define COLL_SMELT_POINTER

#define COLL_SMELT_BUILT_IN(framework, i) ((framework)->framework_static_components[i])

#endif
