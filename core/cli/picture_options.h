// The options that say what is planned, --machine, --op, --pattern, --cpus, --root, --cost-model, and how long a tree
// is searched for, --exact, --moves, --seed, --budget. One set for all verbs that build a pattern.
#pragma once

#include <CLI/CLI.hpp>

#include <atomic>
#include <string>

#include "cli/picture_request.h"

namespace smelt {

struct PictureArguments {
  std::string machine = "this", op = "barrier", pattern = "best", cost_model = "overlap", cpus;
  uint32_t root = 0;
  uint32_t exact = kPatientEffort.most_exact, moves = kPatientEffort.moves;
  uint64_t seed = kPatientEffort.seed;
  double budget_ms = 0;
  // Were they given?
  CLI::Option *machine_option = nullptr, *op_option = nullptr, *cpus_option = nullptr, *root_option = nullptr;
};

// `arguments` must outlive the parsing.
void add_picture_options(CLI::App& verb, PictureArguments& arguments);

// Reads the machine and completes the request: on this machine, those CPUs that the process may use. The budget begins
// now; searches end when `stop` is set. Throws UserError.
MachineFile read_request(const PictureArguments& arguments, const std::atomic<bool>* stop, PictureRequest* request);

// Does the terminal's locale take UTF-8? If it does not, pictures are ASCII.
bool terminal_takes_utf8();

}  // namespace smelt
