// The ways into a parallel region: libgomp's GOMP_parallel family, taken. A hot team serves them if there is one
// (hot_team.h), else libgomp, whose threads are told where they are (region.h).
#include "hot_team.h"
#include "openmp/callers.h"
#include "real.h"
#include "region.h"

using namespace smelt::gomp;

namespace {

// A region of another OpenMP runtime: even if the thread is in a team of ours, that runtime's barriers are not ours.
[[gnu::noinline]] void elsewhere(const RegionCall& call, RealEntry real) {
  count_elsewhere();
  const PutAside position;
  real(call, call.function, call.data);
}

inline void parallel(const RegionCall& call, RealEntry real) {
  if (!is_ours(reinterpret_cast<const void*>(call.function))) [[unlikely]]
    return elsewhere(call, real);
  if (!run_hot(call)) [[unlikely]]
    enter(call, real);
}

// libgomp's entry point, or that of the runtime that the region belongs to.
#define FOR_REGION(name) \
  (reinterpret_cast<decltype(&::name)>(meant(smelt_real_##name, reinterpret_cast<const void*>(c.function))))

}  // namespace

extern "C" {

void GOMP_parallel(GompFunction function, void* data, unsigned threads, unsigned flags) {
  parallel({function, data, threads, flags, nullptr, nullptr}, [](const RegionCall& c, GompFunction f, void* d) {
    FOR_REGION(GOMP_parallel)(f, d, c.threads, c.flags);
  });
}

// Task reductions live in libgomp's start of the team: never hot.
unsigned GOMP_parallel_reductions(GompFunction function, void* data, unsigned threads, unsigned flags) {
  unsigned size = 0;
  const RegionCall call{function, data, threads, flags, nullptr, &size};
  const RealEntry real = [](const RegionCall& c, GompFunction f, void* d) {
    *c.reduction_size = FOR_REGION(GOMP_parallel_reductions)(f, d, c.threads, c.flags);
  };
  if (!is_ours(reinterpret_cast<const void*>(function))) {
    elsewhere(call, real);
  } else {
    cool("a parallel construct with a task reduction");
    enter(call, real);
  }
  return size;
}

void GOMP_parallel_sections(GompFunction function, void* data, unsigned threads, unsigned count, unsigned flags) {
  // libgomp sets sections up so.
  const LoopCall sections{1, static_cast<long>(count) + 1, 1, kScheduleDynamic, 1, false, true};
  parallel({function, data, threads, flags, &sections, nullptr}, [](const RegionCall& c, GompFunction f, void* d) {
    FOR_REGION(GOMP_parallel_sections)(f, d, c.threads, static_cast<unsigned>(c.loop->end - 1), c.flags);
  });
}

#define PARALLEL_LOOP(name, schedule, nonmonotonic)                                                               \
  void name(GompFunction function, void* data, unsigned threads, long start, long end, long step, long chunk,     \
            unsigned flags) {                                                                                     \
    const LoopCall loop{start, end, step, schedule, chunk, nonmonotonic};                                         \
    parallel({function, data, threads, flags, &loop, nullptr}, [](const RegionCall& c, GompFunction f, void* d) { \
      FOR_REGION(name)(f, d, c.threads, c.loop->start, c.loop->end, c.loop->step, c.loop->chunk, c.flags);        \
    });                                                                                                           \
  }
PARALLEL_LOOP(GOMP_parallel_loop_static, kScheduleStatic, false)
PARALLEL_LOOP(GOMP_parallel_loop_dynamic, kScheduleDynamic, false)
PARALLEL_LOOP(GOMP_parallel_loop_guided, kScheduleGuided, false)
PARALLEL_LOOP(GOMP_parallel_loop_nonmonotonic_dynamic, kScheduleDynamic, true)
PARALLEL_LOOP(GOMP_parallel_loop_nonmonotonic_guided, kScheduleGuided, false)

#define PARALLEL_LOOP_RUNTIME(name, nonmonotonic)                                                                   \
  void name(GompFunction function, void* data, unsigned threads, long start, long end, long step, unsigned flags) { \
    const LoopCall loop{start, end, step, kScheduleRuntime, 0, nonmonotonic};                                       \
    parallel({function, data, threads, flags, &loop, nullptr}, [](const RegionCall& c, GompFunction f, void* d) {   \
      FOR_REGION(name)(f, d, c.threads, c.loop->start, c.loop->end, c.loop->step, c.flags);                         \
    });                                                                                                             \
  }
PARALLEL_LOOP_RUNTIME(GOMP_parallel_loop_runtime, false)
PARALLEL_LOOP_RUNTIME(GOMP_parallel_loop_nonmonotonic_runtime, true)
PARALLEL_LOOP_RUNTIME(GOMP_parallel_loop_maybe_nonmonotonic_runtime, true)

}  // extern "C"
