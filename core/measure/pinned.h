// Threads that stay on one CPU each, for the length of a measurement.
#pragma once

#include <functional>
#include <vector>

namespace smelt {

struct PinnedJob {
  int os_cpu;
  std::function<void()> work;  // must not throw: the others would wait for ever
};

// Runs all jobs at once, each on its CPU from its first instruction and with memory of its own node, and returns when
// all are done. Throws UserError (with nothing run) when one of the CPUs may not be used.
void run_pinned(const std::vector<PinnedJob>& jobs);

}  // namespace smelt
