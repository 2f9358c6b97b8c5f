// smelt network: sample the networks between two nodes, one command on each.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/interruption.h"
#include "cli/methods.h"
#include "cli/progress_line.h"
#include "cli/terminal.h"
#include "profile/text/error.h"
#include "profile/text/io.h"
#include "rails/network/control.h"
#include "rails/network/fabric.h"
#include "rails/network/interfaces.h"
#include "rails/network/journal.h"
#include "rails/network/sampling.h"
#include "rails/verbs/rails.h"
#include "rails/verbs/start_peer.h"
#include "rails/verbs/verbs.h"

namespace smelt {
namespace {

constexpr uint16_t kPort = 17311;  // below those that the kernel gives to outgoing connections

struct NetworkArguments {
  std::string peer, output, file, other, agent, address = "0.0.0.0";
  uint16_t port = kPort;
  double seconds = 8;
  bool json = false, quiet = false, fresh = false;
  bool network = false, check = false;  // of smelt calibrate
};

// At the place named; else for the peers of its class, and as the one that is used where nothing is said.
void keep(const NetworkProfile& profile, const std::string& place, bool quiet = false) {
  std::vector<std::string> places = {place};
  if (place.empty()) places = {default_network_path(), network_path_of(profile.peer_class)};
  for (const std::string& path : places) {
    write_network_profile(profile, path);
    if (!quiet) put(fact("written", path));
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

// The peer, started first where an agent was named: it lives as long as this does.
class Connection {
 public:
  explicit Connection(const NetworkArguments& arguments) {
    constexpr double kConnectSeconds = 10, kStartSeconds = 30;
    if (!arguments.agent.empty()) started_.emplace(arguments.agent, arguments.peer, kStartSeconds);
    control_.emplace(connect_to(arguments.peer, started_ ? started_->port() : arguments.port, kConnectSeconds));
  }
  Control& operator*() { return *control_; }

 private:
  std::optional<StartedPeer> started_;
  std::optional<Control> control_;  // ends first: then the peer does
};

int sample(const NetworkArguments& arguments) {
  fabric_library();
  const std::string path = arguments.output.empty() ? default_network_path() : arguments.output;
  prepare_profile_place(path, false);
  NetworkJournal journal(path, arguments.fresh);
  if (journal.known() > 0 && !arguments.quiet)
    warn(fmt::format("going on from what an interrupted sampling measured (sizes: {}); --fresh measures all anew",
                     journal.known()));
  Interruption interruption("interrupted; the same command goes on from here, the profile is as it was");
  interruption.leave_at_once();
  std::optional<Connection> peer;
  {
    const StillWorking working("connecting to " + arguments.peer, !arguments.quiet);
    peer.emplace(arguments);
  }
  NetworkProfile profile;
  {
    ProgressLine line("sizes", !arguments.quiet);
    SamplingOptions options;
    options.seconds = arguments.seconds;
    options.store = journal.store();
    options.progress = [&line](uint32_t done, uint32_t total) { line.show(done, total); };
    profile = sample_networks(**peer, options);
  }
  if (arguments.json || !arguments.quiet) show(rails_document(profile), arguments.json, rails_text);
  interruption.ignore();
  keep(profile, arguments.output, arguments.json || arguments.quiet);
  journal.remove();
  return 0;
}

std::string present(const NetworkArguments& arguments) {
  return arguments.file.empty() ? default_network_path() : arguments.file;
}

std::string networks_check_text(const Document& document) {
  Document rows = document;
  bool changed = false;
  for (Document& row : rows) {
    changed |= row["changed"].get<bool>();
    row["size"] = bytes_text(row["bytes"]);
    if (row["now_us"].is_null()) {
      row["what"] = "is not what it was: its driver, address or provider has changed";
    } else {
      row["times"] = row["now_us"].get<double>() / row["sampled_us"].get<double>();
      row["what"] = row["changed"] ? "changed" : "";
    }
  }
  return table_text({"network",
                     columns("network=interface; size; sampled, µs=sampled_us|2; now, µs=now_us|2; times|2; =what"),
                     std::move(rows)}) +
         (changed ? "changed by more than 30 %: sample again\n" : "the profile holds\n");
}

// As smelt calibrate --check: 0 within 30 %, 1 changed.
int check(const NetworkArguments& arguments) {
  constexpr double kDrift = 1.3;
  fabric_library();
  const NetworkProfile profile = read_network_profile(present(arguments));
  bool changed = false;
  Document rows = Document::array();
  {
    StillWorking working("connecting to " + arguments.peer, !arguments.quiet);
    Connection peer(arguments);
    working.go_on_with("measuring a few sizes of each network");
    for (const RailCheck& one : check_networks(*peer, profile)) {
      const double times = one.is_us / one.was_us;
      const bool drifted = times > kDrift || times < 1 / kDrift;
      changed = changed || drifted;
      rows.push_back({{"interface", one.interface},
                      {"bytes", one.bytes},
                      {"sampled_us", one.was_us},
                      {"now_us", one.is_us > 0 ? Document(one.is_us) : Document(nullptr)},
                      {"changed", drifted}});
    }
  }
  if (arguments.json || !arguments.quiet) show(rows, arguments.json, networks_check_text);
  return changed ? kExitWarning : 0;
}

int export_network(const NetworkArguments& arguments) {
  const std::string text = network_to_json(read_network_profile(default_network_path()));
  if (arguments.output.empty())
    put(text);
  else
    write_file(arguments.output, text);
  return 0;
}

int import_network(const NetworkArguments& arguments) {
  const NetworkProfile profile = read_network_profile(arguments.file);
  const std::vector<NetworkInterface> here = network_interfaces();
  for (const NetworkRail& rail : profile.rails) {
    const auto found =
        std::find_if(here.begin(), here.end(), [&](const NetworkInterface& one) { return one.name == rail.interface; });
    if (found == here.end() || found->driver != rail.driver || found->speed != rail.speed)
      throw UserError(fmt::format("{}: {} ({}, {} Mbit/s) is no interface of this machine; sample its networks",
                                  arguments.file, rail.interface, rail.driver, rail.speed));
  }
  keep(profile, "");
  return 0;
}

Document networks_change(const NetworkProfile& a, const NetworkProfile& b) {
  const auto limit = [](uint64_t bytes) { return bytes == UINT64_MAX ? Document(nullptr) : Document(bytes); };
  const auto rail = [&limit](const NetworkRail& one, const NetworkProfile& of) -> Document {
    return {{"latency_us", rail_latency_us(one)},
            {"mbit_per_s", rail_mbits(one)},
            {"rendezvous_from", limit(limits_of(one.rail, of.copy).rendezvous)}};
  };
  const auto named = [](const NetworkProfile& of, const std::string& interface) {
    return std::find_if(of.rails.begin(), of.rails.end(),
                        [&](const NetworkRail& one) { return one.interface == interface; });
  };
  Document rails = Document::array();
  for (const NetworkRail& one : a.rails) {
    const auto other = named(b, one.interface);
    rails.push_back({{"interface", one.interface},
                     {"a", rail(one, a)},
                     {"b", other == b.rails.end() ? Document(nullptr) : rail(*other, b)}});
  }
  for (const NetworkRail& one : b.rails)
    if (named(a, one.interface) == a.rails.end())
      rails.push_back({{"interface", one.interface}, {"a", nullptr}, {"b", rail(one, b)}});
  const auto whole = [](const NetworkProfile& one) -> Document {
    return {{"library", one.library}, {"peer_class", fmt::format("{:016x}", one.peer_class)}};
  };
  return {{"a", whole(a)}, {"b", whole(b)}, {"rails", std::move(rails)}};
}

std::string networks_change_text(const Document& document) {
  const Document &a = document["a"], &b = document["b"];
  std::string out;
  if (a["library"] != b["library"]) out += fact("library", told(document, "{a.library} and {b.library}"));
  if (a["peer_class"] != b["peer_class"])
    out += fact("peers", told(document, "of classes {a.peer_class} and {b.peer_class}"));
  const auto limit = [](const Document& rail) {
    const Document& from = rail["rendezvous_from"];
    return from.is_null() ? "never" : from == 0 ? "always" : bytes_text(from);
  };
  for (const Document& one : document["rails"]) {
    const Document &x = one["a"], &y = one["b"];
    if (x.is_null() || y.is_null()) {
      out += fact(shown(one, "interface"), x.is_null() ? "only in the second" : "only in the first");
      continue;
    }
    const auto pair = [&](const char* member) {
      const double was = x[member], is = y[member];
      return fmt::format("{:.4g}, {:.4g} ({})", was, is, was > 0 ? fmt::format("{:+.0f} %", 100 * (is / was - 1)) : "");
    };
    out += fact(shown(one, "interface"), fmt::format("latency in µs {}; bandwidth in Mbit/s {}; rendezvous from {}, {}",
                                                     pair("latency_us"), pair("mbit_per_s"), limit(x), limit(y)));
  }
  return out;
}

int diff(const NetworkArguments& arguments) {
  const NetworkProfile a = read_network_profile(arguments.file);
  const NetworkProfile b = read_network_profile(arguments.other.empty() ? default_network_path() : arguments.other);
  show(networks_change(a, b), arguments.json, networks_change_text);
  return 0;
}

}  // namespace

void add_calibrate_network(CLI::App& app, Action& chosen) {
  CLI::App* verb = app.add_subcommand("calibrate", "Sample the networks to another node, and keep that");
  auto arguments = std::make_shared<NetworkArguments>();
  arguments->agent = "ssh";
  verb->add_flag("--network", arguments->network, "smelt network sample")->required();
  verb->add_option("--peer", arguments->peer, "the other node")->type_name("HOST")->required();
  verb->add_option("--agent", arguments->agent, "starts smelt there, called as ssh is: AGENT HOST COMMAND")
      ->type_name("AGENT")
      ->capture_default_str();
  verb->add_option("-o,--output", arguments->output, "the profile's file instead of the usual ones")->type_name("FILE");
  CLI::Option* fresh = verb->add_flag("--fresh", arguments->fresh, "do not go on from an interrupted sampling");
  verb->add_flag("--check", arguments->check, "smelt network check")->excludes(fresh);
  CLI::Option* json = verb->add_flag("--json", arguments->json, "the result for programs");
  verb->add_flag("--quiet", arguments->quiet, "no progress, no result")->excludes(json);
  verb->callback([arguments, &chosen] {
    chosen = [arguments] { return arguments->check ? check(*arguments) : sample(*arguments); };
  });
}

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
  sampling->add_flag("--fresh", arguments->fresh, "do not go on from what an interrupted sampling measured");
  CLI::App* checking =
      verb->add_subcommand("check", "As sample: does the profile still hold? Exit code 0 within 30 %, 1 changed");
  checking->add_option("peer", arguments->peer, "name or address of the node that listens")->required();
  checking->add_option("--network", arguments->file, "a network profile instead of this machine's")->type_name("FILE");
  checking->add_option("--port", arguments->port, "TCP port by which both agree")
      ->type_name("PORT")
      ->capture_default_str();
  for (CLI::App* one : {sampling, checking}) {
    one->add_option("--start", arguments->agent,
                    "start the listening there by this program, called as ssh is: AGENT HOST COMMAND")
        ->type_name("AGENT");
    CLI::Option* json = one->add_flag("--json", arguments->json, "the result for programs");
    one->add_flag("--quiet", arguments->quiet, "no progress, no result")->excludes(json);
  }
  CLI::App* exporting = verb->add_subcommand("export", "Print the network profile");
  exporting->add_option("-o,--output", arguments->output, "write it there instead")->type_name("FILE");
  CLI::App* importing = verb->add_subcommand("import", "Take the profile of a node with the same interfaces");
  importing->add_option("file", arguments->file, "what export has written there")->type_name("FILE")->required();
  CLI::App* differing = verb->add_subcommand("diff", "What differs between two network profiles");
  differing->add_option("file", arguments->file, "the first")->type_name("FILE")->required();
  differing->add_option("other", arguments->other, "the second; by default this machine's")->type_name("FILE");
  differing->add_flag("--json", arguments->json, "for programs");
  verb->footer(
      "Example, on two nodes:\n  node1$ smelt network listen\n  node2$ smelt network sample node1\n"
      "or, where ssh gets there\n  node2$ smelt network sample --start ssh node1");
  listening->callback([arguments, &chosen] { chosen = [arguments] { return listen(*arguments); }; });
  sampling->callback([arguments, &chosen] { chosen = [arguments] { return sample(*arguments); }; });
  checking->callback([arguments, &chosen] { chosen = [arguments] { return check(*arguments); }; });
  exporting->callback([arguments, &chosen] { chosen = [arguments] { return export_network(*arguments); }; });
  importing->callback([arguments, &chosen] { chosen = [arguments] { return import_network(*arguments); }; });
  differing->callback([arguments, &chosen] { chosen = [arguments] { return diff(*arguments); }; });
}

}  // namespace smelt
