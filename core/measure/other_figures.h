// The parameters of the cost model beside the matrices: the costs of waiting, fans and copying on this machine.
#pragma once

#include <string>

#include "measure/calibrate.h"
#include "measure/copies.h"
#include "measure/fans.h"
#include "measure/waiting.h"

namespace smelt {

struct OtherEffort {
  WaitEffort wait;
  FanEffort fans;
  CopyEffort copies;
  int64_t until_ns = 0;  // as os::now_ns() counts: no part is begun after it; 0: no such time
};

// Fills in wait, fans and distances of an image whose matrices are measured, and raises the costs that fans show to be
// dearer. A figure that cannot be measured is left out, and the line that comes back names it and the reason; "" for
// none. Progress counts the parts. Some 0.3 s on two CPUs, 0.5 s when they are busy; about a second on machines with
// all distances. The caller must have no other threads.
std::string measure_other_figures(ProfileImage& image, const Progress& progress = {}, const OtherEffort& effort = {});

}  // namespace smelt
