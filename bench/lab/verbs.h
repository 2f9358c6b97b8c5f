// The verbs of smelt-lab.
#pragma once

#include "cli/command.h"

namespace smelt {

void add_compare(CLI::App& app, Action& chosen);

}  // namespace smelt
