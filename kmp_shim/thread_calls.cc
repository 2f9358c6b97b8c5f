// libomp asks this of the C library: new threads, and to yield.
//
// A new thread of libomp's does not begin on its maker's CPU (openmp/new_thread.h).
// Unlike libgomp's, it sets its mask before it waits for its maker: with threads that are bound, to its place, and else
// to what the process had when libomp began. So it is left alone where anything binds it, and where its maker's mask is
// another by now.
//
// A waiting thread of libomp's yields at every look where libomp has more threads than CPUs, else at every 256th after
// the first 512 of a wait: most waits for locks end before that. The hot team's stand-in (identity.h) is a thread that
// does not count, and where it is the one too many, yields are left out so that the same is left of them. A wait has
// ended where more time has gone by from one look to the next than looks take. (Beside other processes a yield may take
// a time slice: CRITICAL of epcc/syncbench took 0.6 to 2 us with one yield in 256 looks of whatever waits, or in 16384,
// and 0.07 without a stand-in.)
#include <pthread.h>
#include <sched.h>

#include "base/options.h"
#include "base/os/os.h"
#include "base/ticks.h"
#include "identity.h"
#include "openmp/behind.h"
#include "openmp/new_thread.h"
#include "policy/wait.h"
#include "real.h"
#include "region.h"

namespace smelt::kmp {
namespace {

using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
std::atomic<Create> found{nullptr};

Create real_create() { return behind(found, "pthread_create"); }

cpu_set_t at_start;                 // written while resolving, as the next; read where there is a runtime
std::atomic<bool> may_move{false};  // no binding was asked for

bool has_mask_of_start() {
  cpu_set_t now;
  return ::sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &at_start);
}

}  // namespace

void start_thread_calls() {
  real_create();
  find_runtime(smelt_real___kmpc_fork_call);
  bool binds = ::sched_getaffinity(0, sizeof at_start, &at_start) != 0;
  for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES", "KMP_AFFINITY", "GOMP_CPU_AFFINITY"})
    binds |= environment(name) != nullptr;
  may_move.store(!binds, std::memory_order_release);  // release: with the mask
}

namespace {

// libomp's KMP_INIT_WAIT and KMP_NEXT_WAIT, by steps of two; and how much longer than the shortest time between two
// looks one may take.
constexpr uint32_t kFirstLooks = 512, kNextLooks = 256, kSlowLook = 4;
// libomp's number of threads seldom changes, and asking it takes a tenth of a yield.
constexpr uint32_t kUnasked = 63;

struct Looks {
  uint64_t last = 0, shortest = UINT64_MAX;  // ticks
  uint32_t more = kFirstLooks;               // until a yield
  uint32_t unasked = 0;                      // so many are not left out, for the last that was asked was not
};
constinit thread_local Looks looks __attribute__((tls_model("initial-exec")));

// Is a yield to be left out?
bool is_left_out(const void* caller) {
  if (!StandIn::exists()) return false;
  Looks& here = looks;
  if (here.unasked != 0) return --here.unasked, false;
  if (!StandIn::is_one_too_many()) return here.unasked = kUnasked, false;
  if (!is_of_runtime(reinterpret_cast<void* (*)(void*)>(reinterpret_cast<uintptr_t>(caller)))) return false;
  const uint64_t now = unfenced_ticks(), between = now - here.last;
  here.last = now;
  if (between < here.shortest) here.shortest = between;
  if (between / kSlowLook > here.shortest) here.more = kFirstLooks;
  if (--here.more != 0) return true;
  here.more = kNextLooks;
  return false;
}

}  // namespace
}  // namespace smelt::kmp

using namespace smelt::kmp;

#pragma GCC visibility push(default)
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) noexcept {
  const int error = real_create()(thread, attributes, start, argument);
  if (error == 0 && may_move.load(std::memory_order_acquire) && is_of_runtime(start) && !smelt::headcount.crowded() &&
      has_mask_of_start())
    begin_elsewhere(*thread);
  return error;
}

extern "C" int sched_yield() noexcept {
  if (!is_left_out(__builtin_return_address(0))) smelt::os::yield_cpu();
  return 0;
}
#pragma GCC visibility pop
