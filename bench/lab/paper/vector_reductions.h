// Reductions of vectors, loose and strict, by threads over trees and by processes as a group.
//
// Loose: one reduction after the other, as many under way at once as there is room for. Strict: a barrier after each,
// which belongs to its time. (HotPar'09, section 3)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/lab/paper/price.h"
#include "bench/lab/paper/timing.h"

namespace smelt::paper {

struct Contestant {
  std::string pattern;  // "sequential" is flat
  bool strict = false;
};

// ns of a reduction of `words` doubles by `threads` threads, spread over the CPUs in turn. The sums are checked. Throws
// UserError.
std::vector<Timed> time_reductions(const std::vector<uint32_t>& cpus, uint32_t threads,
                                   const std::vector<Contestant>& contestants, size_t words, bool quick);

// The same by smelt_group_reduce, a process on each CPU: [0] loose, [1] strict; of each size in turn. The ping-pong was
// taken before and after all.
std::vector<std::vector<Timed>> time_group_reductions(const std::vector<uint32_t>& cpus,
                                                      const std::vector<size_t>& words, bool quick);

// Of a smelt_group with a process on each CPU: a broadcast and a reduction of one integer, each with the barrier that
// follows it, and a barrier. The ping-pong was taken before and after all.
std::vector<Timed> time_group(const std::vector<uint32_t>& cpus, bool quick);

// By the model, in the machine's unit. Strict: a reduction, then the best barrier. Loose: the busiest participant's
// time, since everything else overlaps.
double price_reduction(const PaperMachine& machine, const Contestant& contestant, size_t words);

}  // namespace smelt::paper
