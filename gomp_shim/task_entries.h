// Making tasks and taskgroups as GOMP_task and GOMP_taskgroup_start do, for other entry points: task_entries.cc.
#pragma once

#include "region.h"

namespace smelt::gomp {

// The next multiple of a power of two.
inline uintptr_t aligned(uintptr_t at, uintptr_t align) { return (at + align - 1) & ~(align - 1); }

struct TaskCall {
  GompFunction function;
  void* data;
  void (*copy)(void*, void*);
  long size, align;
  const GompUll* bounds = nullptr;  // two, for the beginning of what `copy` makes, which leaves that out
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

// Where makes_own() is true.
void start_group(Position& position);
void end_group(Position& position);

// Reductions in the group that the calling thread has just begun. False: it is none of ours.
bool add_reductions(Position& position, uintptr_t* arrays);
// That group's tasks are over.
void end_reductions(Position& position);

// GOMP_taskwait, by a thread that has made tasks in its region.
void wait_for_children(Position& position, const void* caller);

}  // namespace smelt::gomp
