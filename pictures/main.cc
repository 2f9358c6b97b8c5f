// smelt-pictures: the verbs that draw, and what is asked of other machines. People call them as smelt's
// (core/cli/houses.h).
#include "cli/program.h"
#include "pictures/verbs.h"
#include "pictures/zoo_list.h"

namespace smelt {
namespace {

void add_verbs(CLI::App& app, Action& chosen, std::vector<std::string>&) {
  add_info(app, chosen, info_of_machine);
  add_tree(app, chosen);
  add_draw(app, chosen);
  add_report(app, chosen);
}

}  // namespace
}  // namespace smelt

int main(int argc, char** argv) {
  return smelt::run_program({smelt::add_verbs, "", nullptr, smelt::zoo_names()}, argc, argv);
}
