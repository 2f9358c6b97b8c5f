// This file says where a new thread of an OpenMP runtime begins.
//
// The kernel may put a new thread on the CPU of its maker. The maker waits for the team's threads next, by polling. The
// new thread gets the CPU when the maker's time slice is over, or when another CPU looks for work. On two CPUs the
// first regions took 2 to 8 ms in more than half of the runs, and 75 µs where threads were bound. So the maker's CPU is
// taken from the new thread's mask, which moves the thread if it is there, and then given back.
#pragma once

#include <pthread.h>

namespace smelt::openmp {

// Finds where the runtime that has `entry` lies. Called once while resolving: it takes the loader's lock, which a
// thread that makes another must not wait for.
void find_runtime(const void* entry);

// Is this the first function of a thread of that runtime? It never is before that was found.
bool is_of_runtime(void* (*start)(void*));

// Moves a thread that the caller has just made off the caller's CPU. The thread must not change its mask itself before
// this returns. Nothing happens if the thread is bound to one CPU, may not run on the caller's, or the kernel refuses.
// Always 0: pthread_create's own result then, so that our pthread_create needs no frame of its own meanwhile.
int begin_elsewhere(pthread_t thread);

}  // namespace smelt::openmp
