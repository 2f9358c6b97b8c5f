// How much the shared memory of a group has room for, in bytes unless the name says otherwise. Fixed when the library
// is built: all processes of a group must agree to the byte. The table of thresholds (policy/thresholds.def) quotes
// these figures and gives their reasons.
#pragma once

#include <cstdint>

namespace smelt {

inline constexpr uint32_t kLinePayload = 56;  // with its flag exactly a line of 64
inline constexpr uint32_t kSlotLines = 5;     // 280 bytes: THRESHOLD(kInline) has the reason
inline constexpr uint32_t kInlineBytes =
    kSlotLines * kLinePayload;                           // the longest message that rides in the lines of its flags
inline constexpr uint32_t kPairBytes = 24;               // each way, of two participants that share one line
inline constexpr uint32_t kPieceBytes = 32 << 10;        // the longest piece of a long message
inline constexpr uint64_t kReadBytes = 256 << 10;        // bytes read of another's memory at a time
inline constexpr uint32_t kDirectCopyParticipants = 16;  // the largest group whose members tell each other addresses

}  // namespace smelt
