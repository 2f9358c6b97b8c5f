// OSDI'16, Figure 10: multicasts. The same operations among some of the cores only, which are taken from the NUMA nodes
// in turn; the best topology changes with their number.
#include <fmt/format.h>

#include <limits>

#include "bench/lab/paper/figures.h"
#include "bench/lab/paper/price.h"
#include "bench/lab/paper/timing.h"

namespace smelt::paper {
namespace {

Panel lines(const std::string& title, const char* unit) {
  Panel panel{.title = title, .rows_are = "cores", .unit = unit, .y_title = "time", .chart = Chart::kLines};
  for (const Topology& topology : kTopologies) panel.series.push_back(topology.name);
  return panel;
}

// As the paper's labels: how many times as fast Smelt is as the best static topology, and that one's name.
std::string label(const FigureRow& row) {
  double least = std::numeric_limits<double>::infinity();
  const char* whose = "";
  double adaptive = 0;
  for (size_t t = 0; t < std::size(kTopologies); ++t) {
    if (kTopologies[t].is_static && row.cells[t].value < least) least = row.cells[t].value, whose = kTopologies[t].name;
    if (std::string(kTopologies[t].pattern) == "adaptive-sorted") adaptive = row.cells[t].value;
  }
  return fmt::format("{}: {:.2f} {}", row.name, least / adaptive, whose);
}

void add_labels(Panel* panel) {
  std::string all;
  for (const FigureRow& row : panel->rows) all += (all.empty() ? "" : ", ") + label(row);
  panel->notes.push_back("AT against the best static topology, by cores: " + all + ".");
}

Panel predicted(const char* name, Work work, const FigureSettings& settings) {
  const PaperMachine machine = paper_machine(name, Occupancy::kCores, settings.machines);
  Panel panel = lines(fmt::format("{}, {}, predicted", name, work_name(work)), machine.unit());
  for (size_t count = 2; count <= machine.members.size(); count += 2) {
    Pricing pricing(machine.file, round_robin(machine, count));
    FigureRow row{.kind = Origin::kPredicted, .name = std::to_string(count), .x = static_cast<double>(count)};
    for (const Topology& topology : kTopologies) row.cells.push_back({pricing.makespan(work, topology.pattern), 0, ""});
    panel.rows.push_back(row);
  }
  panel.notes.push_back("Costs: " + machine.stand_in + ".");
  add_labels(&panel);
  return panel;
}

Panel measured(const PaperMachine& machine, Work work, const FigureSettings& settings) {
  Panel panel = lines(fmt::format("This machine, {}, measured", work_name(work)), "ns");
  for (size_t count = 2; count <= machine.members.size(); count += count < 8 ? 1 : 4) {
    const std::vector<uint16_t> members = round_robin(machine, count);
    Pricing pricing(machine.file, members, std::size(kTopologies));
    std::vector<Schedule> schedules;
    std::vector<uint32_t> cpus;
    for (const uint16_t member : members) cpus.push_back(machine.file.cpus[member]);
    for (const Topology& topology : kTopologies) schedules.push_back(pricing.closed(work, topology.pattern));
    const std::vector<Timed> times = time_schedules(cpus, schedules, effort_of(settings.quick));
    FigureRow row{.kind = Origin::kMeasured,
                  .name = std::to_string(count),
                  .hop_ns = times[0].hop_ns,
                  .x = static_cast<double>(count)};
    for (const Timed& timed : times) row.cells.push_back(cell_of(timed));
    panel.rows.push_back(row);
  }
  panel.notes.push_back(work == Work::kBroadcast ? "Closed by everybody's answer straight to the root."
                                                 : "Closed by one release line.");
  add_labels(&panel);
  return panel;
}

}  // namespace

Figure osdi_figure_10(const FigureSettings& settings) {
  Figure figure{"OSDI'16, Figure 10: multicasts, cores taken from the NUMA nodes in turn",
                fmt::format("{}, section 5.2: plot only, but for three labels", kOsdi),
                {},
                {}};
  const PaperMachine here = this_machine(Occupancy::kCores);
  if (here.members.size() > 1)
    for (const Work work : {Work::kBroadcast, Work::kReduction})
      figure.panels.push_back(measured(here, work, settings));
  else
    figure.notes.push_back(kOneCpu);
  figure.panels.push_back(predicted("A IL 4x4x2", Work::kBroadcast, settings));
  figure.panels.push_back(predicted("A IS 4x6x1", Work::kReduction, settings));
  Panel paper{.title = "The paper's labels that its text names: reductions on A IS 4x6x1",
              .rows_are = "cores",
              .unit = "times as fast",
              .y_title = "Smelt against the best static topology",
              .chart = Chart::kNone};
  paper.series = {"Smelt"};
  paper.rows = {{Origin::kPaper, "12", {{1.25, 0, ""}}, 0, 12},
                {Origin::kPaper, "22", {{0.97, 0, ""}}, 0, 22},
                {Origin::kPaper, "24", {{1.02, 0, ""}}, 0, 24}};
  figure.panels.push_back(paper);
  return figure;
}

}  // namespace smelt::paper
