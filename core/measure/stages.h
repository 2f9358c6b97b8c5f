// All of a calibration, in one call: what is measured and in which order, what a time limit leaves out, and what the
// profile says of it.
//
// The pairs of CPUs come first (calibrate.h), because all else is made of them: the methods of groups of processes, the
// parameters beside the matrices, and the races of patterns. On a busy machine each takes several times as long as it
// should. So the pairs may have most of the time, and what no longer fits is left out, with a remark.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "profile/text/image.h"
#include "profile/text/io.h"

namespace smelt {

enum class CalibrationStage : uint8_t { kPairs, kGroups, kParameters, kRaces, kWriting };

struct CalibrationProgress {
  CalibrationStage stage = CalibrationStage::kPairs;
  uint32_t done = 0, total = 0;                   // of the stage; 0 of 0: it begins
  double stage_left = -1;                         // s; < 0: not known
  double elapsed = 0, foreseen = 0, at_most = 0;  // s, of all stages
};

struct CalibrationRequest {
  std::string path;     // of the packed form, ends in .profile
  bool shared = false;  // by all users of this machine
  bool all_pairs = false;
  bool methods = true;       // of groups of processes
  double race_seconds = 1;   // 0: no pattern is raced
  double limit_seconds = 0;  // 0: by the machine
  std::function<void(const CalibrationProgress&)> progress;
  std::function<void(const std::string&)> tell;  // a line for people: something went another way than usual
};

struct NewProfile {
  ProfileImage image;
  WrittenProfile written;
  std::vector<std::string> remarks;  // one line each: a reason why the figures are less sure than they look
  double seconds = 0;
  bool ended_early = false;  // at the time limit, with what it had
};

// Measures this machine and writes its profile; until that is written, the one before stays as it was. If the machine
// was busy and is quiet now, and the time holds it, all is measured once more. Throws UserError. The caller must have
// no other threads.
NewProfile calibrate_this_machine(const CalibrationRequest& request);

}  // namespace smelt
