// Every figure of a pair is drawn as the samples that measure_pair would take, in its order:
//
//   sample = cost of the file * what the moment does (drift, changes, throttling, neighbours) * noise * outlier
//
// and the clock goes on as it would on the hardware, so changes hit the sample that they would hit. The moment's factor
// lengthens the clock too; noise and outliers do not: shares of the time are to be comparable between seeds.
#include "bench/lab/simulated_machine.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bench/lab/simulated_bursts.h"
#include "measure/bursts.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

constexpr double kClockNs = 10;         // the difference of two readings of the clock with nothing between them
constexpr double kWarmUpNs = 20e6;      // as the hardware's
constexpr int kPollerSamples = 64 + 8;  // as the hardware's, warming up included

Machine machine_of(const MachineFile& file) {
  Machine machine;
  machine.cpu_model = file.name;
  machine.shape = fmt::format("{} CPUs, simulated", file.overlap.n);
  for (uint32_t i = 0; i < file.overlap.n; ++i) {
    Pu pu;
    pu.os_index = file.cpus[i];
    pu.core = pu.l1 = pu.l2 = file.core[i];
    pu.llc = file.overlap.llc[i];
    pu.node = file.overlap.node[i];
    pu.package = file.package[i];
    machine.pus.push_back(pu);
  }
  std::sort(machine.pus.begin(), machine.pus.end(), [](const Pu& a, const Pu& b) { return a.os_index < b.os_index; });
  return machine;
}

double between(const Costs& costs, uint32_t a, uint32_t b) {
  return (double{costs.hop[costs.at(a, b)]} + costs.hop[costs.at(b, a)]) / 2;
}

}  // namespace

struct SimulatedMachine::Running {
  uint32_t a, b;  // indices
  double now_ns;
  double slowdown;  // by the other pairs
};

SimulatedMachine::SimulatedMachine(const MachineFile& file, const SimulationSettings& settings)
    : file_(file), settings_(settings), machine_(machine_of(file)), random_(settings.seed) {
  for (uint32_t d = 0; d < kDistances; ++d)
    if (settings.service[d] >= 0) file_.overlap.service[d] = static_cast<float>(settings.service[d]);
}

uint32_t SimulatedMachine::index_of(int os_cpu) const {
  const auto at = std::find(file_.cpus.begin(), file_.cpus.end(), static_cast<uint32_t>(os_cpu));
  if (os_cpu < 0 || at == file_.cpus.end())
    throw UserError(fmt::format("CPU {} cannot be used: the simulated machine has none of this number", os_cpu));
  return static_cast<uint32_t>(at - file_.cpus.begin());
}

std::vector<SimulatedMachine::Running> SimulatedMachine::start(std::span<const CpuPair> pairs) {
  std::vector<Running> all;
  for (const CpuPair& pair : pairs) {
    if (pair.a == pair.b) throw UserError("a message needs two different CPUs to be measured");
    all.push_back({index_of(pair.a), index_of(pair.b), now_ns_ + 2 * kThreadStartNs, 1});
  }
  const uint16_t* llc = truth().llc;
  for (Running& one : all) {
    if (all.size() > settings_.crowd) one.slowdown *= settings_.crowd_factor;
    one.slowdown *= std::any_of(all.begin(), all.end(),
                                [&](const Running& other) {
                                  return &other != &one && (llc[one.a] == llc[other.a] || llc[one.a] == llc[other.b] ||
                                                            llc[one.b] == llc[other.a] || llc[one.b] == llc[other.b]);
                                })
                        ? settings_.same_llc_factor
                        : 1;
  }
  return all;
}

double SimulatedMachine::disturbance(const Running& pair) const {
  const double seconds = pair.now_ns * 1e-9;
  double factor = pair.slowdown * (1 + settings_.drift_per_s * seconds);
  for (const SimulatedChange& change : settings_.changes) {
    if (seconds < change.begin_s || seconds >= change.begin_s + change.length_s) continue;
    const auto hit = [&](uint32_t cpu) { return std::count(change.cpus.begin(), change.cpus.end(), cpu) > 0; };
    if (change.cpus.empty() || hit(pair.a) || hit(pair.b)) factor *= change.factor;
  }
  if (settings_.throttle_period_s > 0) {
    const double phase = std::fmod(seconds, settings_.throttle_period_s) / settings_.throttle_period_s;
    if (phase >= 1 - settings_.throttle_share) factor *= settings_.throttle_factor;
  }
  return factor;
}

double SimulatedMachine::sample(Running& pair, double cost) {
  std::uniform_real_distribution<double> share(0, 1);
  // The value lies from low to high, each decade as likely as the other.
  const auto spread = [&](double low, double high) { return low * std::pow(high / low, share(random_)); };
  double value = cost * std::max(0.1, 1 + settings_.noise * std::normal_distribution<double>()(random_));
  const auto busy = static_cast<uint32_t>(settings_.busy_cpu);
  if (settings_.busy_cpu >= 0 && (pair.a == busy || pair.b == busy) && share(random_) < settings_.busy_share)
    value *= spread(3, 30);
  if (settings_.outliers > 0 && share(random_) < settings_.outliers) value *= spread(10, 1000);
  return value;
}

std::vector<double> SimulatedMachine::hop_batches(Running& pair) {
  const double hop = between(truth(), pair.a, pair.b);
  std::vector<double> hops;
  for (int batch = -1; batch < kBatches; ++batch) {  // the first warms up
    const double cost = hop * disturbance(pair);
    if (batch >= 0) hops.push_back(sample(pair, cost));
    pair.now_ns += 2 * kRoundTrips * cost;
  }
  return hops;
}

DirectionSamples SimulatedMachine::direction(Running& pair, uint32_t from, uint32_t to) {
  const size_t at = truth().at(from, to);
  const double hop = truth().hop[at], send = truth().send_busy[at], receive = truth().recv_busy[at],
               ready = truth().ready_read[at];
  DirectionSamples samples;
  const auto episodes = [&](bool keep, auto draw) {
    for (int each : {1, kMany}) {
      const double factor = disturbance(pair);
      if (keep) draw(each, factor);
      pair.now_ns += episode_ns(hop * factor);
    }
  };
  for (int i = -kWarmUpSamples; i < kSamples; ++i)
    episodes(i >= 0, [&](int lines, double factor) {
      const double cost = kClockNs + factor * (hop / 2 + (lines - 1) * send);
      (lines == 1 ? samples.send_one : samples.send_many).push_back(sample(pair, cost));
    });
  for (int i = -kWarmUpSamples; i < kSamples; ++i)
    episodes(i >= 0, [&](int lines, double factor) {
      const double cost = kClockNs + factor * (ready + (lines - 1) * receive);
      (lines == 1 ? samples.read_one : samples.read_many).push_back(sample(pair, cost));
      samples.clock.push_back(sample(pair, kClockNs));
    });
  return samples;
}

std::vector<PairCost> SimulatedMachine::measure(std::span<const CpuPair> pairs) {
  std::vector<PairCost> costs;
  double end_ns = now_ns_;
  for (Running& pair : start(pairs)) {
    pair.now_ns += 2 * kWarmUpTrips * between(truth(), pair.a, pair.b) * disturbance(pair);
    std::vector<double> before = hop_batches(pair);
    const DirectionSamples forth = direction(pair, pair.a, pair.b), back = direction(pair, pair.b, pair.a);
    costs.push_back(pair_cost(std::move(before), hop_batches(pair), forth, back));
    end_ns = std::max(end_ns, pair.now_ns);
  }
  now_ns_ = end_ns;
  measured_ += pairs.size();
  return costs;
}

std::vector<std::vector<double>> SimulatedMachine::measure_hops(std::span<const CpuPair> pairs) {
  std::vector<std::vector<double>> hops;
  double end_ns = now_ns_;
  for (Running& pair : start(pairs)) {
    pair.now_ns += 2 * kWarmUpTrips * between(truth(), pair.a, pair.b) * disturbance(pair);
    hops.push_back(hop_batches(pair));
    end_ns = std::max(end_ns, pair.now_ns);
  }
  now_ns_ = end_ns;
  return hops;
}

double SimulatedMachine::measure_poller(int writer, const std::vector<int>& pollers, double) {
  std::vector<CpuPair> pairs;
  for (int poller : pollers) pairs.push_back({writer, poller});
  std::vector<Running> all = start(pairs);
  Running& pair = all.front();
  // Readers on both sides of a boundary cross it.
  auto widest = Distance::kSelf;
  for (const Running& other : all)
    if (other.b != pair.b) widest = std::max(widest, distance_in(truth(), pair.b, other.b));
  const double once = double{truth().crossing[static_cast<uint32_t>(widest)]};
  const double further = double{truth().poller} + once / static_cast<double>(std::max<size_t>(pollers.size(), 2) - 1);
  std::vector<double> samples;
  for (int i = 0; i < kPollerSamples; ++i) {
    samples.push_back(sample(pair, further));
    pair.now_ns += 2 * episode_ns(between(truth(), pair.a, pair.b));
  }
  now_ns_ = pair.now_ns;
  return midmean(samples);
}

// The first pair's moment is everybody's.
double SimulatedMachine::measure_bursts(std::span<const CpuPair> pairs, int lines) {
  std::vector<std::pair<uint32_t, uint32_t>> indices;
  for (const CpuPair& pair : pairs) indices.emplace_back(index_of(pair.a), index_of(pair.b));
  const double round = simulate_bursts(truth(), indices, lines);
  Running first{indices[0].first, indices[0].second, now_ns_ + 2 * kThreadStartNs, 1};
  std::vector<double> batches;
  for (int batch = 0; batch < kBurstBatches + kWarmUpBursts; ++batch) {
    const double cost = round * disturbance(first);
    if (batch >= kWarmUpBursts) batches.push_back(sample(first, cost));
    first.now_ns += kBurstRounds * cost;
  }
  now_ns_ = first.now_ns;
  return median(batches);
}

void SimulatedMachine::warm_up(const std::vector<int>&) { now_ns_ += kWarmUpNs; }

double SimulatedMachine::seconds_of_all_pairs() const {
  double ns = kWarmUpNs;
  for (uint32_t a = 0; a < truth().n; ++a)
    for (uint32_t b = a + 1; b < truth().n; ++b) ns += pair_ns(between(truth(), a, b));
  return ns * 1e-9;
}

std::unique_ptr<SimulatedMachine> simulate(const MachineFile& file, const SimulationSettings& settings) {
  const auto require = [](bool good, const char* what) {
    if (!good) throw UserError(fmt::format("the simulation's {}", what));
  };
  const auto is_share = [](double value) { return value >= 0 && value <= 1; };
  require(settings.noise >= 0 && settings.noise <= 1, "noise must be between 0 and 1");
  require(is_share(settings.outliers), "share of outliers must be between 0 and 1");
  require(settings.drift_per_s >= 0 && std::isfinite(settings.drift_per_s), "drift must be 0 or more");
  require(settings.busy_cpu < 0 || settings.busy_cpu < static_cast<int>(file.overlap.n),
          "busy CPU is not one of the machine's");
  require(is_share(settings.busy_share) && is_share(settings.throttle_share), "shares must be between 0 and 1");
  require(settings.throttle_period_s >= 0, "throttling period must be 0 or more");
  for (double factor : {settings.throttle_factor, settings.same_llc_factor, settings.crowd_factor})
    require(factor >= 1 && std::isfinite(factor), "factors of throttling and of neighbours must be 1 or more");
  for (const SimulatedChange& change : settings.changes) {
    require(change.factor > 0 && std::isfinite(change.factor), "changes must have a factor above 0");
    require(std::all_of(change.cpus.begin(), change.cpus.end(), [&](uint32_t cpu) { return cpu < file.overlap.n; }),
            "changes must be of the machine's CPUs");
  }
  return std::make_unique<SimulatedMachine>(file, settings);
}

}  // namespace smelt
