// How each threshold follows from the profile.
//
//   sizes     where two methods' curves cross, of the set measured with the nearest number of participants, loose or
//             strict
//             Of two participants on a virtual machine, as they would be at the middle of its hops (hop_factor)
//   messages  the same, of the curves of copying between two CPUs: a packet is copied in, then out; pieces are copied
//             out while the next one is copied in
//   copies    what won the races of all distances; else what the CPU says of itself, where the machine is this one
//   polls     the typical count is a time, so many polls of 20 ns; a machine whose pause is longer gets fewer of them
//             for the same time
//   sleeping  spinning or yielding for no longer than a sleep and its wake-up take is metastable: one slow episode
//             makes the next one slow, and the loop stays slow. So every such limit is at least 4 times the measured
//             sleep, and at least the typical value, which stands for the other reasons to wait longer
//   yielding  a foreign thread's time slice must be told from a slow yield
#include "policy/thresholds.h"

#include <algorithm>

#include "base/options.h"
#include "model/distance.h"
#include "policy/long_copy.h"

namespace smelt {
namespace {

constexpr double kSleepsToSpin = 4;
constexpr double kLongestSleep = 2e6;  // ns: longer ones were measured on an overloaded machine and say nothing
constexpr double kYieldsToBeForeign = 50;
constexpr uint64_t kLongestForeign = 500'000;  // ns: below any scheduler's slice
constexpr double kMiddleHop = 125;             // ns: of 50 and 310, the geometric mean
constexpr uint64_t kPollsFactor = 4;           // a pause is never taken to be more than this factor off the typical one

using Id = ThresholdId;
using Origin = ThresholdOrigin;

const WaitFigures* waiting(const Profile* profile) { return profile ? profile->wait : nullptr; }

// The figures of two participants say little about many; those of single copy, where many read from one, nothing about
// more.
const CurveSet* curves_for(const Profile* profile, const Situation& situation, bool copies) {
  if (!profile) return nullptr;
  const uint32_t n = situation.participants;
  const Sync sync = situation.strict ? Sync::kStrict : Sync::kLoose;
  const uint32_t least = n > (copies ? 2 : typical(Id::kPairCurves)) ? 3 : 2;
  return nearest_curves(profile->curves, profile->header.curve_sets, n, sync, least);
}

Threshold of(Id id, uint64_t value, Origin origin, const char* note = "") {
  Threshold out;
  out.id = id;
  out.value = value;
  out.origin = origin;
  out.note = note;
  return out;
}

// --- sizes ---

struct Names {
  MethodLimit limit;
  const char* from;
  const char* to;
};

Names names_of(Id id) {
  switch (id) {
    case Id::kFlatReduce: return {MethodLimit::kFlatReduce, "flat", "sliced"};
    case Id::kFlatAllreduce: return {MethodLimit::kFlatAllreduce, "flat", "sliced"};
    case Id::kCopyBroadcast:
    case Id::kCopyExchange:
    case Id::kCopyRooted: return {MethodLimit::kCopyBroadcast, "the shelf", "single copy"};
    case Id::kCopyReduce: return {MethodLimit::kCopyReduce, "the shelf", "single copy"};
    default: return {MethodLimit::kCopyAllreduce, "the shelf", "single copy"};
  }
}

// This limit holds where nobody measured. For single copy it is the longest message through the shelf. If there are
// two, one combines while the other puts, and exchanges are as broadcasts.
uint64_t typical_of(Id id, uint64_t participants) {
  if (participants <= 2) return id == Id::kFlatReduce || id == Id::kCopyExchange ? kNever : typical(id);
  switch (id) {
    case Id::kCopyRooted: return typical(Id::kCopyRow) / participants;
    case Id::kCopyReduce: return participants * typical(Id::kCopyEach);
    case Id::kCopyAllreduce: return 2 * participants * typical(Id::kCopyEach);
    default: return typical(id);
  }
}

// Finds where one curve overtakes the other, and the figures measured there. False: the curves end before they could.
bool cross(const float* handing_over, const float* taking_over, const char* from, const char* to, uint64_t participants,
           Threshold* out) {
  SampledRange range;
  out->value = crossing(handing_over, taking_over, &range);
  // Where nothing crosses, the largest or the smallest size at which both were measured shows how far apart they are.
  if (range.from < 0) {
    int largest = -1;
    for (int i = 0; i < static_cast<int>(kCurveSizes); ++i)
      if (handing_over[i] > 0 && taking_over[i] > 0) largest = i;
    // Curves that end early, because the time was over, say nothing of longer sizes.
    if (out->value == kNever && largest >= 0 && largest + 1 < static_cast<int>(kCurveSizes)) {
      *out = of(out->id, std::max(typical_of(out->id, participants), kSampledBytes[largest]), Origin::kTypical,
                "the measured sizes end below it");
      return false;
    }
    range.from = largest;
  }
  out->crossing.method[0] = from;
  out->crossing.method[1] = to;
  for (const int which : {0, 1}) {
    const int i = which == 0 ? range.below : range.from;
    if (i < 0) continue;
    out->crossing.bytes[which] = kSampledBytes[i];
    out->crossing.ns[which][0] = handing_over[i];
    out->crossing.ns[which][1] = taking_over[i];
  }
  return true;
}

Threshold from_curves(Id id, const CurveSet& set, double handing_over_factor) {
  const Names names = names_of(id);
  LimitSides sides = sides_of(set, names.limit);
  for (float& ns : sides.handing_over) ns *= static_cast<float>(handing_over_factor);
  Threshold out = of(id, 0, Origin::kCurves);
  if (!cross(sides.handing_over, sides.taking_over, names.from, names.to, set.participants, &out)) return out;
  out.crossing.participants = set.participants;
  out.crossing.strict = set.sync == static_cast<uint32_t>(Sync::kStrict);
  return out;
}

// A virtual machine may be moved, and two of its CPUs are then nearer or farther than when they were measured. Through
// the shelf their time is about as a hop and 125 ns, with single copy it hardly changes (measured, two
// processes, hops of 58 and 280 ns, 64 KiB / 4 MiB in us: broadcast 1.3 and 3.8 / 88 and 173, single copy 3.2 and 4.2 /
// 142 and 140; reduce 1.9 and 3.9 / 119 and 169, single copy 6.0 and 6.8 / 329 and 347). So the methods are compared at
// the middle of the hops that such machines have shown, where the choice errs as little in one direction as in the
// other.
double hop_factor(const Profile& profile) {
  const double hop = profile.header.one_way_hop;
  return hop > 0 ? 2 * kMiddleHop / (hop + kMiddleHop) : 1;
}

// Is each message for one participant only?
bool is_for_one(Id id) { return id == Id::kCopyExchange || id == Id::kCopyRooted; }

Threshold method_limit(Id id, const Profile* profile, const Situation& situation) {
  const bool copies = id != Id::kFlatReduce && id != Id::kFlatAllreduce;
  const int64_t set = copies ? options().copy_limit : options().flat_limit;
  if (set >= 0) return of(id, static_cast<uint64_t>(set), Origin::kSetting);
  // For single copy all must be there at the same time (measured, 8 processes on 2 CPUs, 1 MiB: shelf / single copy,
  // broadcast 263 / 429 µs, allreduce 631 / 1097, reduce 567 / 542).
  if (copies && situation.crowded && is_for_one(id))
    return of(id, typical(Id::kCopyCrowd), Origin::kSituation, "more participants than CPUs");
  if (copies && situation.crowded)
    return of(id, kNever, Origin::kSituation,
              "more participants than CPUs: for single copy all would have to run at the same time");
  const bool many = situation.participants > 2;
  // If there are two, broadcasts' curves serve for all that is not combined; for more, they say nothing of blocks for
  // one each.
  const bool measured = !many || !is_for_one(id);
  const CurveSet* curves = measured ? curves_for(profile, situation, copies) : nullptr;
  if (!curves) {
    Threshold out = of(id, typical_of(id, situation.participants), Origin::kTypical);
    if (many && id == Id::kCopyBroadcast) out.note = "more than two would wait for one another in the kernel";
    if (!many && id == Id::kFlatReduce) out.note = "of two, one combines while the other puts";
    out.tried = copies && !many;
    if (out.tried) out.note = "a guess; but for gatherv, each collective and size is tried instead: copy_tried";
    return out;
  }
  Threshold out = from_curves(id, *curves, 1);
  if (!copies || many || !situation.moves) return out;
  Threshold moved = from_curves(id, *curves, hop_factor(*profile));
  if (moved.value == out.value) return out;
  moved.origin = Origin::kSituation;
  moved.note = "as at a hop of 125 ns, since a virtual machine may be moved";
  moved.otherwise = out.value;
  return moved;
}

// Does moving parts of size i gain 3 % on parts of size j, at every distance that was measured?
bool smaller_gains(const Profile& profile, int i, int j) {
  bool gains = false;
  for (uint32_t d = 0; d < profile.header.distances; ++d) {
    const float* ns = profile.distances[d].single_copy;
    if (ns[i] <= 0 || ns[j] <= 0) continue;
    const double per_byte[] = {ns[i] / static_cast<double>(kSampledBytes[i]),
                               ns[j] / static_cast<double>(kSampledBytes[j])};
    if (per_byte[0] > kWorthwhile * per_byte[1]) return false;
    gains = true;
  }
  return gains;
}

// The largest part that no smaller one gains on, between an element's largest size and the scratch memory's room.
Threshold read_bytes(Id, const Profile* profile, const Situation&) {
  Threshold out = of(Id::kReadBytes, typical(Id::kReadBytes), Origin::kTypical);
  int best = -1;
  for (int i = kCurveSizes - 1; i >= 0 && kSampledBytes[i] >= typical(Id::kCrowdPiece) && profile; --i) {
    if (kSampledBytes[i] > typical(Id::kReadBytes)) continue;
    if (best < 0 || smaller_gains(*profile, i, best)) best = i;
  }
  const DistanceCurves* farthest =
      profile && profile->header.distances ? profile->distances + profile->header.distances - 1 : nullptr;
  if (!farthest || farthest->single_copy[best] <= 0) return out;
  out.value = kSampledBytes[best];
  out.origin = Origin::kCurves;
  out.figure = farthest->single_copy[best];
  return out;
}

// The limit is for two that lie as near to each other as two can that were measured.
Threshold message_limit(Id id, const Profile* profile, const Situation&) {
  const int64_t set = options().copy_limit;
  if (set >= 0) return of(id, static_cast<uint64_t>(set), Origin::kSetting);
  const DistanceCurves *own = nullptr, *other = nullptr;
  for (uint32_t i = profile ? profile->header.distances : 0; i-- > 0;) {
    const DistanceCurves& each = profile->distances[i];
    (each.distance == static_cast<uint32_t>(Distance::kSelf) ? own : other) = &each;
  }
  if (!other) return of(id, typical(id), Origin::kTypical);
  float through[kCurveSizes], straight[kCurveSizes];
  bool both = false;
  int piece_size = 0;
  while (kSampledBytes[piece_size] < typical(Id::kPiece)) ++piece_size;
  for (int i = 0; i < static_cast<int>(kCurveSizes); ++i) {
    const int in = id == Id::kMessageEager ? i : std::min(i, piece_size);
    const float* const copy_in = own && own->copy[in] > 0 ? own->copy : other->copy;
    const bool known = other->copy[i] > 0 && copy_in[in] > 0 && other->single_copy[i] > 0;
    through[i] = known ? other->copy[i] + copy_in[in] : 0;
    // A receiver that reads from a packet has heard of it; a receiver that has read from the sender must tell it.
    straight[i] = known ? other->single_copy[i] + (id == Id::kMessageEager ? profile->header.one_way_hop : 0) : 0;
    both |= known;
  }
  if (!both) return of(id, typical(id), Origin::kTypical);
  Threshold out = of(id, 0, Origin::kCurves);
  cross(through, straight, id == Id::kMessageEager ? "a packet" : "pieces", "single copy", 2, &out);
  out.crossing.participants = 2;
  return out;
}

Threshold piece(Id id, const Profile*, const Situation&) {
  const int64_t set = options().chunk;
  return set > 0 ? of(id, static_cast<uint64_t>(set), Origin::kSetting) : of(id, typical(id), Origin::kTypical);
}

Threshold long_copy(Id id, const Profile* profile, const Situation& situation) {
  Origin origin;
  const LongCopy choice = find_long_copy(profile, situation.here, &origin);
  const bool movsb = choice.way == CopyWay::kMovsb;
  if (origin == Origin::kFigure)
    return of(id, choice.from, origin,
              movsb                           ? "rep movsb"
              : choice.way == CopyWay::kAhead ? "asking for lines ahead"
                                              : "memcpy");
  return of(id, choice.from, origin,
            !movsb           ? ""
            : situation.here ? "rep movsb: the CPU says that it is fast, and a trial does not say otherwise"
                             : "decided on the machine itself: rep movsb, if the CPU there says that it is fast "
                               "and a trial does not say otherwise; else memcpy copies all");
}

// --- waiting ---

Threshold poll_cost(Id, const Profile* profile, const Situation&) {
  const WaitFigures* wait = waiting(profile);
  if (!wait || wait->poll <= 0) return of(Id::kPoll, typical(Id::kPoll), Origin::kTypical);
  Threshold out = of(Id::kPoll, std::max<uint64_t>(1, static_cast<uint64_t>(wait->poll + 0.5f)), Origin::kFigure);
  out.figure = wait->poll;
  return out;
}

double slowest_hop(const Profile& profile) {
  float slowest = profile.header.one_way_hop;
  for (uint32_t i = 0; i < profile.header.classes; ++i) slowest = std::max(slowest, profile.classes[i].hop);
  return slowest;
}

// As many polls as take the time of the typical count; a burst also outlasts the slowest hop, four times.
Threshold polls(Id id, const Profile* profile, const Situation&) {
  const WaitFigures* wait = waiting(profile);
  if (!wait || wait->poll <= 0) return of(id, typical(id), Origin::kTypical);
  double ns = static_cast<double>(typical(id) * typical(Id::kPoll));
  if (id == Id::kBurst) ns = std::max(ns, 4 * slowest_hop(*profile));
  const auto count = static_cast<uint64_t>(std::min(ns / wait->poll + 0.5, 1e9));
  Threshold out = of(id, std::clamp(count, typical(id) / kPollsFactor, typical(id) * kPollsFactor), Origin::kFigure);
  out.figure = wait->poll;
  return out;
}

Threshold before_sleeping(Id id, const Profile* profile, int64_t set_us) {
  if (set_us >= 0) return of(id, static_cast<uint64_t>(set_us) * 1000, Origin::kSetting);
  Threshold out = of(id, typical(id), Origin::kTypical);
  const WaitFigures* wait = waiting(profile);
  if (!wait || wait->futex_return <= 0) return out;
  out.figure = wait->futex_return;
  const auto least = static_cast<uint64_t>(kSleepsToSpin * std::min<double>(wait->futex_return, kLongestSleep));
  if (least > out.value) out.value = least, out.origin = Origin::kFigure;
  return out;
}

Threshold spinning(Id id, const Profile* profile, const Situation&) {
  return before_sleeping(id, profile, options().spin_us);
}
Threshold yielding(Id id, const Profile* profile, const Situation&) {
  return before_sleeping(id, profile, options().yield_us);
}

Threshold foreign_slice(Id, const Profile* profile, const Situation&) {
  Threshold out = of(Id::kForeignSlice, typical(Id::kForeignSlice), Origin::kTypical);
  const WaitFigures* wait = waiting(profile);
  if (!wait || wait->yield <= 0) return out;
  out.figure = wait->yield;
  const auto least = static_cast<uint64_t>(std::min<double>(kYieldsToBeForeign * wait->yield, kLongestForeign));
  if (least > out.value) out.value = least, out.origin = Origin::kFigure;
  return out;
}

// --- patterns ---

// As many children as one line serves best, by the costs of the first CPU's nearest neighbour.
Threshold pollers_per_line(Id, const Profile* profile, const Situation&) {
  const TypicalCost near = typical_cost(Distance::kSameLlc);
  double busy = near.send_busy, poller = kTypicalPoller;
  Origin origin = Origin::kTypical;
  const Costs* costs = profile && profile->costs.n > 1 ? &profile->costs : nullptr;
  if (costs) {
    uint32_t nearest = 1;
    for (uint32_t i = 2; i < costs->n; ++i)
      if (costs->hop[i] < costs->hop[nearest]) nearest = i;
    busy = costs->send_busy[nearest];
    poller = costs->poller;
    if (profile->source != ProfileSource::kGuess) origin = Origin::kFigure;
  }
  uint32_t children = 1;
  while (children < kMaxParticipants && release_lines(children + 1, poller, busy) == 1) ++children;
  Threshold out = of(Id::kPollersPerLine, children < kMaxParticipants ? children : kNever, origin);
  out.figure = poller;
  out.second = busy;
  return out;
}

// --- the others

Threshold typical_value(Id id, const Profile*, const Situation&) { return of(id, typical(id), Origin::kTypical); }
Threshold layout(Id id, const Profile*, const Situation&) { return of(id, typical(id), Origin::kLayout); }
Threshold patience(Id id, const Profile*, const Situation&) {
  const auto set = static_cast<uint64_t>(options().patience);
  return of(id, set, set == typical(id) ? Origin::kTypical : Origin::kSetting);
}

using Rule = Threshold (*)(Id id, const Profile* profile, const Situation& situation);
constexpr Rule kRules[] = {
#define THRESHOLD(id, name, unit, setting, typical, rule, decides, why) rule,
#include "policy/thresholds.def"
#undef THRESHOLD
};

}  // namespace

const char* threshold_origin_name(ThresholdOrigin origin) {
  static const char* const kNames[] = {"setting", "situation", "curves", "figure", "typical", "layout"};
  return kNames[static_cast<uint32_t>(origin)];
}

Threshold find_threshold(ThresholdId id, const Profile* profile, const Situation& situation) {
  return kRules[static_cast<uint32_t>(id)](id, profile, situation);
}

uint32_t release_lines(uint32_t children, double poller, double busy) {
  uint32_t best = 1;
  double least = 0;
  for (uint32_t lines = 1; lines <= kMostReleaseLines && lines <= children; ++lines) {
    const double last = (lines - 1) * busy + ((children + lines - 1) / lines - 1) * poller;
    if (lines > 1 && last >= least) continue;
    best = lines;
    least = last;
  }
  return best;
}

}  // namespace smelt
