// smelt info --rails: the sampled networks, and the conclusions from them.
#include <CLI/CLI.hpp>

#include <unistd.h>

#include <memory>

#include "cli/command.h"
#include "cli/report_sections.h"
#include "rails/network/profile.h"
#include "rails/verbs/rails.h"
#include "rails/verbs/verbs.h"
#include "report/html.h"

namespace smelt {
namespace {

struct InfoArguments {
  std::string network, plot;
  bool rails = false, json = false, html = false;
};

void put_html(const NetworkProfile& profile) {
  put(html::preformatted(rails_text(rails_document(profile)), "Rails"));
  size_t nth = 0;
  for (const Plot& plot : rails_plots(profile)) put(plot_figure(plot, "rail-" + std::to_string(++nth)));
}

int run_info(const InfoArguments& arguments) {
  const std::string path = arguments.network.empty() ? default_network_path() : arguments.network;
  if (arguments.html && arguments.network.empty() && ::access(path.c_str(), F_OK) != 0) return 0;
  const NetworkProfile profile = read_network_profile(path);
  if (arguments.html)
    put_html(profile);
  else
    show(rails_document(profile), arguments.json, rails_text);
  if (arguments.plot == "-")
    put(rails_plot_text(profile));
  else if (!arguments.plot.empty())
    write_file(arguments.plot, rails_plot_svg(profile));
  return 0;
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
  // What smelt report shows: nothing where no network was sampled.
  verb->add_flag("--html", arguments->html)->group("");
  verb->footer("Example:\n  smelt info --rails\n  smelt info --rails --network node7.network.json --plot rails.svg");
  verb->callback([arguments, &chosen] { chosen = [arguments] { return run_info(*arguments); }; });
}

}  // namespace smelt
