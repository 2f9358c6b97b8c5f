// A calibration's figures beside the matrices: statistics per class of distance, the costs of waiting, of fans and of
// copying, and which pattern won when the finalists were timed. All are parts of the packed profile (profile.h), so
// plain data without hidden padding; 0 in a figure says that it was not measured. fields.def explains each field.
#pragma once

#include <cstdint>

#include "base/copy_way.h"
#include "model/curves.h"

namespace smelt {

struct ClassFigures {
#define CLASS(type, name, array, rule) type name array;
#include "profile/fields.def"
};
enum ClassMark : uint32_t {
  kMarkUnsteady = 1,  // its samples did not come out alike when they were repeated: do not trust them
  kMarkWide = 2,      // the spread stayed above the limit although the class was split as far as it goes
};
inline constexpr uint32_t kClassMarks = 2;  // how many there are
inline constexpr const char* kClassMarkNames[kClassMarks] = {"unsteady", "wide"};
inline constexpr uint32_t kMaxClasses = 64;

// Why the figures of a whole profile may be worth less than they could be.
enum ConditionMark : uint32_t {
  kBesideOthers = 1,
  kTimeStolen = 2,  // by the host of a virtual machine
  kThrottled = 4,
  kUnsteady = 8,  // a class of distance, or the ping-pong
  kEndedEarly = 16,
};
inline constexpr uint32_t kConditions = 5;
inline constexpr const char* kConditionNames[kConditions] = {"beside other work", "while the host took CPU time away",
                                                             "stopped by a quota", "unsteady", "not to its end"};
// "beside other work, unsteady"; "" for none.
void conditions_text(uint32_t conditions, char* text, uint64_t bytes);

struct WaitFigures {
#define WAIT(type, name, array, rule) type name array;
#include "profile/fields.def"
};

inline constexpr uint32_t kFanSizes = 6;
inline constexpr uint32_t kFanChildren[kFanSizes] = {1, 2, 4, 8, 16, 32};
struct FanCurves {
#define FAN(type, name, array, rule) type name array;
#include "profile/fields.def"
};
inline constexpr uint32_t kMaxFanCurves = 4;

inline constexpr uint32_t kQueueSizes = 9;
inline constexpr uint32_t kQueuePairs[kQueueSizes] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
struct QueueCurves {
#define QUEUE(type, name, array, rule) type name array;
#include "profile/fields.def"
};
inline constexpr uint32_t kMaxQueueCurves = 5;

struct DistanceCurves {
#define DISTANCE(type, name, array, rule) type name array;
#include "profile/fields.def"
};
inline constexpr uint32_t kMaxDistanceCurves = 6;

// The outcome of a race of the ways to copy (transport/copy.h): which won, and from which length of a piece on. In
// DistanceCurves::copied_by 0 says that there was no race, 1 that nothing gains on memcpy; then come the ways that do,
// with each length that is raced.
inline constexpr uint32_t kRacedPieces = 5;
inline constexpr uint64_t kRacedBytes[kRacedPieces] = {1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10};
inline constexpr uint32_t kCopyChoices = 2 + (kCopyWays - 1) * kRacedPieces;
inline constexpr const char* kCopyChoiceNames[kCopyChoices] = {"not raced",         "libc",
                                                               "movsb from 1 KiB",  "movsb from 2 KiB",
                                                               "movsb from 4 KiB",  "movsb from 8 KiB",
                                                               "movsb from 16 KiB", "ahead from 1 KiB",
                                                               "ahead from 2 KiB",  "ahead from 4 KiB",
                                                               "ahead from 8 KiB",  "ahead from 16 KiB"};
// `raced`: index of kRacedBytes.
constexpr uint32_t copy_choice(CopyWay way, uint32_t raced) {
  return way == CopyWay::kLibc ? 1 : 2 + (static_cast<uint32_t>(way) - 1) * kRacedPieces + raced;
}
constexpr LongCopy long_copy_of(uint32_t choice) {
  if (choice < 2) return {};
  return {static_cast<CopyWay>((choice - 2) / kRacedPieces + 1), kRacedBytes[(choice - 2) % kRacedPieces]};
}

struct Winner {
#define WINNER(type, name, array, rule) type name array;
#include "profile/fields.def"
};
inline constexpr uint32_t kWinnerOperations = 3;  // Operation's values, and their names by operation_name
inline constexpr const char* kWinnerOperationNames[kWinnerOperations] = {"broadcast", "reduce", "barrier"};
inline constexpr uint32_t kMaxWinners = 32;
inline constexpr uint32_t kMaxWinnerWords = 1 << 20;

}  // namespace smelt
