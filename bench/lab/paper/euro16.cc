// EuroMPI'16, Table 1 and Figure 5: what the scheduler of user-level threads costs, and what a message costs where each
// process has many threads that wait for one, against MPI_THREAD_MULTIPLE with kernel threads.
//
// Measured by core/library/thread_bench, and by bench/mpi_message, whose time of T ping-pongs at a time is divided by
// T.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "bench/lab/paper/figures.h"
#include "bench/lab/paper/programs.h"
#include "epcc/program.h"

namespace smelt::paper {
namespace {

// Of thread_bench's rows: name to median ns, with the smallest as its spread.
std::map<std::string, Cell> measure_threads(const FigureSettings& settings, std::string* why) {
  const std::string program = find_in_build(settings, "core/library/thread_bench");
  if (program.empty()) *why = "no core/library/thread_bench in this build";
  if (!why->empty()) return {};
  std::vector<std::string> argv{program};
  if (settings.quick) argv.push_back("--quick");
  std::istringstream text(run_program(argv, why));
  std::map<std::string, Cell> rows;
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::vector<std::string> all;
    for (std::string word; words >> word;) all.push_back(word);
    if (all.size() < 4 || all.back() != "ns") continue;
    const size_t numbers = all.size() - 3;
    std::string name = all[0];
    for (size_t i = 1; i < numbers; ++i) name += " " + all[i];
    const double least = std::stod(all[numbers]), median = std::stod(all[numbers + 1]);
    rows[name] = {median, (median - least) / median, ""};
  }
  if (rows.empty() && why->empty()) *why = "thread_bench printed no rows";
  return rows;
}

// Through MPI, ranks that yield: (side, threads) to ns per message.
std::map<std::pair<std::string, int>, Cell> measure_mpi(const FigureSettings& settings, std::string* why) {
  const std::string compare = find_in_build(settings, "bench/mpi_message/compare.py");
  const std::string python = epcc::find_program({"python3"});
  if (compare.empty() || python.empty() || epcc::find_program({"mpirun.openmpi", "mpirun"}).empty()) {
    *why = "no bench/mpi_message in this build, or no python3 or mpirun";
    return {};
  }
  const bool component = !find_in_build(settings, "ompi_pml_smelt/mca_pml_smelt.so").empty();
  const nlohmann::json all =
      run_for_json({python, compare, settings.build, "--rows", "latency", "--sides",
                    component ? "ob1-yield,smelt-yield" : "ob1-yield", "--rounds", settings.quick ? "1" : "5",
                    "--limit", settings.quick ? "0.2" : "2", "--json"},
                   JsonTo::kFile, why);
  std::map<std::pair<std::string, int>, std::vector<double>> times;
  if (why->empty())
    for (const nlohmann::json& row : all)
      times[{row.at("side"), row.at("n")}].push_back(double{row.at("ns")} / int{row.at("n")});
  std::map<std::pair<std::string, int>, Cell> medians;
  for (const auto& [what, values] : times) medians[what] = cell_of(values);
  return medians;
}

}  // namespace

Figure euro_table_1(const FigureSettings& settings) {
  Figure figure{"EuroMPI'16, Table 1: the scheduler's overheads",
                fmt::format("{}, Table 1: Intel Sandy Bridge, 2.7 GHz, two workers", kEuroMpi),
                {},
                {}};
  const auto table = [](const char* title) {
    return Panel{.title = title,
                 .rows_are = "threads",
                 .unit = "ns",
                 .y_title = "time",
                 .series = {"scheduling", "signal", "both"}};
  };
  std::string why;
  std::map<std::string, Cell> rows = measure_threads(settings, &why);
  if (why.empty()) {
    Panel panel = table("This machine, measured");
    const double hop_ns = rows["hop"].value;
    panel.rows.push_back(
        {Origin::kMeasured, "Smelt's", {rows["yield 64"], rows["signal 64"], rows["hand-over"]}, hop_ns, 0});
    panel.rows.push_back({Origin::kMeasured, "POSIX threads", {{}, {}, rows["pthread"]}, hop_ns, 0});
    panel.log_y = true;
    panel.notes.push_back(
        "64 threads of one worker that yield, and that are signalled by one; both: two of one worker that signal each "
        "other and wait, POSIX threads by semaphores on one CPU. ±: from the smallest to the median.");
    figure.panels.push_back(panel);
  } else {
    figure.notes.push_back("Not measured: " + why + ".");
  }
  Panel paper = table("The paper's");
  paper.chart = Chart::kNone;
  paper.rows.push_back({Origin::kPaper, "POSIX threads", {{750, 0, ""}, {1150, 0, ""}, {1900, 0, ""}}, 0, 0});
  paper.rows.push_back({Origin::kPaper, "Argobots", {{80, 0, ""}, {300, 0, ""}, {380, 0, ""}}, 0, 0});
  paper.rows.push_back({Origin::kPaper, "Fult, theirs", {{20, 0, ""}, {10, 0, ""}, {30, 0, ""}}, 0, 0});
  paper.notes.push_back("The signal there is to a thread of another worker, and does not wait for it to run.");
  figure.panels.push_back(paper);
  return figure;
}

Figure euro_figure_5(const FigureSettings& settings) {
  Figure figure{"EuroMPI'16, Figure 5: latency with many threads",
                fmt::format("{}, section 4.3.1: plot only, between nodes with InfiniBand", kEuroMpi),
                {},
                {}};
  std::string why, why_no_mpi;
  std::map<std::string, Cell> rows = measure_threads(settings, &why);
  auto mpi = measure_mpi(settings, &why_no_mpi);
  if (!why.empty()) figure.notes.push_back("User-level threads: not measured, " + why + ".");
  if (!why_no_mpi.empty()) figure.notes.push_back("MPI was not measured: " + why_no_mpi + ".");
  Panel panel{.title = "This machine, two processes, measured",
              .rows_are = "threads of a process",
              .unit = "ns",
              .y_title = "time per message",
              .chart = Chart::kLines,
              .log_x = true,
              .log_y = true,
              .series = {"user-level threads", "kernel threads, Smelt in Open MPI", "kernel threads, Open MPI"}};
  if (why.empty())
    for (const int threads : {1, 2, 4, 8, 16, 32, 64, 512, 4096}) {
      FigureRow row{.kind = Origin::kMeasured, .name = std::to_string(threads), .hop_ns = rows["hop"].value};
      row.x = threads;
      row.cells = {rows[fmt::format("messages {}", threads)], mpi[{"smelt-yield", threads}],
                   mpi[{"ob1-yield", threads}]};
      if (std::any_of(row.cells.begin(), row.cells.end(), [](const Cell& cell) { return cell.value > 0; }))
        panel.rows.push_back(row);
    }
  panel.notes.push_back(
      "8 bytes to and fro between pairs of threads, all pairs at a time. User-level threads: a worker for each "
      "process, on CPUs of their own; kernel threads: as the system places them, MPI_THREAD_MULTIPLE, and who waits "
      "yields. The hop is that between the workers.");
  if (!panel.rows.empty()) figure.panels.push_back(panel);
  Panel paper{.title = "What the paper's text says",
              .rows_are = "MPI",
              .unit = "ns",
              .y_title = "time of a message",
              .chart = Chart::kNone,
              .series = {"one thread", "8 threads"}};
  paper.rows.push_back({Origin::kPaper, "MVAPICH2 2.1", {{0, 0, "< 2000"}, {100000, 0, ""}}, 0, 0});
  paper.rows.push_back({Origin::kPaper, "theirs, without the network", {{0, 0, "200 to 250"}, {}}, 0, 0});
  paper.notes.push_back(
      "Up to 60 times MVAPICH2's speed; 3 times that of kernel threads with the same matching, up to 40 % less time "
      "than Argobots; slower only from 16,384 threads on.");
  figure.panels.push_back(paper);
  return figure;
}

}  // namespace smelt::paper
