// EuroMPI'16, Figures 7 to 9: NAS DT over Open MPI with our component and without; a graph and an unbalanced tree
// searched by many threads that wait for messages, user-level ones, and kernel threads under MPI.
//
// Measured by breadth_first and tree_search of core/library/bench, and by NPB's own program, which --dt names: it goes
// unchanged, as in the paper. Contestants take turns, run by run.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <sstream>

#include "bench/lab/paper/figures.h"
#include "bench/lab/paper/machines.h"
#include "bench/lab/paper/programs.h"
#include "bench/lab/paper/timing.h"
#include "epcc/program.h"

namespace smelt::paper {
namespace {

using Words = std::vector<std::string>;

// Open MPI's mpirun, by ob1 or by our component, which is alone in a folder: beside it in the build lie other files.
class Mpi {
 public:
  explicit Mpi(const FigureSettings& settings) : run_(epcc::find_program({"mpirun.openmpi", "mpirun"})) {
    std::error_code error;
    const std::string component = find_in_build(settings, "ompi_pml_smelt/mca_pml_smelt.so");
    std::string folder = (std::filesystem::temp_directory_path(error) / "smelt_paper.XXXXXX").string();
    if (component.empty() || !::mkdtemp(folder.data())) return;
    folder_ = folder;
    std::filesystem::create_symlink(component, folder_ + "/mca_pml_smelt.so", error);
  }
  ~Mpi() {
    std::error_code error;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, error);
  }
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;

  bool is_there() const { return !run_.empty(); }
  bool has_component() const { return !folder_.empty(); }

  Words by(bool component, int ranks, bool bound, const Words& program) const {
    Words words{run_, "-n", std::to_string(ranks), "--oversubscribe", "--bind-to", bound ? "core" : "none"};
    if (::geteuid() == 0) words.emplace_back("--allow-run-as-root");
    if (!bound) words.insert(words.end(), {"--mca", "mpi_yield_when_idle", "1"});
    if (component)
      words.insert(words.end(),
                   {"--mca", "mca_base_component_path", folder_ + ":SYSTEM_DEFAULT", "--mca", "pml_smelt_enable", "1"});
    else
      words.insert(words.end(), {"--mca", "pml", "ob1"});
    words.insert(words.end(), program.begin(), program.end());
    return words;
  }

 private:
  std::string run_, folder_;
};

// The number that stands before (after) the word in what the program prints; 0: none does.
enum class Stands { kBefore, kAfter };
double number_beside(const std::string& text, const std::string& word, Stands stands) {
  std::istringstream words(text);
  std::string last;
  for (std::string each; words >> each; last = each) {
    if (each != word) continue;
    if (stands == Stands::kBefore) return std::atof(last.c_str());
    std::string is, value;
    return words >> is >> value ? std::atof(value.c_str()) : 0;
  }
  return 0;
}

struct Contestant {
  Words argv;  // empty: there is none
  std::vector<double> rates = {};
};

// Of all rows at once, in turns.
struct Race {
  std::vector<std::string> names;
  std::vector<double> x;
  std::vector<std::vector<Contestant>> rows;
};

double run_race(Race* race, int rounds, const std::function<double(const std::string&)>& rate_of, std::string* why) {
  return hop_around(cpus_of(this_machine(Occupancy::kThreads)), [&] {
    for (int round = 0; round < rounds; ++round)
      for (auto& row : race->rows)
        for (Contestant& each : row) {
          if (each.argv.empty()) continue;
          std::string failed;
          const double rate = rate_of(run_program(each.argv, &failed));
          if (rate > 0)
            each.rates.push_back(rate);
          else if (why->empty())
            *why = failed.empty() ? "what it prints has no rate" : failed;
        }
  });
}

void add_race(Figure* figure, Panel panel, Race race, int rounds,
              const std::function<double(const std::string&)>& rate_of) {
  std::string why;
  const double hop = run_race(&race, rounds, rate_of, &why);
  for (size_t i = 0; i < race.rows.size(); ++i) {
    FigureRow row{.kind = Origin::kMeasured, .name = race.names[i], .hop_ns = hop};
    if (!race.x.empty()) row.x = race.x[i];
    for (const Contestant& each : race.rows[i]) row.cells.push_back(cell_of(each.rates));
    if (std::any_of(row.cells.begin(), row.cells.end(), [](const Cell& cell) { return cell.value > 0; }))
      panel.rows.push_back(row);
  }
  if (!why.empty()) figure->notes.push_back("Not all was measured: " + why + ".");
  if (!panel.rows.empty()) figure->panels.push_back(panel);
}

double millions_in(const std::string& text) { return number_beside(text, "million", Stands::kBefore); }

// By threads of a process: user-level ones, kernel threads with the component and without, one thread that polls.
Race search_race(const FigureSettings& settings, const Mpi& mpi, const std::string& name, const Words& shape,
                 bool polls) {
  const std::string ours = find_in_build(settings, fmt::format("core/library/{0}_smelt", name)),
                    theirs = find_in_build(settings, fmt::format("core/library/{0}_mpi", name));
  const bool has_mpi = mpi.is_there() && !theirs.empty();
  const auto with_shape = [&](Words words) {
    words.insert(words.end(), shape.begin(), shape.end());
    return words;
  };
  Race race;
  for (const int threads : {1, 8, 64, 512}) {
    const Words other = with_shape({theirs, "--threads", std::to_string(threads)});
    std::vector<Contestant> row(polls ? 4 : 3);
    if (!ours.empty()) row[0].argv = with_shape({ours, "--threads", std::to_string(threads)});
    // As many kernel threads would be started for minutes.
    if (has_mpi && threads <= 64) {
      row[1].argv = mpi.has_component() ? mpi.by(true, 2, false, other) : Words{};
      row[2].argv = mpi.by(false, 2, false, other);
    }
    if (has_mpi && polls && threads == 1) row[3].argv = mpi.by(false, 2, true, with_shape({theirs, "--polling"}));
    race.names.push_back(std::to_string(threads)), race.x.push_back(threads);
    race.rows.push_back(row);
  }
  return race;
}

Panel search_panel(const std::string& what, const std::string& y_title, bool polls) {
  Panel panel{.title = what + ", this machine, two processes, measured",
              .rows_are = "threads of a process",
              .unit = "million/s",
              .y_title = y_title,
              .chart = Chart::kLines,
              .log_x = true,
              .log_y = true,
              .series = {"user-level threads", "kernel threads, Smelt in Open MPI", "kernel threads, Open MPI"}};
  if (polls) panel.series.push_back("polling, Open MPI");
  return panel;
}

Panel paper_panel(const std::string& series) {
  return {.title = "What the paper's text says",
          .rows_are = "against",
          .unit = "times",
          .y_title = series,
          .chart = Chart::kNone,
          .series = {series}};
}

bool cannot(Figure* figure) {
  if (cpus_of(this_machine(Occupancy::kThreads)).size() >= 2) return false;
  figure->notes.push_back(kOneCpu);
  return true;
}

}  // namespace

Figure euro_figure_7(const FigureSettings& settings) {
  Figure figure{
      "EuroMPI'16, Figure 7: NAS Parallel Benchmarks, Data Traffic",
      fmt::format("{}, section 4.3.2: plot only, class A, a rank on each of 128 nodes with InfiniBand", kEuroMpi),
      {},
      {}};
  const Mpi mpi(settings);
  const std::string file = std::filesystem::path(settings.dt).filename();
  const size_t letter = file.find("dt.") == 0 && file.size() > 3 ? std::string("SWA").find(file[3]) : std::string::npos;
  if (settings.dt.empty() || !mpi.is_there() || letter == std::string::npos) {
    figure.notes.push_back(settings.dt.empty()
                               ? "Not measured: --dt names NPB's DT for MPI (dt.S.x, dt.W.x or dt.A.x)."
                               : "Not measured: no mpirun here, or the file is not called dt.S.x, dt.W.x or dt.A.x.");
  } else if (!cannot(&figure)) {
    constexpr int kRanks[2][3] = {{5, 11, 21}, {12, 32, 80}};
    Race race;
    for (const char* graph : {"BH", "WH", "SH"}) {
      const int ranks = kRanks[graph[0] == 'S'][letter];
      race.names.emplace_back(fmt::format("{}, class {}, {} ranks", graph, file[3], ranks));
      std::vector<Contestant> row(2);
      if (mpi.has_component()) row[0].argv = mpi.by(true, ranks, false, {settings.dt, graph});
      row[1].argv = mpi.by(false, ranks, false, {settings.dt, graph});
      race.rows.push_back(row);
    }
    Panel panel{.title = "This machine, one node, measured",
                .rows_are = "graph",
                .unit = "Mop/s",
                .y_title = "operations",
                .series = {"Smelt in Open MPI", "Open MPI"}};
    panel.notes.push_back(
        "All ranks on this machine, more of them than CPUs: who waits yields. ±: half of least to greatest.");
    add_race(&figure, panel, race, settings.quick ? 1 : 7,
             [](const std::string& text) { return number_beside(text, "total", Stands::kAfter); });
  }
  Panel paper = paper_panel("operations of theirs, of MVAPICH2's");
  paper.rows.push_back({Origin::kPaper, "black hole, white hole", {{0, 0, "1 to 3"}}, 0, 0});
  paper.rows.push_back({Origin::kPaper, "shuffle", {{0.85, 0, ""}}, 0, 0});
  figure.panels.push_back(paper);
  return figure;
}

Figure euro_figure_8(const FigureSettings& settings) {
  Figure figure{"EuroMPI'16, Figure 8: Graph500, breadth-first search",
                fmt::format("{}, section 4.3.3: plot only, 16 to 4096 cores with InfiniBand", kEuroMpi),
                {},
                {}};
  const Mpi mpi(settings);
  if (!cannot(&figure)) {
    Panel panel = search_panel("Breadth-first search", "edges", true);
    panel.notes.push_back(
        "core/library: breadth_first. The form that polls is that of graph500_bfs_simple: one thread, calls that do "
        "not wait.");
    const std::string scale = settings.quick ? "10" : "18";
    add_race(&figure, panel, search_race(settings, mpi, "breadth_first", {"--scale", scale, "--rounds", "1"}, true),
             settings.quick ? 1 : 5, millions_in);
  }
  Panel paper = paper_panel("edges/s of theirs, of others' at 4096 cores");
  paper.rows.push_back({Origin::kPaper, "the reference, which polls, MVAPICH2", {{3, 0, ""}}, 0, 0});
  paper.rows.push_back({Origin::kPaper, "their messages, Argobots' threads", {{1.2, 0, ""}}, 0, 0});
  paper.notes.push_back("With kernel threads the same messages are ten times as slow as the reference.");
  figure.panels.push_back(paper);
  return figure;
}

Figure euro_figure_9(const FigureSettings& settings) {
  Figure figure{"EuroMPI'16, Figure 9: unbalanced tree search",
                fmt::format("{}, section 4.3.4: plot only, T3XXL, 16 to 4096 cores with InfiniBand", kEuroMpi),
                {},
                {}};
  const Mpi mpi(settings);
  if (!cannot(&figure)) {
    Panel panel = search_panel("Unbalanced tree search", "nodes", false);
    panel.notes.push_back("core/library: tree_search, a tree of the same kind, of 1.9 million nodes.");
    add_race(&figure, panel,
             search_race(settings, mpi, "tree_search", {"--roots", settings.quick ? "50" : "2000"}, false),
             settings.quick ? 1 : 5, millions_in);
  }
  Panel paper = paper_panel("vertices/s of theirs, of others' at 4096 cores");
  paper.rows.push_back({Origin::kPaper, "the reference, MVAPICH2", {{10, 0, ""}}, 0, 0});
  paper.rows.push_back({Origin::kPaper, "their messages, kernel threads", {{7, 0, ""}}, 0, 0});
  paper.rows.push_back({Origin::kPaper, "their messages, Argobots' threads", {{1.1, 0, ""}}, 0, 0});
  figure.panels.push_back(paper);
  return figure;
}

}  // namespace smelt::paper
