// Task loops: GOMP_taskloop, and its form for unsigned long long.
//
// The iterations are dealt to tasks as OpenMP has it: to `num_tasks` that differ by one iteration at most; or to as
// many as there are whole `grainsize`s, so that each has so many and less than twice as many. They go on in order, as a
// lastprivate variable wants it.
//
// A queue of many tasks that are alike would cost more than they do (libgomp runs all of them at once in this thread if
// they would be more than 64 times the threads). So the tasks of a loop are a range of numbers. A thread that has one
// runs them one by one, as undeferred tasks; and whenever its deque is empty, because somebody has stolen what was
// there, it makes a task of the second half of what is left, for the next thief. That is lazy binary splitting:
// Tzannes, Caragea, Barua, Vishkin, PPoPP 2010. The thread that comes to the loop begins with all of it, and waits for
// its end.
//
// A loop is libgomp's wherever a task of GOMP_task would be, and with what loops of tasks rarely have: nogroup,
// reductions, `strict`, a priority, final tasks, and arguments with constructors, which are copied for each task.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "openmp/callers.h"
#include "own_tasks.h"
#include "real.h"
#include "task_entries.h"
#include "task_pool.h"
#include "tasks.h"

namespace smelt::gomp {
namespace {

// These are GOMP_taskloop's flags; the others are GOMP_task's.
constexpr unsigned kUp = 256, kGrainsize = 512, kNogroup = 2048, kReduction = 4096, kStrict = 16384;
constexpr unsigned kRare = kFinal | kNogroup | kReduction | kStrict;

// How many tasks, and iterations of each: the first `larger` have one more.
struct Deal {
  GompUll tasks, size, larger;
};

// `number`: the grainsize, or how many tasks; 0: as many as threads. There are iterations.
Deal deal(GompUll iterations, GompUll number, unsigned flags, uint32_t threads) {
  const GompUll tasks = flags & kGrainsize ? std::max<GompUll>(iterations / number, 1)
                                           : std::min<GompUll>(number ? number : threads, iterations);
  return {tasks, iterations / tasks, iterations % tasks};
}

// A loop that is dealt. Both types of bounds have the same arithmetic.
struct Loop {
  Deal dealt;
  GompUll start, step;

  // The first iteration of that task; of the one behind the last: the end.
  GompUll begin_of(GompUll task) const { return start + (task * dealt.size + std::min(task, dealt.larger)) * step; }
};

// The range that a thread has of a loop. The arguments of its tasks, which begin with the bounds of each, lie behind.
struct Range {
  Loop loop;
  GompUll next, end;  // tasks
  TaskCall task;
  unsigned flags;
  bool deferred;  // others may have tasks of it
  const void* caller;
};

void run_range(Position& position, Range& range);

void run_arguments(void* arguments) {
  auto& range = *static_cast<Range*>(arguments);
  range.task.data = static_cast<char*>(arguments) + aligned(sizeof range, static_cast<size_t>(range.task.align));
  run_range(smelt_gomp_position, range);
}

// A task of those that begin with number `first`.
[[gnu::noinline]] void offer(const Range& range, GompUll first) {
  const auto align = std::max(static_cast<size_t>(range.task.align), alignof(Range));
  const size_t offset = aligned(sizeof range, align);
  const size_t size = offset + static_cast<size_t>(range.task.size);
  const auto room = reinterpret_cast<uintptr_t>(__builtin_alloca(size + align));
  auto* const arguments = reinterpret_cast<char*>(aligned(room, align));
  Range part = range;
  part.next = first;
  part.task.align = static_cast<long>(align);
  std::memcpy(arguments, &part, sizeof part);
  std::memcpy(arguments + offset, range.task.data, static_cast<size_t>(range.task.size));
  const TaskCall whole{run_arguments, arguments, nullptr, static_cast<long>(size), static_cast<long>(align)};
  make_task({whole, true, range.flags, nullptr, 0, nullptr}, range.caller);
}

void run_range(Position& position, Range& range) {
  auto& deque = team_of(position)->workers[position.thread].deque;
  GompUll bounds[] = {0, range.loop.begin_of(range.next)};
  while (range.next < range.end) {
    // Others have nothing to steal here, and may have something.
    if (range.deferred && !deque.holds(1) && range.end - range.next > 1 && !is_changed(position) &&
        makes_own(position, range.caller)) {
      const GompUll middle = range.end - (range.end - range.next) / 2;
      offer(range, middle);
      range.end = middle;
    }
    bounds[0] = bounds[1];
    bounds[1] = range.loop.begin_of(++range.next);
    std::memcpy(range.task.data, bounds, sizeof bounds);
    run_grouped(position, range.task.function, range.task.data);
  }
}

// `T`: long or GompUll. True: the loop has been done.
template <typename T>
bool run_own_loop(const TaskCall& task, unsigned flags, GompUll number, int priority, T start, T end, T step,
                  const void* caller) {
  static_assert(sizeof(T) == sizeof(GompUll));
  Position& position = smelt_gomp_position;
  if ((flags & kRare) != 0 || priority != 0 || task.copy || (number == 0 && (flags & kGrainsize))) return false;
  if (!makes_own(position, caller) || is_changed(position)) return false;
  const bool up = std::is_signed_v<T> ? step > 0 : (flags & kUp) != 0;
  const GompUll iterations = iterations_of(up, start, end, step);
  if (iterations == 0) return true;
  const Deal dealt = deal(iterations, number, flags, position.barrier->participants());
  Range range{{dealt, static_cast<GompUll>(start), static_cast<GompUll>(step)},
              0,
              dealt.tasks,
              task,
              flags & (kUntied | kMergeable),
              (flags & kIf) != 0,
              caller};
  start_group(position);
  run_range(position, range);
  end_group(position);
  return true;
}

}  // namespace
}  // namespace smelt::gomp

using namespace smelt::gomp;

extern "C" {

// libgomp runs the bodies of its loops here, too, while it waits for them.

void GOMP_taskloop(GompFunction function, void* data, void (*copy)(void*, void*), long size, long align, unsigned flags,
                   unsigned long tasks, int priority, long start, long end, long step) {
  if (run_own_loop({function, data, copy, size, align}, flags, tasks, priority, start, end, step,
                   __builtin_return_address(0)))
    return;
  Position& position = smelt_gomp_position;
  if (position.unmarked) smelt_gomp_mark();
  const InLibgomp inside(position);
  STOCK(GOMP_taskloop)(function, data, copy, size, align, flags, tasks, priority, start, end, step);
}

void GOMP_taskloop_ull(GompFunction function, void* data, void (*copy)(void*, void*), long size, long align,
                       unsigned flags, unsigned long tasks, int priority, GompUll start, GompUll end, GompUll step) {
  if (run_own_loop({function, data, copy, size, align}, flags, tasks, priority, start, end, step,
                   __builtin_return_address(0)))
    return;
  Position& position = smelt_gomp_position;
  if (position.unmarked) smelt_gomp_mark();
  const InLibgomp inside(position);
  STOCK(GOMP_taskloop_ull)(function, data, copy, size, align, flags, tasks, priority, start, end, step);
}

}  // extern "C"
