// Making a scheduler and freeing it: its workers are started and stopped, and the child of a fork, which has none of
// them, is told so.
#include <cerrno>

#include <pthread.h>
#include <sched.h>

#include "base/os/os.h"
#include "library/thread/overflow.h"
#include "library/thread/own_tls.h"
#include "library/thread/scheduler.h"
#include "message/lock_bit.h"

namespace smelt::thread {
namespace {

// All schedulers of this process, for the child of a fork. No fork comes while somebody has the lock.
constinit std::atomic<uintptr_t> list_lock{0};
constinit Scheduler* all = nullptr;

int start_worker(Worker& worker, const unsigned* cpus) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return -ENOMEM;
  int error = 0;
  if (cpus) {
    constexpr uint32_t kMostCpus = 8192;  // bits of the mask: the kernel's greatest NR_CPUS
    unsigned long mask[kMostCpus / (8 * sizeof(unsigned long))] = {};
    constexpr uint32_t kWordBits = 8 * sizeof(unsigned long);
    const unsigned cpu = cpus[worker.number];
    if (cpu < kMostCpus) {
      mask[cpu / kWordBits] |= 1ul << cpu % kWordBits;
      error = pthread_attr_setaffinity_np(&attributes, sizeof mask, reinterpret_cast<const cpu_set_t*>(mask));
    } else {
      error = EINVAL;
    }
  }
  if (!error) error = pthread_create(&worker.kernel_thread, &attributes, worker_main, &worker);
  pthread_attr_destroy(&attributes);
  return -error;
}

void lock_list() { lock(list_lock); }
void unlock_list() { unlock(list_lock, 0); }

// At most the worker that has forked is left, and it is none any more.
void after_fork_in_child() {
  for (Scheduler* scheduler = all; scheduler; scheduler = scheduler->after_this)
    for (uint32_t i = 0; i < scheduler->workers; ++i) scheduler->worker[i].forked = true;
  for (; all; all = all->after_this) unwatch_overflow();
  unlock_list();
}

void enlist(Scheduler& scheduler) {
  lock_list();
  static constinit bool watching = false;
  if (!watching) watching = pthread_atfork(lock_list, unlock_list, after_fork_in_child) == 0;
  scheduler.after_this = all;
  all = &scheduler;
  watch_overflow();
  unlock_list();
}

void delist(Scheduler& scheduler) {
  lock_list();
  for (Scheduler** at = &all; *at; at = &(*at)->after_this) {
    if (*at != &scheduler) continue;
    *at = scheduler.after_this;
    break;
  }
  unwatch_overflow();
  unlock_list();
}

void stop(Scheduler& scheduler, uint32_t started) {
  scheduler.stop.store(1, std::memory_order_release);
  full_fence();  // before the look for sleepers; pairs with the one in find_work()
  wake_all(scheduler);
  for (uint32_t i = 0; i < started; ++i) pthread_join(scheduler.worker[i].kernel_thread, nullptr);
}

size_t workers_bytes(uint32_t workers) { return workers * (sizeof(Worker) + sizeof(uint64_t) * workers) + kLineBytes; }

void release(Scheduler* scheduler) {
  scheduler->stacks.destroy();
  if (scheduler->worker) os::unmap_pages(scheduler->worker, workers_bytes(scheduler->workers));
  free_object(static_cast<smelt_scheduler*>(scheduler));
}

}  // namespace

int create(uint32_t workers, const unsigned* cpus, size_t stack_bytes, bool stealing, bool own_tls, Scheduler** out) {
  if (!kCanSwitch || (own_tls && !can_lend())) return -ENOTSUP;
  Scheduler* const scheduler = make_object<smelt_scheduler>(0);
  if (!scheduler) return -ENOMEM;
  scheduler->workers = workers;
  scheduler->stealing = stealing;
  scheduler->own_tls = own_tls;
  scheduler->policy = wait_policy(workers > usable_cpus(), workers);
  scheduler->stacks.create(stack_bytes);
  auto* const memory = static_cast<char*>(os::map_pages(workers_bytes(workers)));
  if (!memory) {
    release(scheduler);
    return -ENOMEM;
  }
  // map_pages gives whole pages, so workers are aligned; and zeroed, so vectors and tables are as they should be
  // without a touch.
  scheduler->worker = reinterpret_cast<Worker*>(memory);
  auto* looked = reinterpret_cast<uint64_t*>(memory + workers * sizeof(Worker));
  for (uint32_t i = 0; i < workers; ++i) {
    Worker& worker = scheduler->worker[i];
    worker.scheduler = scheduler;
    worker.number = i;
    worker.own_tls = own_tls;
    worker.idle = stealing ? &scheduler->idle : &worker.own_idle;
    worker.looked = looked + i * workers;
  }
  enlist(*scheduler);
  for (uint32_t i = 0; i < workers; ++i) {
    if (const int error = start_worker(scheduler->worker[i], cpus)) {
      stop(*scheduler, i);
      delist(*scheduler);
      release(scheduler);
      return error;
    }
  }
  *out = scheduler;
  return 0;
}

bool all_ended(const Scheduler& scheduler) {
  // acquire: all that they did. Those that have ended first: a number never gets smaller.
  uint64_t ended = 0, spawned = 0;
  for (uint32_t i = 0; i < scheduler.workers; ++i) ended += scheduler.worker[i].ended.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < scheduler.workers; ++i)
    spawned += scheduler.worker[i].spawned.load(std::memory_order_acquire);
  return ended == spawned + scheduler.spawned.load(std::memory_order_acquire);
}

void destroy(Scheduler* scheduler) {
  if (scheduler->worker[0].forked) return;  // we may be on one of its stacks
  std::atomic<uint32_t> nothing{0};
  // acquire: every visitor is gone. In this order: a visitor comes before a thread has ended
  for (int i = 0; !all_ended(*scheduler) || scheduler->visitors.load(std::memory_order_acquire) != 0; ++i) {
    if (i < 100)
      os::yield_cpu();
    else
      os::futex_wait(&nothing, 0, 1'000'000);
  }
  stop(*scheduler, scheduler->workers);
  delist(*scheduler);
  release(scheduler);
}

}  // namespace smelt::thread
