// Whether the numbers of a profile can be true.
#pragma once

#include "profile/profile.h"

namespace smelt {

// The fault of an image whose header's counts fit its size, as the rest of a sentence that begins with the file's name;
// nullptr when there is none. A winner's programs are not looked at (schedule/winner.h does that when it takes one).
const char* nonsense_in(const Profile& profile);

}  // namespace smelt
