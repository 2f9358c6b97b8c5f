// smelt tune: hands other libraries their own parameters, from what was measured.
//
// Open MPI 4.1 deals a long message to the interfaces by btl_tcp_bandwidth_<interface>, which it takes from what the
// kernel says, and virtual interfaces, bonds and clouds say anything. Its limits between
// eager and rendezvous are constants. All are parameters, so measured ones need no code in the way of the data.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <memory>

#include "cli/command.h"
#include "cli/methods.h"
#include "cli/rails.h"
#include "profile/text/error.h"
#include "profile/text/network.h"

namespace smelt {
namespace {

struct TuneArguments {
  std::string library, network, output;
  bool dry_run = false, json = false;
};

struct Parameter {
  std::string name, value, why;
};

// An eager message that nobody expects yet waits in the receiver's memory: however slow the network is to ask, longer
// ones are announced. As much as the samples ask for, from what every Open MPI sends at once to this.
constexpr uint64_t kLeastEager = 1 << 10, kMostEager = 1 << 20;
// A rail with less of the sum than this only adds latency to the messages it takes part in.
constexpr double kLeastShare = 0.02;

std::vector<Parameter> open_mpi_parameters(const NetworkProfile& profile) {
  double sum = 0;
  const NetworkRail* quickest = nullptr;
  std::vector<const NetworkRail*> used;
  std::vector<std::string> names, left_out;
  for (const NetworkRail& rail : profile.rails) sum += rail_mbits(rail);
  for (const NetworkRail& rail : profile.rails) {
    if (!(rail_mbits(rail) >= 1) || rail_mbits(rail) < kLeastShare * sum) {
      left_out.push_back(fmt::format("{} ({:.3g} Mbit/s)", rail.interface, rail_mbits(rail)));
      continue;
    }
    used.push_back(&rail);
    names.push_back(rail.interface);
    if (!quickest || rail_latency_us(rail) < rail_latency_us(*quickest)) quickest = &rail;
  }
  if (used.empty()) throw UserError("no rail of the network profile carries 1 Mbit/s; sample again");

  std::vector<Parameter> out;
  out.push_back({"btl_tcp_if_include", fmt::format("{}", fmt::join(names, ",")),
                 left_out.empty() ? "they reach the peer"
                                  : fmt::format("they reach the peer; left out, as they carry nearly nothing: {}",
                                                fmt::join(left_out, ", "))});
  for (const NetworkRail* rail : used) {
    out.push_back({"btl_tcp_bandwidth_" + rail->interface, fmt::format("{:.0f}", rail_mbits(*rail)),
                   fmt::format("Mbit/s of long messages, measured: {:.0f} % of all", 100 * rail_mbits(*rail) / sum)});
    out.push_back({"btl_tcp_latency_" + rail->interface,
                   fmt::format("{:.0f}", std::max(1.0, std::round(rail_latency_us(*rail)))),
                   "µs of the shortest message, measured"});
  }
  const uint64_t asked = limits_of(quickest->rail, profile.copy).rendezvous;
  const uint64_t limit = std::clamp(asked, kLeastEager, kMostEager);
  std::string why = asked == UINT64_MAX
                        ? fmt::format("asking first never pays on {}", quickest->interface)
                        : fmt::format("asking first pays from {} on {}", bytes_text(asked), quickest->interface);
  why += ", the rail of the least latency";
  if (limit != asked) why += fmt::format("; kept at {}", bytes_text(limit));
  out.push_back({"btl_tcp_eager_limit", fmt::format("{}", limit), why});
  out.push_back(
      {"btl_tcp_rndv_eager_limit", fmt::format("{}", limit), "what goes with the announcement: no more than eager"});
  return out;
}

int run_tune(const TuneArguments& arguments) {
  const std::string path = arguments.network.empty() ? default_network_path() : arguments.network;
  const NetworkProfile profile = read_network_profile(path);
  const std::vector<Parameter> parameters = open_mpi_parameters(profile);
  if (arguments.json) {
    auto rows = nlohmann::ordered_json::array();
    for (const Parameter& one : parameters)
      rows.push_back({{"parameter", one.name}, {"value", one.value}, {"why", one.why}});
    put(rows.dump(2) + "\n");
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
