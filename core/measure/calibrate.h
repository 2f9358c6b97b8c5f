// Measures the costs of a message between the CPUs of a machine, over the very lines that transport/ uses.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "discover/machine.h"
#include "measure/meter.h"
#include "measure/queues.h"
#include "profile/text/image.h"

namespace smelt {

// Up to this many CPUs every pair is measured; larger machines by class of distance.
inline constexpr uint32_t kAllPairsUpTo = 16;

struct CalibrationOptions {
  bool all_pairs = false;      // also on machines of more than kAllPairsUpTo CPUs
  uint32_t most_at_once = 16;  // pairs measured at the same time, where a test shows that they do not disturb each
                               // other; 1: never more than one
  double seconds = 0;          // by the meter's clock; then it ends with the figures it has: pairs that were not
                               // measured have their class's costs, classes without a pair typical ones, and a remark
                               // and the profile's method say so. 0: as long as it takes
  // After each pair or hop: how many were done, how many there will be as known now, and the time left. The figures may
  // ask for more measurements, so `done` may come up to `total` several times.
  std::function<void(uint32_t done, uint32_t total, double seconds_left)> progress;
};

struct Calibration {
  ProfileImage image;                // classes filled in, by distance and rising hop
  std::vector<std::string> remarks;  // one line each: a reason why the figures are less sure than they look
  std::vector<uint16_t> class_of;    // [n * n] index into image.classes, kNobody on the diagonal
  bool ended_early = false;          // CalibrationOptions::seconds were over
  uint32_t at_once = 1;              // pairs that were measured at the same time, at most
};

// A profile of the allowed CPUs of `machine`. One CPU gives a profile of one CPU. The CPUs should be otherwise idle; if
// they are not, or the machine changes meanwhile, classes are measured again, and where that does not help they are
// marked and a remark says so. Throws UserError: no CPU allowed, or one that cannot be pinned to.
Calibration calibrate(const Machine& machine, Meter& meter, const CalibrationOptions& options);

// How long that will take, by typical costs and without surprises.
double estimate_seconds(const Machine& machine, const CalibrationOptions& options);

// Called after each measured pair, from the calling thread.
using Progress = std::function<void(uint32_t done, uint32_t total)>;

}  // namespace smelt
