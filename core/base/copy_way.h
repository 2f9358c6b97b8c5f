// The ways to copy pieces of long messages: the names that settings, profiles and transport/copy.h, which does it and
// explains them, have in common.
#pragma once

#include <cstdint>

namespace smelt {

enum class CopyWay : uint32_t { kLibc, kMovsb, kAhead };
inline constexpr uint32_t kCopyWays = 3;
inline constexpr const char* kCopyWayNames[kCopyWays] = {"libc", "movsb", "ahead"};

// A choice: copies of at least so many bytes go that way, shorter ones by memcpy.
struct LongCopy {
  CopyWay way = CopyWay::kLibc;
  uint64_t from = UINT64_MAX;
};

}  // namespace smelt
