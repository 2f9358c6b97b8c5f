// Which pairs of CPUs to measure, so that a few stand for all; and which class of distance every pair belongs to.
#pragma once

#include <cstdint>
#include <vector>

#include "discover/machine.h"
#include "measure/pair.h"
#include "model/distance.h"

namespace smelt {

// A pair of CPUs, as indices into Machine::pus.
struct Spot {
  uint32_t a, b;  // a < b
  bool operator==(const Spot&) const = default;
};

struct Sample {
  double hop = 0;      // median of its batches
  double spread = 0;   // their relative inter-quartile range
  bool steady = true;  // false: its own batches disagree; counts as measured, but not where others are to be had
  bool full = true;    // false: the hop alone
  DirectionCost forth{}, back{};
};

// The measurements so far.
class Samples {
 public:
  explicit Samples(uint32_t cpus) : n_(cpus), place_(size_t{cpus} * cpus, kNone) {}
  const Sample* find(Spot spot) const;  // nullptr: not measured
  void put(Spot spot, const Sample& sample);
  void forget(Spot spot) { place_[at(spot)] = kNone; }
  // The steady ones among those `spots` that were measured, or all if none is steady.
  std::vector<Spot> usable(const std::vector<Spot>& spots) const;
  std::vector<double> hops(const std::vector<Spot>& spots) const;  // of usable()
  // The full ones among usable(); where none is, all that are full.
  std::vector<Spot> full(const std::vector<Spot>& spots) const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;  // in place_: not sampled
  size_t at(Spot spot) const { return size_t{spot.a} * n_ + spot.b; }
  uint32_t n_;
  std::vector<uint32_t> place_;
  std::vector<Sample> samples_;
};

// Pairs that are taken to cost the same.
struct PairClass {
  Distance distance;
  uint32_t base;            // index of the class by the topology alone that it comes from: base_class
  std::vector<Spot> pairs;  // all of them, measured or not
  double hop = 0;           // median of the usable samples
  double spread = 0;        // their relative inter-quartile range
  bool wide = false;        // the spread is above kLargestSpread
};
inline constexpr double kLargestSpread = 0.15;  // relative inter-quartile range: above it a class is split

// The classes by the topology alone, before anything was measured: by distance, and whether a level-2 cache is shared.
inline constexpr uint32_t kBaseClasses = kDistances + 1;
uint32_t base_class(const Pu& a, const Pu& b);

struct Strata {
  std::vector<Spot> wanted;        // to be measured before the next call,
  std::vector<Spot> wanted_hops;   //   and these, their hops alone; neither: this is it
  std::vector<PairClass> classes;  // every pair is in one; when nothing is wanted, by distance and rising hop
  bool done() const { return wanted.empty() && wanted_hops.empty(); }
};

// The next step, from the known samples. Calling it again with the samples that it wanted comes to an end, with at most
// kMaxClasses classes. The same answer for the same samples.
Strata stratify(const std::vector<Pu>& pus, const Samples& samples, bool all_pairs);

}  // namespace smelt
