#include "measure/decision.h"

#include <algorithm>
#include <numeric>

#include "base/os/os.h"

namespace smelt {
namespace {

constexpr double kTightShare = 0.6;      // of the time, at most; the skewed race has the rest
constexpr uint32_t kSkewedLaps = 32;     // of each
constexpr double kLongestDelayNs = 1e5;  // an episode that takes a good part of that was not let run undisturbed

// By more than the two spreads.
bool slower(const Racer& one, const Racer& other) {
  return one.ratio * (1 - one.spread / 2) > other.ratio * (1 + other.spread / 2);
}

// A finalist that ran more rounds was faster in the one before.
std::vector<uint32_t> in_order(const std::vector<Finalist>& finalists) {
  std::vector<uint32_t> order(finalists.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](uint32_t k) { return finalists[k].timed.laps == 0; });
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const Racer &x = finalists[a].timed, &y = finalists[b].timed;
    return x.rounds != y.rounds ? x.rounds > y.rounds : x.ratio < y.ratio;
  });
  return order;
}

}  // namespace

std::vector<uint32_t> contenders(const std::vector<Finalist>& finalists) {
  const std::vector<uint32_t> order = in_order(finalists);
  if (order.empty()) return {};
  const auto tree = std::find_if(order.begin(), order.end(), [&](uint32_t k) { return finalists[k].is_tree; });
  if (tree == order.end()) return {order.front()};
  std::vector<uint32_t> out;
  std::copy_if(order.begin(), tree, std::back_inserter(out),
               [&](uint32_t k) { return slower(finalists[*tree].timed, finalists[k].timed); });
  out.push_back(*tree);
  return out;
}

uint32_t choose_winner(const std::vector<Finalist>& finalists) {
  const std::vector<uint32_t> open = contenders(finalists);
  if (open.empty()) return 0;
  const Racer& tree = finalists[open.back()].skewed;
  const auto holds = [&](uint32_t k) {
    const Racer& one = finalists[k].skewed;
    return k == open.back() || (one.laps > 0 && tree.laps > 0 && !slower(one, tree));
  };
  return *std::find_if(open.begin(), open.end(), holds);
}

Decision race_finalists(const Laps& laps, const RaceSettings& settings, double skew, std::vector<Finalist>* finalists) {
  const int64_t end = os::now_ns() + static_cast<int64_t>(settings.seconds * 1e9);
  RaceSettings tight = settings;
  if (skew > 0) tight.seconds *= kTightShare;
  const Race first = race(static_cast<uint32_t>(finalists->size()), laps.tight, laps.reference, tight);
  for (size_t k = 0; k < finalists->size(); ++k) (*finalists)[k].timed = first.racers[k];
  const std::vector<uint32_t> open = contenders(*finalists);
  if (open.empty()) return {0, first.complete};
  if (skew <= 0) return {open.front(), first.complete};

  const double most_ns = std::min(skew * (*finalists)[open.back()].timed.ns, kLongestDelayNs);
  std::vector<uint32_t> run(open.size());  // so many laps: the k-th lap of each has the k-th delays
  RaceSettings skewed = settings;
  skewed.samples = kSkewedLaps;
  skewed.halving = false;
  skewed.seconds = static_cast<double>(end - os::now_ns()) * 1e-9;
  const Race second = race(
      static_cast<uint32_t>(open.size()), [&](uint32_t k) { return laps.skewed(open[k], most_ns, ++run[k]); },
      laps.reference, skewed);
  for (size_t k = 0; k < open.size(); ++k) (*finalists)[open[k]].skewed = second.racers[k];
  return {choose_winner(*finalists), first.complete && second.complete};
}

}  // namespace smelt
