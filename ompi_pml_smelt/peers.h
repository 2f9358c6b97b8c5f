/* The processes on other nodes, and the rails to them. */
#ifndef PML_SMELT_PEERS_H
#define PML_SMELT_PEERS_H

#include "compat.h"

#include <smelt/endpoint.h>
#include <stdbool.h>
#include <stdint.h>

extern bool pml_smelt_nodes;    /* they may be served */
extern char *pml_smelt_network; /* the network profile; NULL or "": the usual one */
void pml_smelt_peers_announce(unsigned members);
/* Have all of the job the means for it? All get the same answer. */
bool pml_smelt_peers_plan(struct ompi_group_t *world, unsigned members);
/* To all that are no members yet; their numbers as peers by rank, -1: it is none. */
bool pml_smelt_peers_connect(struct ompi_group_t *world, const int32_t *member_of_rank, int32_t *peer_of_rank);
int pml_smelt_peers_begin(smelt_endpoint *endpoint);
void pml_smelt_peers_refused(void);
void pml_smelt_peers_end(void);
const char *pml_smelt_peers_why_none(void); /* NULL: they are reached, or there are none */

#endif
