/* Open MPI from 5.0 on has its locks from headers of these names, which its `make install` leaves out although
 * opal_config.h names them. This folder is searched last, so where the real ones are found, those are used.
 *
 * Two types have to be the library's own: opal_mutex_t contains the one, code that waits for a request both. The
 * functions are those that inline functions of Open MPI's other headers call; the component itself calls none. */
#ifndef COLL_SMELT_THREADS_PTHREADS_MUTEX_H
#define COLL_SMELT_THREADS_PTHREADS_MUTEX_H

#include "opal/class/opal_object.h"
#include "opal/constants.h"

#include <pthread.h>
#include <stdbool.h>

typedef pthread_mutex_t opal_thread_internal_mutex_t;
#define OPAL_THREAD_INTERNAL_MUTEX_INITIALIZER PTHREAD_MUTEX_INITIALIZER

/* Nothing in the headers asks for a recursive one. */
static inline int opal_thread_internal_mutex_init(opal_thread_internal_mutex_t *mutex, bool recursive) {
  return !recursive && pthread_mutex_init(mutex, NULL) == 0 ? OPAL_SUCCESS : OPAL_ERROR;
}
static inline void opal_thread_internal_mutex_destroy(opal_thread_internal_mutex_t *mutex) {
  (void)pthread_mutex_destroy(mutex);
}
static inline void opal_thread_internal_mutex_lock(opal_thread_internal_mutex_t *mutex) {
  (void)pthread_mutex_lock(mutex);
}
static inline void opal_thread_internal_mutex_unlock(opal_thread_internal_mutex_t *mutex) {
  (void)pthread_mutex_unlock(mutex);
}
/* 0: locked */
static inline int opal_thread_internal_mutex_trylock(opal_thread_internal_mutex_t *mutex) {
  return pthread_mutex_trylock(mutex) != 0;
}

typedef pthread_cond_t opal_thread_internal_cond_t;
#define OPAL_THREAD_INTERNAL_COND_INITIALIZER PTHREAD_COND_INITIALIZER

static inline int opal_thread_internal_cond_init(opal_thread_internal_cond_t *condition) {
  return pthread_cond_init(condition, NULL) == 0 ? OPAL_SUCCESS : OPAL_ERROR;
}
static inline void opal_thread_internal_cond_destroy(opal_thread_internal_cond_t *condition) {
  (void)pthread_cond_destroy(condition);
}
static inline void opal_thread_internal_cond_signal(opal_thread_internal_cond_t *condition) {
  (void)pthread_cond_signal(condition);
}

#endif
