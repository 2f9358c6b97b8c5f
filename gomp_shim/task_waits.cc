// Waiting for tasks (own_tasks.h): the entry points of libgomp that end when a task's children, a taskgroup's tasks, or
// those that a list depends on have ended; and how tasks made from now on are left to libgomp.
#include <new>

#include "hot_team.h"
#include "openmp/callers.h"
#include "own_tasks.h"
#include "real.h"
#include "task_barrier.h"
#include "task_entries.h"
#include "task_pool.h"
#include "tasks.h"

namespace smelt::gomp {

void leave_tasks_to_libgomp(Position& position) {
  if (!smelt_gomp_own_tasks || !position.barrier || position.in_libgomp != 0 || is_final(position)) return;
  Task* task = position.task;
  if (!task) {
    position.tasks_are_libgomps = true;
    return;
  }
  TaskTeam& team = *team_of(position);
  bool whole = settle(position);
  task = position.task;
  // An undeferred one needs a Task to note what it opens. Without the memory for one, nothing is opened.
  if (!whole && task->group) {
    if (Task* const adopted = current(position, team)) {
      task = adopted;
      whole = true;
    }
  }
  // libgomp knows nothing of ours: the tasks that it makes from now on must not wait for them.
  if (whole && task->children)
    task->children->wait_for_all([&](const DependNode& node) { wait_for_node(team, position, node); });
  position.tasks_are_libgomps = true;
  if (!whole || !task->group) return;
  bool& opened = task->group->owner == task ? task->group->opened : task->opened;
  if (opened) return;
  opened = true;
  REAL(GOMP_taskgroup_start)();
}

void start_group(Position& position) {
  if (position.tasks_are_libgomps) leave_tasks_to_libgomp(position);  // first: it may open one around this one
  const bool begun =
      position.groups_at_libgomp == 0 && !position.tasks_are_libgomps && (position.task || begin_tasks(position));
  TaskTeam* const team = begun ? team_of(position) : nullptr;
  Task* const task = begun ? current(position, *team) : nullptr;
  Task* const block = task ? new_block(team->workers[position.thread], position.thread) : nullptr;
  if (!block) {  // all tasks made inside are libgomp's, too
    ++position.groups_at_libgomp;
    position.tasks_are_libgomps = true;
    return REAL(GOMP_taskgroup_start)();
  }
  task->group = new (block->room) TaskGroup{task->group, task, block, position.thread, false, 0, 0, {0}};
  note_unseen(position);
}

void end_group(Position& position) {
  if (position.groups_at_libgomp > 0) {
    --position.groups_at_libgomp;
    const InLibgomp inside(position);
    REAL(GOMP_taskgroup_end)();
    return;
  }
  TaskTeam& team = *team_of(position);
  settle(position);
  Task& task = *position.task;
  TaskGroup* const group = task.group;
  help_until(team, position, task, [&] { return is_empty(*group); });
  if (group->opened) {
    const InLibgomp inside(position);
    REAL(GOMP_taskgroup_end)();
  }
  task.group = group->outer;
  note_unseen(position);
  put_back(team, group->block, position.thread);
}

// GOMP_taskwait, by a thread that has made tasks in its region.
static void wait_for_children(Position& position, const void* caller) {
  const bool ours = !smelt_openmp_several || is_ours(caller);
  if (ours && settle(position)) {
    const Task& task = *position.task;
    help_until(*team_of(position), position, task, [&] { return open_children(task) == 0; });
    if (!position.tasks_are_libgomps) return;
  }
  // Its children are libgomp's, or some are.
  const InLibgomp inside(position, ours);
  reinterpret_cast<decltype(&::GOMP_taskwait)>(meant(smelt_real_GOMP_taskwait, caller))();
}

}  // namespace smelt::gomp

using namespace smelt::gomp;

// The function that the caller means, as STOCK; a jump where there is nothing to find out.
#define STRAIGHT(name) \
  (smelt_openmp_several || !smelt_real_##name ? STOCK(name) : reinterpret_cast<decltype(&::name)>(smelt_real_##name))

extern "C" {

// Does the body that the calling thread runs have children that are ours, or libgomp's beside them? Any other is an
// undeferred one that has made none, or libgomp's.
static bool may_have_children(const Position& position) {
  const Task* const task = position.task;
  return task && (task->shell == shell() || task->adopted || position.tasks_are_libgomps);
}

[[gnu::noinline]] static void wait_otherwise(Position& position, const void* caller) {
  if (may_have_children(position)) return wait_for_children(position, caller);
  reinterpret_cast<decltype(&::GOMP_taskwait)>(meant(smelt_real_GOMP_taskwait, caller))();
}

void GOMP_taskwait(void) {
  Position& position = smelt_gomp_position;
  // Acquire: pairs with start_regions(), for the slot.
  if (!__atomic_load_n(&smelt_gomp_found, __ATOMIC_ACQUIRE) || smelt_openmp_several || may_have_children(position))
    return wait_otherwise(position, __builtin_return_address(0));
  return reinterpret_cast<decltype(&::GOMP_taskwait)>(smelt_real_GOMP_taskwait)();
}

void GOMP_taskwait_depend(void** depend) {
  Position& position = smelt_gomp_position;
  if (!is_ours_here(position, __builtin_return_address(0))) return STOCK(GOMP_taskwait_depend)(depend);
  if (!wait_for_dependences(position, depend)) {
    leave_tasks_to_libgomp(position);
  } else if (!position.tasks_are_libgomps) {
    return;
  }
  const InLibgomp inside(position);
  REAL(GOMP_taskwait_depend)(depend);
}

void GOMP_taskgroup_start(void) {
  Position& position = smelt_gomp_position;
  if (position.barrier ? !is_eligible(position) : !position.word) return STRAIGHT(GOMP_taskgroup_start)();
  if (!is_ours_here(position, __builtin_return_address(0)) || is_final(position) || position.assumed != 0)
    return STOCK(GOMP_taskgroup_start)();
  start_group(position);
}

void GOMP_taskgroup_end(void) {
  Position& position = smelt_gomp_position;
  if (!position.barrier || !is_eligible(position)) return STRAIGHT(GOMP_taskgroup_end)();
  if (!is_ours_here(position, __builtin_return_address(0)) || is_final(position) || position.assumed != 0)
    return STOCK(GOMP_taskgroup_end)();
  end_group(position);
}

// The end of a worksharing construct with task reductions: a barrier of libgomp's is in it.
void GOMP_workshare_task_reduction_unregister(bool cancelled) {
  Position& position = smelt_gomp_position;
  const bool ours = is_ours_here(position, __builtin_return_address(0));
  if (ours && position.task) run_own(*team_of(position), position);
  const InLibgomp inside(position, ours);
  STOCK(GOMP_workshare_task_reduction_unregister)(cancelled);
}

// A program built for tools (-fopenmp-ompt) calls it: without task reductions, nothing begins.
void GOMP_scope_start_with_end(uintptr_t* reductions) {
  if (reductions) smelt_gomp_leave();
  STOCK(GOMP_scope_start_with_end)(reductions);
}

// Before constructs whose tasks are libgomp's, in the bodies of which it keeps what the tasks need.
void smelt_gomp_leave(void) {
  resolve();
  if (smelt_gomp_own_tasks) smelt_gomp_mark();
}

}  // extern "C"
