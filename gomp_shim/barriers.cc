// The barriers that libgomp lets an interposer take.
//
//   GOMP_barrier, _barrier_ext          explicit barriers; the end of static for, single, scope, workshare. Programs of
//                                       GCC 17 call the second, whose argument is for tools: which of these it is
//   GOMP_loop_end, GOMP_sections_end    the end of other loops and of sections: the _nowait form does the same
//                                       book-keeping without the barrier, and ours follows
//   GOMP_single_copy_start, _end        copyprivate: GOMP_single_start picks the thread, which tells the others its
//                                       pointer (Barrier::tell) and goes on to the barrier that the program has there
//   the *_cancel forms                  the same; regions are only served while cancellation is off
//
// The end of a region is inside GOMP_parallel: libgomp's own, or the hot team's (hot_team.h). Which barrier serves an
// episode, ours or libgomp's, is decided by openmp/episodes.h, for all threads alike.
#include "loops.h"
#include "openmp/callers.h"
#include "openmp/episodes.h"
#include "own_tasks.h"
#include "real.h"
#include "region.h"

namespace smelt::gomp {
namespace {

// Passes the next barrier of the region.
inline void pass(Position& position) {
  openmp::pass(position, [&position] { return end_episode(position); });
}

// May the thread that runs a block of copyprivate tell the others without a barrier between? All get the same answer.
// It may not if the barrier would be libgomp's without asking.
inline bool tells(const Position& position) { return position.assumed == 0; }

}  // namespace
}  // namespace smelt::gomp

using namespace smelt::gomp;

extern "C" {

// A barrier. `result`: of the forms that can be cancelled.
#define BARRIER(type, name, parameters, arguments, result)           \
  type name parameters {                                             \
    Position& position = smelt_gomp_position;                        \
    if (!served(position, __builtin_return_address(0))) [[unlikely]] \
      return STOCK(name) arguments;                                  \
    pass(position);                                                  \
    return result;                                                   \
  }
BARRIER(void, GOMP_barrier, (void), (), )
BARRIER(void, GOMP_barrier_ext, (int kind), (kind), )
BARRIER(bool, GOMP_barrier_cancel, (void), (), false)
BARRIER(bool, GOMP_barrier_cancel_ext, (int kind), (kind), false)

// The end of a loop or of sections; `nowait`: libgomp's, without the barrier.
#define END(type, name, nowait, result)                                       \
  type name(void) {                                                           \
    Position& position = smelt_gomp_position;                                 \
    if (!served(position, __builtin_return_address(0))) return STOCK(name)(); \
    if (!end_dynamic(position, __builtin_return_address(0))) REAL(nowait)();  \
    pass(position);                                                           \
    return result;                                                            \
  }
END(void, GOMP_loop_end, GOMP_loop_end_nowait, )
END(bool, GOMP_loop_end_cancel, GOMP_loop_end_nowait, false)
END(void, GOMP_sections_end, GOMP_sections_end_nowait, )
END(bool, GOMP_sections_end_cancel, GOMP_sections_end_nowait, false)

// The compiler's code: the thread that gets nullptr runs the block and hands its data to _end; the others get that
// pointer from _start. A barrier of the program follows, so the word is heard before the next is told. That barrier is
// the next episode, and tasks that were made before are run there. While others wait for the block they must run tasks
// that it may wait for, as in libgomp: so a mark sends them all to an episode between (openmp/episodes.h).
void* GOMP_single_copy_start(void) {
  Position& position = smelt_gomp_position;
  if (!served(position, __builtin_return_address(0))) return STOCK(GOMP_single_copy_start)();
  if (REAL(GOMP_single_start)()) return nullptr;
  void* data;
  if (tells(position) && position.barrier->hear(position.thread, position.epoch + 1, *position.real_epoch, &data))
    return data;
  pass(position);
  return position.region->copied.load(std::memory_order_relaxed);  // ordered by the barrier just passed
}

void GOMP_single_copy_end(void* data) {
  Position& position = smelt_gomp_position;
  if (!served(position, __builtin_return_address(0))) return STOCK(GOMP_single_copy_end)(data);
  if (tells(position) && position.barrier->tell(position.thread, position.epoch + 1, data)) return;
  position.region->copied.store(data, std::memory_order_relaxed);
  pass(position);
}

}  // extern "C"
