// smelt-lab: the verbs that judge the model. People call them as smelt's (core/cli/houses.h).
#include "cli/program.h"
#include "lab/verbs.h"

int main(int argc, char** argv) {
  return smelt::run_program(
      {[](CLI::App& app, smelt::Action& chosen, std::vector<std::string>&) { smelt::add_compare(app, chosen); }}, argc,
      argv);
}
