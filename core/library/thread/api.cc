#include <smelt/thread.h>

#include <algorithm>
#include <cerrno>

#include "base/os/os.h"
#include "library/thread/scheduler.h"
#include "policy/wait.h"

using namespace smelt;
using namespace smelt::thread;

static_assert(SMELT_WORKER_THREADS == kBits && SMELT_MAX_WORKERS == kMostWorkers);

namespace {

// The worker on which the caller is a user-level thread; nullptr: it is none.
Worker* here() {
  Worker* const worker = current_worker();
  return worker && !worker->forked ? worker : nullptr;
}

}  // namespace

int smelt_scheduler_create(unsigned workers, const unsigned* cpus, size_t stack_bytes, unsigned flags,
                           smelt_scheduler** scheduler) {
  constexpr size_t kUsual = 65536;  // bytes of a stack, reserved: as smelt/thread.h says
  if (!scheduler || workers > kMostWorkers || (flags & ~unsigned{SMELT_NO_STEALING | SMELT_OWN_TLS}) != 0)
    return -EINVAL;
  if (stack_bytes != 0 && (stack_bytes < Stacks::kLeast || stack_bytes > Stacks::kMost)) return -EINVAL;
  if (workers == 0) workers = std::min(usable_cpus(), kMostWorkers);
  Scheduler* made;
  const int error = create(workers, cpus, stack_bytes ? stack_bytes : kUsual, !(flags & SMELT_NO_STEALING),
                           (flags & SMELT_OWN_TLS) != 0, &made);
  if (error == 0) *scheduler = static_cast<smelt_scheduler*>(made);
  return error;
}

void smelt_scheduler_free(smelt_scheduler* scheduler) {
  if (scheduler) destroy(scheduler);
}

unsigned smelt_scheduler_workers(const smelt_scheduler* scheduler) { return scheduler ? scheduler->workers : 0; }

int smelt_scheduler_figures(const smelt_scheduler* scheduler, smelt_scheduler_counts* counts) {
  if (!scheduler || !counts) return -EINVAL;
  // relaxed, all: figures
  *counts = {};
  counts->spawned = scheduler->spawned.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < scheduler->workers; ++i) {
    const Worker& worker = scheduler->worker[i];
    counts->spawned += worker.spawned.load(std::memory_order_relaxed);
    counts->ended += worker.ended.load(std::memory_order_relaxed);
    counts->runs += worker.runs.load(std::memory_order_relaxed);
    counts->stolen += worker.stolen.load(std::memory_order_relaxed);
    counts->slept += worker.slept.load(std::memory_order_relaxed);
  }
  counts->stacks = scheduler->stacks.count();
  counts->unguarded = scheduler->stacks.unguarded();
  return 0;
}

int smelt_thread_spawn(smelt_scheduler* scheduler, void* (*function)(void*), void* argument, int worker,
                       smelt_thread** thread) {
  if (!scheduler) {
    Worker* const mine = here();
    if (!mine) return -EINVAL;
    scheduler = static_cast<smelt_scheduler*>(mine->scheduler);
  }
  if (!function || worker < SMELT_ANY_WORKER || worker >= static_cast<int>(scheduler->workers)) return -EINVAL;
  Thread* made;
  const int error = spawn(*scheduler, function, argument, worker, !thread, &made);
  if (error == 0 && thread) *thread = static_cast<smelt_thread*>(made);
  return error;
}

int smelt_thread_join(smelt_thread* thread, void** result) {
  if (!thread) return -EINVAL;
  Worker* const worker = here();
  if (worker && worker->current == thread) return -EDEADLK;
  return join(worker, *thread, result);
}

smelt_thread* smelt_thread_self(void) {
  const Worker* const worker = here();
  return worker ? static_cast<smelt_thread*>(worker->current) : nullptr;
}

int smelt_thread_worker(void) {
  const Worker* const worker = here();
  return worker ? static_cast<int>(worker->number) : -1;
}

void smelt_thread_yield(void) {
  if (Worker* const worker = here())
    yield(*worker);
  else
    os::yield_cpu();
}

int smelt_thread_wait(void) {
  Worker* const worker = here();
  if (!worker) return -EPERM;
  wait(*worker);
  return 0;
}

int smelt_thread_signal(smelt_thread* thread) {
  if (!thread) return -EINVAL;
  signal(*thread);
  return 0;
}
