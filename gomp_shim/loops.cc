#include "loops.h"

#include <algorithm>
#include <climits>

#include "base/options.h"
#include "hot_team.h"
#include "openmp/callers.h"
#include "real.h"

namespace smelt::gomp {
namespace {

// Can no call in a loop of ours be meant for another one? Relaxed: a thread in an unseen region has heard of it there.
inline bool loops_are_ours() { return !smelt_openmp_several && !unseen_region_noted(); }

// Is the thread in a loop of ours, and not in a region inside that began behind our back, nor called for another
// runtime?
inline bool in_dynamic(const Position& position, const void* caller) {
  if (!position.in_loop) return false;
  if (loops_are_ours()) [[likely]]
    return true;
  return !(smelt_openmp_several && !is_ours(caller)) && REAL(omp_get_level)() == position.level;
}

// The start of a loop. False: libgomp's.
inline bool start_dynamic(Position& position, const DynamicLoop& loop, const void* caller) {
  if (position.in_loop) [[unlikely]]
    note_unseen_region();  // a loop inside a loop is in a region of its own
  return options().dynamic_loops && served(position, caller) && begin_dynamic(position, loop, caller);
}

template <typename Number>
[[gnu::always_inline]] inline bool hand_out(Position& position, Number* begin, Number* end) {
  Chunk chunk;
  if (!take_chunk(position.region->loop_threads, position.thread, &chunk)) return false;
  *begin = static_cast<Number>(chunk.begin);
  *end = static_cast<Number>(chunk.end);
  return true;
}

// The next chunk, where a loop may be another's.
template <typename Number>
[[gnu::noinline]] bool next(Position& position, Number* begin, Number* end, void*& slot, const void* caller) {
  if (in_dynamic(position, caller)) [[likely]]
    return hand_out(position, begin, end);
  return reinterpret_cast<bool (*)(Number*, Number*)>(meant(slot, caller))(begin, end);
}

// How a loop is to be dealt. Without a chunk it is not taken.
struct Schedule {
  bool guided;
  uint64_t chunk;
  Schedule(long kind, long chunk)
      : guided(kind == kScheduleGuided),
        chunk((kind == kScheduleDynamic || guided) && chunk > 0 ? static_cast<uint64_t>(chunk) : 0) {}
};

// A loop of signed numbers, as compilers hand it over.
inline DynamicLoop signed_loop(long start, long end, long step, Schedule how) {
  return {static_cast<uint64_t>(start),
          static_cast<uint64_t>(end),
          static_cast<uint64_t>(step),
          step == 0 ? 0 : iterations_of(step > 0, start, end, step),
          how.chunk,
          how.guided};
}
inline DynamicLoop unsigned_loop(bool up, GompUll start, GompUll end, GompUll step, Schedule how) {
  return {start, end, step, step == 0 ? 0 : iterations_of(up, start, end, step), how.chunk, how.guided};
}

// Handed on without asking whose it is, where there is one runtime only.
#define STRAIGHT(name) (smelt_openmp_several ? STOCK(name) : REAL(name))

}  // namespace

// Can a loop be taken in this team?
inline bool takes_loops(const Position& position) {
  const Barrier& barrier = *position.barrier;
  return options().dynamic_loops && barrier.participants() > 1 && !barrier.is_crowd();
}

bool begin_sections(Position& position, unsigned count) {
  RegionRecord& region = *position.region;
  position.in_loop =
      takes_loops(position) && open_units(region.loop_counters, region.loop_threads[position.thread],
                                          position.barrier->participants(), position.epoch, {1, 0, 1, count, 1});
  if (position.in_loop && position.thread == 0) openmp::count(region.counters.dynamic_loops);
  return position.in_loop;
}

bool begin_dynamic(Position& position, const LoopCall& loop, GompFunction function) {
  if (loop.sections) return begin_sections(position, static_cast<unsigned>(loop.end - 1));
  if (!loop.nonmonotonic) return false;
  const Schedule how{loop.schedule, loop.chunk};
  return begin_dynamic(position, signed_loop(loop.start, loop.end, loop.step, how),
                       reinterpret_cast<const void*>(function));
}

bool begin_dynamic(Position& position, const DynamicLoop& loop, const void* site) {
  if (!takes_loops(position) || loop.step == 0 || loop.chunk == 0) return false;
  const uint32_t threads = position.barrier->participants();
  RegionRecord& region = *position.region;
  if (!open_loop(region.loop_counters, region.loop_threads[position.thread], threads, position.epoch, loop, site))
    return false;
  if (position.thread == 0) count(region.counters.dynamic_loops);
  position.in_loop = true;
  return true;
}

bool end_dynamic(Position& position, const void* caller) {
  if (!in_dynamic(position, caller)) [[likely]]
    return false;
  position.in_loop = false;
  return true;
}

}  // namespace smelt::gomp

using namespace smelt::gomp;

extern "C" {

#define START(name, kind)                                                                                    \
  bool name(long start, long end, long step, long chunk, long* begin_now, long* end_now) {                   \
    Position& position = smelt_gomp_position;                                                                \
    if (!start_dynamic(position, signed_loop(start, end, step, {kind, chunk}), __builtin_return_address(0))) \
      return STOCK(name)(start, end, step, chunk, begin_now, end_now);                                       \
    return hand_out(position, begin_now, end_now);                                                           \
  }
#define ULL_START(name, kind)                                                                                         \
  bool name(bool up, GompUll start, GompUll end, GompUll step, GompUll chunk, GompUll* begin_now, GompUll* end_now) { \
    Position& position = smelt_gomp_position;                                                                         \
    const Schedule how{kind, static_cast<long>(std::min<GompUll>(chunk, LONG_MAX))};                                  \
    if (!start_dynamic(position, unsigned_loop(up, start, end, step, how), __builtin_return_address(0)))              \
      return STOCK(name)(up, start, end, step, chunk, begin_now, end_now);                                            \
    return hand_out(position, begin_now, end_now);                                                                    \
  }
// NOLINTBEGIN(bugprone-macro-parentheses): a name and a type.
#define NEXT(name, number)                                                                     \
  bool name(number* begin_now, number* end_now) {                                              \
    Position& position = smelt_gomp_position;                                                  \
    if (!position.in_loop) [[likely]]                                                          \
      return STRAIGHT(name)(begin_now, end_now);                                               \
    if (loops_are_ours()) [[likely]]                                                           \
      return hand_out(position, begin_now, end_now);                                           \
    return next(position, begin_now, end_now, smelt_real_##name, __builtin_return_address(0)); \
  }
// NOLINTEND(bugprone-macro-parentheses)

START(GOMP_loop_nonmonotonic_dynamic_start, kScheduleDynamic)
START(GOMP_loop_nonmonotonic_guided_start, kScheduleGuided)
ULL_START(GOMP_loop_ull_nonmonotonic_dynamic_start, kScheduleDynamic)
ULL_START(GOMP_loop_ull_nonmonotonic_guided_start, kScheduleGuided)
NEXT(GOMP_loop_nonmonotonic_dynamic_next, long)
NEXT(GOMP_loop_nonmonotonic_guided_next, long)
NEXT(GOMP_loop_ull_nonmonotonic_dynamic_next, GompUll)
NEXT(GOMP_loop_ull_nonmonotonic_guided_next, GompUll)

unsigned GOMP_sections_start(unsigned count) {
  Position& position = smelt_gomp_position;
  if (position.in_loop) [[unlikely]]
    note_unseen_region();
  if (!served(position, __builtin_return_address(0)) || !begin_sections(position, count))
    return STOCK(GOMP_sections_start)(count);
  return take_section(position.region->loop_threads[position.thread]);
}

unsigned GOMP_sections_next(void) {
  const Position& position = smelt_gomp_position;
  if (!in_dynamic(position, __builtin_return_address(0))) return STRAIGHT(GOMP_sections_next)();
  return take_section(position.region->loop_threads[position.thread]);
}

void GOMP_sections_end_nowait(void) {
  if (!end_dynamic(smelt_gomp_position, __builtin_return_address(0))) STRAIGHT(GOMP_sections_end_nowait)();
}

void GOMP_loop_end_nowait(void) {
  if (!end_dynamic(smelt_gomp_position, __builtin_return_address(0))) STRAIGHT(GOMP_loop_end_nowait)();
}

}  // extern "C"
