// smelt tune: hands other libraries their own parameters, from the measurements.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>

#include "cli/command.h"
#include "cli/open_mpi_parameters.h"
#include "profile/text/network.h"

namespace smelt {
namespace {

struct TuneArguments {
  std::string library, network, output;
  bool dry_run = false, json = false;
};

int run_tune(const TuneArguments& arguments) {
  const std::string path = arguments.network.empty() ? default_network_path() : arguments.network;
  const NetworkProfile profile = read_network_profile(path);
  const std::vector<Parameter> parameters = open_mpi_parameters(profile);
  if (arguments.json) {
    Document rows = Document::array();
    for (const Parameter& one : parameters)
      rows.push_back({{"parameter", one.name}, {"value", one.value}, {"why", one.why}});
    put(document_text(rows));
    return 0;
  }
  std::string text = fmt::format("# Open MPI's parameters for the networks from {} to {}, by smelt tune\n",
                                 profile.node, profile.peer);
  for (const Parameter& one : parameters) text += fmt::format("# {}\n{} = {}\n", one.why, one.name, one.value);
  if (arguments.dry_run) {
    put(text);
    return 0;
  }
  write_file(arguments.output, text);
  put(fmt::format("{}: written; mpirun --mca mca_base_param_files {} uses it\n", arguments.output, arguments.output));
  return 0;
}

}  // namespace

void add_tune(CLI::App& app, Action& chosen) {
  CLI::App* verb = app.add_subcommand("tune", "Give Open MPI the parameters that follow from the sampled networks");
  auto arguments = std::make_shared<TuneArguments>();
  verb->add_option("library", arguments->library, "whose parameters: openmpi")
      ->required()
      ->check(CLI::IsMember({"openmpi"}));
  verb->add_option("--network", arguments->network, "a network profile; by default the one of this machine")
      ->type_name("FILE");
  CLI::Option* output = verb->add_option("-o,--output", arguments->output,
                                         "write a file of parameters, for mpirun --mca mca_base_param_files")
                            ->type_name("FILE");
  verb->add_flag("--dry-run", arguments->dry_run, "print them, and why, instead")->excludes(output);
  verb->add_flag("--json", arguments->json, "print them for programs")->excludes(output);
  verb->footer(
      "Example:\n  smelt tune openmpi --dry-run\n  smelt tune openmpi -o net.conf\n"
      "  mpirun --mca mca_base_param_files net.conf ./app");
  verb->callback([arguments, &chosen] {
    if (!arguments->dry_run && !arguments->json && arguments->output.empty())
      throw CLI::ValidationError("tune", "-o FILE to write the parameters there, or --dry-run to see them");
    chosen = [arguments] { return run_tune(*arguments); };
  });
}

}  // namespace smelt
