// OSDI'16, Figure 11: broadcasts, reductions and barriers by Smelt, by MPI and by OpenMP.
//
// In the paper all threads are brought together before each call. Here a barrier follows each call and belongs to its
// time (mpi_compare --strict), which is the same for all sides; OpenMP's reduction has one by itself.
#include <fmt/format.h>
#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <map>

#include "base/os/os.h"
#include "bench/lab/paper/figures.h"
#include "bench/lab/paper/paper_data.h"
#include "bench/lab/paper/price.h"
#include "bench/lab/paper/programs.h"
#include "bench/lab/paper/smelt_barrier.h"
#include "bench/lab/paper/timing.h"
#include "bench/lab/paper/vector_reductions.h"
#include "epcc/program.h"
#include "profile/text/error.h"

namespace smelt::paper {
namespace {

enum Series { kThreads, kGroup, kComponent, kOpenMpi, kOpenMp, kSeries };

Panel bars(const std::string& title, const char* unit) {
  return {.title = title,
          .rows_are = "operation",
          .unit = unit,
          .y_title = "time",
          .series = {"Smelt, threads", "Smelt, processes", "Smelt in Open MPI", "Open MPI", "OpenMP (libgomp)"}};
}

constexpr uint32_t kWarmUp = 16;  // calls of a lap before its clock starts

void pin_self(uint32_t cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

// libgomp's, in one region for each lap. The calling thread gets its affinity back.
template <typename Body>
Lap openmp_lap(const std::vector<uint32_t>& cpus, Body body) {
  return [&cpus, body](uint32_t rounds) {
    double ns = 0;
    cpu_set_t before;
    sched_getaffinity(0, sizeof before, &before);
#pragma omp parallel num_threads(static_cast <int>(cpus.size()))
    {
      const auto thread = static_cast<uint32_t>(omp_get_thread_num());
      pin_self(cpus[thread]);
      for (uint32_t k = 0; k < kWarmUp; ++k) body();
      const int64_t begin = os::now_ns();
      for (uint32_t k = 0; k < rounds; ++k) body();
      if (thread == 0) ns = static_cast<double>(os::now_ns() - begin) / rounds;
    }
    sched_setaffinity(0, sizeof before, &before);
    return ns;
  };
}

// Open MPI's, with and without Smelt's component, by mpi_compare: kernel to its row.
std::map<std::string, nlohmann::json> measure_mpi(const FigureSettings& settings, size_t ranks, std::string* why) {
  const std::string program = find_in_build(settings, "bench/mpi/mpi_compare");
  if (program.empty() || epcc::find_program({"mpirun.openmpi", "mpirun"}).empty()) {
    *why = "no bench/mpi/mpi_compare in this build, or no mpirun";
    return {};
  }
  const bool component = access((settings.build + "/ompi_coll_smelt/mca_coll_smelt.so").c_str(), R_OK) == 0;
  std::vector<std::string> argv{program,
                                "--ranks",
                                std::to_string(ranks),
                                "--quick",
                                "--strict",
                                "--kernels",
                                "barrier,bcast,reduce",
                                "--sizes",
                                "4",
                                "--sides",
                                component ? "tuned,smelt" : "tuned"};
  if (settings.quick) argv.insert(argv.end(), {"--rounds", "1", "--batch-ms", "0.2"});
  argv.push_back("--json");
  const nlohmann::json json = run_for_json(argv, JsonTo::kFile, why);
  std::map<std::string, nlohmann::json> rows;
  if (!why->empty()) return rows;
  // A side that fails is only marked there; where all have, there are no hops.
  if (json.at("hop_ns").is_object())
    for (const nlohmann::json& row : json.at("rows")) {
      rows[row.at("kernel")] = row;
      rows[row.at("kernel")]["hop_ns"] = json.at("hop_ns").at("median");
    }
  if (rows.empty()) *why = "no run of it succeeded";
  return rows;
}

double mpi_hop(const std::map<std::string, nlohmann::json>& rows) { return rows.begin()->second.at("hop_ns"); }

Cell cell_of_side(const nlohmann::json& row, const char* side) {
  if (!row.contains("sides") || !row["sides"].contains(side)) return {};
  const nlohmann::json& us = row["sides"][side]["us"];
  const double median = us.at("median");
  return {1000 * median, (double{us.at("max")} - double{us.at("min")}) / median / 2, ""};
}

// Of libgomp's reductions, which all add to it.
unsigned reduced;

void reduce_in_openmp() {
#pragma omp for reduction(+ : reduced)
  for (int i = 0; i < omp_get_num_threads(); ++i) reduced += 1;
}

// Barriers in threads, and what OpenMP has: [0] Smelt's barrier, [1] libgomp's, [2] its reduction.
std::vector<Timed> measure_threads(const std::vector<uint32_t>& cpus, bool quick) {
  const auto threads = static_cast<uint32_t>(cpus.size());
  SmeltBarrier barrier(threads, cpus, "best");
  const Lap ours = [&](uint32_t rounds) {
    return time_threads(
        cpus, threads, rounds, [&](uint32_t thread) { barrier.wait(thread); }, [](uint32_t) {});
  };
  const Lap libgomp = openmp_lap(cpus, [] {
#pragma omp barrier
  });
  const Lap reductions = [&, lap = openmp_lap(cpus, reduce_in_openmp)](uint32_t rounds) {
    reduced = 0;
    const double ns = lap(rounds);
    if (reduced != (kWarmUp + rounds) * threads) throw UserError("WRONG RESULT: libgomp's reduction");
    return ns;
  };
  return time_laps(cpus, {ours, libgomp, reductions}, effort_of(quick));
}

Panel measure(const std::vector<uint32_t>& cpus, const FigureSettings& settings, std::vector<std::string>* notes) {
  Panel panel = bars(fmt::format("This machine, {} CPUs, measured", cpus.size()), "ns");
  for (const char* name : {"broadcast", "reduction", "barrier"})
    panel.rows.push_back({Origin::kMeasured, name, std::vector<Cell>(kSeries), 0, 0});
  // The processes first: they are forked, and OpenMP's threads stay.
  const std::vector<Timed> group = time_group(cpus, settings.quick);
  for (size_t k = 0; k < group.size(); ++k) panel.rows[k].cells[kGroup] = cell_of(group[k]);
  std::string why;
  const auto mpi = measure_mpi(settings, cpus.size(), &why);
  if (!why.empty()) notes->push_back("MPI was not measured: " + why + ".");
  constexpr const char* kKernels[] = {"bcast", "reduce", "barrier"};
  for (size_t k = 0; k < std::size(kKernels); ++k)
    if (const auto row = mpi.find(kKernels[k]); row != mpi.end()) {
      panel.rows[k].cells[kOpenMpi] = cell_of_side(row->second, "tuned");
      panel.rows[k].cells[kComponent] = cell_of_side(row->second, "smelt");
    }
  const std::vector<Timed> threads = measure_threads(cpus, settings.quick);
  panel.rows[2].cells[kThreads] = cell_of(threads[0]);
  panel.rows[2].cells[kOpenMp] = cell_of(threads[1]);
  panel.rows[1].cells[kOpenMp] = cell_of(threads[2]);
  for (FigureRow& row : panel.rows) row.hop_ns = threads[0].hop_ns;
  panel.notes.push_back("Broadcasts of one and reductions of one integer, each with the barrier that follows it.");
  panel.notes.push_back(
      fmt::format("The hop is that of the threads; the processes had {:.1f} ns{}. ± of MPI: half of least to greatest "
                  "over the rounds of mpi_compare.",
                  group[0].hop_ns, mpi.empty() ? "" : fmt::format(", MPI {:.1f} ns", mpi_hop(mpi))));
  return panel;
}

}  // namespace

Figure osdi_figure_11(const FigureSettings& settings) {
  Figure figure{"OSDI'16, Figure 11: against MPI and OpenMP",
                fmt::format("{}, section 5.3: plots of A IL 4x4x2, I NL 4x8x2 and I SB 4x8x2; Open MPI 1.10.2, GCC "
                            "4.9.2",
                            kOsdi),
                {},
                {}};
  const std::vector<uint32_t> cpus = cpus_of(this_machine(Occupancy::kThreads));
  if (cpus.size() > 1)
    figure.panels.push_back(measure(cpus, settings, &figure.notes));
  else
    figure.notes.push_back(kOneCpu);
  for (const char* name : {"A IL 4x4x2", "I NL 4x8x2", "I SB 4x8x2"}) {
    const PaperMachine machine = paper_machine(name, Occupancy::kThreads, settings.machines);
    Pricing pricing(machine.file, machine.members);
    Panel panel{.title = fmt::format("{}, {} threads, predicted", name, machine.members.size()),
                .rows_are = "operation",
                .unit = machine.unit(),
                .y_title = "time",
                .series = {"Smelt (the paper's tree)", "Smelt (best here)"}};
    for (const Work work : {Work::kBroadcast, Work::kReduction, Work::kBarrier})
      panel.rows.push_back(
          {Origin::kPredicted,
           work_name(work),
           {{pricing.makespan(work, "adaptive-sorted"), 0, ""}, {pricing.makespan(work, "best"), 0, ""}},
           0,
           0});
    panel.notes.push_back("The model has no price for MPI's and OpenMP's code. Costs: " + machine.stand_in + ".");
    figure.panels.push_back(panel);
  }
  Panel paper{.title = "What the paper's text says, over its three machines",
              .rows_are = "operation",
              .unit = "times as fast",
              .y_title = "Smelt",
              .chart = Chart::kNone,
              .series = {"than Open MPI", "than OpenMP"}};
  for (const PaperAgainst& each : kPaperFigure11)
    paper.rows.push_back({Origin::kPaper, each.operation, {{0, 0, each.mpi}, {0, 0, each.openmp}}, 0, 0});
  figure.panels.push_back(paper);
  return figure;
}

}  // namespace smelt::paper
