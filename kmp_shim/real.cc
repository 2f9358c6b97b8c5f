#define SMELT_SLOT_NAMES
#include "real.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "base/log.h"
#include "base/options.h"
#include "hot_team.h"
#include "libomp.h"
#include "openmp/counters.h"
#include "openmp/headcount.h"
#include "region.h"

namespace smelt::kmp {

bool reductions_are_libomps = false, dynamic_is_monotonic = false;

namespace {

bool is_set(const char* name, const char* harmless) {
  const char* const value = environment(name);
  return value && *value && std::strcmp(value, harmless) != 0;
}

constexpr uint64_t kKnownExports[] = {
#define EXPORT(name) hash(#name),
#include "exports.def"
};

char unknown_export[128];

// Newer entry points may mean a newer protocol between those that are taken.
bool is_known(const char* name, const char*) {
  if (std::strncmp(name, "__kmpc_atomic_", 14) == 0) return true;
  if (std::strncmp(name, "__kmpc_", 7) != 0 && std::strncmp(name, "GOMP_", 5) != 0) return true;
  if (name[0] == 'G' && name[5] >= '0' && name[5] <= '9') return true;  // a version node
  const uint64_t wanted = hash(name);
  for (const uint64_t known : kKnownExports)
    if (known == wanted) return true;
  std::snprintf(unknown_export, sizeof unknown_export, "this libomp has %.64s, which Smelt does not know", name);
  return false;
}

const char* why_not() {
  if (getauxval(AT_SECURE)) return "the program is set-user-ID";
  if (!options().kmp) return "switched off by SMELT_OPENMP";
#define SYMBOL(name)
#define TAKEN(name) \
  if (!smelt_real_##name) return "this libomp has no " #name;
#define CALLED(name) TAKEN(name)
#include "symbols.def"
  if (!for_each_export(smelt_real___kmpc_fork_call, is_known))
    return unknown_export[0] ? unknown_export : "this libomp does not show what it exports";
  // Marked barriers rely on its own tasking; checking needs to see every construct.
  if (is_set("KMP_TASKING", "2")) return "KMP_TASKING is set";
  if (is_set("KMP_CONSISTENCY_CHECK", "none")) return "KMP_CONSISTENCY_CHECK is set";
  if (reinterpret_cast<decltype(&omp_get_cancellation)>(smelt_real_omp_get_cancellation)())
    return "OMP_CANCELLATION is on";
  reductions_are_libomps = is_set("KMP_FORCE_REDUCTION", "") || is_set("KMP_DETERMINISTIC_REDUCTION", "");
  dynamic_is_monotonic = is_set("KMP_FORCE_MONOTONIC_DYNAMIC_SCHEDULE", "");
  return nullptr;
}

// What libomp can only be asked once it has looked at the machine and bound the calling thread. It does so at the first
// region, and must not do so before: by then the thread may be another one, and the mask of CPUs too.
void start_late() {
  REAL(omp_get_max_threads)();
  if (a_tool_watches()) return openmp::step_aside("an OMPT tool watches");
  begin_headcount(static_cast<uint32_t>(REAL(omp_get_num_procs)()));
}

// At the end of a single's block libomp tells an OMPT tool, a profiler (ITT: Intel's), its consistency check or its
// statistics, and does nothing else. Beside the first and the third the shim steps aside. A libomp that is built for
// statistics has more of a thread's own storage than the one that is known.
bool notes_no_ends() {
  return !environment("INTEL_LIBITTNOTIFY64") && !environment("INTEL_LIBITTNOTIFY32") && OwnBlock{}.find();
}

// It stands in place of a missing function: a weak reference of the program found ours (`if (__kmpc_barrier) ...`).
int do_nothing() { return 0; }

pthread_once_t late = PTHREAD_ONCE_INIT;

}  // namespace
}  // namespace smelt::kmp

// The answers to the stubs.
extern "C" {

uint8_t smelt_kmp_aside = 0;
uint8_t smelt_kmp_ends_singles = 0;

void smelt_kmp_look() {
  using namespace smelt::kmp;
  if (smelt::openmp::active()) pthread_once(&late, start_late);
  const bool aside = !smelt::openmp::active() && smelt_real___kmpc_fork_call;
  if (!aside && notes_no_ends()) __atomic_store_n(&smelt_kmp_ends_singles, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&smelt_kmp_aside, uint8_t(aside ? 1 : 2), __ATOMIC_RELAXED);  // the same in all threads
}

}  // extern "C"

// The room's questions to its shim.
namespace smelt::openmp {

using namespace kmp;

constexpr Runtime runtime{.name = "libomp",
                          .file = "libomp.so.5",
                          .examples = "__kmpc_barrier, __kmpc_fork_call",
                          .slots = kSymbols,
                          .taken = kTaken,
                          .entry = kSymbol___kmpc_fork_call,
                          .thread_num = kSymbol_omp_get_thread_num,
                          .quiet_idle = true,
                          .another = close_shortcuts};

const char* refuse(void*) {
  const char* const reason = why_not();
  tell_team_size(reinterpret_cast<SetDefaults>(smelt_real_kmp_set_defaults));
  open_shortcuts();
  return reason ? reason : start_regions();
}

void* missing(const char* name) {
  static std::atomic<bool> told{false};
  if (!told.exchange(true, std::memory_order_relaxed))
    log_line("%s was called, which no loaded library has: it does nothing", name);
  return reinterpret_cast<void*>(do_nothing);
}

}  // namespace smelt::openmp

// Found by smelt_openmp_counters() of the library, by its name.
extern "C" __attribute__((visibility("default"))) int smelt_kmp_counters(smelt_openmp_counts* counts, size_t bytes) {
  smelt_openmp_counts sum;
  smelt::openmp::sum_counters(&sum);
  std::memcpy(counts, &sum, bytes < sizeof sum ? bytes : sizeof sum);
  return 0;
}
