/* The functions that Open MPI calls, of the types that its interface gives them. */
#ifndef COLL_SMELT_FUNCTIONS_H
#define COLL_SMELT_FUNCTIONS_H

#include "compat.h"

#define COLL_SMELT_SLOT(name) __typeof__(*(mca_coll_base_module_##name##_fn_t)NULL) coll_smelt_##name;
#include "slots.def"

#endif
