// The JSON form of what a calibration finds out beside the matrices: model/curves.h, profile/measured.h.
#pragma once

#include <string>

#include "profile/text/image.h"
#include "profile/text/json_checks.h"

namespace smelt {

// Appends the members "methods" to "winners", the last ones of the profile's object.
void append_measured(std::string& out, const ProfileImage& image);
// Reads them; needs the image's CPUs. Throws UserError, one line.
void read_measured(const nlohmann::json& root, const JsonChecks& checks, ProfileImage& image);

}  // namespace smelt
