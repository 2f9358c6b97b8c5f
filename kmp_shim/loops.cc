// Loops with schedule(dynamic), guided, simd:guided or auto, as far as libomp lets an interposer take them. Dynamic
// ones are dealt by shares (openmp/shares.h), as libomp does, and the others in order as guided ones
// (openmp/chunks.h), as it does, too.
//
//   __kmpc_dispatch_init_4, _4u, _8, _8u   a thread comes to the loop
//   __kmpc_dispatch_next_...               the bounds of its next chunk, both inclusive; 0: nothing is left
//
// Nothing else is called for such a loop: __kmpc_dispatch_fini_* are for ordered loops, and __kmpc_dispatch_deinit,
// which newer compilers call behind a loop, does nothing. libomp knows nothing of a loop that is ours: its own ring of
// loops stays where it is, for all threads of the team alike.
//
// A simd:guided loop is a guided one whose iterations are the chunks that it names: so all pieces are multiples of it
// but the loop's last.
//
// All of a team take a loop or none does, for what decides is the same for all: the settings, the team, the loop's own
// numbers. Left to libomp: monotonic dynamic loops, schedule(runtime) with or without simd (which libomp reads in the
// team, out of our sight, while a thread may have changed its own setting), ordered and static schedules, those that
// only its own settings name, teams of one or of more threads than CPUs, loops of more iterations than the signed type
// counts, and all after the 16th loop without a barrier.
#include <limits>
#include <type_traits>

#include "base/options.h"
#include "hot_team.h"
#include "libomp.h"
#include "openmp/callers.h"
#include "openmp/shares.h"
#include "real.h"
#include "region.h"

namespace smelt::kmp {
namespace {

// libomp deals a guided loop in chunks of half a thread's share of what is left.
constexpr uint32_t kGuidedParts = 2;

// The loop goes from `lower` to `upper`, both inclusive. Without a chunk it is not taken.
template <typename Number>
inline DynamicLoop loop_of(int32_t schedule, Number lower, Number upper, int64_t step, int64_t chunk) {
  const int32_t kind = schedule & ~(kScheduleMonotonic | kScheduleNonmonotonic);
  const bool guided = kind == kScheduleGuided || kind == kScheduleGuidedSimd || kind == kScheduleAuto;
  if (kind == kScheduleAuto) chunk = 1;
  if (!guided && (schedule != (kScheduleDynamic | kScheduleNonmonotonic) || dynamic_is_monotonic)) return {};
  const auto from = static_cast<uint64_t>(lower), to = static_cast<uint64_t>(upper), by = static_cast<uint64_t>(step);
  DynamicLoop loop = {from, from, by, 0, chunk > 0 ? static_cast<uint64_t>(chunk) : 1, guided ? kGuidedParts : 0};
  if (step > 0 ? lower > upper : lower < upper) return loop;
  if (step == 0) return {};
  loop.iterations = (step > 0 ? (to - from) / by : (from - to) / (0 - by)) + 1;
  loop.end = from + loop.iterations * by;
  // libomp counts in the loop's type, in places in the signed one: more iterations come out there as they do.
  constexpr auto most = static_cast<uint64_t>(std::numeric_limits<std::make_signed_t<Number>>::max());
  if (loop.iterations == 0 || loop.iterations > most) return {};
  if (kind == kScheduleGuidedSimd) {
    loop.iterations = (loop.iterations - 1) / loop.chunk + 1;
    loop.step *= loop.chunk;
    loop.chunk = 1;
  }
  return loop;
}

// `step`: from one iteration of the program's to the next. False: libomp's.
inline bool begin(Position& at, const DynamicLoop& loop, int64_t step) {
  const Barrier& barrier = *at.barrier;
  const uint32_t threads = barrier.participants();
  if (loop.chunk == 0 || threads == 1 || barrier.is_crowd() || !options().dynamic_loops) return false;
  RegionRecord& region = *at.region;
  LoopThread& own = region.loop_threads[at.thread];
  const bool begun = loop.guided
                         ? open_units(region.loop_counters, own, threads, at.epoch, loop)
                         : open_shares(region.loop_counters, region.loop_threads, at.thread, threads, at.epoch, loop);
  if (loop.guided) own.stride = static_cast<uint64_t>(step);  // which has no other use there
  if (begun && at.thread == 0) count(region.counters.dynamic_loops);
  return begun;
}

// Is the thread in a loop of ours, and not in a region inside that began out of our sight, nor called for another
// runtime?
inline bool in_ours(const Position& at, const void* caller) {
  return at.in_loop && !(smelt_openmp_several && !is_ours(caller)) && REAL(omp_get_level)() == at.level;
}

template <typename Number, typename Difference>
[[gnu::always_inline]] inline int hand_out(Position& at, int32_t* last, Number* lower, Number* upper,
                                           Difference* step) {
  LoopThread* const all = at.region->loop_threads;
  const DynamicLoop& loop = all[at.thread].loop;
  const uint64_t by = loop.guided ? all[at.thread].stride : loop.step;
  Chunk chunk;
  const bool found = loop.guided ? take_guided(all[at.thread], &chunk) : take_of_shares(all, at.thread, &chunk);
  if (found) {
    // No other chunk ends there. The thread that has had this one is given no more, so the word stays.
    if (last) *last = chunk.end == loop.end;
    *lower = static_cast<Number>(chunk.begin);
    *upper = static_cast<Number>(chunk.end - by);
    if (step) *step = static_cast<Difference>(by);
  } else {
    at.in_loop = false;
    if (loop.iterations > 0) {  // as libomp does
      *lower = *upper = 0;
      if (step) *step = 0;
    }
  }
  return found;
}

}  // namespace
}  // namespace smelt::kmp

using namespace smelt::kmp;

extern "C" {

// NOLINTBEGIN(bugprone-macro-parentheses): types.
#define LOOP_OF(suffix, number, difference)                                                                            \
  void __kmpc_dispatch_init_##suffix(KmpIdent* where, KmpThread gtid, int32_t schedule, number lower, number upper,    \
                                     difference step, difference chunk) {                                              \
    Position& at = position;                                                                                           \
    if (!served(at, __builtin_return_address(0))) [[unlikely]] {                                                       \
      leave_for(gtid);                                                                                                 \
      return STRAIGHT(__kmpc_dispatch_init_##suffix)(where, known_as(gtid), schedule, lower, upper, step, chunk);      \
    }                                                                                                                  \
    at.in_loop = begin(at, loop_of<number>(schedule, lower, upper, step, chunk), step);                                \
    if (!at.in_loop) return STRAIGHT(__kmpc_dispatch_init_##suffix)(where, gtid, schedule, lower, upper, step, chunk); \
  }                                                                                                                    \
  int __kmpc_dispatch_next_##suffix(KmpIdent* where, KmpThread gtid, int32_t* last, number* lower, number* upper,      \
                                    difference* step) {                                                                \
    Position& at = position;                                                                                           \
    if (!in_ours(at, __builtin_return_address(0))) {                                                                   \
      leave_for(gtid);                                                                                                 \
      return STRAIGHT(__kmpc_dispatch_next_##suffix)(where, known_as(gtid), last, lower, upper, step);                 \
    }                                                                                                                  \
    return hand_out(at, last, lower, upper, step);                                                                     \
  }
// NOLINTEND(bugprone-macro-parentheses)
LOOP_OF(4, int32_t, int32_t)
LOOP_OF(4u, uint32_t, int32_t)
LOOP_OF(8, int64_t, int64_t)
LOOP_OF(8u, uint64_t, int64_t)

}  // extern "C"
