#include "real.h"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <atomic>
#include <cstring>

#include "base/log.h"
#include "base/options.h"
#include "libgomp.h"
#include "openmp/counters.h"
#include "region.h"

namespace smelt::gomp {
namespace {

// Version nodes of the libgomps whose work-sharing was checked against the replacements made here (GCC 4.9 to 16). A
// newer node may mean a newer protocol between the entry points: then nothing is taken.
constexpr const char* kKnownNodes[] = {"GOMP_1.0",   "GOMP_2.0",   "GOMP_3.0",   "GOMP_4.0",  "GOMP_4.0.1",
                                       "GOMP_4.5",   "GOMP_5.0",   "GOMP_5.0.1", "GOMP_5.1",  "GOMP_5.1.1",
                                       "GOMP_5.1.2", "GOMP_5.1.3", "GOMP_6.0",   "GOMP_6.0.1"};

constexpr VersionNodes kNodes{
    [](const char* node) { return std::strncmp(node, "GOMP_", 5) == 0 && std::strncmp(node, "GOMP_PLUGIN", 11) != 0; },
    [](const char* node) {
      bool known = false;
      for (const char* candidate : kKnownNodes) known |= std::strcmp(candidate, node) == 0;
      return known;
    }};

const char* why_not(void* libgomp) {
  if (getauxval(AT_SECURE)) return "the program is set-user-ID";
  if (!options().gomp) return "SMELT_GOMP=0";
  if (dlsym(libgomp, "__kmpc_fork_call")) return "the OpenMP runtime is LLVM's libomp";
#define SYMBOL(name)
#define TAKEN(name) \
  if (!smelt_real_##name) return "this libgomp has no " #name;
#define CALLED(name) TAKEN(name)
#include "symbols.def"
  if (!smelt_real_GOMP_loop_start) return "this libgomp has no GOMP_loop_start";  // called by the hot team
  if (!knows_versions(smelt_real_GOMP_parallel, kNodes)) return "this libgomp is newer than Smelt knows";
  if (reinterpret_cast<decltype(&omp_get_cancellation)>(smelt_real_omp_get_cancellation)())
    return "OMP_CANCELLATION is on";
  return nullptr;
}

// In place of a missing function. A program can come to it because of us: it refers to a function weakly, to use it if
// there is an OpenMP runtime (`if (omp_set_num_threads) ...`), and finds ours. If the reference is not weak, the loader
// would have ended the program here.
int do_nothing() { return 0; }  // the settings return nothing, omp_pause_resource that nothing went wrong
unsigned run_alone(GompFunction function, void* data) {
  function(data);
  return 1;  // thread, as GOMP_parallel_reductions wants to be told
}

}  // namespace

}  // namespace smelt::gomp

// The part that the room asks of its shim.
namespace smelt::openmp {

using namespace gomp;

const char slot_names[] =
#define SYMBOL(name) #name "\0"
#include "symbols.def"
    ;

// Those that are only called come last.
constexpr Slot kTakenSlots[] = {
#define SYMBOL(name) kSlot_##name,
#define CALLED(name)
#include "symbols.def"
};
constexpr uint32_t kTaken = sizeof kTakenSlots / sizeof *kTakenSlots;
#define SYMBOL(name)
#define CALLED(name) static_assert(kSlot_##name >= kTaken, #name);
#include "symbols.def"
static_assert(kSlots <= kMostSlots);

constexpr Runtime runtime{.name = "libgomp",
                          .file = "libgomp.so.1",
                          .examples = "GOMP_barrier, GOMP_parallel",
                          .slots = kSlots,
                          .taken = kTaken,
                          .entry = kSlot_GOMP_parallel,
                          .thread_num = kSlot_omp_get_thread_num};

const char* refuse(void* libgomp) {
  const char* const reason = why_not(libgomp);
  return reason ? reason : start_regions();
}

void* missing(const char* name) {
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
