// smelt-network: the verbs of networks between nodes.
#include "cli/program.h"
#include "rails/verbs/verbs.h"

namespace {

void add_verbs(CLI::App& app, smelt::Action& chosen, std::vector<std::string>&) {
  smelt::add_network(app, chosen);
  smelt::add_tune(app, chosen);
  smelt::add_info_rails(app, chosen);
  smelt::add_calibrate_network(app, chosen);
}

}  // namespace

int main(int argc, char** argv) { return smelt::run_program({add_verbs}, argc, argv); }
