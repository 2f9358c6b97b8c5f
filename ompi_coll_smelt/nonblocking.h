/* The nonblocking and the persistent forms of the collectives within one machine. */
#ifndef COLL_SMELT_NONBLOCKING_H
#define COLL_SMELT_NONBLOCKING_H

#include "requests.h"

/* True: the call was ours, and *code is what it returns. `call` is prepared. */
bool coll_smelt_begin(coll_smelt_module *module, smelt_collective which, coll_smelt_call *call,
                      ompi_request_t **request, int *code);
bool coll_smelt_keep(coll_smelt_module *module, smelt_collective which, coll_smelt_call *call, struct ompi_info_t *info,
                     ompi_request_t **request, int *code);

#endif
