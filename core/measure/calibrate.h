// Measures what a message costs between the CPUs of this machine, over the very lines that transport/ uses.
#pragma once

#include <cstdint>
#include <functional>

#include "discover/machine.h"
#include "discover/profile_image.h"
#include "measure/pair.h"

namespace smelt {

// Called after each measured pair, from the calling thread.
using Progress = std::function<void(uint32_t done, uint32_t total)>;

// A profile of the allowed CPUs of `machine`: every pair up to 64 CPUs; above, up to 12 pairs per class of distance
// and the class's median for the others. One CPU gives a profile of one CPU. Takes about 2 ms per pair; the CPUs should
// be otherwise idle. Throws UserError: not this machine, or a CPU that cannot be pinned to.
ProfileImage calibrate(const Machine& machine, const Progress& progress = {});

// The part that chooses pairs, repeats unsteady ones and fills the matrices, whoever measures (calibrate:
// measure_pair). So it can be tested for machines that nobody has at hand; the machine need not be this one.
using PairMeter = std::function<PairCost(int os_cpu_a, int os_cpu_b)>;
ProfileImage calibrate_pairs(const Machine& machine, const PairMeter& meter, const Progress& progress = {});

}  // namespace smelt
