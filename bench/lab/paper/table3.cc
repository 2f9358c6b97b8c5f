// OSDI'16, Table 3: barriers in a tight loop, Smelt's (a reduction, then a broadcast over its tree) against
// dissemination barriers that were tuned for shared memory.
#include <fmt/format.h>
#include <smelt/barrier.h>

#include <memory>

#include "bench/lab/paper/figures.h"
#include "bench/lab/paper/paper_data.h"
#include "bench/lab/paper/price.h"
#include "bench/lab/paper/smelt_barrier.h"
#include "bench/lab/paper/timing.h"
#include "library/bench/peers.h"

namespace smelt::paper {
namespace {

enum Series { kParlib, kDissemination, kMcsTree, kPthread, kSmeltTree, kSmeltBest, kSeries };

Panel table(const std::string& title, const char* unit) {
  return {.title = title,
          .rows_are = "machine, threads",
          .unit = unit,
          .y_title = "time of a barrier",
          .series = {"parlibMCS", "dissemination", "MCS tree (1991)", "pthread", "Smelt (the paper's tree)",
                     "Smelt (best here)"}};
}

template <typename Barrier>
Lap lap_of(const std::vector<uint32_t>& cpus, uint32_t threads, std::shared_ptr<Barrier> barrier) {
  return [=, &cpus](uint32_t rounds) {
    return time_threads(
        cpus, threads, rounds, [&](uint32_t thread) { barrier->wait(thread); }, [](uint32_t) {});
  };
}

FigureRow measure(const std::vector<uint32_t>& cpus, uint32_t threads, bool quick) {
  const bool crowded = threads > cpus.size();
  const std::vector<Lap> laps = {
      lap_of(cpus, threads, std::make_shared<bench::DisseminationBarrier>(threads, crowded)),
      lap_of(cpus, threads, std::make_shared<bench::McsBarrier>(threads, crowded)),
      lap_of(cpus, threads, std::make_shared<bench::PthreadBarrier>(threads, crowded)),
      lap_of(cpus, threads, std::make_shared<SmeltBarrier>(threads, cpus, "adaptive-sorted")),
      lap_of(cpus, threads, std::make_shared<SmeltBarrier>(threads, cpus, "best"))};
  constexpr int kPlaces[] = {kDissemination, kMcsTree, kPthread, kSmeltTree, kSmeltBest};
  const std::vector<Timed> times = time_laps(cpus, laps, effort_of(quick));
  FigureRow row{.kind = Origin::kMeasured, .cells = std::vector<Cell>(kSeries), .hop_ns = times[0].hop_ns};
  row.name = fmt::format("this machine, {} on {} CPUs", threads, cpus.size());
  for (size_t k = 0; k < times.size(); ++k) row.cells[static_cast<size_t>(kPlaces[k])] = cell_of(times[k]);
  return row;
}

}  // namespace

Figure osdi_table_3(const FigureSettings& settings) {
  Figure figure{"OSDI'16, Table 3: barriers in a tight loop",
                fmt::format("{}, Table 3: median of 100 calls, standard error in brackets there", kOsdi),
                {},
                {}};
  const std::vector<uint32_t> cpus = cpus_of(this_machine(Occupancy::kThreads));
  if (cpus.size() > 1) {
    const auto count = static_cast<uint32_t>(cpus.size());
    Panel panel = table("This machine, measured", "ns");
    panel.log_y = true;  // a system call among messages
    if (count > 2) panel.rows.push_back(measure(cpus, 2, settings.quick));
    panel.rows.push_back(measure(cpus, count, settings.quick));
    panel.notes.push_back("parlib's own barrier is not here; its schedule is that of the dissemination barrier.");
    figure.panels.push_back(panel);
  } else {
    figure.notes.push_back(kOneCpu);
  }
  for (const char* name : {"I SB 4x8x2", "I NL 4x8x2", "A IL 4x4x2"}) {
    Panel* panel = nullptr;
    for (const Occupancy use : {Occupancy::kCores, Occupancy::kThreads}) {
      const PaperMachine machine = paper_machine(name, use, settings.machines);
      if (!panel) {
        figure.panels.push_back(table(fmt::format("{}, predicted", name), machine.unit()));
        panel = &figure.panels.back();
        panel->notes.push_back("Costs: " + machine.stand_in + ".");
      }
      Pricing pricing(machine.file, machine.members);
      FigureRow row{.kind = Origin::kPredicted,
                    .name = fmt::format("{}, {}", name, machine.members.size()),
                    .cells = std::vector<Cell>(kSeries)};
      row.cells[kParlib].value = row.cells[kDissemination].value = pricing.in_a_loop("dissemination:1");
      row.cells[kSmeltTree].value = pricing.in_a_loop("adaptive-sorted");
      row.cells[kSmeltBest].value = pricing.in_a_loop("best");
      panel->rows.push_back(row);
    }
  }
  Panel paper = table("The paper's", "cycles");
  for (const PaperBarrier& each : kPaperTable3) {
    FigureRow row{.kind = Origin::kPaper,
                  .name = fmt::format("{}, {}", each.machine, each.threads),
                  .cells = std::vector<Cell>(kSeries)};
    row.cells[kParlib] = {each.parlib.value, each.parlib.error / each.parlib.value, ""};
    row.cells[kDissemination] = {each.dissemination.value, each.dissemination.error / each.dissemination.value, ""};
    row.cells[kSmeltTree] = {each.smelt.value, each.smelt.error / each.smelt.value, ""};
    paper.rows.push_back(row);
  }
  paper.notes.push_back("±: the standard error, of the median.");
  figure.panels.push_back(paper);
  return figure;
}

}  // namespace smelt::paper
