// What changed from one profile to another, for people and for programs.
#pragma once

#include <string>

#include "profile/text/diff.h"

namespace smelt {

std::string change_text(const ProfileChange& change);
std::string change_json(const ProfileChange& change, const ProfileImage& a, const ProfileImage& b);

}  // namespace smelt
