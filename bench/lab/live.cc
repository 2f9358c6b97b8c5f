#include "bench/lab/live.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cli/command.h"
#include "cli/progress_line.h"
#include "measure/finalists.h"
#include "pictures/picture.h"
#include "profile/profile.h"
#include "profile/text/error.h"
#include "profile/text/statistics.h"

namespace smelt {
namespace {

// Ranks from 1; a value that is within `tie` of the one before shares the mean rank of its run (Kendall, "Rank
// Correlation Methods", 1948).
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

// One way between these two, as the profile has it: the hop that Racer::reference counts in. It knows both CPUs.
double hop_between(const ProfileImage& image, uint32_t a, uint32_t b) {
  const auto index = [&](uint32_t cpu) { return std::ranges::find(image.os_cpu, cpu) - image.os_cpu.begin(); };
  const auto at = [&](auto from, auto to) { return image.hop[static_cast<size_t>(from) * image.n() + to]; };
  return (at(index(a), index(b)) + at(index(b), index(a))) / 2;
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

Document time_live(const std::vector<uint32_t>& cpus, Operation op, double seconds) {
  const ProfileImage image = measured_image();
  FinalistSettings settings;
  settings.finalists = 0;
  settings.race = {64, seconds, false};
  settings.skew = 0;  // it is held against the model, which knows no skew
  const StillWorking working(fmt::format("timing the patterns of a {}, about {:.3g} s", operation_name(op), seconds));
  const TimedSet set = time_finalists(image, cpus, op, settings);
  // Both in hops: the prediction in those of the profile, the measurement in those of the moment.
  const double hop = hop_between(image, cpus[0], cpus[1]);
  std::vector<double> predicted, measured, spreads;
  Document rows = Document::array();
  for (const Finalist& finalist : set.finalists) {
    predicted.push_back(finalist.predicted / hop);
    measured.push_back(finalist.timed.ratio);
    spreads.push_back(finalist.timed.spread);
    rows.push_back({{"pattern", finalist.pattern},
                    {"predicted", finalist.predicted},
                    {"measured", finalist.timed.ns},
                    {"predicted_hops", predicted.back()},
                    {"measured_hops", measured.back()},
                    {"times", predicted.back() / measured.back()},
                    {"spread", finalist.timed.spread},
                    {"laps", finalist.timed.laps}});
  }
  const double tie = median(spreads);
  const Agreement agrees = agreement(predicted, measured, tie);
  return {{"op", operation_name(op)},
          {"cpus", cpus},
          {"hop", hop},
          {"hop_now", set.finalists[set.winner].timed.reference},
          {"episodes", settings.episodes},
          {"patterns", std::move(rows)},
          {"spearman", agrees.spearman},
          {"mean_error", agrees.mean_error},
          {"worst_error", agrees.worst_error},
          {"tie", tie}};
}

Table live_table(const Document& document) {
  return {"pattern",
          columns("pattern; predicted, hops=predicted_hops|2; tight, hops=measured_hops|2; spread|%; error=times|+%"),
          document["patterns"]};
}

std::string live_text(const Document& document) {
  std::string out = told(
      document, "{op} on CPUs {cpus|cpus} of this machine; a hop: {hop|1} ns in the profile, {hop_now|1} ns now\n");
  out += table_text(live_table(document));
  out += told(document, "rank correlation (Spearman) {spearman|2}, mean error {mean_error|%}, worst {worst_error|%}\n");
  out += fmt::format(
      "tight: everybody arrives as soon as it has left; median over {} laps of {} episodes, each right after its "
      "ping-pong; within {} counts as equal.\n",
      shown(document["patterns"][0], "laps"), shown(document, "episodes"), shown(document, "tie", As::kPercent));
  if (document["op"] != operation_name(Operation::kBarrier))
    out += "closed loops: a broadcast with everybody's answer, a reduction with one release line.\n";
  return out;
}

}  // namespace smelt
