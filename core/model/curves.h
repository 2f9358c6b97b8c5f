// The costs of the methods of a group's collectives by size, and the sizes from which one should take over from
// another.
//
// For some numbers of participants the profile has a set of curves: per method, the time of one call at a few sizes.
// The limit between two methods is where their curves cross, by linear interpolation between the sampled sizes, which
// is how NewMadeleine uses its sampled networks (Brunet, Trahay & Denis, "A Multicore-enabled Multirail Communication
// Engine", Cluster 2008). Linear in the size, not in its logarithm: between two samples a copy costs a fixed
// part and a part per byte.
//
//   ns
//   |  shelf         .'     .  single
//   |             .'   .  '
//   |     .  '  .'  '
//   |  '     .' :
//   +-----------:----------------- bytes
//               crossing
#pragma once

#include <cstdint>

namespace smelt {

// The order is that of the rows of CurveSet, so of the profile's packed form.
enum CurveMethod : uint32_t {
  kBroadcastShelf,   // copied through shared memory
  kBroadcastSingle,  // read straight from the root's memory
  kReduceFlat,       // through shared memory, combined by the root
  kReduceSliced,     // through shared memory, everybody combines a slice
  kReduceSingle,     // the root reads straight from the others' memory
  kAllreduceFlat,    // through shared memory, everybody combines everything
  kAllreduceSliced,
  kAllreduceSingle,
};
inline constexpr uint32_t kCurveMethods = 8;
inline constexpr const char* kCurveMethodNames[kCurveMethods] = {
    "broadcast_shelf", "broadcast_single", "reduce_flat",      "reduce_sliced",
    "reduce_single",   "allreduce_flat",   "allreduce_sliced", "allreduce_single"};

inline constexpr uint32_t kCurveSizes = 9;  // powers of four, from a line to 4 MiB
inline constexpr uint64_t kSampledBytes[kCurveSizes] = {64,       256,       1 << 10, 4 << 10, 16 << 10,
                                                        64 << 10, 256 << 10, 1 << 20, 4 << 20};

// The next event after a call: the next call ("loose" synchronisation), or a barrier ("strict"; Nishtala & Yelick,
// "Optimizing Collective Communication on Multicores", HotPar 2009). A strict curve is the time of a call and its
// barrier.
enum class Sync : uint32_t { kLoose, kStrict };
inline constexpr uint32_t kSyncs = 2;  // loose, strict
inline constexpr const char* kSyncNames[kSyncs] = {"loose", "strict"};

// Part of the packed profile.
struct CurveSet {
  uint32_t participants;  // 2 .. kMaxParticipants
  uint32_t sync;          // Sync
  float ns[kCurveMethods]
          [kCurveSizes];  // of one call, at its slowest participant; 0: not measured, or no such method here
};
static_assert(sizeof(CurveSet) == 8 + kCurveMethods * kCurveSizes * 4 && sizeof(CurveSet) % 8 == 0,
              "the file format has no hidden padding");
inline constexpr uint32_t kMaxCurveSets = 4;  // two sets of CPUs, each loose and strict

inline constexpr double kWorthwhile =
    0.97;  // of the other's cost: less gain, or less loss, is within the noise of the samples

// Size in bytes from which b gains 3 % on a, and at all larger sampled sizes anything: curves that nearly coincide have
// no crossing that would come out the same twice, and a single wrong sample can only move a limit up. 0: always;
// UINT64_MAX: never. Sizes at which either was not measured do not count; if b was measured nowhere, never, if a was
// not, always.
uint64_t crossing(const float* a, const float* b);

// The sampled sizes around a crossing: b gains at `from` and not yet at `below`; -1: there is no such size.
struct SampledRange {
  int below = -1, from = -1;
};
uint64_t crossing(const float* a, const float* b, SampledRange* range);

// The limits between the methods, and the two curves of each.
enum class MethodLimit { kFlatReduce, kFlatAllreduce, kCopyBroadcast, kCopyReduce, kCopyAllreduce };
struct LimitSides {
  float handing_over[kCurveSizes];  // of flat and sliced, where both could, the better
  float taking_over[kCurveSizes];
};
LimitSides sides_of(const CurveSet& set, MethodLimit limit);

// All limits of a set: calls longer than these take the next method. A limit of single copy that is below the flat one
// leaves nothing to the sliced method.
struct Crossings {
  uint64_t flat_reduce;  // flat -> sliced
  uint64_t flat_allreduce;
  uint64_t copy_broadcast;  // shelf -> single copy
  uint64_t copy_reduce;     // the better of flat and sliced -> single copy
  uint64_t copy_allreduce;
};
Crossings crossings_of(const CurveSet& set);

// The set measured with a number of participants nearest to n, as a ratio, and at least `least`; of two as near the
// first. Strict: the one of as many participants as the loose one has, or where there is none, that. nullptr: there are
// no such loose ones.
const CurveSet* nearest_curves(const CurveSet* sets, uint32_t count, uint32_t n, Sync sync = Sync::kLoose,
                               uint32_t least = 2);

}  // namespace smelt
