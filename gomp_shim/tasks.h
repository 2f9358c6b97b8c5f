// Tasks: "barrier number e is real".
//
// A barrier must not be left before all tasks of the team have run, and libgomp's own barrier is where waiting threads
// run them. Ours cannot: it would spin while tasks wait. So every barrier of a region has a number, the same for all
// its threads (Position::epoch + 1 names the next one), and making a task marks the maker's next barrier as real:
//
//   1. Before a task is made: real_epoch = max(real_epoch, epoch + 1); if that changed it, a full fence, and sleepers
//      are woken.
//   2. At barrier e: real_epoch == e on arrival -> libgomp's barrier. While waiting in ours: released -> done;
//      real_epoch == e -> leave for libgomp's. epoch = e only after returning.
//   3. Equality, never >=: a thread that is past e already may mark e + 1 while others are still leaving e.
//
// Why all threads agree: whoever marks e has not arrived at e, so nobody can have been released from e by ours, and
// the marker itself goes to the real one. Either everybody is released by ours or everybody ends in libgomp's.
// Arrival flags are epochs with one writer each, so an abandoned episode needs no repair.
//
// libgomp's entry points that make tasks are not wrapped in C: GOMP_task's signature has grown over the years. A stub
// in assembly compares, marks in the rare case, restores all argument registers and jumps on (stubs_<isa>.S).
#pragma once

extern "C" {

// The slow way of the stubs: resolves libgomp if need be and marks the calling thread's next barrier.
void smelt_gomp_mark(void) __attribute__((visibility("hidden")));
}
