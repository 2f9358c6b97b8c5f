/* The machine profile as a model: the cost of a message between each pair of CPUs.
 *
 * Source: the machine model of Kaestle et al., "Machine-aware Atomic Broadcast Trees for Multicores", OSDI 2016, §3.1,
 * extended by the overlap of independent messages (docs/model.md).
 */
#ifndef SMELT_MODEL_H
#define SMELT_MODEL_H

#include <smelt/base.h>
#include <stddef.h>
#include <stdint.h>

SMELT_BEGIN

typedef struct smelt_model smelt_model;

/* Where a model comes from. */
typedef enum smelt_source {
  SMELT_SOURCE_SETTING = 0, /* the file that SMELT_PROFILE names */
  SMELT_SOURCE_USER = 1,    /* measured, the user's profile for this machine */
  SMELT_SOURCE_SYSTEM = 2,  /* measured, the system's profile for this machine */
  SMELT_SOURCE_GUESS = 3,   /* not measured: typical costs for the kernel's topology */
  SMELT_SOURCE_CALLER = 4   /* smelt_model_create */
} smelt_source;

/* The four costs of an ordered pair (sender, receiver), and the paper's two, which follow from them. */
typedef enum smelt_cost {
  SMELT_COST_HOP = 0,        /* store -> seen by a polling receiver */
  SMELT_COST_SEND_BUSY = 1,  /* each further message keeps the sender this long (the paper's t_send) */
  SMELT_COST_RECV_BUSY = 2,  /* each further message keeps the receiver this long */
  SMELT_COST_READY_READ = 3, /* reading a message that has been there for a while */
  SMELT_COST_T_RECEIVE = 4   /* hop - send_busy: the paper's t_receive */
} smelt_cost;

/* Loads the profile at `path`, or with NULL the one for this machine: SMELT_PROFILE, the user's, the system's, else a
 * guess (smelt_model_source tells which). Blocks for file reading only; call it at start-up. With a path: -ENOENT,
 * -EACCES, or -EINVAL for a file that is refused. If it is NULL, only -ENOMEM and -ENODEV come. */
SMELT_API int smelt_model_load(const char *path, smelt_model **model);

/* A model of n CPUs (1 .. SMELT_MAX_PARTICIPANTS) from the paper's two matrices, in nanoseconds, row-major, row =
 * sender, diagonal 0, entries finite and >= 0. os_cpus: n kernel CPU numbers, ascending, or NULL for 0 .. n-1. node:
 * NUMA node of each, or NULL for one node. The arrays are copied. -EINVAL, -ENOMEM. */
SMELT_API int smelt_model_create(unsigned n, const double *t_send, const double *t_receive, const unsigned *os_cpus,
                                 const unsigned *node, smelt_model **model);
SMELT_API void smelt_model_free(smelt_model *model);

SMELT_API unsigned smelt_model_cpus(const smelt_model *model);       /* how many */
SMELT_API int smelt_model_cpu(const smelt_model *model, unsigned i); /* the kernel's number, ascending; -EINVAL */
SMELT_API smelt_source smelt_model_source(const smelt_model *model); /* where it comes from */
SMELT_API const char *smelt_model_path(const smelt_model *model);    /* "" when not from a file */
SMELT_API const char *smelt_model_machine(const smelt_model *model); /* CPU model name, "" when unknown */
SMELT_API const char *smelt_model_unit(const smelt_model *model);    /* "ns" or "cycles" */
SMELT_API int64_t smelt_model_created(const smelt_model *model);     /* seconds since 1970; 0 for a guess */

/* One cost of an ordered pair of kernel CPU numbers; 0 for a CPU with itself. -EINVAL for a CPU the model does not
   know. */
SMELT_API int smelt_model_cost(const smelt_model *model, smelt_cost cost, unsigned sender, unsigned receiver,
                               double *value);

SMELT_END

#endif
