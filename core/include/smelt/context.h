/* A context: a group of participants and the pattern that serves them on this machine. Several barriers can be made
 * from one context. */
#ifndef SMELT_CONTEXT_H
#define SMELT_CONTEXT_H

#include <smelt/model.h>

SMELT_BEGIN

typedef struct smelt_context smelt_context;

/* A context for n participants (1 .. SMELT_MAX_PARTICIPANTS). model NULL: this machine's (smelt_model_load(NULL)).
 * cpus[i]: the kernel CPU that participant i is pinned to; NULL when threads are not pinned: then the i-th allowed
 * CPU is assumed. pattern NULL: the setting SMELT_PATTERN, by default "best". CPUs may repeat, and n may exceed
 * the CPUs: such a crowd is served by a counter and yielding waits instead of a pattern, and its pattern is "crowd".
 * -ENOENT, -ERANGE, -EINVAL as smelt_schedule_create; -ENOMEM. The model is not needed afterwards. */
SMELT_API int smelt_context_create(const smelt_model *model, unsigned n, const unsigned *cpus, const char *pattern,
                                   smelt_context **context);
SMELT_API void smelt_context_free(smelt_context *context);

SMELT_API unsigned smelt_context_size(const smelt_context *context);       /* participants */
SMELT_API const char *smelt_context_pattern(const smelt_context *context); /* "pair", "all-to-all", "crowd", ... */
SMELT_API double smelt_context_predicted(const smelt_context *context);    /* ns per barrier, 0 for a crowd */

SMELT_END

#endif
