#include "cli/trial.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "profile/text/statistics.h"

namespace smelt {
namespace {

constexpr double kConfidence = 0.95;
constexpr double kNoticed = 0.03;              // a smaller difference is none, whatever the interval says
constexpr size_t kCertain = 6;                 // pairs from which on an interval can be one of kConfidence
constexpr double kNarrow = 0.05;               // an interval that lies as close to 1 as that says "no difference"
constexpr double kSettled = 0.02;              // an interval as wide as that need not get narrower
constexpr size_t kAgree = 3;                   // of fewer pairs nothing is said: two agree by chance every other time
constexpr size_t kFewest = 10;                 // pairs before one is believed
constexpr double kBusy = 0.2, kStolen = 0.02;  // as smelt doctor sees them
constexpr double kBriefRun = 0.02;  // seconds; of a shorter one, what Smelt takes to get ready is a noticeable part
constexpr double kShortRun = 0.03;  // a start that takes this share of the program's time is worth a word

std::vector<double> ratios_of(const std::vector<PairOfRuns>& pairs) {
  std::vector<double> ratios;
  for (const PairOfRuns& pair : pairs) ratios.push_back(pair.ratio());
  return ratios;
}

// "1.21", "0.0042": two digits behind the point, or two that are not zero.
std::string ratio_text(double ratio) {
  return ratio < 0.1 ? fmt::format("{:.2g}", ratio) : fmt::format("{:.2f}", ratio);
}

// One pair has none.
std::string interval_text(const MedianInterval& interval) {
  if (interval.confidence <= 0) return "";
  return fmt::format(" ({}-{})", ratio_text(interval.low), ratio_text(interval.high));
}

// Neither --fit nor the quota has lowered the number of threads. (--bind sets places, and no number.)
bool are_threads_as_set(const Circumstances& seen) {
  return std::all_of(seen.set_by.begin(), seen.set_by.end(), [](const std::string& one) { return one == "--bind"; });
}

// Circumstances that may have slowed the program down, or have blurred the comparison, as far as they were seen.
std::vector<std::string> disturbances(const Circumstances& seen) {
  std::vector<std::string> found;
  if (seen.throttled > 0)
    found.push_back(fmt::format("a CPU quota stopped the program {} times: raise the container's limit{}",
                                seen.throttled, are_threads_as_set(seen) ? ", or use fewer threads (--fit)" : ""));
  if (seen.others_cpus >= kBusy)
    found.push_back(fmt::format("other processes kept {:.1f} of {} CPUs busy: try again when the machine is quiet",
                                seen.others_cpus, seen.cpus));
  if (seen.stolen >= kStolen)
    found.push_back(
        fmt::format("the hypervisor took {:.0f} % of the CPU time away: try again later", seen.stolen * 100));
  return found;
}

std::vector<std::string> reasons_for_slower(const Circumstances& seen, double stock_s) {
  std::vector<std::string> reasons;
  if (!seen.told && !seen.served) reasons.push_back("nothing of it was served: no process of it has told");
  const uint64_t most = std::max<uint64_t>(seen.threads, 1) * std::max<uint64_t>(seen.ranks, 1);
  if (most > seen.cpus && seen.ranks > 1)
    reasons.push_back(fmt::format("{} ranks{} on {} CPUs: try as many as there are CPUs", seen.ranks,
                                  seen.threads > 1 ? fmt::format(" of {} threads", seen.threads) : "", seen.cpus));
  else if (most > seen.cpus)
    reasons.push_back(fmt::format("{} threads on {} CPUs: try OMP_NUM_THREADS={}", seen.threads, seen.cpus, seen.cpus));
  for (std::string& one : disturbances(seen)) reasons.push_back(std::move(one));
  if (seen.messages) reasons.push_back("messages are served, too: try without --messages");
  if (stock_s < kBriefRun)
    reasons.push_back(fmt::format("it runs for {:.1f} ms, and Smelt's start takes some tenths of one: try a longer run",
                                  stock_s * 1000));
  return reasons;
}

}  // namespace

MedianInterval median_interval(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  // The k-th smallest and the k-th largest hold the median unless fewer than k values lie on one side of it.
  double term = std::pow(0.5, static_cast<double>(n)), below = term;  // of 0 of n; of fewer than k = 1
  size_t k = 1;
  double confidence = 1 - 2 * below;
  while (2 * (k + 1) <= n + 1) {
    term *= static_cast<double>(n - k + 1) / static_cast<double>(k);
    below += term;
    if (1 - 2 * below < kConfidence) break;
    confidence = 1 - 2 * below;
    ++k;
  }
  return {values[k - 1], values[n - k], std::max(confidence, 0.0)};
}

RatioFound ratio_of(const std::vector<PairOfRuns>& pairs) {
  const std::vector<double> ratios = ratios_of(pairs);
  return {median(ratios), quantile(ratios, 0.25), quantile(ratios, 0.75), median_interval(ratios)};
}

bool is_settled(const std::vector<PairOfRuns>& pairs) {
  if (pairs.size() < kFewest) return false;
  const RatioFound found = ratio_of(pairs);
  return found.interval.high - found.interval.low <= kSettled * found.median;
}

const char* verdict_name(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kFaster: return "faster";
    case VerdictKind::kSame: return "same";
    case VerdictKind::kSlower: return "slower";
    case VerdictKind::kUnsettled: return "unsettled";
    case VerdictKind::kNothingServed: return "nothing served";
  }
  return "";
}

Verdict verdict_of(const std::vector<PairOfRuns>& pairs, const Circumstances& seen) {
  Verdict verdict;
  const RatioFound found = ratio_of(pairs);
  const double ratio = found.median, low = found.interval.low, high = found.interval.high;
  const std::string around = interval_text(found.interval);
  std::vector<double> stock;
  for (const PairOfRuns& pair : pairs) stock.push_back(pair.stock.wall_s);
  const double stock_s = median(std::move(stock));
  const bool nothing_served = seen.told && !seen.served;
  if (nothing_served && seen.set_by.empty()) {
    verdict.kind = VerdictKind::kNothingServed;
    verdict.text = "nothing to gain, nothing was served: " + seen.not_served;
    if (!pairs.empty()) verdict.text += fmt::format("; measured {}{}", ratio_text(ratio), around);
    if (high < 1 - kNoticed || low > 1 + kNoticed) verdict.reasons = disturbances(seen);
    return verdict;
  }
  const auto stopped = std::find_if(pairs.begin(), pairs.end(), [](const PairOfRuns& pair) { return pair.stopped; });
  // Where runs were stopped, the ratio is known from below alone.
  const std::string times = stopped == pairs.end() ? fmt::format("{} times as fast{}", ratio_text(ratio), around)
                                                   : fmt::format("more than {:.0f} times as fast", std::floor(low));
  const bool faster = low > 1 && ratio >= 1 + kNoticed, slower = high < 1 && ratio <= 1 - kNoticed;
  if (pairs.size() < kAgree) {
    verdict.kind = VerdictKind::kUnsettled;
    verdict.reasons = disturbances(seen);
    verdict.text = fmt::format("not settled: {}{}, of {}; try --pairs 20", ratio_text(ratio), around,
                               pairs.size() == 1 ? "one pair" : "two pairs");
  } else if ((faster || slower) && found.interval.confidence < kConfidence) {
    verdict.kind = VerdictKind::kUnsettled;
    verdict.reasons = disturbances(seen);
    verdict.text = fmt::format("not certain: {}, but only {:.0f} % certain of {} pairs; try --pairs {}", times,
                               std::floor(found.interval.confidence * 100), pairs.size(), kCertain);
  } else if (faster) {
    verdict.kind = VerdictKind::kFaster;
    verdict.reasons = disturbances(seen);  // the reasons are those of that moment
    verdict.text = "keep it: " + times;
    if (stopped != pairs.end())
      verdict.text += fmt::format("; without Smelt it was stopped after {:.3g} s", stopped->stock.wall_s);
    if (nothing_served)
      verdict.text += fmt::format(", by {} alone: nothing was served", fmt::join(seen.set_by, " and "));
    if (seen.others_cpus >= kBusy || seen.stolen >= kStolen) verdict.text += ", beside other work";
  } else if (slower) {
    verdict.kind = VerdictKind::kSlower;
    verdict.reasons = reasons_for_slower(seen, stock_s);
    // A guessed profile may be the reason, and is seen in many runs where it is not.
    const char* const next = seen.guessed ? "try 'smelt calibrate', then SMELT_OPENMP=-hot (docs/start.md)"
                                          : "try SMELT_OPENMP=-hot, then SMELT_OPENMP=-loops (docs/start.md)";
    verdict.text = fmt::format("slower here: {}{}; ", ratio_text(ratio), around) +
                   (verdict.reasons.empty() ? fmt::format("nothing that was measured says why: {}", next)
                                            : "most likely " + verdict.reasons[0]);
  } else if (low >= 1 - kNarrow && high <= 1 + kNarrow) {
    verdict.kind = VerdictKind::kSame;
    verdict.reasons = disturbances(seen);
    verdict.text = fmt::format("no difference{}", around);
  } else {
    verdict.kind = VerdictKind::kUnsettled;
    verdict.reasons = disturbances(seen);
    verdict.text =
        fmt::format("not settled: {}{}, the runs differ too much; {}", ratio_text(ratio), around,
                    verdict.reasons.empty() ? fmt::format("try --pairs {}", std::max<size_t>(4 * pairs.size(), 20))
                                            : verdict.reasons[0]);
  }
  if (seen.start_s > kShortRun * stock_s)
    verdict.reasons.push_back(fmt::format(
        "a start by 'smelt run' takes {:.2g} ms, which are counted: for many short runs, eval \"$(smelt env)\" once",
        seen.start_s * 1000));
  return verdict;
}

}  // namespace smelt
