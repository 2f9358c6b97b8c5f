// smelt network: sample the networks between two nodes, one command on each.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/progress_line.h"
#include "cli/rails.h"
#include "network/control.h"
#include "network/fabric.h"
#include "network/sampling.h"
#include "profile/text/error.h"
#include "profile/text/io.h"

namespace smelt {
namespace {

constexpr uint16_t kPort = 17311;  // below those that the kernel gives to outgoing connections

struct NetworkArguments {
  std::string peer, output, address = "0.0.0.0";
  uint16_t port = kPort;
  double seconds = 8;
  bool json = false, quiet = false;
};

// At the place named; else for the peers of its class, and as the one that is used where nothing is said.
void keep(const NetworkProfile& profile, const std::string& place, bool quiet = false) {
  std::vector<std::string> places = {place};
  if (place.empty()) places = {default_network_path(), network_path_of(profile.peer_class)};
  for (const std::string& path : places) {
    write_network_profile(profile, path);
    if (!quiet) put(fmt::format("written     {}\n", path));
  }
}

int listen(const NetworkArguments& arguments) {
  fabric_library();  // said now, and not when the other node has connected
  const Listener listener(arguments.address, arguments.port);
  put(fmt::format("listening on port {} for one 'smelt network sample'\n", listener.port()));
  std::fflush(stdout);
  int fd;
  while ((fd = listener.accept()) < 0) {
  }
  Control control(fd);
  const std::optional<NetworkProfile> profile = serve_sampling(control);
  if (profile)
    keep(*profile, arguments.output);
  else
    put(fmt::format("looked at from {}; nothing is new\n", control.peer_address()));
  return 0;
}

int sample(const NetworkArguments& arguments) {
  constexpr double kConnectSeconds = 10;
  fabric_library();
  const std::string path = arguments.output.empty() ? default_network_path() : arguments.output;
  prepare_profile_place(path, false);
  Control control(connect_to(arguments.peer, arguments.port, kConnectSeconds));
  NetworkProfile profile;
  {
    ProgressLine line("curves", !arguments.quiet);
    SamplingOptions options;
    options.seconds = arguments.seconds;
    options.progress = [&line](uint32_t done, uint32_t total) { line.show(done, total); };
    profile = sample_networks(control, options);
  }
  if (arguments.json)
    put(rails_json(profile));
  else if (!arguments.quiet)
    put(rails_text(profile) + "\n");
  keep(profile, arguments.output, arguments.json || arguments.quiet);
  return 0;
}

}  // namespace

void add_network(CLI::App& app, Action& chosen) {
  CLI::App* verb =
      app.add_subcommand("network", "Sample the networks to another node, for smelt info --rails and tune");
  verb->require_subcommand(1);
  auto arguments = std::make_shared<NetworkArguments>();
  CLI::App* listening = verb->add_subcommand("listen", "On one node: wait for the other, and answer it");
  CLI::App* sampling = verb->add_subcommand("sample", "On the other: sample every network that reaches the first");
  listening->add_option("--address", arguments->address, "where to be reached; by default, at all of them")
      ->type_name("ADDRESS")
      ->capture_default_str();
  for (CLI::App* one : {listening, sampling})
    one->add_option("--port", arguments->port, "TCP port by which both agree; 0, listening: any")
        ->type_name("PORT")
        ->capture_default_str();
  sampling->add_option("peer", arguments->peer, "name or address of the node that listens")->required();
  for (CLI::App* one : {listening, sampling})
    one->add_option("-o,--output", arguments->output, "the profile's file instead of the usual ones")
        ->type_name("FILE");
  sampling->add_option("--seconds", arguments->seconds, "how long each network is sampled, about")
      ->type_name("S")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  CLI::Option* json = sampling->add_flag("--json", arguments->json, "the result for programs");
  sampling->add_flag("--quiet", arguments->quiet, "no progress, no result")->excludes(json);
  verb->footer("Example, on two nodes:\n  node1$ smelt network listen\n  node2$ smelt network sample node1");
  listening->callback([arguments, &chosen] { chosen = [arguments] { return listen(*arguments); }; });
  sampling->callback([arguments, &chosen] { chosen = [arguments] { return sample(*arguments); }; });
}

}  // namespace smelt
