// smelt info's halves: this machine is told of here, and a machine that --machine names by smelt-pictures (houses.cc).
#pragma once

#include <cstdint>
#include <string>

#include "cli/command.h"
#include "cli/plan.h"

namespace smelt {

struct InfoArguments {
  std::string machine = "this";
  bool json = false, thresholds = false;
  uint32_t participants = 0;
};

// `run` does it and returns the exit code.
void add_info(CLI::App& app, Action& chosen, int (*run)(const InfoArguments&));

int info_of_this_machine(const InfoArguments& arguments);

// The barrier of these CPUs, as a member of the document.
Document barrier_document(const std::vector<uint32_t>& cpus, const PlannedCollective& barrier);
std::string info_text(const Document& document);  // of either half's

}  // namespace smelt
