// What a calibration finds out beside the matrices: statistics per class of distance, the costs of waiting, of fans and
// of copying, and which pattern won when the finalists were timed. All are parts of the packed profile (profile.h), so
// plain data without hidden padding; 0 in a figure says that it was not measured.
#pragma once

#include <cstdint>

#include "model/curves.h"

namespace smelt {

// One class of pairs of CPUs. Pairs of one distance that differ too much from each other are several classes.
struct ClassFigures {
  uint32_t distance;  // Distance (model/distance.h)
  uint32_t part;      // 0; 1, 2 ... : further classes of the same distance, by rising hop
  uint32_t pairs;     // unordered pairs of CPUs that belong to it
  uint32_t samples;   // of them measured
  uint32_t marks;     // ClassMark, or-ed
  float hop;          // ns, median over the samples; so are the next three
  float send_busy, recv_busy, ready_read;
  float spread;  // inter-quartile range of the samples' hops, relative to `hop`
};
static_assert(sizeof(ClassFigures) == 40);
enum ClassMark : uint32_t {
  kMarkUnsteady = 1,  // its samples did not come out alike when they were repeated: do not trust them
  kMarkWide = 2,      // the spread stayed above the limit although the class was split as far as it goes
};
inline constexpr uint32_t kClassMarks = 2;  // how many there are
inline constexpr const char* kClassMarkNames[kClassMarks] = {"unsteady", "wide"};
inline constexpr uint32_t kMaxClasses = 64;

// What waiting costs on this machine, ns.
struct WaitFigures {
  float poll;          // one poll of a line in the own cache, with its pause
  float yield;         // sched_yield that finds nobody to run
  float futex_wake;    // the call that wakes one sleeper
  float futex_return;  // from that call's beginning to the sleeper's running on
};
static_assert(sizeof(WaitFigures) == 16);

// A parent and its children, round trips over the transport's lines: ns by number of children.
inline constexpr uint32_t kFanSizes = 6;
inline constexpr uint32_t kFanChildren[kFanSizes] = {1, 2, 4, 8, 16, 32};
struct FanCurves {
  uint32_t distance;         // of the children from the parent, Distance: the nearest class with so many CPUs
  uint32_t reserved;         // 0
  float gather[kFanSizes];   // children -> parent, each by a line of its own, then one shared release line
  float scatter[kFanSizes];  // parent -> children by a line each, then one answer from the last
};
static_assert(sizeof(FanCurves) == 56);
inline constexpr uint32_t kMaxFanCurves = 4;

// Moving and combining payload between two CPUs of one distance: ns by size (kSampledBytes).
struct DistanceCurves {
  uint32_t distance;               // Distance; kSelf: within one CPU's caches
  uint32_t reserved;               // 0
  float copy[kCurveSizes];         // memcpy of what the other CPU has just written
  float single_copy[kCurveSizes];  // the same from another process's memory (cross memory attach)
  float reduce[kCurveSizes];       // sum of doubles: own += the other's
};
static_assert(sizeof(DistanceCurves) == 8 + 3 * kCurveSizes * 4);
inline constexpr uint32_t kMaxDistanceCurves = 6;

// The finalist that won for one set of CPUs and one operation.
struct Winner {
  uint32_t operation;     // Operation (schedule/schedule.h)
  uint32_t participants;  // 2 .. kMaxParticipants
  uint32_t
      first_word;   // where its words begin in the profile's pool, and how many they are; schedule/winner.h reads them:
  uint32_t words;   // the participants' indices into the profile, then their programs
  float predicted;  // ns, under the profile's costs
  float measured;   // ns, median
  float spread;     // relative inter-quartile range of `measured`
  float hop;        // ns, one way, of the ping-pong taken in the same breath
  char pattern[40];  // as users write it, NUL-terminated
};
static_assert(sizeof(Winner) == 72);
inline constexpr uint32_t kWinnerOperations = 3;  // Operation's values, and what operation_name calls them
inline constexpr const char* kWinnerOperationNames[kWinnerOperations] = {"broadcast", "reduce", "barrier"};
inline constexpr uint32_t kMaxWinners = 32;
inline constexpr uint32_t kMaxWinnerWords = 1 << 20;

}  // namespace smelt
