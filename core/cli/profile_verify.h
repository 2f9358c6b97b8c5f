// smelt profile verify: has this machine the profile that it should have?
//
// Nothing is measured, and hwloc is asked only where something differs: a few small files and the profile are read, in
// milliseconds, so that a job's prologue can afford it.
#pragma once

#include <string>

namespace smelt {

struct VerifyArguments {
  std::string file;     // the profile that the machine should have; "": whichever is found here
  bool system = false;  // the one that all users share, whatever this user has of his own
  bool steady = false;  // a profile that was measured beside other work, or was unsteady, does not hold
  bool json = false, quiet = false;
};

// 0, or kExitWarning with the reasons. Throws UserError: `file` is no profile.
int verify_profile(const VerifyArguments& arguments);

}  // namespace smelt
