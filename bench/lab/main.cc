// smelt-lab: the verbs that judge the model. People call them as smelt's (core/cli/houses.h).
#include "bench/lab/verbs.h"
#include "cli/program.h"
#include "pictures/zoo_list.h"

namespace {

void add_verbs(CLI::App& app, smelt::Action& chosen, std::vector<std::string>&) {
  smelt::add_compare(app, chosen);
  smelt::add_simulation(app, chosen);
}

}  // namespace

int main(int argc, char** argv) { return smelt::run_program({add_verbs, "", nullptr, smelt::zoo_names()}, argc, argv); }
