// The changes from one profile to another, for people and for programs.
#pragma once

#include <string>

#include "cli/table.h"
#include "profile/text/diff.h"

namespace smelt {

// `file_a`, `file_b`: where they lie.
Document change_document(const ProfileChange& change, const ProfileImage& a, const std::string& file_a,
                         const ProfileImage& b, const std::string& file_b);
std::string change_text(const Document& document);

}  // namespace smelt
