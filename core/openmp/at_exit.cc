#include "openmp/at_exit.h"

#include <unistd.h>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "base/log.h"
#include "base/options.h"
#include "base/stats_file.h"
#include "openmp/counters.h"
#include "openmp/headcount.h"
#include "openmp/symbols.h"
#include "openmp/teams.h"
#include "policy/wait.h"
#include "smelt_config.h"

namespace smelt::openmp {
namespace {

// All are read at the end, by one thread, and written where nothing is ordered by them: relaxed throughout.
std::atomic<bool> used{false};        // the runtime's functions were called
std::atomic<bool> told_begin{false};  // a line of the statistics' file says that the process has begun
std::atomic<const char*> refused{nullptr}, not_hot{nullptr};  // strings that stay: note_use(), note_not_hot()
std::atomic<uint32_t> largest_team{0};                        // threads, of all teams seen

unsigned long long number(uint64_t n) { return static_cast<unsigned long long>(n); }

// OMP_NUM_THREADS where it is what it should be, numbers and commas.
const char* threads_asked_for() {
  const char* const text = environment("OMP_NUM_THREADS");
  return text && std::strlen(text) < 40 && text[std::strspn(text, "0123456789, ")] == 0 ? text : "";
}

void tell_end(const smelt_openmp_counts& sum) {
  const char* const why = refused.load(std::memory_order_relaxed);
  const char* const cold = not_hot.load(std::memory_order_relaxed);
  const uint32_t cpus = headcount.cpus.load(std::memory_order_relaxed);  // ~0: no team has asked yet
  append_stats(options().stats_file,
               "{\"part\":\"%s\",\"pid\":%d,\"end\":true,\"refused\":\"%s\",\"not_hot\":\"%s\",\"guessed\":%s,"
               "\"cpus\":%u,\"asked\":\"%s\",\"threads\":%u,\"regions\":%llu,\"hot\":%llu,\"barriers\":%llu,"
               "\"barriers_left\":%llu,\"loops\":%llu,\"tasks\":%llu,\"elsewhere\":%llu}",
               runtime.name, ::getpid(), why ? why : "", cold ? cold : "", profile_is_guessed() ? "true" : "false",
               cpus == ~0u ? usable_cpus() : cpus, threads_asked_for(), largest_team.load(std::memory_order_relaxed),
               number(sum.regions), number(sum.hot_regions), number(sum.own_episodes), number(sum.real_episodes),
               number(sum.shared_loops), number(sum.own_tasks), number(sum.other_regions));
}

void say_counts(const smelt_openmp_counts& sum) {
  // In the usual process there are none, and a reader need not wonder what they are.
  char loops[64] = "", tasks[64] = "", others[64] = "";
  if (sum.shared_loops > 0) std::snprintf(loops, sizeof loops, "; %llu dynamic loops", number(sum.shared_loops));
  if (sum.own_tasks > 0) std::snprintf(tasks, sizeof tasks, "; %llu tasks by stealing", number(sum.own_tasks));
  if (sum.other_regions > 0)
    std::snprintf(others, sizeof others, "; %llu regions of other OpenMP runtimes", number(sum.other_regions));
  log_line(
      "OpenMP: %llu regions (%llu hot; %llu hot teams made, %llu ended early); barriers: %llu own, %llu %s's for tasks "
      "(%llu with tasks); %llu sleeps%s%s%s",
      number(sum.regions), number(sum.hot_regions), number(sum.hot_teams), number(sum.hot_teardowns),
      number(sum.own_episodes), number(sum.real_episodes), runtime.name, number(sum.abandoned), number(sum.sleeps),
      loops, tasks, others);
}

// A process that never called the runtime. Most under LD_PRELOAD are a shell or a helper: they end without having read
// the settings. A program that never called OpenMP is told so, if it asked: before its end nobody can know.
void tell_unused() {
  if (runtime.quiet_idle) return;
  if (const char* const file = stats_file_in_environment()) {
    append_stats(file, "{\"part\":\"%s\",\"pid\":%d,\"unused\":true}", runtime.name, ::getpid());
    return;
  }
  const char* verbose = environment("SMELT_VERBOSE");
  if (verbose && *verbose >= '1' && *verbose <= '9')
    log_line("%s: took nothing: the program never called %s", SMELT_VERSION, runtime.name);
}

[[gnu::destructor]] void tell_at_exit() {
  if (!used.load(std::memory_order_relaxed)) return tell_unused();
  smelt_openmp_counts sum;
  sum_counters(&sum);
  if (options().stats_file[0]) {
    // A child of fork has begun where its parent has, and its end is told if it did something.
    if (told_begin.load(std::memory_order_relaxed) || sum.regions + sum.other_regions > 0) tell_end(sum);
    return;
  }
  if (options().stats && sum.regions + sum.other_regions > 0) say_counts(sum);
  // Where a team was served, a line said so when it was made; where the shim was refused, one said why.
  if (options().verbose >= 1 && !refused.load(std::memory_order_relaxed) && sum.other_regions == 0 &&
      largest_team.load(std::memory_order_relaxed) < 2) {
    const char* const threads = threads_asked_for();
    log_line("%s: loaded; %s had no region of two or more threads%s%s", SMELT_VERSION, runtime.name,
             *threads ? ": OMP_NUM_THREADS=" : "", threads);
  }
}

}  // namespace

void note_use(const char* why) {
  refused.store(why, std::memory_order_relaxed);
  used.store(true, std::memory_order_relaxed);
  if (!options().stats_file[0]) return;
  told_begin.store(true, std::memory_order_relaxed);
  append_stats(options().stats_file, "{\"part\":\"%s\",\"pid\":%d,\"begin\":true}", runtime.name, ::getpid());
}

void note_refused(const char* why) { refused.store(why, std::memory_order_relaxed); }

void note_team(uint32_t threads) {
  uint32_t before = largest_team.load(std::memory_order_relaxed);
  while (before < threads)
    if (largest_team.compare_exchange_weak(before, threads, std::memory_order_relaxed)) break;
}

void note_not_hot(uint32_t threads, const char* why) {
  not_hot.store(why, std::memory_order_relaxed);
  if (options().verbose >= 2) log_line("team of %u: not hot: %s", threads, why);
}

void forget_past() {
  told_begin.store(false, std::memory_order_relaxed);
  forget_counts();
  forget_threads();
}

}  // namespace smelt::openmp
