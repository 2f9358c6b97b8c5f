// A few pairs stand for a class: stratified sampling (Neyman, "On the Two Different Aspects of the Representative
// Method", 1934), the strata being the topology's.
//
//   1. spots     a dozen pairs of each class by distance, one from each twelfth of it, its pairs ordered by node and by
//                cache. Which one is drawn by lot: a regular step would meet the same corner of every cache.
//   2. doubt     twice as many where they differ by more than half of the allowed spread. The standard error of a
//                median is about 1.25 sigma / sqrt(samples), and sigma about IQR / 1.35: so it stays below 3 %
//   3. split     a class whose samples differ by more than kLargestSpread, or one of them by twice that, is cut into
//                blocks, by pair of NUMA nodes, then by pair of last-level caches; a few samples of each; blocks that
//                cost alike are joined again
//   4. values    a class that the topology does not explain is measured altogether where that is affordable, and cut by
//                its values; elsewhere it is called wide
//
// The spots are measured in full; all further samples are hops alone, which take a sixth of the time. There is a
// budget, so that a strange machine costs not much more than an ordinary one.
#include "measure/sampler.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "measure/calibrate.h"
#include "profile/measured.h"
#include "profile/text/statistics.h"

namespace smelt {
namespace {

constexpr uint32_t kSameL2 = kDistances;             // the base class beside those of the distances
constexpr uint32_t kSpots = 12;                      // of a class by the topology, always
constexpr uint32_t kDoubtSamples = 24;               // where they are not much alike
constexpr uint32_t kPartSpots = 6;                   // of a part of one,
constexpr uint32_t kLeastPartSpots = 2;              //   always
constexpr size_t kLeastPart = 3;                     // pairs of a part by values
constexpr uint32_t kBlockSamples = 3;                // of a block, before blocks are joined
constexpr uint32_t kMostSamples = 48;                // of anything that cannot be measured altogether
constexpr double kAlike = 1 + kLargestSpread;        // of a part by values, the last over the first
constexpr double kOutside = 1 + 2 * kLargestSpread;  // one sample over the middle of its class
constexpr double kHopsShare = 1.0 / 6;               // of the time of a full measurement (pair_ns, hops_ns)

// Pairs to measure at most, but for the spots that are always: one in forty, and on machines of less than 64 CPUs,
// where that is a fraction of a second, as many as 16 CPUs have.
double budget_of(uint32_t cpus) {
  const uint32_t pairs = cpus * (cpus - 1) / 2;
  const uint32_t least = cpus < 64 ? kAllPairsUpTo * (kAllPairsUpTo - 1) / 2 : 0;
  return std::max(pairs / 40, least);
}

// splitmix64 (Steele, Lea & Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
uint64_t lot(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

using BlockKey = std::pair<uint16_t, uint16_t>;
BlockKey ordered(uint16_t a, uint16_t b) { return {std::min(a, b), std::max(a, b)}; }

class Stratifier {
 public:
  Stratifier(const std::vector<Pu>& pus, const Samples& samples)
      : pus_(pus), samples_(samples), budget_(budget_of(static_cast<uint32_t>(pus.size()))), left_(budget_) {}

  Strata run(bool all_pairs) {
    std::vector<std::vector<Spot>> bases = pairs_by_base();
    for (base_ = 0; base_ < kBaseClasses; ++base_) {
      std::vector<Spot>& pairs = bases[base_];
      if (pairs.empty()) continue;
      if (all_pairs && want_all(pairs))
        close(std::move(pairs));
      else
        refine(std::move(pairs), 0);
    }
    if (strata_.done()) order();
    return std::move(strata_);
  }

 private:
  static constexpr int kLevels = 2;  // of blocks: by nodes, by last-level caches

  // All pairs by base class, in the order of their blocks; the known ones come off the budget.
  std::vector<std::vector<Spot>> pairs_by_base() {
    std::vector<std::vector<Spot>> bases(kBaseClasses);
    const auto n = static_cast<uint32_t>(pus_.size());
    for (uint32_t a = 0; a < n; ++a)
      for (uint32_t b = a + 1; b < n; ++b) {
        bases[base_class(pus_[a], pus_[b])].push_back({a, b});
        if (const Sample* sample = samples_.find({a, b})) left_ -= sample->full ? 1 : kHopsShare;
      }
    for (std::vector<Spot>& pairs : bases)
      std::sort(pairs.begin(), pairs.end(), [&](Spot x, Spot y) {
        return std::tuple(block(x, 0), block(x, 1), x.a, x.b) < std::tuple(block(y, 0), block(y, 1), y.a, y.b);
      });
    return bases;
  }

  BlockKey block(Spot spot, int level) const {
    const Pu &a = pus_[spot.a], &b = pus_[spot.b];
    return level == 0 ? ordered(a.node, b.node) : ordered(a.llc, b.llc);
  }

  bool want_all(const std::vector<Spot>& pairs) {
    const size_t before = strata_.wanted.size();
    for (Spot spot : pairs)
      if (!is_known(spot, true)) strata_.wanted.push_back(spot);
    return strata_.wanted.size() > before;
  }

  bool is_known(Spot spot, bool full) const {
    const Sample* sample = samples_.find(spot);
    return sample && (sample->full || !full);
  }

  // 1. One of each of `count` equal shares of the pairs, where none is known yet. False: all are, or the budget is used
  // up (but `always` so many are wanted).
  bool want(const std::vector<Spot>& pairs, size_t count, bool full, size_t always = 0) {
    count = std::min(count, pairs.size());
    std::vector<Spot>& list = full ? strata_.wanted : strata_.wanted_hops;
    const size_t before = list.size();
    size_t known =
        static_cast<size_t>(std::count_if(pairs.begin(), pairs.end(), [&](Spot spot) { return is_known(spot, full); }));
    for (size_t k = 0; k < count; ++k) {
      const size_t begin = k * pairs.size() / count, end = (k + 1) * pairs.size() / count;
      bool covered = false;
      for (size_t i = begin; i < end; ++i) covered |= is_known(pairs[i], full);
      if (covered || (left_ <= 0 && known >= always)) continue;
      ++known;
      left_ -= full ? 1 : kHopsShare;
      list.push_back(pairs[begin + lot(begin * pairs.size() + base_) % (end - begin)]);
    }
    return list.size() > before;
  }

  void close(std::vector<Spot> pairs) {
    const std::vector<double> hops = samples_.hops(pairs);
    const double spread = relative_iqr(hops);
    const Distance distance = base_ == kSameL2 ? Distance::kSameLlc : static_cast<Distance>(base_);
    strata_.classes.push_back({distance, base_, std::move(pairs), median(hops), spread, spread > kLargestSpread});
  }

  bool differ(const std::vector<double>& hops) const {
    const double middle = median(hops);
    return relative_iqr(hops) > kLargestSpread || std::any_of(hops.begin(), hops.end(), [&](double hop) {
             return hop > middle * kOutside || middle > hop * kOutside;
           });
  }

  // Every way out closes the class, or its parts, for good or until the wanted figures are known.
  void refine(std::vector<Spot> pairs, int level) {
    if (level == 0 ? want(pairs, kSpots, true, kSpots) : want(pairs, kPartSpots, true, kLeastPartSpots))
      return close(std::move(pairs));
    // 2.
    if (relative_iqr(samples_.hops(pairs)) > kLargestSpread / 2 &&
        want(pairs, kDoubtSamples, false, level == 0 ? kDoubtSamples : 0))
      return close(std::move(pairs));
    if (differ(samples_.hops(pairs)) && split(pairs, level)) return;  // 3.
    if (relative_iqr(samples_.hops(pairs)) <= kLargestSpread) return close(std::move(pairs));
    // 4.
    const auto unknown = std::count_if(pairs.begin(), pairs.end(), [&](Spot spot) { return !samples_.find(spot); });
    const bool affordable = static_cast<double>(unknown) * kHopsShare <= left_;
    if (unknown == 0)
      close_by_values(std::move(pairs));
    else if (want(pairs, affordable ? pairs.size() : kMostSamples, false) || !affordable)
      close(std::move(pairs));
  }

  // 3. By the first kind of block whose parts differ. True: the class, or its parts, are closed; `pairs` are used up.
  bool split(std::vector<Spot>& pairs, int level) {
    for (; level < kLevels; ++level) {
      std::vector<std::vector<Spot>> blocks = blocks_of(pairs, level);
      const double each = budget_ / 2 / kHopsShare / static_cast<double>(blocks.size());
      if (blocks.size() == 1 || each < 1) continue;  // nothing to tell apart, or not affordable
      bool wanted = false, known = true;
      for (const std::vector<Spot>& one : blocks) {
        wanted |= want(one, static_cast<size_t>(std::min<double>(each, kBlockSamples)), false);
        known &= !samples_.usable(one).empty();
      }
      if (wanted) {
        close(std::move(pairs));
        return true;
      }
      if (!known) return false;
      std::vector<std::vector<Spot>> parts = joined(std::move(blocks));
      if (parts.size() == 1) continue;
      for (std::vector<Spot>& part : parts) refine(std::move(part), level + 1);
      return true;
    }
    return false;
  }

  // 3. In the order of the keys.
  std::vector<std::vector<Spot>> blocks_of(const std::vector<Spot>& pairs, int level) const {
    std::map<BlockKey, std::vector<Spot>> blocks;
    for (Spot spot : pairs) blocks[block(spot, level)].push_back(spot);
    std::vector<std::vector<Spot>> out;
    for (auto& [key, spots] : blocks) out.push_back(std::move(spots));
    return out;
  }

  // Neighbours by value are one part while the last costs at most kAlike times the first.
  std::vector<std::vector<Spot>> joined(std::vector<std::vector<Spot>> blocks) const {
    std::vector<std::pair<double, size_t>> by_hop;
    for (size_t i = 0; i < blocks.size(); ++i) by_hop.emplace_back(median(samples_.hops(blocks[i])), i);
    std::sort(by_hop.begin(), by_hop.end());
    std::vector<std::vector<Spot>> parts;
    double first = 0;
    for (const auto& [hop, i] : by_hop) {
      if (parts.empty() || hop > first * kAlike) {
        parts.emplace_back();
        first = hop;
      }
      parts.back().insert(parts.back().end(), blocks[i].begin(), blocks[i].end());
    }
    return parts;
  }

  // Pairs at the edges that are few may be there by noise: they make no class of their own.
  void close_by_values(std::vector<Spot> pairs) {
    std::vector<std::vector<Spot>> single, parts;
    for (Spot spot : pairs) single.push_back({spot});
    for (std::vector<Spot>& part : joined(std::move(single))) {
      if (!parts.empty() && std::min(part.size(), parts.back().size()) < kLeastPart)
        parts.back().insert(parts.back().end(), part.begin(), part.end());
      else
        parts.push_back(std::move(part));
    }
    for (std::vector<Spot>& part : parts) {
      want(part, kLeastPartSpots, true, kLeastPartSpots);
      close(std::move(part));
    }
  }

  // By distance and hop; of too many classes the two neighbours that are most alike are joined.
  void order() {
    std::vector<PairClass>& classes = strata_.classes;
    std::stable_sort(classes.begin(), classes.end(), [](const PairClass& x, const PairClass& y) {
      return std::pair(x.distance, x.hop) < std::pair(y.distance, y.hop);
    });
    while (classes.size() > kMaxClasses) {
      size_t best = 0;
      double least = INFINITY;
      for (size_t i = 0; i + 1 < classes.size(); ++i) {
        if (classes[i].distance != classes[i + 1].distance) continue;
        const double gap = classes[i + 1].hop - classes[i].hop * kAlike;
        if (gap < least) least = gap, best = i;
      }
      PairClass& kept = classes[best];
      const std::vector<Spot>& more = classes[best + 1].pairs;
      kept.pairs.insert(kept.pairs.end(), more.begin(), more.end());
      const std::vector<double> hops = samples_.hops(kept.pairs);
      kept.hop = median(hops);
      kept.spread = relative_iqr(hops);
      kept.wide = kept.spread > kLargestSpread;
      classes.erase(classes.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
  }

  const std::vector<Pu>& pus_;
  const Samples& samples_;
  const double budget_;
  double left_;  // of it
  uint32_t base_ = 0;
  Strata strata_;
};

}  // namespace

const Sample* Samples::find(Spot spot) const {
  const uint32_t place = place_[at(spot)];
  return place == kNone ? nullptr : &samples_[place];
}

void Samples::put(Spot spot, const Sample& sample) {
  uint32_t& place = place_[at(spot)];
  if (place == kNone) {
    place = static_cast<uint32_t>(samples_.size());
    samples_.push_back(sample);
  } else {
    samples_[place] = sample;
  }
}

std::vector<Spot> Samples::usable(const std::vector<Spot>& spots) const {
  std::vector<Spot> steady, all;
  for (Spot spot : spots)
    if (const Sample* sample = find(spot)) {
      all.push_back(spot);
      if (sample->steady) steady.push_back(spot);
    }
  return steady.empty() ? all : steady;
}

std::vector<Spot> Samples::full(const std::vector<Spot>& spots) const {
  const auto drop = [&](std::vector<Spot> from) {
    std::erase_if(from, [&](Spot spot) { return !find(spot) || !find(spot)->full; });
    return from;
  };
  const std::vector<Spot> best = drop(usable(spots));
  return best.empty() ? drop(spots) : best;
}

std::vector<double> Samples::hops(const std::vector<Spot>& spots) const {
  std::vector<double> hops;
  for (Spot spot : usable(spots)) hops.push_back(find(spot)->hop);
  return hops;
}

uint32_t base_class(const Pu& a, const Pu& b) {
  const Distance distance = distance_between(a, b);
  return distance == Distance::kSameLlc && a.l2 == b.l2 ? kSameL2 : static_cast<uint32_t>(distance);
}

Strata stratify(const std::vector<Pu>& pus, const Samples& samples, bool all_pairs) {
  return Stratifier(pus, samples).run(all_pairs);
}

}  // namespace smelt
