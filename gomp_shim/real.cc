#define SMELT_SLOT_NAMES
#include "real.h"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/log.h"
#include "base/options.h"
#include "libgomp.h"
#include "openmp/counters.h"
#include "region.h"
#include "smelt_config.h"

namespace smelt::gomp {

bool barriers_alone = false;

namespace {

// The version nodes of the libgomps whose work-sharing was checked against the replacements made here. Those of GCC 4.9
// to 16 are released: no name comes to them any more. They are in one piece, because the loader would have to fill in
// pointers.
constexpr char kReleasedNodes[] =
    "GOMP_1.0\0GOMP_2.0\0GOMP_3.0\0GOMP_4.0\0GOMP_4.0.1\0GOMP_4.5\0GOMP_5.0\0GOMP_5.0.1\0GOMP_5.1\0GOMP_5.1.1\0"
    "GOMP_5.1.2\0GOMP_5.1.3\0GOMP_6.0\0GOMP_6.0.1\0"
    "OMP_1.0\0OMP_2.0\0OMP_3.0\0OMP_3.1\0OMP_4.0\0OMP_4.5\0OMP_5.0\0OMP_5.0.1\0OMP_5.0.2\0OMP_5.1\0"
    "OMP_5.1.1\0OMP_5.2\0";
constexpr char kNodesOf17[] = "GOMP_6.0.2\0OMP_6.0\0OMP_6.1\0";

bool is_among(const char* name, const char* list) {
  for (; *list; list += std::strlen(list) + 1)
    if (std::strcmp(list, name) == 0) return true;
  return false;
}

bool is_of_gomp(const char* name) {
  return std::strncmp(name, "GOMP_", 5) == 0 && std::strncmp(name, "GOMP_PLUGIN", 11) != 0;
}
bool counts(const char* node) { return is_of_gomp(node) || std::strncmp(node, "OMP_", 4) == 0; }
bool is_released(const char* node) { return is_among(node, kReleasedNodes); }
bool is_known_node(const char* node) { return is_released(node) || is_among(node, kNodesOf17); }

// What the nodes of 17 have beside the names of symbols.def: none of these makes tasks, is a barrier of a team, or
// changes what regions inherit. Some are for tools: GOMP_loop_static_worksharing and
// GOMP_distribute_static_worksharing, which ask for thread and team, and GOMP_has_masked_thread_num. Their forms with
// _start, _with_end, _dispatch and _end, and the ends of single, scope and masked, are called by programs that are
// built with -fopenmp-ompt, and do the same, or nothing.
constexpr char kOtherNamesOf17[] =
    "GOMP_distribute_static_worksharing\0GOMP_distribute_static_worksharing_dispatch\0"
    "GOMP_distribute_static_worksharing_end\0GOMP_distribute_static_worksharing_start\0GOMP_has_masked_thread_num\0"
    "GOMP_has_masked_thread_num_with_end\0GOMP_loop_static_worksharing\0GOMP_loop_static_worksharing_dispatch\0"
    "GOMP_loop_static_worksharing_end\0GOMP_loop_static_worksharing_start\0GOMP_masked_end\0GOMP_reduction_end\0"
    "GOMP_reduction_start\0GOMP_scope_end\0GOMP_single_end\0GOMP_single_start_with_end\0omp_control_tool_\0"
    "omp_control_tool_8_\0omp_target_memset\0";

// May a program call what it is, as it is there, with nothing changed for the entry points that we take? A name that is
// known may have come in a new version.
bool is_known_export(const char* name, const char* node) {
  const bool is_node = std::strncmp(name, "GOMP_", 5) == 0 && name[5] >= '0' && name[5] <= '9';
  if (is_node || (!is_of_gomp(name) && std::strncmp(name, "omp_", 4) != 0)) return true;
  if (std::strncmp(name, "omp_get_", 8) == 0) return true;  // it only asks
  return is_released(node) || (is_known_node(node) && (is_among(name, slot_names) || is_among(name, kOtherNamesOf17)));
}

char first_unknown[64];
uint32_t unknown_exports = 0;

bool note_export(const char* name, const char* node) {
  if (!is_known_export(name, node) && unknown_exports++ == 0)
    std::snprintf(first_unknown, sizeof first_unknown, "%s", name);
  return true;
}

// This libgomp is newer than GCC 16's, by its nodes. A new entry point may mean a new protocol between those that are
// taken; and the barrier behind tasks is libgomp's because all that makes tasks is known by name. Where no name is new,
// barriers are taken: they rely on the names alone. All else relies on how libgomp keeps its state.
const char* why_not_newer(const void* entry) {
  static char why[160];
  if (!library_version()[0]) return "this libgomp has no version nodes";
  const bool nodes_are_known = knows_versions(entry, {counts, is_known_node});
  if (!for_each_export(entry, note_export)) return "this libgomp does not show what it exports";
  if (unknown_exports > 0) {
    char others[32] = "";
    if (unknown_exports > 1)
      std::snprintf(others, sizeof others, " and %u other name%s", unknown_exports - 1, unknown_exports > 2 ? "s" : "");
    std::snprintf(why, sizeof why, "this libgomp has %s%s that Smelt does not know", first_unknown, others);
    return why;
  }
  if (nodes_are_known) return nullptr;
  barriers_alone = true;
  if (options().verbose >= 1) log_line("%s: %s", SMELT_VERSION, kBarriersAlone);
  set_option("SMELT_OPENMP", "-hot,-nested,-loops,-tasks");
  return nullptr;
}

// The shim for LLVM's libomp takes some of the same names, and stands behind us.
void pass_to_next() {
  const char* name = slot_names;
  for (uint32_t i = 0; i < kSymbols; ++i) {
    if (void* const next = dlsym(RTLD_NEXT, name)) __atomic_store_n(&smelt_real[i], next, __ATOMIC_RELAXED);
    name += std::strlen(name) + 1;
  }
}

const char* why_not(void* libgomp) {
  if (getauxval(AT_SECURE)) return "the program is set-user-ID";
  if (!options().gomp) return "switched off by SMELT_OPENMP";
  if (dlsym(libgomp, "__kmpc_fork_call")) {
    pass_to_next();
    return "the OpenMP runtime is LLVM's libomp";
  }
#define SYMBOL(name)
#define TAKEN(name) \
  if (!smelt_real_##name) return "this libgomp has no " #name;
#define CALLED(name) TAKEN(name)
#include "symbols.def"
  if (!smelt_real_GOMP_loop_start) return "this libgomp has no GOMP_loop_start";  // called by the hot team
  if (reinterpret_cast<decltype(&omp_get_cancellation)>(smelt_real_omp_get_cancellation)())
    return "OMP_CANCELLATION is on";
  if (a_tool_watches()) return "an OMPT tool watches";
  const void* const entry = smelt_real_GOMP_parallel;
  return knows_versions(entry, {counts, is_released}) ? nullptr : why_not_newer(entry);
}

// It stands in place of a missing function. A program can come to it because of us: it refers to a function weakly, to
// use it if there is an OpenMP runtime (`if (omp_set_num_threads) ...`), and finds ours. If the reference is not weak,
// the loader would have ended the program here.
int do_nothing() { return 0; }  // the settings return nothing, omp_pause_resource that nothing went wrong
unsigned run_alone(GompFunction function, void* data) {
  function(data);
  return 1;  // thread, as GOMP_parallel_reductions wants to be told
}
// These stand for omp_target_*_async, by which a program may ask whether its libgomp is new enough.
int copy_nothing() { return EINVAL; }
void* fill_nothing() { return nullptr; }

void refuse_copies() {
  for (void** slot : {&smelt_real_omp_target_memcpy_async, &smelt_real_omp_target_memcpy_rect_async})
    if (!*slot) *slot = reinterpret_cast<void*>(copy_nothing);
  if (!smelt_real_omp_target_memset_async) smelt_real_omp_target_memset_async = reinterpret_cast<void*>(fill_nothing);
}

}  // namespace

}  // namespace smelt::gomp

// The part that the room asks of its shim.
namespace smelt::openmp {

using namespace gomp;

constexpr Runtime runtime{.name = "libgomp",
                          .file = "libgomp.so.1",
                          .examples = "GOMP_barrier, GOMP_parallel",
                          .slots = kSymbols,
                          .taken = kTaken,
                          .entry = kSymbol_GOMP_parallel,
                          .thread_num = kSymbol_omp_get_thread_num};

const char* refuse(void* libgomp) {
  const char* const reason = why_not(libgomp);
  refuse_copies();
  return reason ? reason : start_regions();
}

void* missing(const char* name) {
  if (std::strncmp(name, "omp_target_mem", 14) == 0)
    return std::strstr(name, "memset") ? reinterpret_cast<void*>(fill_nothing) : reinterpret_cast<void*>(copy_nothing);
  const bool region = (std::strncmp(name, "GOMP_parallel", 13) == 0 && !std::strstr(name, "_start")) ||
                      std::strcmp(name, "GOMP_teams_reg") == 0;
  // Where there is nothing to set, nothing is lost: that is for those who asked. Work that the compiler handed over is
  // another matter.
  static std::atomic<bool> told{false};
  if ((options().verbose >= 1 || std::strncmp(name, "GOMP_", 5) == 0) &&
      !told.exchange(true, std::memory_order_relaxed))
    log_line("%s was called, which no loaded library has: %s", name, region ? "run by one thread" : "it does nothing");
  return region ? reinterpret_cast<void*>(run_alone) : reinterpret_cast<void*>(do_nothing);
}

}  // namespace smelt::openmp

// Found by smelt_openmp_counters() of the library, by its name.
extern "C" __attribute__((visibility("default"))) int smelt_gomp_counters(smelt_openmp_counts* counts, size_t bytes) {
  smelt_openmp_counts sum;
  smelt::openmp::sum_counters(&sum);
  std::memcpy(counts, &sum, bytes < sizeof sum ? bytes : sizeof sum);
  return 0;
}
