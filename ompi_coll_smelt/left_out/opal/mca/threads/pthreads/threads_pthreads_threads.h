/* As threads_pthreads_mutex.h beside it: how a thread lets others run. */
#ifndef COLL_SMELT_THREADS_PTHREADS_THREADS_H
#define COLL_SMELT_THREADS_PTHREADS_THREADS_H

#include <sched.h>

static inline void opal_thread_yield(void) { (void)sched_yield(); }

#endif
