// OSDI'16, Table 2: EPCC's OpenMP benchmarks with libgomp's barriers and with Smelt's, by epcc/compare.
#include <fmt/format.h>

#include <algorithm>

#include "bench/lab/paper/figures.h"
#include "bench/lab/paper/machines.h"
#include "bench/lab/paper/paper_data.h"
#include "bench/lab/paper/programs.h"

namespace smelt::paper {
namespace {

// How epcc/compare calls the paper's constructs; of those with an array the first size.
constexpr const char* kKernels[] = {"PARALLEL", "FOR", "BARRIER", "SINGLE", "COPYPRIVATE", "COPYIN", "PRIVATE"};

Panel table(const std::string& title) {
  Panel panel{.title = title,
              .rows_are = "machine, library",
              .unit = "µs",
              .y_title = "overhead of a construct",
              .log_y = true};
  for (const char* construct : kEpccConstructs) panel.series.push_back(construct);
  return panel;
}

// An overhead that is lost in the noise is none.
Cell cell_of_side(const nlohmann::json& side) {
  const double overhead = side.at("overhead_us"), noise = side.at("noise_us");
  if (overhead <= noise) return {0, 0, fmt::format("<{:.2g}", std::max(noise, 0.001))};
  return {overhead, noise / overhead, ""};
}

}  // namespace

Figure osdi_table_2(const FigureSettings& settings) {
  Figure figure{"OSDI'16, Table 2: EPCC's OpenMP benchmarks",
                fmt::format("{}, Table 2: average in microseconds, standard error in brackets there", kOsdi),
                {},
                {}};
  const size_t cpus = this_machine(Occupancy::kThreads).members.size();
  const std::string program = find_in_build(settings, "epcc/compare");
  if (program.empty() || cpus < 2) {
    figure.notes.push_back(cpus < 2 ? kOneCpu : "Not measured: no epcc/compare in this build.");
  } else {
    std::vector<std::string> argv{program,
                                  "--quick",
                                  "--threads",
                                  std::to_string(cpus),
                                  "--libomp",
                                  "none",
                                  "--suite",
                                  "syncbench,arraybench",
                                  "--json",
                                  "--kernels",
                                  "PARALLEL,FOR,BARRIER,SINGLE,COPYPRIVATE,COPYIN,PRIVATE"};
    if (settings.quick) argv.insert(argv.end(), {"--pairs", "1", "--array-sizes", "1"});
    std::string why;
    const nlohmann::json json = run_for_json(argv, JsonTo::kOutput, &why);
    if (!why.empty()) {
      figure.notes.push_back("Not measured: " + why + ".");
    } else {
      Panel panel = table(fmt::format("This machine, {} threads, measured", cpus));
      for (const auto& [key, name] : {std::pair{"stock", "GOMP"}, std::pair{"smelt", "Smelt"}}) {
        FigureRow row{.kind = Origin::kMeasured,
                      .name = fmt::format("this machine, {}", name),
                      .cells = std::vector<Cell>(std::size(kKernels)),
                      .hop_ns = json.at("hop_ns").at("median")};
        for (size_t k = 0; k < std::size(kKernels); ++k)
          for (const nlohmann::json& each : json.at("rows")) {
            const std::string kernel = each.at("kernel");
            if (kernel != kKernels[k] && !kernel.starts_with(std::string(kKernels[k]) + " ")) continue;
            if (row.cells[k].value == 0 && row.cells[k].words.empty()) row.cells[k] = cell_of_side(each.at(key));
          }
        panel.rows.push_back(row);
      }
      panel.notes.push_back("±: the noise of the reference; an overhead below it is given as less than it.");
      figure.panels.push_back(panel);
    }
  }
  Panel paper = table("The paper's");
  for (const PaperEpcc& each : kPaperTable2) {
    FigureRow row{.kind = Origin::kPaper, .name = fmt::format("{}, {}", each.machine, each.library)};
    for (const WithError& figure_of : each.of)
      row.cells.push_back({figure_of.value, figure_of.error / figure_of.value, ""});
    paper.rows.push_back(row);
  }
  figure.panels.push_back(paper);
  figure.notes.push_back("Nothing is predicted: the constructs are libgomp's code, and the model prices messages.");
  return figure;
}

}  // namespace smelt::paper
