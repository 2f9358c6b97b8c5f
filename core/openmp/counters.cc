#include "openmp/counters.h"

#include <pthread.h>
#include <cstdio>

#include "base/log.h"
#include "base/options.h"
#include "openmp/symbols.h"
#include "policy/wait.h"

namespace smelt::openmp {
namespace {

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
Counters* first = nullptr;   // guarded by the lock, as the next
smelt_openmp_counts gone{};  // of masters that have ended
std::atomic<uint64_t> elsewhere{0};

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
  sum->own_tasks += now(counters.tasks);
  sum->surplus_regions += now(counters.surplus);
  sum->surplus_evictions += now(counters.evictions);
}

[[gnu::destructor]] void print_at_exit() {
  smelt_openmp_counts sum;
  sum_counters(&sum);
  // First: most processes under LD_PRELOAD are a shell, a helper without OpenMP, and need not read the settings to end.
  if (sum.regions + sum.other_regions == 0 || !options().stats) return;
  const auto number = [](uint64_t n) { return static_cast<unsigned long long>(n); };
  // In the usual process there are none, and a reader need not wonder what they are.
  char loops[64] = "", tasks[64] = "", surplus[96] = "", others[64] = "";
  if (sum.shared_loops > 0) std::snprintf(loops, sizeof loops, "; %llu dynamic loops", number(sum.shared_loops));
  if (sum.own_tasks > 0) std::snprintf(tasks, sizeof tasks, "; %llu tasks by stealing", number(sum.own_tasks));
  if (sum.surplus_regions > 0)
    std::snprintf(surplus, sizeof surplus, "; %llu regions of user-level threads (%llu times taken from a carrier)",
                  number(sum.surplus_regions), number(sum.surplus_evictions));
  if (sum.other_regions > 0)
    std::snprintf(others, sizeof others, "; %llu regions of other OpenMP runtimes", number(sum.other_regions));
  log_line(
      "OpenMP: %llu regions (%llu hot; %llu hot teams made, %llu ended early); barriers: %llu own, %llu %s's for tasks "
      "(%llu waits given up for one); %llu sleeps%s%s%s%s",
      number(sum.regions), number(sum.hot_regions), number(sum.hot_teams), number(sum.hot_teardowns),
      number(sum.own_episodes), number(sum.real_episodes), runtime.name, number(sum.abandoned), number(sum.sleeps),
      loops, tasks, surplus, others);
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

void sum_counters(smelt_openmp_counts* sum) {
  counters_lock();
  *sum = gone;
  for (const Counters* counters = first; counters; counters = counters->next) add_to(sum, *counters);
  counters_unlock();
  sum->sleeps = sleeps();
  sum->other_regions = elsewhere.load(std::memory_order_relaxed);
}

}  // namespace smelt::openmp
