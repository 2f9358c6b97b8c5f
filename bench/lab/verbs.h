// The verbs of smelt-lab.
#pragma once

#include "cli/command.h"

namespace smelt {

void add_compare(CLI::App& app, Action& chosen);
void add_simulation(CLI::App& app, Action& chosen);  // calibrate --simulate

}  // namespace smelt
