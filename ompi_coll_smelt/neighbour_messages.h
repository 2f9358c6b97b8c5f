/* Exchanges of neighbours by messages of our own. */
#ifndef COLL_SMELT_NEIGHBOUR_MESSAGES_H
#define COLL_SMELT_NEIGHBOUR_MESSAGES_H

#include "requests.h"

/* Would the component below answer nonblocking and persistent calls otherwise than MPI says? Then those that no group
 * serves go by messages. Open MPI codes. */
bool coll_smelt_suits_messages(const coll_smelt_module *module, const coll_smelt_exchange *exchange);
int coll_smelt_begin_messages(coll_smelt_module *module, smelt_collective which, const coll_smelt_call *call,
                              ompi_request_t **request);
int coll_smelt_keep_messages(coll_smelt_module *module, smelt_collective which, const coll_smelt_call *call,
                             ompi_request_t **request);

#endif
