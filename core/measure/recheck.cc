#include "measure/recheck.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "model/distance.h"
#include "profile/text/statistics.h"

namespace smelt {
namespace {

constexpr int kRounds = 5;  // of all pairs: the median of each is taken

struct UsablePair {
  uint32_t a, b;
  Distance distance;
  double hop;
};

// Unordered pairs of CPUs that may be used now.
std::vector<UsablePair> usable_pairs(const ProfileImage& image, const std::vector<uint32_t>& allowed) {
  std::vector<uint32_t> usable;
  for (uint32_t i = 0; i < image.n(); ++i)
    if (std::binary_search(allowed.begin(), allowed.end(), image.os_cpu[i])) usable.push_back(i);
  std::vector<UsablePair> out;
  for (uint32_t a : usable)
    for (uint32_t b : usable)
      if (a < b)
        out.push_back({a, b, distance_in(image, a, b),
                       (double{image.hop[size_t{a} * image.n() + b]} + image.hop[size_t{b} * image.n() + a]) / 2});
  return out;
}

// The classes of a profile that has none: one per distance.
std::vector<ClassFigures> classes_by_distance(const std::vector<UsablePair>& pairs) {
  std::vector<ClassFigures> classes;
  for (uint32_t d = 0; d < kDistances; ++d) {
    std::vector<double> hops;
    for (const UsablePair& c : pairs)
      if (c.distance == static_cast<Distance>(d)) hops.push_back(c.hop);
    ClassFigures figures{};
    figures.distance = d;
    figures.hop = static_cast<float>(median(hops));
    if (!hops.empty()) classes.push_back(figures);
  }
  return classes;
}

}  // namespace

std::vector<RecheckedPair> pairs_to_recheck(const ProfileImage& image, const std::vector<uint32_t>& allowed) {
  const std::vector<UsablePair> pairs = usable_pairs(image, allowed);
  const std::vector<ClassFigures> classes = image.classes.empty() ? classes_by_distance(pairs) : image.classes;
  std::vector<RecheckedPair> out;
  for (const ClassFigures& figures : classes) {
    const UsablePair* best = nullptr;
    for (const UsablePair& c : pairs)
      if (static_cast<uint32_t>(c.distance) == figures.distance &&
          (!best || std::abs(c.hop - figures.hop) < std::abs(best->hop - figures.hop)))
        best = &c;
    if (best) out.push_back({figures, image.os_cpu[best->a], image.os_cpu[best->b], best->hop});
  }
  return out;
}

void recheck(std::vector<RecheckedPair>& pairs, Meter& meter) {
  std::set<int> cpus;
  for (const RecheckedPair& c : pairs) cpus.insert({static_cast<int>(c.a), static_cast<int>(c.b)});
  meter.warm_up({cpus.begin(), cpus.end()});
  std::vector<std::vector<double>> rounds(pairs.size());
  for (int round = 0; round < kRounds; ++round)
    for (size_t i = 0; i < pairs.size(); ++i) {
      const CpuPair pair{static_cast<int>(pairs[i].a), static_cast<int>(pairs[i].b)};
      rounds[i].push_back(median(meter.measure_hops({&pair, 1}).front()));
    }
  for (size_t i = 0; i < pairs.size(); ++i) pairs[i].now = median(rounds[i]);
}

}  // namespace smelt
