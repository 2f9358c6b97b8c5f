// smelt info --rails: the sampled networks, and the conclusions from them.
#include <CLI/CLI.hpp>

#include <unistd.h>

#include <memory>

#include "cli/command.h"
#include "pictures/python.h"
#include "rails/network/profile.h"
#include "rails/verbs/rails.h"
#include "rails/verbs/verbs.h"

namespace smelt {
namespace {

struct InfoArguments {
  std::string network, plot;
  bool rails = false, json = false, if_sampled = false;
};

int run_info(const InfoArguments& arguments) {
  const std::string path = arguments.network.empty() ? default_network_path() : arguments.network;
  if (arguments.if_sampled && ::access(path.c_str(), F_OK) != 0) return 0;
  const NetworkProfile profile = read_network_profile(path);
  Document document = rails_document(profile);
  document["plots"] = rails_plots(profile);
  show(document, arguments.json, rails_text);
  return arguments.plot.empty() ? 0 : draw_document("plots", arguments.plot, document);
}

}  // namespace

void add_info_rails(CLI::App& app, Action& chosen) {
  CLI::App* verb = app.add_subcommand("info", "Show the sampled networks, their limits, and how messages are split");
  auto arguments = std::make_shared<InfoArguments>();
  verb->add_flag("--rails", arguments->rails, "the networks, and not the machine")->required();
  verb->add_option("--network", arguments->network, "a network profile instead of this machine's")->type_name("FILE");
  verb->add_option("--plot", arguments->plot, "draw the curves and where they cross; - : on the terminal")
      ->type_name("FILE.svg");
  verb->add_flag("--json", arguments->json, "for programs");
  // For smelt report: nothing where no network was sampled.
  verb->add_flag("--if-sampled", arguments->if_sampled)->group("");
  verb->footer("Example:\n  smelt info --rails\n  smelt info --rails --network node7.network.json --plot rails.svg");
  verb->callback([arguments, &chosen] { chosen = [arguments] { return run_info(*arguments); }; });
}

}  // namespace smelt
