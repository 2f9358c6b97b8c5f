#include "loops.h"

#include "base/options.h"
#include "openmp/callers.h"
#include "real.h"

namespace smelt::gomp {
namespace {

// In a loop in shares, and not in a region inside that began behind our back, nor called for another runtime?
inline bool in_shared(const Position& position, const void* caller) {
  return position.in_shares && !(smelt_openmp_several && !is_ours(caller)) && REAL(omp_get_level)() == position.level;
}

// The start of a loop. False: libgomp's.
inline bool start_shared(Position& position, const SharedLoop& loop, const void* caller) {
  return options().dynamic_loops && served(position, caller) && begin_shared(position, loop);
}

template <typename Number>
inline bool hand_out(Position& position, Number* begin, Number* end) {
  ShareRange range;
  if (!take_share(position.region->shares, position.thread, position.barrier->participants(), &range)) return false;
  *begin = static_cast<Number>(range.begin);
  *end = static_cast<Number>(range.end);
  return true;
}

// The next chunk, for a thread in a loop in shares; apart, so that libgomp's loops pay little for passing by.
template <typename Number>
[[gnu::noinline]] bool next(Position& position, Number* begin, Number* end, void*& slot, const void* caller) {
  if (in_shared(position, caller)) [[likely]]
    return hand_out(position, begin, end);
  return reinterpret_cast<bool (*)(Number*, Number*)>(meant(slot, caller))(begin, end);
}

// Handed on without asking whose it is, where there is one runtime only.
#define STRAIGHT(name) (smelt_openmp_several ? STOCK(name) : REAL(name))

}  // namespace

bool begin_shared(Position& position, const SharedLoop& loop) {
  const Barrier& barrier = *position.barrier;
  const uint32_t threads = barrier.participants();
  if (!options().dynamic_loops || threads < 2 || barrier.is_crowd() || loop.step == 0 || loop.chunk == 0) return false;
  if (!open_share(position.region->shares, position.thread, threads, position.epoch, loop)) return false;
  if (position.thread == 0) count(position.region->counters.shared_loops);
  position.in_shares = true;
  return true;
}

bool end_shared(Position& position, const void* caller) {
  if (!in_shared(position, caller)) [[likely]]
    return false;
  position.in_shares = false;
  return true;
}

}  // namespace smelt::gomp

using namespace smelt::gomp;

extern "C" {

bool GOMP_loop_nonmonotonic_dynamic_start(long start, long end, long step, long chunk, long* begin_now, long* end_now) {
  Position& position = smelt_gomp_position;
  const uint64_t iterations = step == 0 ? 0 : iterations_of(step > 0, start, end, step);
  const SharedLoop loop{static_cast<uint64_t>(start), static_cast<uint64_t>(end), static_cast<uint64_t>(step),
                        iterations, chunk > 0 ? static_cast<uint64_t>(chunk) : 0};
  if (!start_shared(position, loop, __builtin_return_address(0)))
    return STOCK(GOMP_loop_nonmonotonic_dynamic_start)(start, end, step, chunk, begin_now, end_now);
  return hand_out(position, begin_now, end_now);
}

bool GOMP_loop_nonmonotonic_dynamic_next(long* begin_now, long* end_now) {
  Position& position = smelt_gomp_position;
  if (!position.in_shares) [[likely]]
    return STRAIGHT(GOMP_loop_nonmonotonic_dynamic_next)(begin_now, end_now);
  return next(position, begin_now, end_now, smelt_real_GOMP_loop_nonmonotonic_dynamic_next,
              __builtin_return_address(0));
}

bool GOMP_loop_ull_nonmonotonic_dynamic_start(bool up, GompUll start, GompUll end, GompUll step, GompUll chunk,
                                              GompUll* begin_now, GompUll* end_now) {
  Position& position = smelt_gomp_position;
  const SharedLoop loop{start, end, step, step == 0 ? 0 : iterations_of(up, start, end, step), chunk};
  if (!start_shared(position, loop, __builtin_return_address(0)))
    return STOCK(GOMP_loop_ull_nonmonotonic_dynamic_start)(up, start, end, step, chunk, begin_now, end_now);
  return hand_out(position, begin_now, end_now);
}

bool GOMP_loop_ull_nonmonotonic_dynamic_next(GompUll* begin_now, GompUll* end_now) {
  Position& position = smelt_gomp_position;
  if (!position.in_shares) [[likely]]
    return STRAIGHT(GOMP_loop_ull_nonmonotonic_dynamic_next)(begin_now, end_now);
  return next(position, begin_now, end_now, smelt_real_GOMP_loop_ull_nonmonotonic_dynamic_next,
              __builtin_return_address(0));
}

void GOMP_loop_end_nowait(void) {
  if (!end_shared(smelt_gomp_position, __builtin_return_address(0))) STRAIGHT(GOMP_loop_end_nowait)();
}

}  // extern "C"
