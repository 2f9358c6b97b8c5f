// From what the user asked for to a picture of a validated schedule: the CPUs, the pattern, the price.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pictures/machines/machine_file.h"
#include "pictures/picture.h"
#include "schedule/choose.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace smelt {

struct PictureRequest {
  Operation op = Operation::kBarrier;
  std::string pattern = "best";
  bool paper = false;            // the paper's additive cost model instead of the overlap-aware one
  std::vector<uint32_t> cpus;    // participant i runs on cpus[i]; empty: all of the machine
  std::optional<uint32_t> root;  // the kernel's number
  SearchEffort effort = kPatientEffort;
  std::string working;  // told of a long search (progress_line.h); "": what is planned
};

// "0-3,8,10-11" in the order written. Throws UserError: empty, not numbers, a range backwards, a CPU named twice.
std::vector<uint32_t> parse_cpu_list(const std::string& text);

// The participant that is to be the root, -1: the pattern's choice. Throws UserError: the CPU does not take part.
int find_root(const PictureRequest& request, const std::vector<uint32_t>& cpus);

// The costs alone: no operation, no pattern. Throws UserError: unknown CPU.
Picture picture_costs(const MachineFile& machine, const PictureRequest& request);

// Throws UserError: unknown CPU or pattern, a pattern that cannot do the operation. The schedule has been validated.
// Where it takes long, it says so (progress_line.h). `visitor`: shown what the search for "best" looks at.
Picture make_picture(const MachineFile& machine, const PictureRequest& request,
                     const CandidateVisitor* visitor = nullptr);

// The options that say what is planned, --machine, --op, --pattern, --cpus, --root, --cost-model, and how long a tree
// is searched for, --exact, --moves, --seed, --budget. One set for all verbs that build a pattern.
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

}  // namespace smelt
