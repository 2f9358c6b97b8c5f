/* The user's settings: Smelt's settings as MCA parameters. */
#ifndef COLL_SMELT_PARAMETERS_H
#define COLL_SMELT_PARAMETERS_H

#include "compat.h"

/* The component's own, from when it is registered and opened on. */
typedef struct coll_smelt_settings {
  int priority; /* 0: not used */
  int verbose;
  int patience; /* calls of a new communicator that set nothing up yet */
} coll_smelt_settings;
extern coll_smelt_settings coll_smelt_set;

/* Registers the parameters and hands to Smelt what the user set. `added`: the value of the parameter of that name,
 * which stays. */
void coll_smelt_register_parameters(const mca_base_component_t *component, const char *added);
/* The value in force of an integer setting ("SMELT_PRIORITY"); *set: somebody asked for it. */
int coll_smelt_setting(const char *name, bool *set);

#endif
