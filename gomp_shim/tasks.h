// Before a task is made, the maker's next barrier is marked as real: openmp/episodes.h.
//
// libgomp's entry points that make tasks are, but for GOMP_task (task_entries.cc), not wrapped in C. A stub in assembly
// compares, marks in the rare case, restores all argument registers and jumps on (stubs.S).
#pragma once

extern "C" {

// The slow way of the stubs: resolves libgomp if need be and marks the calling thread's next barrier.
void smelt_gomp_mark(void) __attribute__((visibility("hidden")));

// It is called before constructs whose tasks are libgomp's though others may be ours (own_tasks.h).
void smelt_gomp_leave(void) __attribute__((visibility("hidden")));
}
