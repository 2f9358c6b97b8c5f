// smelt env: the changes of smelt run as a script of a shell, which switches Smelt on or off wherever it is run. The
// file of a conda or virtual environment is written once, and run in shells that nobody has seen yet: so the script
// looks at the variables itself. It takes away Smelt's own entries, puts them in front, and leaves the user's alone,
// those that were there before and those that came since.
#pragma once

#include <string>

#include "cli/launch_environment.h"

namespace smelt {

enum class Shell { kPosix, kFish };  // kPosix: sh, bash, zsh

// `parts`: what is switched on. Its variables of --fit, --bind and --networks are kept beside as they were, and the
// script that switches off puts them back, unless the user has set them since.
std::string switch_on_script(const LaunchParts& parts, Shell shell);

// `parts`: what may have been switched on. What this shell has from another installation goes, too.
std::string switch_off_script(const LaunchParts& parts, Shell shell);

}  // namespace smelt
