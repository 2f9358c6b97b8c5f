// Cluster'11, figures 4 to 21: the limits that follow from sampled networks, and what splitting reaches. The figures
// are not in the text that we have; the numbers that it says are. Ours are those of the network profile of this
// machine.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "bench/lab/paper/figures.h"
#include "profile/text/error.h"
#include "rails/network/profile.h"

namespace smelt::paper {
namespace {

Cell none() { return {0, 0, "-"}; }

Cell limit_cell(uint64_t bytes) {
  if (bytes == 0) return {0, 0, "always"};
  if (bytes == UINT64_MAX) return {0, 0, "never"};
  return {static_cast<double>(bytes), 0, ""};
}

FigureRow paper_row(const char* name, Cell pieces, Cell rendezvous, Cell packets, Cell split, Cell sum) {
  return {.kind = Origin::kPaper, .name = name, .cells = {pieces, rendezvous, packets, split, sum}};
}

// MB/s of a 16 MiB message, by its predicted time.
double bandwidth_of(double us) { return static_cast<double>(kLongestRailSample) / us; }

double split_us(const IdleRails& idle) {
  RailSplit split;
  return choose_split(idle.now.data(), idle.count(), kLongestRailSample, &split) == 0 ? split.finish_us : INFINITY;
}

double sum_of_rails(const IdleRails& idle) {
  double sum = 0;
  for (const RailCurve& curve : idle.curves) sum += bandwidth_of(rail_time(curve, kLongestRailSample));
  return sum;
}

Cell percent_of_sum(const IdleRails& idle, double us) { return {100 * bandwidth_of(us) / sum_of_rails(idle), 0, ""}; }

Panel limits_panel() {
  Panel panel{.title = "from which size, in bytes",
              .rows_are = "network",
              .unit = "bytes",
              .y_title = "limit",
              .chart = Chart::kNone};
  panel.series = {"two pieces as they are (4-8)", "rendezvous (9-13)", "two packets apart (14-18)", "split (19)",
                  "split reaches, % of the sum (20)"};
  constexpr double kKb = 1024;
  panel.rows.push_back(paper_row("jack (X5650, ConnectX2 QDR)", {8, 0, ""}, none(), none(), none(), none()));
  panel.rows.push_back(
      paper_row("genepi (E5420, ConnectX DDR)", {4 * kKb, 0, ""}, {64 * kKb, 0, ""}, none(), none(), none()));
  panel.rows.push_back(paper_row("joe (X5460, ConnectX DDR)", {49, 0, ""}, {0, 0, "< 32768"}, none(), none(), none()));
  panel.rows.push_back(paper_row("joe, with Myri-10G", none(), none(), none(), {12 * kKb, 0, ""}, {98, 0, ""}));
  panel.rows.push_back(
      paper_row("infini (Opteron 265, InfiniHost III)", none(), {17 * kKb, 0, ""}, {26 * kKb, 0, ""}, none(), none()));
  panel.rows.push_back(
      paper_row("Myrinet (as they took it from elsewhere)", none(), {16 * kKb, 0, ""}, none(), none(), none()));
  return panel;
}

void add_limits(const NetworkProfile& profile, const IdleRails& idle, Panel* panel) {
  for (const NetworkRail& rail : profile.rails) {
    const RailLimits limits = limits_of(rail.rail, profile.copy);
    panel->rows.push_back({.kind = Origin::kMeasured,
                           .name = fmt::format("{} ({})", rail.interface, rail.driver.empty() ? "-" : rail.driver),
                           .cells = {limit_cell(limits.gathered), limit_cell(limits.rendezvous),
                                     limit_cell(limits.apart), none(), none()}});
  }
  if (idle.count() > 1)
    panel->rows.push_back({.kind = Origin::kPredicted,
                           .name = "all rails",
                           .cells = {none(), none(), none(), limit_cell(split_from(idle.now.data(), idle.count())),
                                     percent_of_sum(idle, split_us(idle))}});
}

// The cost of another network's limit (figures 5, 10, 11): the longer time over the shorter.
Panel costs_panel() {
  Panel panel{.title = "longer by, in %, of the worse way",
              .rows_are = "network",
              .unit = "%",
              .y_title = "longer",
              .chart = Chart::kNone};
  panel.series = {"copied or as pieces, 16 KiB (5)", "eager or rendezvous, 17 KiB (10)",
                  "eager or rendezvous, 32 KiB (11)"};
  panel.rows.push_back({.kind = Origin::kPaper, .name = "genepi", .cells = {{17, 0, ""}, {21, 0, ""}, none()}});
  panel.rows.push_back({.kind = Origin::kPaper, .name = "joe", .cells = {none(), none(), {84, 0, ""}}});
  return panel;
}

void add_costs(const NetworkProfile& profile, Panel* panel) {
  const auto worse = [](double a, double b) { return Cell{100 * (std::max(a, b) / std::min(a, b) - 1), 0, ""}; };
  for (const NetworkRail& rail : profile.rails) {
    const RailCurve* method = rail.rail.method;
    const auto announced = [&](uint64_t bytes) {
      return worse(rail_time(method[kRailEager], bytes), rail_time(method[kRailRendezvous], bytes));
    };
    constexpr uint64_t kPiece = 16 << 10;
    panel->rows.push_back({.kind = Origin::kMeasured,
                           .name = rail.interface,
                           .cells = {worse(rail_time(method[kRailEager], kPiece) + rail_time(profile.copy, kPiece),
                                           rail_time(method[kRailGathered], kPiece)),
                                     announced(17 << 10), announced(32 << 10)}});
  }
}

// The throughput of two networks together (figures 20, 21), of the sum of both alone.
Panel together_panel() {
  Panel panel{.title = "a message of 16 MiB, of the sum of the single networks",
              .rows_are = "networks",
              .unit = "%",
              .y_title = "of the sum",
              .chart = Chart::kNone};
  panel.series = {"equal parts (21)", "equal finish (20, 21)"};
  panel.rows.push_back({.kind = Origin::kPaper, .name = "joe: InfiniBand, Myrinet", .cells = {none(), {98, 0, ""}}});
  panel.rows.push_back({.kind = Origin::kPaper,
                        .name = "jack: InfiniBand QDR, Myrinet",
                        .cells = {{0, 0, "< the faster alone"}, {100, 0, ""}}});
  return panel;
}

void add_together(const IdleRails& idle, Panel* panel) {
  if (idle.count() < 2) return;
  double halves = 0;
  for (const RailCurve& curve : idle.curves)
    halves = std::max(halves, rail_time(curve, kLongestRailSample / idle.count()));
  panel->rows.push_back({.kind = Origin::kPredicted,
                         .name = "ours",
                         .cells = {percent_of_sum(idle, halves), percent_of_sum(idle, split_us(idle))}});
}

}  // namespace

Figure cluster_limits(const FigureSettings& settings) {
  Figure figure{"Cluster'11, figures 4 to 21: limits by sampling",
                "Brunet, Trahay, Denis and Namyst, A Sampling-based Approach for Communication Libraries Auto-tuning, "
                "Cluster 2011, section IV",
                {},
                {}};
  Panel limits = limits_panel(), costs = costs_panel(), together = together_panel();
  const std::string path = settings.network.empty() ? default_network_path() : settings.network;
  if (::access(path.c_str(), R_OK) != 0) {
    figure.notes.push_back("Ours: not measured, no network of this machine was sampled (smelt network).");
  } else {
    const NetworkProfile profile = read_network_profile(path);
    const IdleRails idle(profile);
    add_limits(profile, idle, &limits);
    add_costs(profile, &costs);
    add_together(idle, &together);
  }
  figure.panels = {limits, costs, together};
  figure.notes.push_back(
      "In brackets the paper's figures; it has no tables. - where its text has no number: of two packets "
      "it says that their limit is large on InfiniBand and low on Myrinet.");
  figure.notes.push_back(
      "Theirs were Myrinet and InfiniBand with NewMadeleine's own drivers, ours is what libfabric reaches here: the "
      "limits say how much they differ, not which is better. What our split carries: rails/bench/rails_compare.");
  return figure;
}

}  // namespace smelt::paper
