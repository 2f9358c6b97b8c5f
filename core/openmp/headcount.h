// How many CPUs there are for the threads of the process's teams (Headcount in policy/wait.h): the union of their
// affinity masks.
//
// The count begins with what the runtime says before the first region, when it knows of one thread alone. Masks change
// later: a launcher's shell leaves the program one CPU, and the program binds each of its threads to one of its own; a
// resource manager moves the process, or takes a CPU away. Counted once, the teams of the first would be crowds for
// ever, and the threads of the others would spin where a thread that they wait for needs the CPU.
//
// So the masks are asked for again, by a thread that opens a region, if a wait has been long since the last time: the
// waiter sees that, for it looks at the clock anyway. The first time is a millisecond later; while nothing changes, the
// next ones are 2, 4, and at last 100 ms apart. Where waits are short, nobody asks. The kernel is asked by its numbers
// of threads, which each thread notes once when it is in a team first.
#pragma once

#include <cstdint>

#include "openmp/region.h"
#include "policy/wait.h"

namespace smelt::openmp {

// Is the calling thread's number noted?
extern constinit thread_local bool is_noted __attribute__((visibility("hidden"), tls_model("initial-exec")));

// The calling thread is in a team: from now on its CPUs count. begin_record() and come_to_meeting() say it of masters
// and of a hot team's workers.
void add_thread();
inline void note_thread() {
  if (!is_noted) [[unlikely]]
    add_thread();
}

// The runtime knows of so many CPUs, before the first region: the count begins.
void begin_headcount(uint32_t runtimes_cpus);

// The calling thread is about to open a region. After it, headcount is as good as it is going to be.
void ask_for_cpus();
inline void renew_headcount() {
  // Relaxed: which of a master's regions asks does not matter.
  if (headcount.stale.load(std::memory_order_relaxed)) [[unlikely]]
    ask_for_cpus();
}

// In a child after fork: the calling thread is the only one, and has another number.
void forget_threads();

}  // namespace smelt::openmp
