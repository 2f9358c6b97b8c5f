// OSDI'16, Figures 8 and 9: collective operations over message-passing trees. Figure 8 has every topology on three
// machines, Figure 9 how many times as fast Smelt is as the best static topology, on all eleven.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "bench/lab/paper/figures.h"
#include "bench/lab/paper/price.h"
#include "bench/lab/paper/timing.h"

namespace smelt::paper {
namespace {

Panel bars(const std::string& title, const char* unit, const char* what) {
  Panel panel{.title = title, .rows_are = "operation", .unit = unit, .y_title = what};
  for (const Topology& topology : kTopologies) panel.series.push_back(topology.name);
  return panel;
}

constexpr const char* kClosed =
    "A clock sees closed loops only: a broadcast is answered by everybody straight to the root, a reduction released "
    "by one line; the figures are for the whole. Two-phase commit: question, votes, outcome.";

// The times of all topologies on this machine, by work.
std::vector<std::vector<Timed>> time_topologies(const PaperMachine& machine, const FigureSettings& settings) {
  std::vector<std::vector<Timed>> out;
  for (const Work work : kAllWork) {
    Pricing pricing(machine.file, machine.members, std::size(kTopologies));
    std::vector<Schedule> schedules;
    for (const Topology& topology : kTopologies) schedules.push_back(pricing.closed(work, topology.pattern));
    out.push_back(time_schedules(cpus_of(machine), schedules, effort_of(settings.quick)));
  }
  return out;
}

Panel measured_panel(const PaperMachine& machine, const FigureSettings& settings) {
  Panel panel = bars(fmt::format("This machine, {} cores, measured", machine.members.size()), "ns", "time");
  const auto times = time_topologies(machine, settings);
  for (size_t w = 0; w < times.size(); ++w) {
    FigureRow row{.kind = Origin::kMeasured, .name = work_name(kAllWork[w]), .hop_ns = times[w][0].hop_ns};
    for (const Timed& timed : times[w]) row.cells.push_back(cell_of(timed));
    panel.rows.push_back(row);
  }
  panel.notes.push_back(kClosed);
  if (machine.members.size() == 2)
    panel.notes.push_back("Between two participants all trees are the same one: what differs here is noise.");
  return panel;
}

Panel predicted_panel(const std::string& name, const FigureSettings& settings) {
  const PaperMachine machine = paper_machine(name, Occupancy::kCores, settings.machines);
  Pricing pricing(machine.file, machine.members);
  Panel panel = bars(fmt::format("{}, {} cores, predicted", name, machine.members.size()), machine.unit(), "time");
  for (const Work work : kAllWork) {
    FigureRow row{.kind = Origin::kPredicted, .name = work_name(work)};
    for (const Topology& topology : kTopologies) row.cells.push_back({pricing.makespan(work, topology.pattern), 0, ""});
    panel.rows.push_back(row);
  }
  panel.notes.push_back("Costs: " + machine.stand_in + ".");
  return panel;
}

// How many times as fast as the best static tree the paper's adaptive tree is, and what we would use.
struct Speedup {
  double adaptive = 0, best = 0;
};
Speedup speedup_of(const std::vector<double>& times) {
  double least = std::numeric_limits<double>::infinity(), adaptive = 0, best = 0;
  for (size_t t = 0; t < times.size(); ++t) {
    if (kTopologies[t].is_static) least = std::min(least, times[t]);
    if (std::string(kTopologies[t].pattern) == "adaptive-sorted") adaptive = times[t];
    if (std::string(kTopologies[t].pattern) == "best") best = times[t];
  }
  return {least / adaptive, least / best};
}

}  // namespace

Figure osdi_figure_8(const FigureSettings& settings) {
  Figure figure{"OSDI'16, Figure 8: collective operations by tree topology",
                fmt::format("{}, section 5.1: plot only. It says: sequential is much the slowest, no static topology "
                            "is best on all machines, cluster is slow on I KNC, Smelt good everywhere.",
                            kOsdi),
                {},
                {}};
  const PaperMachine here = this_machine(Occupancy::kCores);
  if (here.members.size() > 1)
    figure.panels.push_back(measured_panel(here, settings));
  else
    figure.notes.push_back(kOneCpu);
  for (const char* name : {"A IL 4x4x2", "I SB 4x8x2", "I KNC 1x60x4"})
    figure.panels.push_back(predicted_panel(name, settings));
  return figure;
}

Figure osdi_figure_9(const FigureSettings& settings) {
  Figure figure{"OSDI'16, Figure 9: Smelt against the best static tree",
                fmt::format("{}, section 5.1: a heat map whose single figures the text does not have", kOsdi),
                {},
                {}};
  Panel adaptive{.title = "The paper's adaptive tree (adaptive-sorted)",
                 .rows_are = "machine",
                 .unit = "times as fast",
                 .y_title = "best static tree's time / Smelt's",
                 .chart = Chart::kHeat};
  for (const Work work : kAllWork) adaptive.series.push_back(work_name(work));
  Panel best = adaptive;
  best.title = "What this library uses there (best)";
  const auto put = [&](Origin kind, const std::string& name, const std::vector<std::vector<double>>& times,
                       double hop) {
    FigureRow of_adaptive{.kind = kind, .name = name, .hop_ns = hop}, of_best = of_adaptive;
    for (const std::vector<double>& each : times) {
      const Speedup speedup = speedup_of(each);
      of_adaptive.cells.push_back({speedup.adaptive, 0, ""});
      of_best.cells.push_back({speedup.best, 0, ""});
    }
    adaptive.rows.push_back(of_adaptive);
    best.rows.push_back(of_best);
  };
  const PaperMachine here = this_machine(Occupancy::kCores);
  if (here.members.size() > 1) {
    std::vector<std::vector<double>> times;
    double hop = 0;
    for (const std::vector<Timed>& work : time_topologies(here, settings)) {
      times.emplace_back();
      for (const Timed& timed : work) times.back().push_back(timed.ns);
      hop = work[0].hop_ns;
    }
    put(Origin::kMeasured, here.name, times, hop);
  } else {
    figure.notes.push_back(kOneCpu);
  }
  for (const std::string& name : osdi_machines()) {
    const PaperMachine machine = paper_machine(name, Occupancy::kCores, settings.machines);
    Pricing pricing(machine.file, machine.members);
    std::vector<std::vector<double>> times;
    for (const Work work : kAllWork) {
      times.emplace_back();
      for (const Topology& topology : kTopologies) times.back().push_back(pricing.makespan(work, topology.pattern));
    }
    put(Origin::kPredicted, name, times, 0);
    figure.notes.push_back(fmt::format("{}: {}.", name, machine.stand_in));
  }
  Panel paper{.title = "What the paper's text says",
              .rows_are = "machines",
              .unit = "times as fast",
              .y_title = "Smelt against the best static tree",
              .chart = Chart::kNone,
              .series = {"mean", "at most"}};
  paper.rows = {{Origin::kPaper, "all eleven", {{1.16, 0, ""}, {1.53, 0, ""}}, 0, 0},
                {Origin::kPaper, "A SH 4x4x1, the most of AMD's", {{}, {1.24, 0, ""}}, 0, 0},
                {Origin::kPaper, "I NL 4x8x2, the most of Intel's", {{}, {1.53, 0, ""}}, 0, 0}};
  figure.panels = {adaptive, best, paper};
  return figure;
}

}  // namespace smelt::paper
