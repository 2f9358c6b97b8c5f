// smelt calibrate --check: whether the profile still holds (measure/recheck.h).
#pragma once

namespace smelt {

inline constexpr int kExitChanged = 1;

// 0: all classes are within the limit; kExitChanged: not. Throws UserError: no profile, no pair to check.
int check_calibration(bool json, bool quiet);

}  // namespace smelt
