// A machine that is not there: replays the costs of a machine file as the samples that the hardware would give, with
// everything that goes wrong on real ones. Repeatable by its seed, and in no time: its clock is simulated too.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "discover/machine.h"
#include "measure/meter.h"
#include "measure/pair_samples.h"
#include "pictures/machines/machine_file.h"

namespace smelt {

// From `begin_s` on, for `length_s` seconds of the machine's clock, all costs to and from these CPUs (indices; none:
// all CPUs) are multiplied by `factor`: a virtual machine that was moved, a frequency that changed.
struct SimulatedChange {
  double begin_s = 0;
  double length_s = 1e9;
  double factor = 1;
  std::vector<uint32_t> cpus;
};

struct SimulationSettings {
  uint64_t seed = 1;
  double noise = 0.05;     // standard deviation of every sample, relative to it
  double outliers = 0.01;  // share of samples that are multiplied by 10 to 1000 (an interrupt)
  double drift_per_s = 0;  // all costs grow by this share per second
  std::vector<SimulatedChange> changes;
  int busy_cpu = -1;             // index of a CPU that somebody else uses, -1: none
  double busy_share = 0.7;       // of the samples with that CPU: multiplied by 3 to 30
  double throttle_period_s = 0;  // during the last throttle_share of every such period all costs are multiplied by
  double throttle_share = 0.3;   //   throttle_factor; 0: never
  double throttle_factor = 2;
  double same_llc_factor = 1.2;  // for a pair while another runs on one of its last-level caches
  uint32_t crowd = 16;           // more pairs than these at once slow each other down by
  double crowd_factor = 1.2;     //   this
  // By distance: Costs::service, in the machine's unit; below 0: as in the file.
  std::array<double, kDistances> service = {-1, -1, -1, -1, -1, -1};
};

// Simulated seconds are thread starts, and every round trip and sample that the hardware would do.
class SimulatedMachine final : public Meter {
 public:
  SimulatedMachine(const MachineFile& file, const SimulationSettings& settings);

  std::vector<PairCost> measure(std::span<const CpuPair> pairs) override;
  std::vector<std::vector<double>> measure_hops(std::span<const CpuPair> pairs) override;
  double measure_poller(int writer, const std::vector<int>& pollers, double recv_busy) override;
  double measure_bursts(std::span<const CpuPair> pairs, int lines) override;
  void warm_up(const std::vector<int>& cpus) override;
  double seconds() override { return now_ns_ * 1e-9; }
  CostUnit unit() const override { return file_.unit; }

  const Machine& machine() const { return machine_; }    // for calibrate
  const Costs& truth() const { return file_.overlap; }   // calibrate should find these, undisturbed
  double seconds_of_all_pairs() const;                   // measured one after the other, nothing repeated
  uint64_t pairs_measured() const { return measured_; }  // calls of measure() count each of their pairs

 private:
  struct Running;  // one of the pairs that are measured at the same time

  std::vector<Running> start(std::span<const CpuPair> pairs);
  double sample(Running& pair, double cost);
  uint32_t index_of(int cpu) const;
  double disturbance(const Running& pair) const;
  std::vector<double> hop_batches(Running& pair);
  DirectionSamples direction(Running& pair, uint32_t from, uint32_t to);

  MachineFile file_;
  const SimulationSettings settings_;
  Machine machine_;
  std::mt19937_64 random_;
  double now_ns_ = 0;
  uint64_t measured_ = 0;
};

// A machine file's places and costs (its overlap-aware ones, in its own unit). Throws UserError for settings out of
// range.
std::unique_ptr<SimulatedMachine> simulate(const MachineFile& file, const SimulationSettings& settings = {});

}  // namespace smelt
