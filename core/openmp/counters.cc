#include "openmp/counters.h"

#include <pthread.h>
#include <new>

#include "policy/wait.h"

namespace smelt::openmp {
namespace {

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
Counters* first = nullptr;           // guarded by the lock, as the next
smelt_openmp_counts gone{};          // of masters that have ended
std::atomic<uint64_t> elsewhere{0};  // regions handed to other runtimes

void add_to(smelt_openmp_counts* sum, const Counters& counters) {
  const auto now = [](const std::atomic<uint64_t>& counter) { return counter.load(std::memory_order_relaxed); };
  const uint64_t passed = now(counters.passed), real = now(counters.real);
  sum->regions += now(counters.regions);
  sum->hot_regions += now(counters.hot);
  sum->hot_teams += now(counters.starts);
  sum->hot_teardowns += now(counters.ends);
  sum->own_episodes += passed > real ? passed - real : 0;  // those of a region that is still running come at its end
  sum->real_episodes += real;
  sum->abandoned += now(counters.abandoned);
  sum->shared_loops += now(counters.dynamic_loops);
  for (const Counters::Stripe& stripe : counters.made) sum->own_tasks += now(stripe.tasks);
}

}  // namespace

void count_elsewhere() { elsewhere.fetch_add(1, std::memory_order_relaxed); }

void counters_lock() { pthread_mutex_lock(&lock); }
void counters_unlock() { pthread_mutex_unlock(&lock); }

void add_counters(Counters* counters) {
  counters_lock();
  counters->next = first;
  first = counters;
  counters_unlock();
}

void remove_counters(Counters* counters) {
  counters_lock();
  add_to(&gone, *counters);
  for (Counters** link = &first; *link; link = &(*link)->next) {
    if (*link != counters) continue;
    *link = counters->next;
    break;
  }
  counters_unlock();
}

void forget_counts() {
  gone = {};
  elsewhere.store(0, std::memory_order_relaxed);
  for (Counters* counters = first; counters; counters = counters->next) {
    Counters* const next = counters->next;
    new (counters) Counters;
    counters->next = next;
  }
}

void sum_counters(smelt_openmp_counts* sum) {
  counters_lock();
  *sum = gone;
  for (const Counters* counters = first; counters; counters = counters->next) add_to(sum, *counters);
  counters_unlock();
  sum->sleeps = sleeps();
  sum->other_regions = elsewhere.load(std::memory_order_relaxed);
}

}  // namespace smelt::openmp
