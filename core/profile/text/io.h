// Puts a finished profile where processes look for it: the packed form and the JSON form beside it, atomically.
#pragma once

#include <string>
#include <string_view>

#include "profile/text/image.h"

namespace smelt {

struct WrittenProfile {
  std::string packed;  // <name>.profile
  std::string json;    // <name>.json
};

// Writes both forms; `packed_path` ends in ".profile" (default_profile_path gives the usual one). Missing directories
// are made with mode 0700 (0755 for a `shared` profile, which everybody must be able to read). Until both files are
// complete on disk the old ones stay; two writers at once leave the pair of one of them. Throws UserError (no space,
// not permitted) with the old profile intact.
WrittenProfile write_profile(const ProfileImage& image, const std::string& packed_path, bool shared = false);

// The same for a profile of another kind: both forms as they are, at the paths given, in one directory.
void write_forms(std::string_view text, const std::string& path, std::string_view packed,
                 const std::string& packed_path, bool shared = false);

// The usual place of this machine's profile, $XDG_CACHE_HOME/smelt/<fingerprint>.profile. Throws UserError when neither
// XDG_CACHE_HOME nor HOME is usable.
std::string default_profile_path();

// The place of the profile that all users of this machine share. Throws UserError: too long a name.
std::string shared_profile_path();

// Makes the directories for a profile and finds out whether it could be written there, so that this is known before
// anything is measured. Throws UserError, like write_profile.
void prepare_profile_place(const std::string& packed_path, bool shared);

}  // namespace smelt
