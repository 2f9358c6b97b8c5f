// Task loops: GOMP_taskloop, and its form for unsigned long long.
//
// The iterations are dealt to tasks as OpenMP has it: to `num_tasks` that differ by one iteration at most; or to as
// many as there are whole `grainsize`s, so that each has so many and less than twice as many; or, strict, to tasks of
// exactly so many, of which the last has the rest. They go on in order, as a lastprivate variable wants it.
//
// A queue of many tasks that are alike would cost more than they do (libgomp runs all of them at once in this thread if
// they would be more than 64 times the threads). So the tasks of a loop are a range of numbers. A thread that has one
// runs them one by one, as undeferred tasks; and whenever its deque is empty, because somebody has stolen what was
// there, it makes a task of the second half of what is left, for the next thief. That is lazy binary splitting:
// Tzannes, Caragea, Barua, Vishkin, PPoPP 2010. The thread that comes to the loop begins with all of it; with nogroup,
// where it does not wait for the loop, it leaves all to a task.
//
// Tasks one by one, as those of GOMP_task (own_tasks.h), are made where their arguments have constructors, which the
// compiler has copied for each, and where they are final. A loop is libgomp's wherever a task of GOMP_task would be.
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

// How many tasks, and iterations of each: the first `larger` have one more, and the last what is left.
struct Deal {
  GompUll tasks, size, larger, iterations;
};

// `number`: the grainsize, or how many tasks; 0: as many as threads. There are iterations.
Deal deal(GompUll iterations, GompUll number, unsigned flags, uint32_t threads) {
  if ((flags & (kGrainsize | kStrict)) == (kGrainsize | kStrict))
    return {(iterations - 1) / number + 1, number, 0, iterations};
  const GompUll tasks = flags & kGrainsize ? std::max<GompUll>(iterations / number, 1)
                                           : std::min<GompUll>(number ? number : threads, iterations);
  return {tasks, iterations / tasks, iterations % tasks, iterations};
}

// How many iterations. In unsigned arithmetic, which is right from one end of the range to the other.
template <typename T>
GompUll iterations_of(T start, T end, T step, bool up) {
  if (up ? start >= end : start <= end) return 0;
  const auto from = static_cast<GompUll>(start), to = static_cast<GompUll>(end), by = static_cast<GompUll>(step);
  return up ? (to - from - 1) / by + 1 : (from - to - 1) / (GompUll{0} - by) + 1;
}

// A loop that is dealt. Both types of bounds have the same arithmetic.
struct Loop {
  Deal dealt;
  GompUll start, step;

  // The first iteration of that task; of the one behind the last: the end.
  GompUll begin_of(GompUll task) const {
    const GompUll before = task * dealt.size + std::min(task, dealt.larger);
    return start + std::min(before, dealt.iterations) * step;
  }
};

// The range that a thread has of a loop. The arguments of its tasks, which begin with the bounds of each, lie behind.
struct Range {
  Loop loop;
  GompUll next, end;  // tasks
  TaskCall task;
  unsigned flags;
  bool deferred;  // others may have tasks of it
  bool grouped;   // somebody waits for all of it; else what a part of it has offered must end before that does
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
  bool offered = false;
  GompUll bounds[] = {0, range.loop.begin_of(range.next)};
  while (range.next < range.end) {
    // Others have nothing to steal here, and may have something.
    if (range.deferred && !deque.holds(1) && range.end - range.next > 1 && !is_changed(position) &&
        makes_own(position, range.caller)) {
      const GompUll middle = range.end - (range.end - range.next) / 2;
      offer(range, middle);
      range.end = middle;
      offered = true;
    }
    bounds[0] = bounds[1];
    bounds[1] = range.loop.begin_of(++range.next);
    std::memcpy(range.task.data, bounds, sizeof bounds);
    run_grouped(position, range.task.function, range.task.data);
  }
  // The program's taskwait waits for the children of its own task, of which the first part is one.
  if (offered && !range.grouped) wait_for_children(position, range.caller);
}

void make_each(const Loop& loop, MakeCall call, const void* caller) {
  for (GompUll i = 0; i < loop.dealt.tasks; ++i) {
    const GompUll bounds[] = {loop.begin_of(i), loop.begin_of(i + 1)};
    if (call.task.copy)
      call.task.bounds = bounds;
    else
      std::memcpy(call.task.data, bounds, sizeof bounds);
    make_task(call, caller);
  }
}

// `T`: long or GompUll. True: the loop has been done.
template <typename T>
bool run_own_loop(const TaskCall& task, unsigned flags, GompUll number, int priority, T start, T end, T step,
                  const void* caller) {
  static_assert(sizeof(T) == sizeof(GompUll));
  Position& position = smelt_gomp_position;
  if ((number == 0 && (flags & kGrainsize)) || !makes_own(position, caller) || is_changed(position)) return false;
  const bool up = std::is_signed_v<T> ? step > 0 : (flags & kUp) != 0;
  const GompUll iterations = iterations_of(start, end, step, up);
  if (iterations == 0) return (flags & kReduction) == 0;  // else libgomp tells the program that nothing was reduced
  const Loop loop{deal(iterations, number, flags, position.barrier->participants()), static_cast<GompUll>(start),
                  static_cast<GompUll>(step)};
  const bool deferred = (flags & kIf) != 0, grouped = (flags & kNogroup) == 0;
  const unsigned kept = (flags & (kUntied | kFinal | kMergeable)) | (priority ? kPriority : 0);
  if (grouped) start_group(position);
  if (grouped && (flags & kReduction) != 0) {
    auto* const arrays = static_cast<uintptr_t**>(task.data)[2];                             // behind the bounds
    if (!add_reductions(position, arrays)) REAL(GOMP_taskgroup_reduction_register)(arrays);  // the group is libgomp's
  }
  if (task.copy || (kept & (kFinal | kPriority)) != 0) {
    make_each(loop, {task, deferred, kept, nullptr, priority, nullptr}, caller);
  } else {
    Range range{loop, 0, loop.dealt.tasks, task, kept, deferred, grouped, caller};
    if (deferred && !grouped)
      offer(range, 0);
    else
      run_range(position, range);
  }
  if (grouped) end_group(position);
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
