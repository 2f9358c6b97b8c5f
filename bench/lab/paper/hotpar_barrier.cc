// HotPar'09, Figure 2: barriers. The pthread library's, flat (everybody tells the root, the root everybody), and the
// best k-nomial tree.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "bench/lab/paper/figures.h"
#include "bench/lab/paper/price.h"
#include "bench/lab/paper/radices.h"
#include "bench/lab/paper/smelt_barrier.h"
#include "bench/lab/paper/timing.h"
#include "library/bench/peers.h"

namespace smelt::paper {
namespace {

Panel bars(const std::string& title, const char* unit) {
  return {.title = title,
          .rows_are = "machine",
          .unit = unit,
          .y_title = "time of a barrier",
          .log_y = true,
          .series = {"Pthread Lib", "Flat", "Tree (the best radix)"}};
}

template <typename Barrier>
Lap lap_of(const std::vector<uint32_t>& cpus, std::shared_ptr<Barrier> barrier) {
  return [=, &cpus](uint32_t rounds) {
    return time_threads(
        cpus, static_cast<uint32_t>(cpus.size()), rounds, [&](uint32_t thread) { barrier->wait(thread); },
        [](uint32_t) {});
  };
}

Panel measured(const std::vector<uint32_t>& cpus, bool quick) {
  const auto threads = static_cast<uint32_t>(cpus.size());
  const std::vector<uint32_t> radices = radices_for(threads);
  std::vector<Lap> laps = {lap_of(cpus, std::make_shared<bench::PthreadBarrier>(threads, false)),
                           lap_of(cpus, std::make_shared<SmeltBarrier>(threads, cpus, "sequential"))};
  for (const uint32_t radix : radices)
    laps.push_back(lap_of(cpus, std::make_shared<SmeltBarrier>(threads, cpus, fmt::format("knomial:{}", radix))));
  const std::vector<Timed> times = time_laps(cpus, laps, effort_of(quick));
  const auto best =
      std::min_element(times.begin() + 2, times.end(), [](const Timed& a, const Timed& b) { return a.ns < b.ns; });
  Panel panel = bars("This machine, measured", "ns");
  panel.rows.push_back({Origin::kMeasured,
                        fmt::format("this machine, {} threads", threads),
                        {cell_of(times[0]), cell_of(times[1]), cell_of(*best)},
                        times[0].hop_ns,
                        0});
  panel.notes.push_back(fmt::format("The best radix: {}.", radices[static_cast<size_t>(best - times.begin() - 2)]));
  return panel;
}

}  // namespace

Figure hotpar_figure_2(const FigureSettings& settings) {
  Figure figure{"HotPar'09, Figure 2: barriers",
                fmt::format("{}, section 2.2: plot only. It says: almost two orders of magnitude from Pthread Lib to "
                            "Flat, another one from Flat to Tree on the Niagara2.",
                            kHotPar),
                {},
                {}};
  const std::vector<uint32_t> cpus = cpus_of(this_machine(Occupancy::kThreads));
  if (cpus.size() > 1)
    figure.panels.push_back(measured(cpus, settings.quick));
  else
    figure.notes.push_back(kOneCpu);
  Panel panel = bars("The paper's machines, predicted", "ns");
  for (const char* name : {"Clovertown", "Barcelona", "Niagara2"}) {
    const PaperMachine machine = paper_machine(name, Occupancy::kThreads, "");
    Pricing pricing(machine.file, machine.members);
    double tree = 0;
    uint32_t best = 0;
    for (const uint32_t radix : radices_for(static_cast<uint32_t>(machine.members.size()))) {
      const double price = pricing.in_a_loop(fmt::format("knomial:{}", radix));
      if (best == 0 || price < tree) tree = price, best = radix;
    }
    panel.rows.push_back({Origin::kPredicted,
                          fmt::format("{}, {} threads", name, machine.members.size()),
                          {{}, {pricing.in_a_loop("sequential"), 0, ""}, {tree, 0, ""}},
                          0,
                          0});
    panel.notes.push_back(fmt::format("{}: {}; the best radix is {}.", name, machine.stand_in, best));
  }
  panel.notes.push_back("Pthread Lib: system calls have no price in the model.");
  figure.panels.push_back(panel);
  return figure;
}

}  // namespace smelt::paper
