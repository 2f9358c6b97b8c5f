// The limits say which size of message gets which method in a group of processes.
#pragma once

#include <smelt/group.h>

#include <cstdint>

namespace smelt {

struct Profile;

// Sizes, in bytes, at which one method hands over to the next.
struct Limits {
  struct Of {
    uint64_t flat = 0;   // combined by each participant that wants the result; above: sliced over all
    uint64_t copy = 0;   // through the shelves; above: read straight from where the data are (single copy)
    bool tried = false;  // above `copy` each size goes the way that was faster when both were tried (group/trials.h)
  };
  Of of[SMELT_COLLECTIVES];
  uint32_t piece = 0;       // of long messages
  uint64_t read_bytes = 0;  // of another's memory at a time, at most kReadBytes
  const char* origin = "";  // "measured", "typical"
};

// Sizes at which the methods hand over to each other, from the profile's measured curves.
// `moves`: the machine may be moved under us (base/fingerprint.h). `strict`: a barrier follows each call.
Limits group_limits(const Profile* profile, uint32_t n, bool crowded = false, bool moves = false, bool strict = false);
// Both are one group's, loose and strict: its other properties count for both.
bool same_limits(const Limits& a, const Limits& b);

}  // namespace smelt
