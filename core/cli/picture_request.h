// From what the user asked for to a picture of a validated schedule: the CPUs, the pattern, the price.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/picture.h"
#include "discover/machine_file.h"
#include "schedule/choose.h"

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

// CPUs of `machine` that this process may run on: the default of --cpus for the running machine.
std::vector<uint32_t> allowed_cpus_of(const MachineFile& machine);

// The costs alone: no operation, no pattern. Throws UserError: unknown CPU.
Picture picture_costs(const MachineFile& machine, const PictureRequest& request);

// Throws UserError: unknown CPU or pattern, a pattern that cannot do the operation. The schedule has been validated.
// Where it takes long, it says so (progress_line.h). `visitor`: shown what the search for "best" looks at.
Picture make_picture(const MachineFile& machine, const PictureRequest& request,
                     const CandidateVisitor* visitor = nullptr);

}  // namespace smelt
