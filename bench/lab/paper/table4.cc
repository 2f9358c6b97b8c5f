// OSDI'16, Table 4: Streamcluster, whose threads meet at a barrier all the time, by core/library/bench/streamcluster.
#include <fmt/format.h>

#include <map>
#include <sstream>

#include "bench/lab/paper/figures.h"
#include "bench/lab/paper/machines.h"
#include "bench/lab/paper/paper_data.h"
#include "bench/lab/paper/programs.h"
#include "bench/lab/paper/timing.h"

namespace smelt::paper {
namespace {

Panel table(const std::string& title) {
  return {.title = title,
          .rows_are = "machine, memory",
          .unit = "s",
          .y_title = "execution time",
          .series = {"pthread", "parsec", "Smelt", "parlib MCS", "dissemination", "MCS tree (1991)"}};
}

// "name median least .. most" lines: name to median and spread.
std::map<std::string, Cell> read_table(const std::string& text) {
  std::map<std::string, Cell> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, dots;
    double median = 0, least = 0, most = 0;
    if (words >> name >> median >> least >> dots >> most && dots == ".." && median > 0)
      out[name] = {median, (most - least) / median / 2, ""};
  }
  return out;
}

}  // namespace

Figure osdi_table_4(const FigureSettings& settings) {
  Figure figure{"OSDI'16, Table 4: Streamcluster",
                fmt::format("{}, Table 4: seconds, PARSEC's native input; Shoal places memory where it is used", kOsdi),
                {},
                {}};
  const std::vector<uint32_t> cpus = cpus_of(this_machine(Occupancy::kThreads));
  const std::string program = find_in_build(settings, "core/library/streamcluster");
  if (program.empty() || cpus.size() < 2) {
    figure.notes.push_back(cpus.size() < 2 ? kOneCpu : "Not measured: no core/library/streamcluster in this build.");
  } else {
    std::vector<std::string> argv{program, "--threads", std::to_string(cpus.size()), "--barrier", "all"};
    if (settings.quick) argv.insert(argv.end(), {"--rounds", "1", "--points", "2000", "--chunk", "1000"});
    std::string why, text;
    const double hop = hop_around(cpus, [&] { text = run_program(argv, &why); });
    const std::map<std::string, Cell> cells = read_table(text);
    if (cells.empty()) {
      figure.notes.push_back("Not measured: " + (why.empty() ? "what it prints has no table" : why) + ".");
    } else {
      Panel panel = table("This machine, our own kernel and input, measured");
      const auto cell = [&](const char* name) { return cells.contains(name) ? cells.at(name) : Cell{}; };
      panel.rows.push_back({Origin::kMeasured,
                            fmt::format("this machine, {} threads", cpus.size()),
                            {cell("pthread"), {}, cell("smelt"), {}, cell("dissemination"), cell("mcs")},
                            hop,
                            0});
      panel.notes.push_back(
          "±: half of least to greatest over the rounds. The input is smaller than PARSEC's native one.");
      figure.panels.push_back(panel);
    }
  }
  Panel paper = table("The paper's");
  for (const PaperStream& each : kPaperTable4)
    paper.rows.push_back(
        {Origin::kPaper,
         fmt::format("{}, {}", each.machine, each.memory),
         {{each.pthread, 0, ""}, {each.parsec, 0, ""}, {each.smelt, 0, ""}, {each.parlib, 0, ""}, {}, {}},
         0,
         0});
  figure.panels.push_back(paper);
  figure.notes.push_back("Nothing is predicted: most of the time is computation, which the model does not price.");
  return figure;
}

}  // namespace smelt::paper
