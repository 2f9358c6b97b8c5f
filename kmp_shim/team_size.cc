// Teams of as many threads as a quota pays for (policy/team_size.h). libomp is told by its own kmp_set_defaults, as if
// OMP_NUM_THREADS were set in this process alone: before the program begins, if it is linked against libomp, else at
// the first call that the shim takes. If the program has asked before that how many threads there are, the answer of
// the CPUs is what it keeps.
#include <dlfcn.h>
#include <algorithm>
#include <cstdio>

#include "libomp.h"
#include "openmp/behind.h"
#include "policy/team_size.h"
#include "real.h"
#include "region.h"

namespace smelt::kmp {
namespace {

// Relaxed, all three: numbers and addresses that say all by themselves.
std::atomic<int> told{0};
using GetProcs = int (*)();
std::atomic<GetProcs> found{nullptr}, found_fortran{nullptr};

[[gnu::constructor]] void tell_at_start() {
  tell_team_size(reinterpret_cast<SetDefaults>(dlsym(RTLD_NEXT, "kmp_set_defaults")));
}

}  // namespace

void tell_team_size(SetDefaults set_defaults) {
  if (!set_defaults || told.load(std::memory_order_relaxed) != 0) return;
  const uint32_t threads = settle_team_size(&Options::kmp);
  if (threads == 0) return;
  char text[32];
  std::snprintf(text, sizeof text, "OMP_NUM_THREADS=%u", threads);
  set_defaults(text);
  told.store(static_cast<int>(threads), std::memory_order_relaxed);
}

}  // namespace smelt::kmp

using namespace smelt::kmp;

extern "C" {

// A program of GCC's comes by, too, and has no libomp that would have to be looked for.
#define GET_NUM_PROCS(name, found)                               \
  int name() {                                                   \
    const GetProcs next = smelt::openmp::behind(found, #name);   \
    const int cpus = next ? next() : std::max(1, STOCK(name)()); \
    const int threads = told.load(std::memory_order_relaxed);    \
    return threads == 0 ? cpus : std::min(threads, cpus);        \
  }
GET_NUM_PROCS(omp_get_num_procs, found)
GET_NUM_PROCS(omp_get_num_procs_, found_fortran)

}  // extern "C"
