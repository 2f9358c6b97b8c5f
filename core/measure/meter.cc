#include "measure/meter.h"

#include <exception>
#include <thread>

#include "base/os/os.h"
#include "measure/bursts.h"
#include "measure/pinned.h"
#include "measure/poller.h"
#include "measure/ticks.h"

namespace smelt {
namespace {

constexpr int64_t kWarmUpNs = 20'000'000;  // until cores have their frequency

// A waiting thread per pair, which starts the two that measure. The first error is thrown when all have come to an end.
template <typename Result, typename One>
std::vector<Result> at_once(std::span<const CpuPair> pairs, One one) {
  std::vector<Result> results(pairs.size());
  if (pairs.size() == 1) {
    results[0] = one(pairs[0].a, pairs[0].b);
    return results;
  }
  ns_per_tick();  // once, before any thread measures
  std::vector<std::exception_ptr> errors(pairs.size());
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < pairs.size(); ++i)
      threads.emplace_back([&, i] {
        try {
          results[i] = one(pairs[i].a, pairs[i].b);
        } catch (...) {
          errors[i] = std::current_exception();
        }
      });
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  return results;
}

class HardwareMeter final : public Meter {
 public:
  std::vector<PairCost> measure(std::span<const CpuPair> pairs) override {
    return at_once<PairCost>(pairs, measure_pair);
  }

  std::vector<std::vector<double>> measure_hops(std::span<const CpuPair> pairs) override {
    return at_once<std::vector<double>>(pairs, smelt::measure_hops);
  }

  double measure_poller(int writer, const std::vector<int>& pollers, double recv_busy) override {
    return smelt::measure_poller(writer, pollers, recv_busy);
  }

  double measure_bursts(std::span<const CpuPair> pairs, int lines) override {
    return smelt::measure_bursts(pairs, lines);
  }

  void warm_up(const std::vector<int>& cpus) override {
    const int64_t until = os::now_ns() + kWarmUpNs;
    std::vector<PinnedJob> jobs;
    for (int cpu : cpus)
      jobs.push_back({cpu, [until] {
                        while (os::now_ns() < until) {
                        }
                      }});
    run_pinned(jobs);
  }

  double seconds() override { return static_cast<double>(os::now_ns()) * 1e-9; }
};

}  // namespace

std::unique_ptr<Meter> hardware_meter() { return std::make_unique<HardwareMeter>(); }

}  // namespace smelt
