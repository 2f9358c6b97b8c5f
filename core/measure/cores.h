// One CPU of each core, as most measurements take them: siblings would be in each other's way.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "profile/text/image.h"

namespace smelt {

// The first CPU of every core: indices into the profile, ascending.
inline std::vector<uint32_t> first_of_each_core(const ProfileImage& image) {
  std::vector<uint32_t> firsts;
  std::set<uint16_t> seen;
  for (uint32_t i = 0; i < image.n(); ++i)
    if (seen.insert(image.core[i]).second) firsts.push_back(i);
  return firsts;
}

}  // namespace smelt
