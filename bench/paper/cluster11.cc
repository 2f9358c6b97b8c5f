// Cluster'11, figures 4 to 21: the limits that follow from sampled networks, and what splitting reaches. The figures are
// not in the text that we have; the numbers that it says are. Ours are those of the network profile of this machine.
#include <fmt/format.h>
#include <unistd.h>

#include "bench/paper/figures.h"
#include "profile/text/error.h"
#include "profile/text/network.h"

namespace smelt::paper {
namespace {

Cell none() { return {0, 0, "-"}; }

Cell limit_cell(uint64_t bytes) {
  if (bytes == 0) return {0, 0, "always"};
  if (bytes == UINT64_MAX) return {0, 0, "never"};
  return {static_cast<double>(bytes), 0, ""};
}

Row paper_row(const char* name, Cell pieces, Cell rendezvous, Cell packets, Cell split, Cell sum) {
  return {.kind = Kind::kPaper, .name = name, .cells = {pieces, rendezvous, packets, split, sum}};
}

// From which size a message takes several rails.
uint64_t split_from(const NetworkProfile& profile) {
  std::vector<RailCurve> curves;
  for (const NetworkRail& rail : profile.rails) curves.push_back(transfer_curve(rail.rail));
  std::vector<RailNow> now;
  for (const RailCurve& curve : curves) now.push_back({&curve, 0});
  for (uint64_t bytes = 2; now.size() > 1 && bytes <= kLongestRailSample; bytes += 1 + bytes / 64) {
    RailSplit split;
    if (choose_split(now.data(), static_cast<uint32_t>(now.size()), bytes, &split) == 0 && split.used > 1) return bytes;
  }
  return UINT64_MAX;
}

// What the split of a 16 MiB message promises, of the sum of the rails' bandwidths.
Cell of_the_sum(const NetworkProfile& profile) {
  std::vector<RailCurve> curves;
  for (const NetworkRail& rail : profile.rails) curves.push_back(transfer_curve(rail.rail));
  std::vector<RailNow> now;
  double sum = 0;
  for (const RailCurve& curve : curves) now.push_back({&curve, 0}), sum += rail_bandwidth(curve);
  RailSplit split;
  if (now.size() < 2 || !(sum > 0) ||
      choose_split(now.data(), static_cast<uint32_t>(now.size()), kLongestRailSample, &split) != 0)
    return none();
  return {0, 0, fmt::format("{:.0f} %", 100 * static_cast<double>(kLongestRailSample) / split.finish_us / sum)};
}

}  // namespace

Figure cluster_limits(const Settings&) {
  Figure figure{"Cluster'11, figures 4 to 21: limits by sampling",
                "Brunet, Trahay and Denis, A Sampling-based Approach for Communication Libraries Auto-tuning, Cluster "
                "2011, section IV",
                {},
                {}};
  Panel panel{.title = "from which size, in bytes",
              .rows_are = "network",
              .unit = "bytes",
              .y_title = "limit",
              .chart = Chart::kNone};
  panel.series = {"two pieces as they are", "rendezvous", "two packets apart", "split", "split reaches of the sum"};
  constexpr double kKb = 1024;
  panel.rows.push_back(paper_row("jack (X5650, ConnectX2 QDR)", {8, 0, ""}, none(), none(), none(), none()));
  panel.rows.push_back(
      paper_row("genepi (E5420, ConnectX DDR)", {4 * kKb, 0, ""}, {64 * kKb, 0, ""}, none(), none(), none()));
  panel.rows.push_back(paper_row("joe (X5460, ConnectX DDR)", {49, 0, ""}, {0, 0, "< 32768"}, none(), none(), none()));
  panel.rows.push_back(paper_row("joe, with Myri-10G", none(), none(), none(), {12 * kKb, 0, ""}, {0, 0, "98 %"}));
  panel.rows.push_back(
      paper_row("infini (Opteron 265, InfiniHost III)", none(), {17 * kKb, 0, ""}, {26 * kKb, 0, ""}, none(), none()));
  const std::string path = default_network_path();
  if (::access(path.c_str(), R_OK) != 0) {
    figure.notes.push_back("Ours: not measured, no network of this machine was sampled (smelt network).");
  } else {
    const NetworkProfile profile = read_network_profile(path);
    for (const NetworkRail& rail : profile.rails) {
      const RailLimits limits = limits_of(rail.rail, profile.copy);
      panel.rows.push_back({.kind = Kind::kMeasured,
                            .name = fmt::format("{} ({})", rail.interface, rail.driver.empty() ? "-" : rail.driver),
                            .cells = {limit_cell(limits.gathered), limit_cell(limits.rendezvous),
                                      limit_cell(limits.apart), none(), none()}});
    }
    if (profile.rails.size() > 1)
      panel.rows.push_back({.kind = Kind::kPredicted,
                            .name = "all rails",
                            .cells = {none(), none(), none(), limit_cell(split_from(profile)), of_the_sum(profile)}});
  }
  figure.panels.push_back(panel);
  figure.notes.push_back(
      "Theirs were Myrinet and InfiniBand with NewMadeleine's own drivers, ours is what libfabric reaches here: the limits "
      "say how much they differ, not which is better. What our split carries: bench/rails/rails_compare.");
  return figure;
}

}  // namespace smelt::paper
