#include "measure/decision.h"

#include <algorithm>
#include <numeric>

#include "base/os/os.h"

namespace smelt {
namespace {

constexpr double kSkewedShare = 0.7;     // of the time, at most; the tight race has the rest
constexpr uint32_t kTightLaps = 16;      // of each
constexpr double kLongestDelayNs = 1e5;  // an episode that takes a good part of that was not let run undisturbed

// Is it slower by more than the two spreads?
bool slower(const Racer& one, const Racer& other) {
  return one.ratio * (1 - one.spread / 2) > other.ratio * (1 + other.spread / 2);
}

// Those of `order` that have run come back, the fastest first. A finalist that ran more rounds was faster in the one
// before.
std::vector<uint32_t> in_order(std::vector<uint32_t> order, const std::vector<Finalist>& finalists,
                               Racer Finalist::*race) {
  std::erase_if(order, [&](uint32_t k) { return (finalists[k].*race).laps == 0; });
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const Racer &x = finalists[a].*race, &y = finalists[b].*race;
    return x.rounds != y.rounds ? x.rounds > y.rounds : x.ratio < y.ratio;
  });
  return order;
}

std::vector<uint32_t> all_of(const std::vector<Finalist>& finalists) {
  std::vector<uint32_t> all(finalists.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

uint32_t first_in_tight(const std::vector<uint32_t>& open, const std::vector<Finalist>& finalists) {
  const std::vector<uint32_t> order = in_order(open, finalists, &Finalist::timed);
  if (order.empty()) return open.empty() ? 0 : open.front();
  const auto tree = std::find_if(order.begin(), order.end(), [&](uint32_t k) { return finalists[k].is_tree; });
  if (tree == order.end() || slower(finalists[*tree].timed, finalists[order.front()].timed)) return order.front();
  return *tree;
}

// The longest delay.
double find_skew(const Laps& laps, const RaceSettings& settings, double skew, uint32_t finalists) {
  double least = 0;
  for (uint32_t k = 0; k < finalists; ++k) {
    if (settings.until_ns != 0 && os::now_ns() >= settings.until_ns) break;
    const double lap = laps.tight(k);
    if (least == 0 || lap < least) least = lap;
  }
  return std::min(skew * least, kLongestDelayNs);
}

}  // namespace

std::vector<uint32_t> contenders(const std::vector<Finalist>& finalists) {
  std::vector<uint32_t> order = in_order(all_of(finalists), finalists, &Finalist::skewed);
  if (order.empty()) return {};
  const Racer& first = finalists[order.front()].skewed;
  std::erase_if(order, [&](uint32_t k) { return slower(finalists[k].skewed, first); });
  return order;
}

uint32_t choose_winner(const std::vector<Finalist>& finalists) {
  const std::vector<uint32_t> open = contenders(finalists);
  return first_in_tight(open.empty() ? all_of(finalists) : open, finalists);
}

uint32_t race_finalists(const Laps& laps, const RaceSettings& settings, double skew, std::vector<Finalist>* finalists) {
  const int64_t end = os::now_ns() + static_cast<int64_t>(settings.seconds * 1e9);
  const auto count = static_cast<uint32_t>(finalists->size());
  for (Finalist& each : *finalists) each.timed = each.skewed = {};
  RaceSettings tight = settings;
  std::vector<uint32_t> open = all_of(*finalists);
  if (skew > 0) {
    const double most_ns = find_skew(laps, settings, skew, count);
    std::vector<uint32_t> run(count);  // so many laps: the k-th lap of each has the k-th delays
    RaceSettings skewed = settings;
    skewed.seconds *= kSkewedShare;
    const Race first = race(
        count, [&](uint32_t k) { return laps.skewed(k, most_ns, ++run[k]); }, laps.reference, skewed);
    for (uint32_t k = 0; k < count; ++k) (*finalists)[k].skewed = first.racers[k];
    open = contenders(*finalists);
    tight.samples = kTightLaps;
    tight.halving = false;
    tight.seconds = static_cast<double>(end - os::now_ns()) * 1e-9;
  }
  const Race last = race(
      static_cast<uint32_t>(open.size()), [&](uint32_t k) { return laps.tight(open[k]); }, laps.reference, tight);
  for (size_t k = 0; k < open.size(); ++k) (*finalists)[open[k]].timed = last.racers[k];
  return choose_winner(*finalists);
}

}  // namespace smelt
