/* The neighbours of a communicator. */
#ifndef COLL_SMELT_NEIGHBOURS_H
#define COLL_SMELT_NEIGHBOURS_H

#include "module.h"

/* The blocks of a collective of neighbours, by rank: which rank, and which block of the program's. */
typedef struct coll_smelt_neighbour {
  int peer, block;
} coll_smelt_neighbour;
typedef struct coll_smelt_neighbours {
  int outgoing, incoming;
  coll_smelt_neighbour list[]; /* the outgoing, then the incoming */
} coll_smelt_neighbours;
/* Found at first use; NULL: no memory. */
const coll_smelt_neighbours *coll_smelt_neighbours_of(coll_smelt_module *module);
/* Everybody looks at everybody in an exchange; messages between a few neighbours do not. Above so many ranks these are
 * left to the component below. */
enum { COLL_SMELT_NEIGHBOURS_AMONG = 16 };

#endif
