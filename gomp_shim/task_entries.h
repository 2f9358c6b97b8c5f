// Making tasks and taskgroups as GOMP_task and GOMP_taskgroup_start do, for other entry points: task_entries.cc,
// task_waits.cc. It also has what these two ask each other.
#pragma once

#include "hot_team.h"
#include "own_tasks.h"
#include "region.h"
#include "task_pool.h"

namespace smelt::gomp {

// The next multiple of a power of two.
inline uintptr_t aligned(uintptr_t at, uintptr_t align) { return (at + align - 1) & ~(align - 1); }

struct TaskCall {
  GompFunction function;
  void* data;
  void (*copy)(void*, void*);
  long size, align;
};

// The arguments of GOMP_task. `caller`, below: where the program's call returns to.
struct MakeCall {
  TaskCall task;
  bool deferred;
  unsigned flags;
  void** depend;
  int priority;
  void* detach;
};

// Are the tasks that the calling thread makes here and now ours?
bool makes_own(Position& position, const void* caller);

void make_task(const MakeCall& call, const void* caller);

// It may be called where makes_own() is true.
void start_group(Position& position);
void end_group(Position& position);

// Is the calling thread in a body whose constructs are ours?
bool is_ours_here(Position& position, const void* caller);

// In the body of a final task, or of one that is included in it and has no Task of its own: libgomp runs all that is
// made there at once, in tasks that we do not see, and has the groups.
inline bool is_final(const Position& position) { return position.task && position.task->final; }

// May the calling thread make tasks that are ours, till its next barrier?
inline bool may_make_own(const Position& position) {
  return smelt_gomp_own_tasks && position.barrier && is_eligible(position) && !position.tasks_are_libgomps &&
         position.assumed == 0 && !is_final(position);
}

// The calling thread, in the body of its implicit task, is about to make the first explicit one of a region. False:
// its tasks are libgomp's.
bool begin_tasks(Position& position);
// The task whose body the calling thread runs; nullptr: no memory.
Task* current(Position& position, TaskTeam& team);
// Back when the task of that node, a child of the current one, has ended.
void wait_for_node(TaskTeam& team, Position& position, const DependNode& node);
// Back when the children of the current task that the list depends on have ended. False: some of the list is not to be
// had here.
bool wait_for_dependences(Position& position, void** list);

}  // namespace smelt::gomp
