#pragma once

#include <cstdint>

namespace smelt {

inline constexpr uint32_t kMaxParticipants = 1024;  // of one barrier, tree, schedule, team or group

}  // namespace smelt
