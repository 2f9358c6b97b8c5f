// The verbs of smelt-pictures.
#pragma once

#include "cli/info.h"
#include "pictures/picture.h"

namespace smelt {

void add_draw(CLI::App& app, Action& chosen);
void add_report(CLI::App& app, Action& chosen);
void add_tree(CLI::App& app, Action& chosen);
int info_of_machine(const InfoArguments& arguments);  // of smelt info

}  // namespace smelt
