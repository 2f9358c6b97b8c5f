// The instrument of a calibration, in two implementations: the hardware and a machine that is simulated
// (bench/lab/simulated_machine.h). Both give samples through the same statistics, so the code above cannot tell them
// apart.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "measure/pair.h"
#include "model/cost_model.h"

namespace smelt {

// The kernel's numbers of two different CPUs.
struct CpuPair {
  int a, b;
};

// A meter is not thread-safe: it has one caller. The measuring functions throw UserError when this process may not use
// one of the CPUs.
class Meter {
 public:
  virtual ~Meter() = default;

  // All pairs at the same time, so each CPU may be in one of them only. One result per pair, in their order.
  virtual std::vector<PairCost> measure(std::span<const CpuPair> pairs) = 0;
  // The ping-pongs alone, about ten times faster: one-way cost per batch.
  virtual std::vector<std::vector<double>> measure_hops(std::span<const CpuPair> pairs) = 0;
  virtual double measure_poller(int writer, const std::vector<int>& pollers, double recv_busy) = 0;  // poller.h
  virtual double measure_bursts(std::span<const CpuPair> pairs, int lines) = 0;                      // bursts.h

  // Cores that have slept for long take milliseconds to reach their frequency.
  virtual void warm_up(const std::vector<int>& cpus) = 0;
  virtual double seconds() = 0;                                     // since any moment; measuring moves it on
  virtual CostUnit unit() const { return CostUnit::kNanoseconds; }  // of all costs that it gives
};

// This machine.
std::unique_ptr<Meter> hardware_meter();

}  // namespace smelt
