// The machines of the papers, as costs. Nobody published most of them; a stand-in says so.
#pragma once

#include <string>
#include <vector>

#include "pictures/machines/machine_file.h"

namespace smelt::paper {

// The participants: `members` are indices into `file`, participant i is members[i].
struct PaperMachine {
  std::string name;      // as the paper calls it: "I SB 4x8x2"
  std::string stand_in;  // whose costs these are
  MachineFile file;
  std::vector<uint16_t> members;
  const char* unit() const { return cost_unit_name(file.overlap.unit); }
};

enum class Occupancy {
  kCores,   // one participant per core, as the paper's section 5.1 has it
  kThreads  // every hardware thread
};

// The eleven machines of OSDI'16, Table 1, in its order; by name ("A IL 4x4x2"), or HotPar'09's "Clovertown",
// "Barcelona", "Niagara2". `folder` ("" for none) may have matrix files that describe one better than what the project
// ships. Throws UserError.
const std::vector<std::string>& osdi_machines();
PaperMachine paper_machine(const std::string& name, Occupancy use, const std::string& folder);

// The machine that this runs on, with the CPUs that the process may use, one per core or all. Throws UserError.
PaperMachine this_machine(Occupancy use);

// The kernel's numbers of the participants.
std::vector<uint32_t> cpus_of(const PaperMachine& machine);

// The first `count` participants when they are taken from the NUMA nodes in turn (OSDI'16, section 5.2).
std::vector<uint16_t> round_robin(const PaperMachine& machine, size_t count);

}  // namespace smelt::paper
