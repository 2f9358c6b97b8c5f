// The verbs of smelt-pictures.
#pragma once

#include "cli/command.h"

namespace smelt {

void add_draw(CLI::App& app, Action& chosen);
void add_report(CLI::App& app, Action& chosen);

}  // namespace smelt
