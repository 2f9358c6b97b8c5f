/* The counters of Smelt's OpenMP shims (one for GCC's libgomp, one for LLVM's libomp) in this process so far. A
   shim itself needs no API: it serves programs that do not know of it. */
#ifndef SMELT_OPENMP_H
#define SMELT_OPENMP_H

#include <stddef.h>
#include <stdint.h>

#include <smelt/base.h>

SMELT_BEGIN

/* Numbers since the start of the process, all teams together. `episodes` are barriers of a team, counted once and not
   once per thread, when their region has ended. */
typedef struct smelt_openmp_counts {
  uint64_t regions;         /* parallel regions that came to the shim */
  uint64_t hot_regions;     /* of these, forked and joined by a hot team */
  uint64_t hot_teams;       /* hot teams made */
  uint64_t hot_teardowns;   /* hot teams ended again: other team size, a setting changed, ... */
  uint64_t own_episodes;    /* barriers served by Smelt */
  uint64_t real_episodes;   /* barriers that were left to the runtime, because tasks were waiting to be run */
  uint64_t abandoned;       /* barriers that a task was made before: no thread stays in Smelt's plain one */
  uint64_t sleeps;          /* times that a thread went to sleep in one of Smelt's waits */
  uint64_t other_regions;   /* not in `regions`: handed on to another OpenMP runtime of the process */
  uint64_t shared_loops;    /* dynamic loops whose chunks Smelt handed out, once for a team */
  uint64_t own_tasks;       /* tasks that Smelt queued or ran, not libgomp; 0 with SMELT_OPENMP=-tasks */
} smelt_openmp_counts;

/* Fills *counts. 0; -ENOENT when the shim is not in this process (the program was started without it), then *counts is
   all zero; -EINVAL for NULL. `bytes` is sizeof *counts: a later Smelt may append members, and fills only what the
   caller knows. Thread-safe; not for signal handlers. The numbers are recent, not a snapshot: other threads go on
   counting. */
SMELT_API int smelt_openmp_counters(smelt_openmp_counts *counts, size_t bytes);

SMELT_END

#endif
