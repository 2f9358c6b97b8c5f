// rails_limits: are the limits between two ways to send where a search of many sizes finds them?
//
//   1. two namespaces, a pair of interfaces between them, as fast as this machine lets them be (tbf lets 64 KB through
//      at the speed of memory, so limits below that are none of its own)
//   2. smelt network samples it: powers of two; each limit is where two of the curves cross, by interpolation
//   3. both ways again, in turns, at 40 sizes and more around each limit, which is then the size that agrees with most
//      of them: shorter ones gain less than 3 %, longer ones as much or more
//
// Two curves may be so nearly parallel that a hundredth of noise moves their crossing far. So there are two searches at
// the same time, in turns: how far they are apart is what any search can tell. And it says what is lost where the
// interpolated limit chooses the way at each of these sizes, against the better one.
//
// Needs root, and an idle machine.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "model/curves.h"
#include "profile/text/error.h"
#include "profile/text/statistics.h"
#include "rails/bench/nodes.h"
#include "rails/bench/sample_nodes.h"
#include "rails/network/profile.h"
#include "rails/network/sampling.h"

namespace smelt {
namespace {

constexpr double kStep = 1.05, kAround = 3;
constexpr uint64_t kShortest = 16, kLongest = 8 << 20;
constexpr uint32_t kSearches = 2;
constexpr int kCannot = 77;  // tests call that skipped

struct Limit {
  const char* name;
  uint64_t interpolated;
  // The way that is used below, and the one above, and what a message of n bytes is in each.
  RailMethod below, above;
  uint64_t below_times;  // so many messages in one
  bool copies;           // the way below copies them first
};

std::string text_of(uint64_t bytes) {
  return bytes == 0 ? "always" : bytes == UINT64_MAX ? "never" : fmt::format("{}", bytes);
}

std::vector<uint64_t> sizes_around(uint64_t limit) {
  const bool inside = limit > 0 && limit != UINT64_MAX;
  const double from = inside ? static_cast<double>(limit) / kAround : double{kShortest};
  const double to = inside ? static_cast<double>(limit) * kAround : double{kLongest};
  std::vector<uint64_t> sizes;
  for (double size = std::max(from, double{kShortest}); size <= std::min(to, double{kLongest});
       size *= inside ? kStep : kStep * kStep * kStep)
    sizes.push_back(static_cast<uint64_t>(size) & ~uint64_t{1});
  return sizes;
}

// The size that most agree with; 0: all gain, UINT64_MAX: none should.
uint64_t searched(const std::vector<uint64_t>& sizes, const std::vector<bool>& gains) {
  size_t against = static_cast<size_t>(std::count(gains.begin(), gains.end(), false)), best = against, at = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    gains[i] ? ++against : --against;  // now sizes[i] is below the limit
    if (against < best) best = against, at = i + 1;
  }
  return at == 0 ? 0 : at == sizes.size() ? UINT64_MAX : (sizes[at - 1] + sizes[at]) / 2;
}

// 1: the same; 0: one of them is no size.
double ratio_of(uint64_t a, uint64_t b) {
  if (a == b) return 1;
  const bool sizes = a > 0 && b > 0 && a != UINT64_MAX && b != UINT64_MAX;
  return sizes ? static_cast<double>(a) / static_cast<double>(b) : 0;
}

bool is_near(double ratio) { return ratio >= 0.9 && ratio <= 1 / 0.9; }

void search(Control& control, const NetworkProfile& profile, uint32_t rounds) {
  const NetworkRail& rail = profile.rails[0];
  const RailLimits limits = limits_of(rail.rail, profile.copy);
  const Limit all[] = {{"rendezvous", limits.rendezvous, kRailEager, kRailRendezvous, 1, false},
                       {"two pieces", limits.gathered, kRailEager, kRailGathered, 1, true},
                       {"two packets", limits.apart, kRailEager, kRailPair, 2, true}};
  std::vector<TimedWay> ways;
  for (const Limit& limit : all)
    for (const uint64_t size : sizes_around(limit.interpolated))
      for (uint32_t i = 0; i < kSearches; ++i) {
        ways.push_back({limit.below, limit.below_times * size});
        ways.push_back({limit.above, size});
      }
  const std::vector<double> us = time_ways(control, rail, ways, rounds);
  size_t at = 0;
  for (const Limit& limit : all) {
    const std::vector<uint64_t> sizes = sizes_around(limit.interpolated);
    std::vector<bool> gains[kSearches];
    std::vector<double> lost;
    for (const uint64_t size : sizes) {
      const double copy = limit.copies ? rail_time(profile.copy, limit.below_times * size) : 0;
      double below = 0, above = 0;
      for (uint32_t i = 0; i < kSearches; ++i, at += 2) {
        gains[i].push_back(us[at + 1] <= kWorthwhile * (us[at] + copy));
        below += us[at] + copy, above += us[at + 1];
      }
      lost.push_back((size < limit.interpolated ? below : above) / std::min(below, above) - 1);
    }
    const uint64_t found[kSearches] = {searched(sizes, gains[0]), searched(sizes, gains[1])};
    const double ratio[kSearches] = {ratio_of(limit.interpolated, found[0]), ratio_of(limit.interpolated, found[1])};
    const double apart = ratio_of(found[0], found[1]);
    const char* verdict = is_near(ratio[0]) || is_near(ratio[1]) ? "within 10 %: reached"
                          : is_near(apart)                       ? "within 10 %: missed"
                                                                 : "two searches are further apart than 10 %";
    fmt::print("{:<12} interpolated {:>8}, searched {:>8} {:>8} of {} sizes, ratios {:.2f} {:.2f}, {}; ", limit.name,
               text_of(limit.interpolated), text_of(found[0]), text_of(found[1]), sizes.size(), ratio[0], ratio[1],
               verdict);
    fmt::print("costs {:.1f} % in the middle, at most {:.1f} %\n", 100 * median(lost),
               100 * *std::max_element(lost.begin(), lost.end()));
  }
}

int run(double seconds, uint32_t rounds) {
  Nodes nodes;
  std::string why = nodes.make();
  if (why.empty()) why = nodes.add_rail(0);
  if (!why.empty()) {
    fmt::print(stderr, "rails_limits: {}\n", why);
    return kCannot;
  }
  const ScratchFolder scratch;
  if (scratch.path().empty()) throw UserError("no scratch folder");
  sample_nodes(nodes, seconds, scratch.path());
  const NetworkProfile profile = read_network_profile(scratch.path() + "/node1.network.json");
  with_server(nodes, "", [&](Control& control) { search(control, profile, rounds); });
  return 0;
}

}  // namespace
}  // namespace smelt

int main(int argc, char** argv) {
  CLI::App app{"Limits between ways to send: interpolated against a search of many sizes"};
  double seconds = 20;
  uint32_t rounds = 60;
  app.add_option("--seconds", seconds, "of sampling")->capture_default_str();
  app.add_option("--rounds", rounds, "of each way at each size")->check(CLI::Range(4u, 2000u))->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return smelt::run(seconds, rounds);
  } catch (const smelt::UserError& error) {
    fmt::print(stderr, "rails_limits: {}\n", error.what());
    return 1;
  }
}
