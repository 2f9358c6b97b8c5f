// smelt tune: hands other libraries their own parameters, from the measurements.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "profile/text/error.h"
#include "rails/network/interfaces.h"
#include "rails/network/profile.h"
#include "rails/verbs/open_mpi_parameters.h"
#include "rails/verbs/verbs.h"

namespace smelt {
namespace {

struct TuneArguments {
  std::string library, network, output;
  bool dry_run = false, json = false, here = false;
};

// Throws UserError where a network of the profile is none of this machine's any more.
void expect_here(const NetworkProfile& profile, const std::string& path) {
  const std::vector<NetworkInterface> here = network_interfaces();
  for (const NetworkRail& rail : profile.rails)
    if (std::none_of(here.begin(), here.end(), [&](const NetworkInterface& one) {
          return one.name == rail.interface && one.driver == rail.driver;
        }))
      throw UserError(fmt::format("{}: there is no {} ({}) here any more; sample the networks again", path,
                                  rail.interface, rail.driver));
}

int run_tune(const TuneArguments& arguments) {
  const std::string path = arguments.network.empty() ? default_network_path() : arguments.network;
  const NetworkProfile profile = read_network_profile(path);
  if (arguments.here) expect_here(profile, path);
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
  verb->add_flag("--here", arguments->here, "only if this machine has the networks of the profile");
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
