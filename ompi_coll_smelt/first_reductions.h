/* The first reductions of a communicator, before it has a group. */
#ifndef COLL_SMELT_FIRST_REDUCTIONS_H
#define COLL_SMELT_FIRST_REDUCTIONS_H

#include "form.h"

/* May this reduction be served without a group, as one of the communicator's first? If so, it counts as one. */
bool coll_smelt_is_first_reduction(coll_smelt_module *module, smelt_collective which, const coll_smelt_call *call);
/* Serves such a call. Returns true if it did, and *code is then the result; else the component below is to be called.
 * */
bool coll_smelt_first_reduction(coll_smelt_module *module, smelt_collective which, const coll_smelt_call *call,
                                int *code);

#endif
