/* The endpoint that the processes of this job on this node share. */
#ifndef PML_SMELT_ENDPOINT_H
#define PML_SMELT_ENDPOINT_H

#include "compat.h"

#include <smelt/endpoint.h>
#include <stdint.h>

extern smelt_endpoint *pml_smelt_endpoint;                     /* NULL: there is none */
extern uint64_t pml_smelt_inbox_bytes, pml_smelt_packet_bytes; /* its smelt_endpoint_limits */

#endif
