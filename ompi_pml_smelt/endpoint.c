/* The endpoint: made and left by node.c. */
#include "endpoint.h"

smelt_endpoint *pml_smelt_endpoint;
uint64_t pml_smelt_inbox_bytes, pml_smelt_packet_bytes;
