/* Schedules: the steps of every participant of a collective, and their cost under a model. */
#ifndef SMELT_SCHEDULE_H
#define SMELT_SCHEDULE_H

#include <smelt/model.h>

SMELT_BEGIN

typedef struct smelt_schedule smelt_schedule;

typedef enum smelt_operation {
  SMELT_BROADCAST = 0, /* from the root to all */
  SMELT_REDUCE = 1,    /* from all to the root */
  SMELT_BARRIER = 2    /* nobody leaves before all have come */
} smelt_operation;

typedef enum smelt_step_kind { SMELT_STEP_SIGNAL = 0, SMELT_STEP_WAIT = 1 } smelt_step_kind;

typedef enum smelt_cost_model {
  SMELT_COST_MODEL_OVERLAP = 0, /* ours: independent messages overlap */
  SMELT_COST_MODEL_PAPER = 1    /* the paper's: sends and receives add up */
} smelt_cost_model;

/* The schedule of one pattern, or with "best" (or NULL) the cheapest of the registry under the cost model. Arguments
 * and errors as smelt_tree_create; -EINVAL also when the pattern cannot serve the operation, or is no tree and a root
 * is given ("best" with a root is the best tree). Every schedule is validated before it is returned: everyone
 * transitively hears everyone it must, no message is left over, no deadlock. */
SMELT_API int smelt_schedule_create(const smelt_model *model, smelt_operation operation, const char *pattern,
                                    unsigned n, const unsigned *cpus, int root, smelt_cost_model cost_model,
                                    smelt_schedule **schedule);
SMELT_API void smelt_schedule_free(smelt_schedule *schedule);

SMELT_API unsigned smelt_schedule_size(const smelt_schedule *schedule);       /* participants */
SMELT_API const char *smelt_schedule_pattern(const smelt_schedule *schedule); /* of this one: "dissemination:2" */
SMELT_API double smelt_schedule_predicted(const smelt_schedule *schedule);    /* makespan, in the model's unit */
SMELT_API int smelt_schedule_steps(const smelt_schedule *schedule, unsigned participant); /* how many; -EINVAL */
/* One step: its kind and its peers in order; writes at most `room` peers, returns how many there are; -EINVAL. */
SMELT_API int smelt_schedule_step(const smelt_schedule *schedule, unsigned participant, unsigned step,
                                  smelt_step_kind *kind, unsigned *peers, unsigned room);

SMELT_END

#endif
