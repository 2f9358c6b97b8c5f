// The cost model's price of a pattern on a machine.
#pragma once

#include <string>
#include <vector>

#include "base/arena.h"
#include "bench/lab/paper/machines.h"
#include "schedule/build.h"

namespace smelt::paper {

// The operations of OSDI'16, section 5.1. Two-phase commit: the question down the tree, the votes up, the outcome down.
enum class Work { kBroadcast, kReduction, kBarrier, kTwoPhaseCommit };
inline constexpr Work kAllWork[] = {Work::kBroadcast, Work::kReduction, Work::kBarrier, Work::kTwoPhaseCommit};
const char* work_name(Work work);

// The trees of OSDI'16, section 2.4, by our names and by the paper's; then the paper's own, then what we would use.
struct Topology {
  const char* pattern;  // of the registry; "best": the cheapest of all
  const char* name;
  bool is_static;
};
inline constexpr Topology kTopologies[] = {{"sequential", "sequential", true},
                                           {"binary", "binary", true},
                                           {"fibonacci", "Fibonacci", true},
                                           {"mst", "MST", true},
                                           {"cluster", "cluster", true},
                                           {"bad", "bad", false},
                                           {"adaptive-sorted", "AT (the paper's adaptive tree)", false},
                                           {"best", "Smelt (best here)", false}};

// A machine's costs among some of its participants, and room for schedules. Throws UserError: no memory, unknown
// pattern.
class Pricing {
 public:
  Pricing(const MachineFile& file, const std::vector<uint16_t>& members, size_t schedules = 1);

  const Costs& costs() const { return costs_; }
  // Messages of `lines` cache lines, of which the model prices the first; a further one keeps the receiver, which reads
  // it, recv_busy longer. Signals take one line as ever.
  void lengthen(uint32_t lines);

  // Makespan, in the machine's unit. `root` -1: the pattern's own choice.
  double makespan(Work work, const std::string& pattern, int root = -1);
  // Of one barrier in a loop that does nothing else.
  double in_a_loop(const std::string& pattern);
  // The longest that one participant is kept busy by an operation: in a loop that may overlap itself no faster one is
  // possible.
  double busiest(Work work, const std::string& pattern, int root = -1);
  // When each participant is done.
  std::vector<double> done(Work work, const std::string& pattern, int root);

  // The schedule of a closed loop, so that one clock sees all of it: a broadcast is answered by everybody straight to
  // the root, a reduction released by one line. It stays in this object's memory; at most as many as `schedules`.
  Schedule closed(Work work, const std::string& pattern);

 private:
  Choice choice(Operation op, const std::string& pattern, int root);
  Schedule schedule_of(Work work, const std::string& pattern, int root);

  uint32_t n_;
  MappedArena arena_;
  Costs costs_;
};

}  // namespace smelt::paper
