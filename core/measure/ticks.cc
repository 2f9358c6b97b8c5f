#include "measure/ticks.h"

#include <vector>

#include "profile/text/statistics.h"

namespace smelt {

double ns_per_tick() {
  static const double value = [] {
    constexpr int64_t kSpanNs = 2'000'000;  // against which a reading of the clock, 20 ns, is nothing
    // A preemption between the two clocks' readings would falsify one attempt; the median of five does not care.
    std::vector<double> attempts;
    for (int i = 0; i < 5; ++i) {
      const int64_t start_ns = os::now_ns();
      const uint64_t start = ticks();
      int64_t end_ns = start_ns;
      while (end_ns - start_ns < kSpanNs) end_ns = os::now_ns();
      attempts.push_back(static_cast<double>(end_ns - start_ns) / static_cast<double>(ticks() - start));
    }
    return median(attempts);
  }();
  return value;
}

}  // namespace smelt
