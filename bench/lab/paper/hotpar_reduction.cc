// HotPar'09, Figures 3 to 6 and Table 2: reductions by size, flat and over trees, loose and strict. Its point: how a
// collective is synchronised decides which algorithm is best for it, so it is to be tuned, too.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "bench/lab/paper/figures.h"
#include "bench/lab/paper/paper_data.h"
#include "bench/lab/paper/radices.h"
#include "bench/lab/paper/vector_reductions.h"

namespace smelt::paper {
namespace {

constexpr const char* kPriced =
    "A vector keeps its reader recv_busy for each of its cache lines; additions cost nothing. Strict: a reduction, "
    "then the best barrier; loose: what keeps the busiest participant.";

std::vector<size_t> sizes(bool quick) {
  if (quick) return {1, 32, 1024};
  std::vector<size_t> out;
  for (size_t words = 1; words <= 8192; words *= 2) out.push_back(words);
  return out;
}

// Strict and loose, flat and over the best tree.
struct Four {
  Timed strict_flat, strict_tree, loose_flat, loose_tree;
};

std::vector<Contestant> contestants_for(uint32_t participants) {
  std::vector<Contestant> out{{"sequential", true}, {"sequential", false}};
  for (const bool strict : {true, false})
    for (const uint32_t radix : radices_for(participants)) out.push_back({fmt::format("knomial:{}", radix), strict});
  return out;
}

Four best_of(const std::vector<Contestant>& contestants, const std::vector<Timed>& times) {
  Four out{times[0], {}, times[1], {}};
  for (size_t k = 2; k < times.size(); ++k) {
    Timed& best = contestants[k].strict ? out.strict_tree : out.loose_tree;
    if (best.ns == 0 || times[k].ns < best.ns) best = times[k];
  }
  return out;
}

// The whole sweep on this machine, by size.
std::map<size_t, Four> measure(const std::vector<uint32_t>& cpus, bool quick) {
  const auto contestants = contestants_for(static_cast<uint32_t>(cpus.size()));
  std::map<size_t, Four> out;
  for (const size_t words : sizes(quick))
    out[words] =
        best_of(contestants, time_reductions(cpus, static_cast<uint32_t>(cpus.size()), contestants, words, quick));
  return out;
}

std::map<size_t, Four> price(const PaperMachine& machine, bool quick) {
  const auto contestants = contestants_for(static_cast<uint32_t>(machine.members.size()));
  std::map<size_t, Four> out;
  for (const size_t words : sizes(quick)) {
    std::vector<Timed> prices;
    for (const Contestant& each : contestants) prices.push_back({price_reduction(machine, each, words), 0, 0});
    out[words] = best_of(contestants, prices);
  }
  return out;
}

Panel lines(const std::string& title, const char* unit, std::vector<std::string> series) {
  return {.title = title,
          .rows_are = "doubles in the vector",
          .unit = unit,
          .y_title = "time of a reduction",
          .chart = Chart::kLines,
          .log_x = true,
          .log_y = true,
          .series = std::move(series)};
}

FigureRow row_of(Origin kind, size_t words, double hop_ns) {
  return {.kind = kind, .name = std::to_string(words), .hop_ns = hop_ns, .x = static_cast<double>(words)};
}

Panel all_four(const std::string& title, const char* unit, Origin kind, const std::map<size_t, Four>& of) {
  Panel panel = lines(title, unit, {"Strict Flat", "Strict Tree", "Loose Flat", "Loose Tree"});
  for (const auto& [words, four] : of) {
    FigureRow row = row_of(kind, words, four.strict_flat.hop_ns);
    for (const Timed& each : {four.strict_flat, four.strict_tree, four.loose_flat, four.loose_tree})
      row.cells.push_back(cell_of(each));
    panel.rows.push_back(row);
  }
  return panel;
}

// Where the cheapest changes from flat to a tree and stays.
std::string crossing(const std::map<size_t, Four>& of, bool strict) {
  std::string from = "nowhere";
  for (auto each = of.rbegin(); each != of.rend(); ++each) {
    const Four& four = each->second;
    if (strict ? four.strict_tree.ns >= four.strict_flat.ns : four.loose_tree.ns >= four.loose_flat.ns) break;
    from = std::next(each) == of.rend() ? "at all sizes" : fmt::format("from {} doubles on", each->first);
  }
  return from;
}

Figure selection(int number, const char* name, const char* says, const FigureSettings& settings) {
  Figure figure{fmt::format("HotPar'09, Figure {}: the best algorithm on {}", number, name),
                fmt::format("{}, section 4: plot only. It says: {}", kHotPar, says),
                {},
                {}};
  const std::vector<uint32_t> cpus = cpus_of(this_machine(Occupancy::kThreads));
  if (cpus.size() > 1) {
    Panel panel = all_four(fmt::format("This machine, {} threads, measured", cpus.size()), "ns", Origin::kMeasured,
                           measure(cpus, settings.quick));
    if (cpus.size() == 2) panel.notes.push_back("Of two participants a tree is flat.");
    figure.panels.push_back(panel);
    Panel group = lines(fmt::format("This machine, {} processes, smelt_group_reduce, measured", cpus.size()), "ns",
                        {"Strict", "Loose"});
    const auto times = time_group_reductions(cpus, sizes(settings.quick), settings.quick);
    for (size_t s = 0; s < times.size(); ++s) {
      FigureRow row = row_of(Origin::kMeasured, sizes(settings.quick)[s], times[s][0].hop_ns);
      row.cells = {cell_of(times[s][1]), cell_of(times[s][0])};
      group.rows.push_back(row);
    }
    group.notes.push_back("smelt_group chooses its methods itself; the host says which synchronisation it will have.");
    figure.panels.push_back(group);
  } else {
    figure.notes.push_back(kOneCpu);
  }
  const PaperMachine machine = paper_machine(name, Occupancy::kThreads, settings.machines);
  const std::map<size_t, Four> prices = price(machine, settings.quick);
  Panel panel = all_four(fmt::format("{}, {} threads, predicted", name, machine.members.size()), machine.unit(),
                         Origin::kPredicted, prices);
  panel.notes.push_back(
      fmt::format("Trees are cheaper: strict {}; loose {}.", crossing(prices, true), crossing(prices, false)));
  panel.notes.push_back(kPriced);
  panel.notes.push_back("Costs: " + machine.stand_in + ".");
  figure.panels.push_back(panel);
  return figure;
}

}  // namespace

Figure hotpar_figure_3(const FigureSettings& settings) {
  Figure figure{"HotPar'09, Figure 3: reductions on Niagara2, loose and strict",
                fmt::format("{}, section 3: plot only. It says: loose is 3.1 times as fast as strict in the median, 4 "
                            "times at most.",
                            kHotPar),
                {},
                {}};
  const auto put = [&](const std::string& title, const char* unit, Origin kind, const std::map<size_t, Four>& of,
                       const std::string& note) {
    Panel panel = lines(title, unit, {"Strict", "Loose"});
    std::vector<double> ratios;
    for (const auto& [words, four] : of) {
      const auto less = [](const Timed& a, const Timed& b) { return a.ns < b.ns ? a : b; };
      const Timed strict = less(four.strict_flat, four.strict_tree), loose = less(four.loose_flat, four.loose_tree);
      FigureRow row = row_of(kind, words, strict.hop_ns);
      row.cells = {cell_of(strict), cell_of(loose)};
      panel.rows.push_back(row);
      ratios.push_back(strict.ns / loose.ns);
    }
    std::sort(ratios.begin(), ratios.end());
    panel.notes.push_back(fmt::format("Strict over loose: {:.1f} in the median, {:.1f} at most.",
                                      ratios[ratios.size() / 2], ratios.back()));
    panel.notes.push_back(note);
    figure.panels.push_back(panel);
  };
  const std::vector<uint32_t> cpus = cpus_of(this_machine(Occupancy::kThreads));
  if (cpus.size() > 1)
    put(fmt::format("This machine, {} threads, measured", cpus.size()), "ns", Origin::kMeasured,
        measure(cpus, settings.quick), "Of flat and the trees the quickest.");
  else
    figure.notes.push_back(kOneCpu);
  const PaperMachine machine = paper_machine("Niagara2", Occupancy::kThreads, settings.machines);
  put("Niagara2, 256 threads, predicted", machine.unit(), Origin::kPredicted, price(machine, settings.quick), kPriced);
  Panel paper{.title = "The paper's",
              .rows_are = "over the sizes",
              .unit = "times",
              .y_title = "strict over loose",
              .chart = Chart::kNone,
              .series = {"Niagara2"}};
  paper.rows = {{Origin::kPaper, "median", {{3.1, 0, ""}}, 0, 0}, {Origin::kPaper, "most", {{4, 0, ""}}, 0, 0}};
  figure.panels.push_back(paper);
  return figure;
}

Figure hotpar_figure_4(const FigureSettings& settings) {
  return selection(4, "Barcelona",
                   "flat first, trees from 8 doubles on when loose and from 32 when strict; the wrong switch-point "
                   "costs a factor of two to three.",
                   settings);
}

Figure hotpar_figure_5(const FigureSettings& settings) {
  return selection(5, "Niagara2", "trees at all sizes, for both synchronisations.", settings);
}

Figure hotpar_figure_6(const FigureSettings& settings) {
  return selection(6, "Clovertown", "flat at all sizes: eight threads are too few for trees to pay.", settings);
}

Figure hotpar_table_2(const FigureSettings& settings) {
  constexpr size_t kWords = 1024;
  Figure figure{"HotPar'09, Table 2: reductions of 8 kB by radix", fmt::format("{}, Table 2", kHotPar), {}, {}};
  const auto panel_of = [](const std::string& title, std::vector<std::string> series) {
    return Panel{.title = title,
                 .rows_are = "tree radix",
                 .unit = "µs",
                 .y_title = "time of a reduction",
                 .chart = Chart::kBars,
                 .log_y = true,
                 .series = std::move(series)};
  };
  const std::vector<uint32_t> cpus = cpus_of(this_machine(Occupancy::kThreads));
  if (cpus.size() > 1) {
    const auto count = static_cast<uint32_t>(cpus.size());
    // With few CPUs a crowd, too: there radices differ.
    std::vector<uint32_t> teams{count};
    constexpr uint32_t kCrowd = 8;
    if (count < kCrowd) teams.push_back(kCrowd);
    for (const uint32_t threads : teams) {
      Panel panel =
          panel_of(fmt::format("This machine, {} threads on {} CPUs, measured", threads, count), {"Loose", "Strict"});
      std::vector<Contestant> contestants;
      for (const uint32_t radix : radices_for(threads))
        for (const bool strict : {false, true}) contestants.push_back({fmt::format("knomial:{}", radix), strict});
      const auto times = time_reductions(cpus, threads, contestants, kWords, settings.quick);
      for (size_t k = 0; k < times.size(); k += 2) {
        FigureRow row{
            .kind = Origin::kMeasured, .name = std::to_string(radices_for(threads)[k / 2]), .hop_ns = times[k].hop_ns};
        for (const Timed& each : {times[k], times[k + 1]}) row.cells.push_back({each.ns / 1000, each.spread / 2, ""});
        panel.rows.push_back(row);
      }
      if (threads > count) panel.notes.push_back("More threads than CPUs: they yield while they wait.");
      figure.panels.push_back(panel);
    }
  } else {
    figure.notes.push_back(kOneCpu);
  }
  const std::vector<std::string> columns{"Barcelona Loose", "Barcelona Strict", "Niagara2 Loose", "Niagara2 Strict"};
  Panel predicted = panel_of("The paper's machines, predicted", columns);
  Panel paper = panel_of("The paper's", columns);
  // Typical costs are in ns; a matrix file's cycles would need a clock.
  const PaperMachine machines[] = {paper_machine("Barcelona", Occupancy::kThreads, ""),
                                   paper_machine("Niagara2", Occupancy::kThreads, "")};
  for (const PaperRadix& each : kPaperRadices) {
    FigureRow row{.kind = Origin::kPredicted, .name = std::to_string(each.radix)};
    for (const PaperMachine& machine : machines)
      for (const bool strict : {false, true})
        row.cells.push_back(
            {price_reduction(machine, {fmt::format("knomial:{}", each.radix), strict}, kWords) / 1000, 0, ""});
    predicted.rows.push_back(row);
    row.kind = Origin::kPaper;
    row.cells.clear();
    for (const double us : {each.barcelona_loose, each.barcelona_strict, each.niagara_loose, each.niagara_strict})
      row.cells.push_back({us, 0, ""});
    paper.rows.push_back(row);
  }
  predicted.notes = {kPriced, fmt::format("Costs: {}.", machines[0].stand_in)};
  figure.panels.push_back(predicted);
  figure.panels.push_back(paper);
  return figure;
}

}  // namespace smelt::paper
