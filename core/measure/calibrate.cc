// From pairs to a profile: which pairs to measure, when to measure one again, what to put where nothing was measured.
//
// A virtual machine may be moved between two timings (seen: one pair at 20, 57 and 260 ns within minutes), so a pair
// whose ping-pongs before and after its other figures differ is measured again. On large machines one class of
// distance behaves alike closely enough that a dozen pairs stand for thousands.
#include "measure/calibrate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

#include "base/os/os.h"
#include "discover/error.h"
#include "measure/pinned.h"
#include "measure/poller.h"
#include "measure/statistics.h"
#include "model/distance.h"

namespace smelt {
namespace {

constexpr uint32_t kEveryPairUpTo = 64;
constexpr uint32_t kSpotPairs = 12;
constexpr double kLargestDrift = 0.3;
constexpr int kAttempts = 5;
constexpr int64_t kWarmUpNs = 20'000'000;

struct Pair {
  uint32_t a, b;  // a < b
};

// What a measured pair gives to its class, both directions alike.
struct Figures {
  std::vector<double> hop, send_busy, recv_busy, ready_read;

  void add(double pair_hop, const DirectionCost& cost) {
    hop.push_back(pair_hop);
    send_busy.push_back(cost.send_busy);
    recv_busy.push_back(cost.recv_busy);
    ready_read.push_back(cost.ready_read);
  }
};

Place place_of(const ProfileImage& image, uint32_t i) {
  return {image.core[i], image.llc[i], image.node[i], image.package[i]};
}

Distance distance_of(const ProfileImage& image, uint32_t a, uint32_t b) {
  return distance_between(place_of(image, a), place_of(image, b));
}

std::vector<Pair> choose_pairs(const ProfileImage& image) {
  std::array<std::vector<Pair>, kDistances> classes;
  for (uint32_t a = 0; a < image.n(); ++a)
    for (uint32_t b = a + 1; b < image.n(); ++b)
      classes[static_cast<size_t>(distance_of(image, a, b))].push_back({a, b});
  std::vector<Pair> chosen;
  for (const std::vector<Pair>& pairs : classes) {
    if (image.n() <= kEveryPairUpTo || pairs.size() <= kSpotPairs) {
      chosen.insert(chosen.end(), pairs.begin(), pairs.end());
      continue;
    }
    // Evenly over the class, not its first dozen, which would all begin with CPU 0.
    for (uint32_t k = 0; k < kSpotPairs; ++k) chosen.push_back(pairs[(2 * k + 1) * pairs.size() / (2 * kSpotPairs)]);
  }
  return chosen;
}

PairCost measure_steadily(const PairMeter& meter, int os_cpu_a, int os_cpu_b) {
  PairCost best = meter(os_cpu_a, os_cpu_b);
  for (int attempt = 1; attempt < kAttempts && best.drift > kLargestDrift; ++attempt) {
    PairCost again = meter(os_cpu_a, os_cpu_b);
    if (again.drift < best.drift) best = std::move(again);
  }
  return best;
}

// Two decimals: more would be noise, and both forms of the profile must carry the same number.
float rounded(double value) { return static_cast<float>(std::round(value * 100) / 100); }

void set_costs(ProfileImage& image, uint32_t from, uint32_t to, double hop, const DirectionCost& cost) {
  const size_t at = size_t{from} * image.n() + to;
  image.hop[at] = rounded(hop);
  image.send_busy[at] = rounded(cost.send_busy);
  image.recv_busy[at] = rounded(cost.recv_busy);
  image.ready_read[at] = rounded(cost.ready_read);
}

// Cores that have slept for long take milliseconds to reach their frequency.
void warm_up(const Machine& machine) {
  const int64_t until = os::now_ns() + kWarmUpNs;
  std::vector<PinnedJob> jobs;
  for (uint32_t cpu : machine.allowed_cpus())
    jobs.push_back({static_cast<int>(cpu), [until] {
                      while (os::now_ns() < until) {
                      }
                    }});
  run_pinned(jobs);
}

// The first CPU writes; up to eight of the CPUs nearest to it poll, one per core: that is how release lines are used.
void set_poller(ProfileImage& image) {
  std::vector<uint32_t> readers;
  for (uint32_t i = 1; i < image.n(); ++i)
    if (image.core[i] != image.core[0]) readers.push_back(i);
  std::stable_sort(readers.begin(), readers.end(),
                   [&](uint32_t a, uint32_t b) { return distance_of(image, 0, a) < distance_of(image, 0, b); });
  std::vector<int> cpus;
  std::vector<uint16_t> cores;
  std::vector<double> recv_busy;
  for (uint32_t i : readers) {
    if (cpus.size() == 8 || std::find(cores.begin(), cores.end(), image.core[i]) != cores.end()) continue;
    cpus.push_back(static_cast<int>(image.os_cpu[i]));
    cores.push_back(image.core[i]);
    recv_busy.push_back(image.recv_busy[size_t{i} * image.n()]);
  }
  if (cpus.size() < 2) return;  // nothing to compare: the typical figure of the guess stays
  image.header.poller = rounded(measure_poller(static_cast<int>(image.os_cpu[0]), cpus, median(recv_busy)));
}

}  // namespace

ProfileImage calibrate_pairs(const Machine& machine, const PairMeter& meter, const Progress& progress) {
  Machine allowed = machine;
  std::erase_if(allowed.pus, [](const Pu& pu) { return !pu.allowed; });
  if (allowed.pus.empty()) throw UserError("no CPU of this machine may be used by this process");
  ProfileImage image = guess_image(allowed);
  const std::vector<Pair> pairs = choose_pairs(image);

  std::array<Figures, kDistances> classes;
  std::vector<bool> measured(size_t{image.n()} * image.n());
  std::vector<double> hops, spreads;
  for (const Pair& pair : pairs) {
    const PairCost cost =
        measure_steadily(meter, static_cast<int>(image.os_cpu[pair.a]), static_cast<int>(image.os_cpu[pair.b]));
    const double hop = median(cost.hops);
    hops.push_back(hop);
    spreads.push_back(relative_iqr(cost.hops));
    Figures& figures = classes[static_cast<size_t>(distance_of(image, pair.a, pair.b))];
    figures.add(hop, cost.forth);
    figures.add(hop, cost.back);
    set_costs(image, pair.a, pair.b, hop, cost.forth);
    set_costs(image, pair.b, pair.a, hop, cost.back);
    measured[size_t{pair.a} * image.n() + pair.b] = measured[size_t{pair.b} * image.n() + pair.a] = true;
    if (progress) progress(static_cast<uint32_t>(hops.size()), static_cast<uint32_t>(pairs.size()));
  }

  std::array<DirectionCost, kDistances> typical;
  std::array<double, kDistances> typical_hop{};
  for (size_t i = 0; i < kDistances; ++i) {
    typical_hop[i] = median(classes[i].hop);
    typical[i] = {median(classes[i].send_busy), median(classes[i].recv_busy), median(classes[i].ready_read)};
  }
  for (uint32_t from = 0; from < image.n(); ++from)
    for (uint32_t to = 0; to < image.n(); ++to) {
      if (from == to || measured[size_t{from} * image.n() + to]) continue;
      const auto distance = static_cast<size_t>(distance_of(image, from, to));
      set_costs(image, from, to, typical_hop[distance], typical[distance]);
    }

  PackedHeader& header = image.header;
  header.created = std::time(nullptr);
  header.one_way_hop = rounded(median(hops));
  header.spread = static_cast<float>(std::round(median(spreads) * 1000) / 1000);
  header.pairs_measured = static_cast<uint32_t>(2 * pairs.size());
  set_text(header.method, sizeof header.method,
           pairs.empty() ? "one CPU, nothing to measure" : "8x16 round trips, median; busy: 128 single shots, midmean");
  return image;
}

ProfileImage calibrate(const Machine& machine, const Progress& progress) {
  if (!machine.this_machine)
    throw UserError("only the machine we run on can be measured; unset HWLOC_XMLFILE and HWLOC_SYNTHETIC");
  warm_up(machine);
  ProfileImage image = calibrate_pairs(machine, measure_pair, progress);
  set_poller(image);
  return image;
}

}  // namespace smelt
