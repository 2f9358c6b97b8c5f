/* The barrier between threads of one process. */
#ifndef SMELT_BARRIER_H
#define SMELT_BARRIER_H

#include <smelt/context.h>

SMELT_BEGIN

typedef struct smelt_barrier smelt_barrier;

/* A barrier for the participants of the context, which is not needed afterwards. -EINVAL, -ENOMEM. */
SMELT_API int smelt_barrier_create(const smelt_context *context, smelt_barrier **barrier);

/* Waits until all n participants have called it. `participant` is 0 .. n-1, each used by one thread at a time.
 * Reusable at once, for ever. Returns 0, or -EINVAL for a participant out of range (and then waits for nobody).
 * Allocates nothing, prints nothing, takes no lock; system calls only when the wait is long.
 * Memory ordering: everything that any participant did before its call happens before everything that any participant
 * does after it returns. */
SMELT_API int smelt_barrier_wait(smelt_barrier *barrier, unsigned participant);

/* Waits until every participant has left its last episode, then releases the barrier. May be called by one participant
 * as soon as its own wait has returned; no participant may enter a new episode. */
SMELT_API void smelt_barrier_free(smelt_barrier *barrier);

SMELT_END

#endif
