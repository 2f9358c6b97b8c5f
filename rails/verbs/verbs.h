// The verbs of smelt-network. People call them as smelt's (core/cli/houses.h).
#pragma once

#include "cli/command.h"

namespace smelt {

void add_network(CLI::App& app, Action& chosen);
void add_tune(CLI::App& app, Action& chosen);
void add_info_rails(CLI::App& app, Action& chosen);         // smelt info --rails
void add_calibrate_network(CLI::App& app, Action& chosen);  // smelt calibrate --network

}  // namespace smelt
