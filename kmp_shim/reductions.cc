// Reductions at the end of a loop or of sections, whose result every thread has behind them:
//
//   switch (__kmpc_reduce(..., data, combine, ...)) {
//     case 1: combine the private values into the variables; __kmpc_end_reduce(); break;   // in one thread
//     case 2: the same by atomic operations; __kmpc_end_reduce(); break;                   // in every thread
//     case 0: it has been done                                                             // in the others
//   }
//
// Up to 4 threads, where the compiler has made code with atomics (libomp's limit, too), and in a crowd, it is case 2,
// and __kmpc_end_reduce is a barrier of ours. Otherwise the values go up the cheapest tree of the team
// (team/fork_join.h): everybody takes up those of its children, thread 0 gets case 1, and its __kmpc_end_reduce lets
// the others go. Until then nobody leaves: the values lie on the threads' stacks.
//
// A reduction is a barrier with a number like all others (openmp/episodes.h). If that number is marked as real while
// values are on their way up, some have been combined and must not be combined again. So libomp's barrier is passed
// in the middle, for the tasks' sake alone, and then everybody goes on where it was: all have arrived, nobody waits for
// a task any more, and the marker's number can no longer stop anybody.
//
// The tree is built when the first reduction comes by, by the master, in the middle of a region perhaps. That reduction
// is libomp's, and its barrier orders the building: all use it from the next number on.
//
// Left to libomp: KMP_FORCE_REDUCTION and KMP_DETERMINISTIC_REDUCTION; reductions without a barrier
// (__kmpc_reduce_nowait), which up to 4 threads pass no barrier there either.
#include "hot_team.h"
#include "libomp.h"
#include "openmp/callers.h"
#include "openmp/episodes.h"
#include "real.h"
#include "region.h"
#include "team/fork_join.h"

SHORTCUT(__kmpc_reduce);
SHORTCUT(__kmpc_end_reduce);

namespace smelt::kmp {
namespace {

constexpr uint32_t kMostAtomics = 4;  // threads whose atomic operations on one line cost less than a tree

// How the calling thread's reduction is done, until its end.
enum class ReductionMethod : uint8_t { kUnserved, kLibomps, kAtomics, kTree };
constinit thread_local ReductionMethod way __attribute__((tls_model("initial-exec"))) = ReductionMethod::kUnserved;

void pass_libomps(Position& at) {
  if (at.thread == 0) count(at.region->counters.real);
  step(at);
}

// The same in all threads of the team.
ReductionMethod choose(const Position& at, const KmpIdent* where, const void* data, KmpCombine combine) {
  if (reductions_are_libomps) return ReductionMethod::kLibomps;
  const bool atomics = where && (where->flags & kIdentAtomicReduce);
  if (atomics && (at.barrier->participants() <= kMostAtomics || at.barrier->is_crowd()))
    return ReductionMethod::kAtomics;
  if (at.barrier->is_crowd() || at.barrier->participants() == 1 || !data || !combine) return ReductionMethod::kLibomps;
  auto& region = *static_cast<Region*>(at.region);
  if (reduction_for(region, at.epoch + 1)) return ReductionMethod::kTree;
  if (at.thread == 0 && !region.reduction && (region.reduction = fork_for(region, *region.last_team)))
    region.reduces_from.store(at.epoch + 2, std::memory_order_relaxed);  // libomp's barrier orders it
  return ReductionMethod::kLibomps;
}

// The values of all in thread 0, which gets 1; the others 0, when it has let them go.
int32_t reduce(Position& at, KmpIdent* where, KmpThread gtid, void* data, KmpCombine combine) {
  const uint64_t epoch = at.epoch + 1;
  const uint32_t me = at.thread;
  ForkJoin& tree = *static_cast<Region*>(at.region)->reduction;
  const std::atomic<uint64_t>* stop = at.real_epoch;
  const auto pass_real = [&] {
    if (me == 0) count(at.region->counters.real);
    REAL(__kmpc_barrier)(where, gtid);
    stop = nullptr;
  };
  if (next_is_real(at)) pass_real();
  uint32_t combined = 0;
  while (!tree.combine_below(me, epoch, stop, data, combine, &combined)) pass_real();
  if (me == 0) return 1;
  tree.arrive_with(me, epoch, data);
  ForkMessage nothing;
  while (!tree.await(me, epoch, stop, &nothing)) pass_real();
  step(at);
  return 0;
}

[[gnu::noinline]] int32_t reduce_in_region(KmpIdent* where, KmpThread gtid, int32_t values, size_t bytes, void* data,
                                           KmpCombine combine, KmpCriticalName* lock) {
  Position& at = position;
  if (!served(at, __builtin_return_address(0))) [[unlikely]]
    return BY_SHORTCUT(__kmpc_reduce)(where, gtid, values, bytes, data, combine, lock);
  const ReductionMethod chosen = choose(at, where, data, combine);
  int32_t what = 2;  // by atomics
  if (chosen == ReductionMethod::kTree) {
    what = reduce(at, where, gtid, data, combine);
  } else if (chosen == ReductionMethod::kLibomps) {
    what = STOCK(__kmpc_reduce)(where, gtid, values, bytes, data, combine, lock);
    if (what == 0) pass_libomps(at);  // a barrier was in it
  }
  way = chosen;  // only now: tasks that ran inside a barrier meanwhile may have had reductions of their own
  return what;
}

// libomp's ends with a barrier, however it was begun.
[[gnu::noinline]] void end_in_region(KmpIdent* where, KmpThread gtid, KmpCriticalName* lock) {
  Position& at = position;
  switch (way) {
    case ReductionMethod::kUnserved: return;
    case ReductionMethod::kAtomics:
      return smelt::openmp::pass(at, [=] { return REAL(__kmpc_barrier)(where, gtid), true; });
    case ReductionMethod::kTree: static_cast<Region*>(at.region)->reduction->fork(at.epoch + 1, {}); return step(at);
    case ReductionMethod::kLibomps: STOCK(__kmpc_end_reduce)(where, gtid, lock); return pass_libomps(at);
  }
}

}  // namespace
}  // namespace smelt::kmp

using namespace smelt::kmp;

extern "C" {

int32_t smelt_kmp_long___kmpc_reduce(KmpIdent* where, KmpThread gtid, int32_t values, size_t bytes, void* data,
                                     KmpCombine combine, KmpCriticalName* lock) {
  leave_for(gtid);
  return STRAIGHT(__kmpc_reduce)(where, known_as(gtid), values, bytes, data, combine, lock);
}

void smelt_kmp_long___kmpc_end_reduce(KmpIdent* where, KmpThread gtid, KmpCriticalName* lock) {
  STRAIGHT(__kmpc_end_reduce)(where, known_as(gtid), lock);
}

// All ways out are jumps, as __kmpc_barrier's are; a tool is told where the call returns to.
int32_t __kmpc_reduce(KmpIdent* where, KmpThread gtid, int32_t values, size_t bytes, void* data, KmpCombine combine,
                      KmpCriticalName* lock) {
  const Position& at = position;
  way = ReductionMethod::kUnserved;
  if (at.barrier || at.word || smelt_kmp_handed_on.last) [[likely]]
    return reduce_in_region(where, gtid, values, bytes, data, combine, lock);
  return BY_SHORTCUT(__kmpc_reduce)(where, gtid, values, bytes, data, combine, lock);
}

void __kmpc_end_reduce(KmpIdent* where, KmpThread gtid, KmpCriticalName* lock) {
  if (way != ReductionMethod::kUnserved) [[likely]]
    return end_in_region(where, gtid, lock);
  BY_SHORTCUT(__kmpc_end_reduce)(where, gtid, lock);
}

}  // extern "C"
