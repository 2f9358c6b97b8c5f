#include "cli/live.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cli/command.h"
#include "cli/progress_line.h"
#include "draw/picture.h"
#include "measure/finalists.h"
#include "profile/profile.h"
#include "profile/text/error.h"
#include "profile/text/statistics.h"

namespace smelt {
namespace {

// Ranks from 1; who is within `tie` of the one before shares the mean rank of its run (Kendall, "Rank Correlation
// Methods", 1948).
std::vector<double> ranks(const std::vector<double>& values, double tie) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> out(values.size());
  for (size_t first = 0; first < order.size();) {
    size_t last = first + 1;
    while (last < order.size() && values[order[last]] <= values[order[first]] * (1 + tie)) ++last;
    for (size_t k = first; k < last; ++k) out[order[k]] = static_cast<double>(first + last + 1) / 2;
    first = last;
  }
  return out;
}

// Pearson's correlation; 1 where neither varies, 0 where one does not.
double correlation(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / n,
               mean_y = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  if (xx == 0 && yy == 0) return 1;
  return xx == 0 || yy == 0 ? 0 : xy / std::sqrt(xx * yy);
}

ProfileImage measured_image() {
  Profile profile;
  Refusal why;
  if (load_profile(&profile, &why) != 0) throw UserError("the kernel does not tell this machine's CPUs");
  const bool guess = profile.source == ProfileSource::kGuess;
  ProfileImage image = image_from_profile(profile);
  unload_profile(&profile);
  if (guess && why.text[0]) throw UserError(fmt::format("nothing is predicted for this machine: {}", why.text));
  if (guess)
    throw UserError("nothing was measured on this machine, so nothing is predicted for it; run 'smelt calibrate'");
  return image;
}

}  // namespace

Agreement agreement(const std::vector<double>& predicted, const std::vector<double>& measured, double tie) {
  Agreement out;
  if (predicted.empty()) return out;
  out.spearman = correlation(ranks(predicted, 1e-6), ranks(measured, tie));
  for (size_t i = 0; i < predicted.size(); ++i) {
    const double error = std::abs(predicted[i] - measured[i]) / measured[i];
    out.mean_error += error / static_cast<double>(predicted.size());
    out.worst_error = std::max(out.worst_error, error);
  }
  return out;
}

LiveComparison time_live(const std::vector<uint32_t>& cpus, Operation op, double seconds) {
  const ProfileImage image = measured_image();
  FinalistSettings settings;
  settings.finalists = 0;
  settings.distinct = false;
  settings.race = {64, seconds, false};
  settings.skew = 0;  // it is held against the model, which knows no skew
  const StillWorking working(fmt::format("timing the patterns of a {}, about {:.3g} s", operation_name(op), seconds));
  const TimedSet set = time_finalists(image, cpus, op, settings);
  LiveComparison out;
  // Both in hops: the prediction in those of the profile, the measurement in those of the moment.
  out.hop = pair_hop(image, cpus);
  out.hop_now = set.finalists[set.winner].timed.reference;
  out.episodes = settings.episodes;
  std::vector<double> predicted, measured, spreads;
  for (const Finalist& finalist : set.finalists) {
    out.rows.push_back({finalist.pattern, finalist.predicted, finalist.timed.ns, finalist.predicted / out.hop,
                        finalist.timed.ratio, finalist.timed.spread, finalist.timed.laps});
    predicted.push_back(out.rows.back().predicted_hops);
    measured.push_back(out.rows.back().measured_hops);
    spreads.push_back(finalist.timed.spread);
  }
  out.tie = median(spreads);
  out.agrees = agreement(predicted, measured, out.tie);
  return out;
}

void put_live(const std::vector<uint32_t>& cpus, Operation op, double seconds, bool json) {
  const LiveComparison live = time_live(cpus, op, seconds);
  if (json) {
    auto rows = nlohmann::ordered_json::array();
    for (const LiveComparison::Row& row : live.rows)
      rows.push_back({{"pattern", row.pattern},
                      {"predicted", row.predicted},
                      {"measured", row.measured},
                      {"predicted_hops", row.predicted_hops},
                      {"measured_hops", row.measured_hops},
                      {"spread", row.spread},
                      {"laps", row.laps}});
    put(nlohmann::ordered_json{{"op", operation_name(op)},
                               {"cpus", cpus},
                               {"hop", live.hop},
                               {"patterns", rows},
                               {"spearman", live.agrees.spearman},
                               {"mean_error", live.agrees.mean_error},
                               {"worst_error", live.agrees.worst_error},
                               {"tie", live.tie}}
            .dump(2) +
        "\n");
    return;
  }
  std::string out = fmt::format("{} on CPUs {} of this machine; a hop: {:.1f} ns in the profile, {:.1f} ns now\n",
                                operation_name(op), cpu_ranges(cpus), live.hop, live.hop_now);
  out += fmt::format("  {:<40} {:>16} {:>15} {:>8} {:>8}\n", "pattern", "predicted, hops", "measured, hops", "spread",
                     "error");
  for (const LiveComparison::Row& row : live.rows)
    out += fmt::format("  {:<40} {:>16.2f} {:>15.2f} {:>7.0f}% {:>+7.0f}%\n", row.pattern, row.predicted_hops,
                       row.measured_hops, 100 * row.spread, 100 * (row.predicted_hops / row.measured_hops - 1));
  out += fmt::format("rank correlation (Spearman) {:.2f}, mean error {:.0f} %, worst {:.0f} %\n", live.agrees.spearman,
                     100 * live.agrees.mean_error, 100 * live.agrees.worst_error);
  out += fmt::format(
      "measured: median over {} laps of {} episodes, each right after its ping-pong; within {:.0f} % counts as "
      "equal.\n",
      live.rows[0].laps, live.episodes, 100 * live.tie);
  if (op != Operation::kBarrier)
    out += "closed loops: a broadcast with everybody's answer, a reduction with one release line.\n";
  put(out);
}

}  // namespace smelt
