// Pairs that talk at the same time across one thing, say from one node to another, cost as much as one pair alone, as
// long as that thing keeps up; beyond that every further pair makes all slower. So more and more pairs exchange bursts
// of lines (bursts.h), and the figure is the time of one further line,
//
//   line(k) = (round of long bursts - round of short ones) / (their difference in lines), k pairs,
//
// in which the hop, which a round takes once, cancels out. With s the time that a message keeps the shared thing
//
//   line(k) = max(line(1), k * w * s)
//
// where w is 2 if both directions share it (a cache), else 1. The service time is taken at the largest k: if line(k)
// has risen there, it is the time seen, otherwise the most that it can be, since so many lines did get through.
//
// How latency and throughput differ under load, and that a fixed service time per shared thing explains it, is an old
// observation (Pfister & Norton, "Hot Spot Contention and Combining in Multistage Interconnection Networks", 1985).
#include "measure/queues.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "measure/cores.h"
#include "profile/text/statistics.h"

namespace smelt {
namespace {

constexpr int kShort = 8, kLong = 32;  // lines of a burst
constexpr double kRisen = 1.25;        // of line(1): more than noise and clock frequencies make of it

uint32_t directions(Distance distance) { return distance == Distance::kSameLlc ? 2 : 1; }

// The first CPU of every core, by the group that `ids` puts it in.
using Groups = std::map<uint16_t, std::vector<uint32_t>>;
Groups first_threads(const ProfileImage& image, const std::vector<uint16_t>& ids) {
  Groups groups;
  for (const uint32_t i : first_of_each_core(image)) groups[ids[i]].push_back(i);
  return groups;
}

using Indices = std::vector<std::pair<uint32_t, uint32_t>>;

// Member k of the one group with member k of the other, as far as they are of that distance.
Indices across(const ProfileImage& image, Distance distance, const std::vector<uint32_t>& a,
               const std::vector<uint32_t>& b) {
  Indices pairs;
  for (size_t k = 0; k < std::min(a.size(), b.size()); ++k)
    if (distance_in(image, a[k], b[k]) == distance) pairs.emplace_back(a[k], b[k]);
  return pairs;
}

Indices busiest(const ProfileImage& image, Distance distance) {
  Indices most;
  const auto offer = [&most](Indices pairs) {
    if (pairs.size() > most.size()) most = std::move(pairs);
  };
  const auto between = [&](const Groups& groups) {
    for (auto a = groups.begin(); a != groups.end(); ++a)
      for (auto b = std::next(a); b != groups.end(); ++b) offer(across(image, distance, a->second, b->second));
  };
  switch (distance) {
    case Distance::kSelf: break;
    case Distance::kSameCore: {  // threads of two cores, the nearest two that have several
      Groups threads;
      for (uint32_t i = 0; i < image.n(); ++i) threads[image.core[i]].push_back(i);
      std::erase_if(threads, [](const auto& core) { return core.second.size() < 2; });
      for (const Distance apart : {Distance::kSameLlc, Distance::kSameNode, Distance::kSamePackage, Distance::kOther})
        for (auto a = threads.begin(); most.empty() && a != threads.end(); ++a)
          for (auto b = std::next(a); b != threads.end(); ++b) offer(across(image, apart, a->second, b->second));
      break;
    }
    case Distance::kSameLlc:
      for (const auto& [llc, cpus] : first_threads(image, image.llc)) {
        const auto half = static_cast<ptrdiff_t>(cpus.size() / 2);
        offer(across(image, distance, {cpus.begin(), cpus.begin() + half}, {cpus.begin() + half, cpus.end()}));
      }
      break;
    case Distance::kSameNode: between(first_threads(image, image.llc)); break;
    case Distance::kSamePackage:
    case Distance::kOther: between(first_threads(image, image.node)); break;
  }
  return most;
}

}  // namespace

std::vector<QueuePairs> queue_pairs(const ProfileImage& image, uint32_t most) {
  std::vector<QueuePairs> out;
  for (const Distance distance :
       {Distance::kSameCore, Distance::kSameLlc, Distance::kSameNode, Distance::kSamePackage, Distance::kOther}) {
    const Indices pairs = busiest(image, distance);
    QueuePairs found{distance, {}};
    for (const auto& [a, b] : pairs)
      if (found.pairs.size() < most)
        found.pairs.push_back({static_cast<int>(image.os_cpu[a]), static_cast<int>(image.os_cpu[b])});
    if (found.pairs.size() >= 2) out.push_back(std::move(found));
  }
  return out;
}

QueueCurves fit_queue(Distance distance, std::span<const double, kQueueSizes> line) {
  QueueCurves out{};
  out.distance = static_cast<uint32_t>(distance);
  uint32_t last = 0;
  for (uint32_t i = 0; i < kQueueSizes; ++i) {
    out.line[i] = rounded_cost(line[i]);
    if (line[i] > 0) last = i;
  }
  const double per_line = directions(distance);
  const double service = line[last] / (kQueuePairs[last] * per_line);
  double squares = 0;
  for (uint32_t i = 0; i <= last; ++i) {
    const double fitted = std::max(line[0], kQueuePairs[i] * per_line * service);
    squares += fitted > 0 ? std::pow(line[i] / fitted - 1, 2) : 0;
  }
  out.service = rounded_cost(service);
  out.residual = rounded_share(std::sqrt(squares / (last + 1)));
  out.reached = line[last] > kRisen * line[0];
  return out;
}

QueueCurves measure_queue(const QueuePairs& pairs, Meter& meter) {
  double line[kQueueSizes] = {};
  for (uint32_t i = 0; i < kQueueSizes && kQueuePairs[i] <= pairs.pairs.size(); ++i) {
    const std::span<const CpuPair> some(pairs.pairs.data(), kQueuePairs[i]);
    const double few = meter.measure_bursts(some, kShort), many = meter.measure_bursts(some, kLong);
    line[i] = std::max((many - few) / (kLong - kShort), 0.01);
  }
  return fit_queue(pairs.distance, line);
}

}  // namespace smelt
