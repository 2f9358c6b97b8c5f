/* User-level threads: a million of them in a process, switched in nanoseconds.
 *
 * A scheduler has workers, which are kernel threads, and runs any number of user-level threads on them. Such a thread
 * runs until it yields, waits or ends; nothing else takes its worker from it. Threads synchronise by waiting and
 * signalling, of which other things are made: a thread waits until another one, which has made its condition true,
 * signals it.
 *
 *   smelt_scheduler *scheduler;
 *   smelt_thread *thread;
 *   if (smelt_scheduler_create(0, NULL, 0, 0, &scheduler) != 0) {
 *     return 1;
 *   }
 *   smelt_thread_spawn(scheduler, work, argument, SMELT_ANY_WORKER, &thread);
 *   smelt_thread_join(thread, &result);
 *   smelt_scheduler_free(scheduler);
 *
 * Each worker has a bit for each of its threads, set where that may run, and goes round over them: a thread that may
 * run does before any other of the same worker runs twice (Dang, Snir and Gropp, "Towards millions of communicating
 * threads", EuroMPI 2016, section 3.2). A thread runs where it ran last, unless a worker with nothing to do takes it.
 *
 * Memory ordering: all that a thread did before it signalled, spawned or ended happens before what the other does after
 * its wait, in its function, or after the join. Yielding orders nothing.
 *
 * Each of these is a thread's own, or its worker's:
 *   errno, exceptions  its own: kept across switches, also within a catch block (exceptions of the C++ runtime that is
 *                      there as a shared library when the scheduler is made)
 *   thread_local       its worker's: after a switch it may be another worker's. Compilers take the address of a
 *                      thread-local variable, errno included, for constant within a function; a program that uses one
 *                      on both sides of a switch does so in functions that are not inlined, or forbids threads to move
 *                      (SMELT_NO_STEALING), or asks for variables of each thread's own (SMELT_OWN_TLS): then they are
 *                      destroyed when the thread ends, pthread_self and keys are its own too, and a mutex held across a
 *                      switch stays its own. That takes a kernel thread for each, which sleeps: for hundreds of
 *                      threads. Destructors of such variables must not wait, join or yield. All that
 *                      the kernel keeps for a thread belongs to that kernel thread: pthread_kill, affinity, priority
 *                      inheritance, restartable sequences
 *   signal mask        its worker's, which begins with that of the creator of the scheduler
 *   rounding modes     its own on x86-64, its worker's elsewhere
 *   locks              a mutex that is held across a switch may be unlocked on another worker, which is an error; and
 *                      a thread that waits for one keeps its worker waiting
 *   blocking calls     keep the worker, not only the thread
 *   stack              of the size that the scheduler was given. Below it lies a guard of 16 KiB: a thread that runs
 *                      into it ends the program by SIGSEGV, after one line that says so, unless the program has a
 *                      handler for it when the first scheduler is made. Before Linux 6.13 some 16,000 threads have a
 *                      guard, and others none (smelt_scheduler_figures)
 *   fork               the child has the calling thread alone, as with kernel threads, and it is a user-level thread no
 *                      more: it may call exec, _exit, or make a scheduler of its own; its workers' threads are gone.
 *                      With SMELT_OWN_TLS its function must not return there
 *   pthread_exit, pthread_cancel, longjmp to another thread: must not be used
 *
 * Functions return 0 or, unless it says otherwise at the function:
 *   -EINVAL    an argument is out of range or NULL
 *   -EPERM     the caller is no user-level thread
 *   -ENOMEM    there is no memory
 */
#ifndef SMELT_THREAD_H
#define SMELT_THREAD_H

#include <smelt/base.h>
#include <stddef.h>
#include <stdint.h>

SMELT_BEGIN

typedef struct smelt_scheduler smelt_scheduler;
typedef struct smelt_thread smelt_thread;

enum {
  SMELT_MAX_WORKERS = 1024,          /* of a scheduler */
  SMELT_WORKER_THREADS = 512 * 512,  /* that a worker has at most, at a time */
  SMELT_NO_STEALING = 1,             /* a flag: threads stay with the worker that they began at */
  SMELT_OWN_TLS = 2,                 /* a flag: threads have thread-local variables of their own */
  SMELT_ANY_WORKER = -1
};

/* --- Schedulers. A program may have several.
 * create: `workers`, 1 .. SMELT_MAX_WORKERS, or 0: as many as there are CPUs for this program (SMELT_CPUS). cpus[i]:
 * the kernel's CPU that worker i is bound to, or NULL: none is bound. `stack_bytes`: of each thread, rounded up to
 * pages; 16 KiB .. 1 GiB, or 0: 64 KiB. They are reserved, and take memory when they are touched: a thread that has
 * little on its stack takes a page. Stacks of threads that have ended are used again, and go with the scheduler.
 * `flags`: SMELT_NO_STEALING, SMELT_OWN_TLS, both or 0. Workers with nothing to do spin, yield and sleep as SMELT_WAIT
 * and SMELT_TUNE say. -ENOTSUP: Smelt was built without Boost.Context; SMELT_OWN_TLS: this machine lets no program
 * change its thread pointer. -EAGAIN: there may be no more kernel threads. */
SMELT_API int smelt_scheduler_create(unsigned workers, const unsigned *cpus, size_t stack_bytes, unsigned flags,
                                     smelt_scheduler **scheduler);
/* Waits until all its threads have ended, and ends its workers. Threads that nobody has joined are gone with it. None
 * of its own threads may call it. Meanwhile nobody else spawns or joins one of its threads; a signal that lets one run
 * to its end need not have returned. In the child of a fork it does nothing. */
SMELT_API void smelt_scheduler_free(smelt_scheduler *scheduler);

/* How many it has; 0 of NULL. */
SMELT_API unsigned smelt_scheduler_workers(const smelt_scheduler *scheduler);

/* The counts so far. */
typedef struct smelt_scheduler_counts {
  uint64_t spawned;   /* threads */
  uint64_t ended;     /* ... */
  uint64_t runs;      /* how often one was gone on with */
  uint64_t stolen;    /* ... by another worker than before */
  uint64_t slept;     /* how often a worker went to sleep */
  uint64_t stacks;    /* that there are, in use or not */
  uint64_t unguarded; /* ... of which so many have no guard */
} smelt_scheduler_counts;

/* Approximate while threads run. */
SMELT_API int smelt_scheduler_figures(const smelt_scheduler *scheduler, smelt_scheduler_counts *counts);

/* --- Threads.
 * spawn: function(argument) as a new thread; the caller, which may be any thread, goes on. `scheduler` may be NULL
 * in a user-level thread: its own. `worker`: where it begins, 0 .. workers-1 (unless it is stolen before), or
 * SMELT_ANY_WORKER: the caller's, or, for a kernel thread, one after the other. join needs *thread. With `thread` NULL
 * nobody joins it, and all that is left of it goes when it ends. -EAGAIN: there are SMELT_WORKER_THREADS at each
 * worker. -ENOTSUP: in the child of a fork. */
SMELT_API int smelt_thread_spawn(smelt_scheduler *scheduler, void *(*function)(void *), void *argument, int worker,
                                 smelt_thread **thread);
/* Waits until the thread has ended, and frees it: the handle is not valid any more. *result, if `result` is not NULL:
 * its function's result. From any thread, of any kind; a kernel thread sleeps meanwhile. Each thread is joined once.
 * -EDEADLK: by itself. -EBUSY: somebody else joins it. -ENOTSUP: in the child of a fork. */
SMELT_API int smelt_thread_join(smelt_thread *thread, void **result);

/* The calling thread; NULL: it is no user-level thread. */
SMELT_API smelt_thread *smelt_thread_self(void);
/* The number of the worker that we are on; -1: on none. It is true until the next switch. */
SMELT_API int smelt_thread_worker(void);

/* Lets others run: the caller goes on when all threads of its worker that may run have. If there are none, it does
 * nothing but let the kernel run something else now and then. It does the same in a kernel thread. */
SMELT_API void smelt_thread_yield(void);

/* wait: until the caller is signalled; signal: ends one wait, of now or later. Signals are counted, up to 2^31-1: after
 * three the next three waits return at once. A thread that waits for a condition looks at it again after each wait,
 * because others may have signalled for other reasons. signal: by any thread, of any kind, also in a signal handler;
 * the thread must not have been joined. */
SMELT_API int smelt_thread_wait(void);
SMELT_API int smelt_thread_signal(smelt_thread *thread);

SMELT_END

#endif
