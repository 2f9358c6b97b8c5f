// smelt_paper: one command for each table and figure of the two papers that are about collectives, and some for those
// about networks and about threads that send messages. Ours in the paper's form, beside what can be read in the paper;
// measured on this machine, predicted for the paper's.
//   build/bench/lab/smelt_paper osdi16-fig8 --quick --svg fig8.svg
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/lab/paper/figures.h"
#include "epcc/child.h"
#include "epcc/program.h"
#include "profile/text/error.h"

namespace {

using namespace smelt::paper;

struct Command {
  const char* name;
  Figure (*make)(const FigureSettings&);
  const char* help;
};

constexpr Command kCommands[] = {
    {"osdi16-fig8", osdi_figure_8, "collective operations by tree topology"},
    {"osdi16-fig9", osdi_figure_9, "Smelt against the best static tree, on eleven machines"},
    {"osdi16-fig10", osdi_figure_10, "multicasts by number of cores"},
    {"osdi16-fig11", osdi_figure_11, "against MPI and OpenMP"},
    {"osdi16-fig12", osdi_figure_12, "1Paxos agreement"},
    {"osdi16-fig13", osdi_figure_13, "a replicated key-value store"},
    {"osdi16-table2", osdi_table_2, "EPCC's OpenMP benchmarks"},
    {"osdi16-table3", osdi_table_3, "barriers in a tight loop"},
    {"osdi16-table4", osdi_table_4, "Streamcluster"},
    {"hotpar09-fig2", hotpar_figure_2, "barriers: pthread, flat, tree"},
    {"hotpar09-fig3", hotpar_figure_3, "reductions on Niagara2, loose and strict"},
    {"hotpar09-fig4", hotpar_figure_4, "the best reduction on Barcelona"},
    {"hotpar09-fig5", hotpar_figure_5, "the best reduction on Niagara2"},
    {"hotpar09-fig6", hotpar_figure_6, "the best reduction on Clovertown"},
    {"hotpar09-table2", hotpar_table_2, "reductions of 8 kB by radix"},
#ifdef SMELT_HAVE_RAILS
    {"cluster11-limits", cluster_limits, "limits between ways to send, by sampling the networks"},
#endif
    {"eurompi16-table1", euro_table_1, "what the scheduler of user-level threads costs"},
    {"eurompi16-fig5", euro_figure_5, "messages between many threads, against MPI with kernel threads"},
    {"eurompi16-fig7", euro_figure_7, "NAS DT over Open MPI, with our component and without"},
    {"eurompi16-fig8", euro_figure_8, "breadth-first search by many threads"},
    {"eurompi16-fig9", euro_figure_9, "unbalanced tree search by many threads"},
};

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw smelt::UserError("cannot write " + path);
}

void run_one(const Command& command, const FigureSettings& settings, const std::string& svg) {
  const Figure figure = command.make(settings);
  fmt::print("{}", text_of(figure));
  if (!svg.empty()) draw(figure, settings.build, svg);
}

// Each in a process of its own: the remains of one (OpenMP's threads) do not disturb the next, and a figure that fails
// does not take the others with it. Returns how many have failed.
int run_all(const FigureSettings& settings, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw smelt::UserError(fmt::format("{}: {}", folder, error.message()));
  const smelt::epcc::Progress progress = smelt::epcc::terminal_progress();
  std::string all;
  int failed = 0;
  size_t done = 0;
  for (const Command& command : kCommands) {
    progress(done++, std::size(kCommands), command.name);
    std::vector<std::string> argv{"/proc/self/exe", command.name, "--svg",
                                  fmt::format("{}/{}.svg", folder, command.name)};
    if (settings.quick) argv.push_back("--quick");
    if (!settings.machines.empty()) argv.insert(argv.end(), {"--machines", settings.machines});
    if (!settings.network.empty()) argv.insert(argv.end(), {"--network", settings.network});
    if (!settings.dt.empty()) argv.insert(argv.end(), {"--dt", settings.dt});
    constexpr double kLimitSeconds = 3600;
    const smelt::epcc::Finished run =
        smelt::epcc::run_child(argv, smelt::epcc::Environment::of_this_process(), kLimitSeconds);
    if (!run.ok) ++failed;
    all += run.ok ? run.out : fmt::format("== {}\n# failed: {}\n", command.name, run.failure);
    all += "\n";
  }
  smelt::epcc::end_progress();
  write_file(folder + "/paper.txt", all);
  fmt::print("{}# {} figures and tables in {}, {} failed\n", all, std::size(kCommands), folder, failed);
  return failed;
}

constexpr const char* kFooter = R"(Every row says where its numbers come from:
  measured   on this machine, now: medians, ± half the inter-quartile range; each timing right after a ping-pong (a hop)
  predicted  by the cost model, for a machine of the paper; a note says whose costs stand in for it
  paper      out of the paper's text; where the paper has a plot only, its numbers are not known
Exit status: 0, 1 it failed, 2 bad input.)";

}  // namespace

int main(int argc, char** argv) {
  smelt::epcc::install_signal_handlers();
  CLI::App app("The tables and figures of the papers, ours beside theirs", "smelt_paper");
  app.require_subcommand(1);
  app.footer(kFooter);
  FigureSettings settings;
  std::string svg, folder;
  const auto describe = [&](CLI::App* verb) {
    verb->add_flag("--quick", settings.quick, "few rounds: shows that it works, proves nothing");
    verb->add_option("--machines", settings.machines, "folder of matrix files that describe the paper's machines")
        ->check(CLI::ExistingDirectory);
    verb->add_option("--network", settings.network, "network profile (smelt network sample -o) for cluster11-limits")
        ->check(CLI::ExistingFile);
    verb->add_option("--dt", settings.dt, "NPB's DT for MPI (dt.S.x, dt.W.x, dt.A.x) for eurompi16-fig7")
        ->check(CLI::ExistingFile);
  };
  for (const Command& command : kCommands) {
    CLI::App* verb = app.add_subcommand(command.name, command.help);
    describe(verb);
    verb->add_option("--svg", svg, "draw it into this file, too");
  }
  CLI::App* all = app.add_subcommand("all", "every one of them, into a folder: an SVG each, and paper.txt");
  describe(all);
  all->add_option("FOLDER", folder, "where they go")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  settings.build = std::filesystem::path(smelt::epcc::own_directory()).parent_path().parent_path();
  try {
    if (all->parsed()) return run_all(settings, folder) == 0 ? 0 : 1;
    for (const Command& command : kCommands)
      if (app.got_subcommand(command.name)) run_one(command, settings, svg);
  } catch (const nlohmann::json::exception& error) {
    return smelt::epcc::complain("smelt_paper", fmt::format("another program's JSON: {}", error.what()), 1);
  } catch (const smelt::UserError& error) {
    return smelt::epcc::complain("smelt_paper", error.what(), 1);
  }
  return 0;
}
