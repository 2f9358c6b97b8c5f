// Where a new thread of an OpenMP runtime begins.
//
// The kernel may put a new thread on the CPU of its maker. That one waits for the team's threads next, by polling, and
// the new one gets the CPU when its time slice is over, or when another CPU looks for work: on two CPUs the first
// regions took 2 to 8 ms in more than half of the runs, and 75 µs where threads were bound. So the maker's CPU is taken
// from the new thread's mask, which moves it if it is there, and given back.
#pragma once

#include <pthread.h>

namespace smelt::openmp {

// Finds where the runtime that has `entry` lies. Called once while resolving: it takes the loader's lock, which a
// thread that makes another must not wait for.
void find_runtime(const void* entry);

// Is this the first function of a thread of that runtime? Never before it was found.
bool is_of_runtime(void* (*start)(void*));

// Of a thread that the caller has just made, and that has not changed its mask itself nor will do so before this
// returns. Nothing happens where it is bound to one CPU, or may not run on the caller's, or the kernel refuses. Always
// 0: what pthread_create says then, which so needs no frame of its own meanwhile.
int begin_elsewhere(pthread_t thread);

}  // namespace smelt::openmp
