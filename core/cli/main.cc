// smelt: the program for people. Its verbs are listed here; those of the houses have programs of their own.
#include "cli/houses.h"
#include "cli/info.h"
#include "cli/program.h"

namespace smelt {
namespace {

constexpr const char* kFirstSteps =
    "First steps:\n  smelt doctor              is this a good moment to measure?\n  smelt calibrate           "
    "measure this machine, once\n"
    "  smelt try -- ./app        is your program faster with Smelt? Runs it in pairs\n  smelt run -- ./app        "
    "run an OpenMP or MPI program with Smelt\nSettings: 'smelt config'. Each command explains itself: smelt COMMAND "
    "--help";

void add_verbs(CLI::App& app, Action& chosen, std::vector<std::string>& tail) {
  add_calibrate(app, chosen);
  add_doctor(app, chosen);
  add_profile(app, chosen);
  add_info(app, chosen, info_of_this_machine);
  name_houses(app);
  add_try(app, chosen, tail);
  add_run(app, chosen, tail);
  add_env(app, chosen);
  add_config(app, chosen);
}

}  // namespace
}  // namespace smelt

int main(int argc, char** argv) {
  return smelt::run_program({smelt::add_verbs, smelt::kFirstSteps, smelt::leave_to_house}, argc, argv);
}
