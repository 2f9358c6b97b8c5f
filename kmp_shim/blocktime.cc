// How long libomp lets a waiting thread spin before it sleeps: KMP_BLOCKTIME and kmp_set_blocktime(). Our waits do as
// they say. Where the program has left it to libomp, they spin as long as those of the other shim, and then yield for
// as long as libomp would have spun (policy/wait.h).
#include <string.h>
#include <algorithm>
#include <climits>

#include "base/options.h"
#include "hot_team.h"
#include "libomp.h"
#include "openmp/callers.h"
#include "policy/wait.h"
#include "real.h"
#include "region.h"

namespace smelt::kmp {
namespace {

constexpr int64_t kAwake = 200'000'000;  // libomp's own KMP_BLOCKTIME

std::atomic<int> last_set{-1};  // by the program, in a serial part; relaxed: a number

// The time is in libomp's unit: newer ones have microseconds, where the variable has.
void note_blocktime(int time) {
  const char* const setting = environment("KMP_BLOCKTIME");
  const int64_t unit = setting && strcasestr(setting, "us") ? 1000 : 1'000'000;
  asked_spin_ns.store(time == INT_MAX ? kSpinForever : std::max(time, 0) * unit, std::memory_order_relaxed);
}

// Teams that are made from now on wait by it, and the one that is hot is made anew. A setting made in a region ends
// with it.
void set_blocktime(int time) {
  end_hot("a setting is changed");
  spoil_hot();
  if (REAL(omp_get_level)() > 0) return;
  last_set.store(time, std::memory_order_relaxed);
  note_blocktime(time);
  if (Region* const region = outermost_region()) ++region->generation;
}

}  // namespace

void start_blocktime() {
  awake_ns.store(kAwake, std::memory_order_relaxed);
  if (environment("KMP_BLOCKTIME") && smelt_real_kmp_get_blocktime) note_blocktime(REAL(kmp_get_blocktime)());
}

void lend_blocktime() {
  const int time = last_set.load(std::memory_order_relaxed);
  if (time >= 0) REAL(kmp_set_blocktime)(time);
}

}  // namespace smelt::kmp

using namespace smelt::kmp;

extern "C" {

void kmp_set_blocktime(int time) {
  set_blocktime(time);
  STRAIGHT(kmp_set_blocktime)(time);
}

void kmp_set_blocktime_(const int* time) {
  set_blocktime(*time);
  STRAIGHT(kmp_set_blocktime_)(time);
}

void kmpc_set_blocktime(int time) {
  set_blocktime(time);
  STRAIGHT(kmpc_set_blocktime)(time);
}

}  // extern "C"
