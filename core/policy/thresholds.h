// All thresholds of the product: where each stands on a machine, where that comes from, and why.
//
// A threshold is a size, time or count at which one way of doing something hands over to another. No room keeps one of
// its own: its code asks here, with the profile and the situation, and gets in this order
//
//   setting     the user's setting
//   situation   the consequence of a crowd, or from a virtual machine that may be moved
//   curves      where two measured curves of the profile cross (curves.h), or where one has its best
//   figure      a figure of the profile, measured
//   typical     the value in the table thresholds.def, because nothing was measured or because the figure asks for no
//               other
//   layout      the same, and nothing can change it: shared memory is laid out for it
//
// A number that only bounds a search or a buffer is no threshold, and a choice by price (which pattern, which width of
// a tree) needs none. There are curves for calls that follow each other at once and for calls that a barrier follows
// (curves.h, Sync); Situation::strict says which count; a group was told so, or has seen it (group/group.h, Watch).
//
// Computing one takes some ten nanoseconds (long_copy: microseconds): no memory, no system call. Thread-safe once
// options() was called.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profile/profile.h"
#include "transport/layout.h"

namespace smelt {

enum class ThresholdId : uint32_t {
#define THRESHOLD(id, name, unit, setting, typical, rule, decides, why) id,
#include "policy/thresholds.def"
#undef THRESHOLD
};

// A row of the table.
struct ThresholdInfo {
  const char* name;     // "copy_broadcast"
  const char* unit;     // "bytes", "ns", "polls", ...
  const char* setting;  // that overrides it, "" for none
  uint64_t typical;
  const char* decides;  // half a sentence
  const char* why;      // half a sentence
};
inline constexpr ThresholdInfo kThresholdTable[] = {
#define THRESHOLD(id, name, unit, setting, typical, rule, decides, why) {name, unit, setting, typical, decides, why},
#include "policy/thresholds.def"
#undef THRESHOLD
};
inline constexpr uint32_t kThresholds = sizeof kThresholdTable / sizeof kThresholdTable[0];
inline constexpr uint64_t kNever = UINT64_MAX;  // as a value: the next method is never taken

constexpr const ThresholdInfo& threshold_info(ThresholdId id) { return kThresholdTable[static_cast<uint32_t>(id)]; }
constexpr uint64_t typical(ThresholdId id) { return threshold_info(id).typical; }

enum class ThresholdOrigin : uint32_t { kSetting, kSituation, kCurves, kFigure, kTypical, kLayout };
const char* threshold_origin_name(ThresholdOrigin origin);

// The asker.
struct Situation {
  uint32_t participants = 2;
  bool crowded = false;  // they are more than the CPUs
  bool moves = false;    // a virtual machine, whose CPUs may be moved apart
  bool strict = false;   // a barrier follows each call
  bool here = true;      // the profile is of the machine that we run on; of another one this CPU tells nothing
};

struct Threshold {
  ThresholdId id{};
  uint64_t value = 0;  // in the row's unit; kNever
  ThresholdOrigin origin = ThresholdOrigin::kTypical;
  const char* note = "";   // half a sentence where the row's `why` is not the reason
  double figure = 0;       // ns: the profile's, where a figure decided or could have; 0: none
  double second = 0;       // ... and the second one, where two did
  uint64_t otherwise = 0;  // the value without the situation, where that is known
  bool tried = false;      // a guess that a group of two replaces by trials of its own calls (group/trials.h)
  // kCurves: the methods that cross, handing over and taking over; the sampled sizes around the crossing (the first 0:
  // there is none below), and their costs at them, ns.
  struct Crossing {
    const char* method[2];
    uint64_t bytes[2];
    float ns[2][2];  // [size][method]
    uint32_t participants;
    bool strict;
  } crossing{};
};

// `profile` may be nullptr: nothing was measured.
Threshold find_threshold(ThresholdId id, const Profile* profile, const Situation& situation = {});

// The reason, one line with its numbers: "single copy overtakes the shelf between 16 KiB (3.4 against 3.6 µs) and ...".
// Returns its length; it is cut to the room.
size_t threshold_reason(const Threshold& threshold, char* text, size_t room);

// How many lines a parent does best to store for so many children: one more line is one more store, and leaves fewer
// pollers on each. Each further poller costs `poller`, each further store `busy`. The result is at least 1, at most
// kMostReleaseLines.
inline constexpr uint32_t kMostReleaseLines = typical(ThresholdId::kReleaseLines);
uint32_t release_lines(uint32_t children, double poller, double busy);

}  // namespace smelt
