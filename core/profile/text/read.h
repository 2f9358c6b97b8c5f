// A profile file of either form, for the verbs that take one by name.
#pragma once

#include <string>

#include "profile/text/image.h"

namespace smelt {

// The whole of a regular file. Throws UserError: not there (`hint` follows the reason), no regular file, too large for
// anything that describes a machine.
std::string read_text_file(const std::string& path, const char* hint = "");

// Packed or JSON, told apart by content; of any machine. Throws UserError where the loader or the JSON reader refuses.
ProfileImage read_profile(const std::string& path);
ProfileImage read_packed_profile(const std::string& path);  // the same for a file known to be packed

// The profile that processes of this user get on this machine, and where it lies. Throws UserError: there is none, or
// it was refused (a guess is no profile).
ProfileImage present_profile(std::string* path);

}  // namespace smelt
