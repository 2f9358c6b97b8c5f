#include "profile/text/diff.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "profile/text/error.h"
#include "profile/text/statistics.h"

namespace smelt {
namespace {

// Both profiles over the CPUs that they share.
struct Pairs {
  const ProfileImage& a;
  const ProfileImage& b;
  std::vector<std::pair<uint32_t, uint32_t>> index;  // of a common CPU in a and in b
};

Pairs common_pairs(const ProfileImage& a, const ProfileImage& b, ProfileChange* change) {
  Pairs pairs{a, b, {}};
  for (uint32_t i = 0; i < a.n(); ++i) {
    const auto found = std::lower_bound(b.os_cpu.begin(), b.os_cpu.end(), a.os_cpu[i]);
    const bool both = found != b.os_cpu.end() && *found == a.os_cpu[i];
    (both ? change->common : change->only_a).push_back(a.os_cpu[i]);
    if (both) pairs.index.emplace_back(i, static_cast<uint32_t>(found - b.os_cpu.begin()));
  }
  std::set_difference(b.os_cpu.begin(), b.os_cpu.end(), a.os_cpu.begin(), a.os_cpu.end(),
                      std::back_inserter(change->only_b));
  return pairs;
}

// The ratios of two costs of a pair; a cost of 0 has none.
struct Samples {
  std::vector<double> a, b, ratio[std::size(kMatrices)];

  HopChange summary() const {
    HopChange change{static_cast<uint32_t>(a.size()), median(a), median(b), {}};
    for (size_t m = 0; m < std::size(kMatrices); ++m) change.ratio[m] = median(ratio[m]);
    return change;
  }
};

void compare_costs(const Pairs& pairs, ProfileChange* change) {
  Samples all, classes[kDistances];
  double farthest = -1;
  for (const auto& [from_a, from_b] : pairs.index)
    for (const auto& [to_a, to_b] : pairs.index) {
      if (from_a == to_a) continue;
      const size_t in_a = size_t{from_a} * pairs.a.n() + to_a, in_b = size_t{from_b} * pairs.b.n() + to_b;
      for (Samples* samples : {&all, &classes[static_cast<size_t>(distance_in(pairs.a, from_a, to_a))]}) {
        samples->a.push_back(pairs.a.hop[in_a]);
        samples->b.push_back(pairs.b.hop[in_b]);
        for (size_t m = 0; m < std::size(kMatrices); ++m) {
          const double before = (pairs.a.*kMatrices[m])[in_a], after = (pairs.b.*kMatrices[m])[in_b];
          if (before > 0 && after > 0) samples->ratio[m].push_back(after / before);
        }
      }
      if (pairs.a.hop[in_a] <= 0 || pairs.b.hop[in_b] <= 0) continue;
      const double ratio = double{pairs.b.hop[in_b]} / pairs.a.hop[in_a];
      if (ratio > 1 + kLargeChange || ratio < 1 / (1 + kLargeChange)) ++change->beyond;
      if (std::abs(std::log(ratio)) > farthest) {
        farthest = std::abs(std::log(ratio));
        change->farthest = ratio;
        change->farthest_from = pairs.a.os_cpu[from_a];
        change->farthest_to = pairs.a.os_cpu[to_a];
      }
    }
  change->overall = all.summary();
  for (size_t d = 0; d < kDistances; ++d)
    if (!classes[d].a.empty()) change->classes.push_back({static_cast<Distance>(d), classes[d].summary()});
}

void compare_winners(const ProfileImage& a, const ProfileImage& b, ProfileChange* change) {
  std::map<std::pair<uint32_t, std::vector<uint32_t>>, WinnerChange> found;
  for (const ProfileImage* image : {&a, &b})
    for (const Winner& winner : image->winners) {
      std::vector<uint32_t> cpus = image->cpus_of(winner);
      std::sort(cpus.begin(), cpus.end());
      WinnerChange& entry = found[{winner.operation, cpus}];
      entry.operation = kWinnerOperationNames[winner.operation];
      entry.cpus = std::move(cpus);
      (image == &a ? entry.a : entry.b) = winner.pattern;
    }
  for (auto& [key, entry] : found)
    if (entry.a != entry.b) change->winners.push_back(std::move(entry));
}

}  // namespace

ProfileChange compare_profiles(const ProfileImage& a, const ProfileImage& b) {
  if (a.header.unit != b.header.unit) throw UserError("one profile's costs are in ns, the other's in cycles");
  ProfileChange change;
  const Pairs pairs = common_pairs(a, b, &change);
  if (pairs.index.empty()) return change;
  compare_costs(pairs, &change);
  compare_winners(a, b, &change);
  return change;
}

}  // namespace smelt
