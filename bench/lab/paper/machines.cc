#include "bench/lab/paper/machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "bench/allowed_cpus.h"
#include "profile/text/error.h"

namespace smelt::paper {
namespace {

struct Known {
  const char* name;
  const char* in_folder;  // matrix files of this name in --machines; with one thread per core, NAME_1t; "": none
  const char* machine;    // as read_machine_file takes it
  uint32_t packages, cores, threads;  // cut out of that where it has more of them
  const char* whose;
};

constexpr const char* kTypical = "typical costs for the shape that the paper names";
constexpr const char* kIvyBridge = "cut out of the zoo's 4x10x2 Ivy Bridge, with that machine's costs";

constexpr Known kKnown[] = {
    {"A MC 4x12x1", "syn_A_MC_4x12x1", "synthetic:pack:4 numa:1 l3:1 core:12 pu:1", 4, 12, 1, kTypical},
    {"I IB 2x10x2", "smelt_ivybridge_2x10", "zoo:intel-xeon-e5-2670v2-2x10", 2, 10, 1,
     "the zoo's E5-2670 v2, this very processor, without its second threads"},
    {"I NL 4x8x2", "", "zoo:intel-xeon-e5-4650v2-4x10x2", 4, 8, 2, kIvyBridge},
    {"A BC 8x4x1", "syn_A_BC_8x4x1", "synthetic:pack:8 numa:1 l3:1 core:4 pu:1", 8, 4, 1, kTypical},
    {"I KNC 1x60x4", "syn_I_KNC_1x60x4", "zoo:intel-phi-7210-1x64", 1, 60, 1,
     "cut out of the zoo's Phi 7210, the next generation: a mesh, not a ring"},
    {"I SB 2x8x2", "syn_I_SB_2x8x2", "zoo:intel-xeon-e5-2690-2x8x2", 2, 8, 2, "the zoo's E5-2690, also Sandy Bridge"},
    {"A SH 4x4x1", "syn_A_SH_4x4x1", "synthetic:pack:4 numa:1 l3:1 core:4 pu:1", 4, 4, 1, kTypical},
    {"A IL 4x4x2", "", "synthetic:pack:4 numa:2 l3:1 core:2 pu:2", 4, 4, 2, kTypical},
    {"I SB 4x8x2", "syn_I_SB_4x8x2", "zoo:intel-xeon-e5-4650v2-4x10x2", 4, 8, 2, kIvyBridge},
    {"I BF 2x4x2", "syn_I_BF_2x4x2", "synthetic:pack:2 numa:1 l3:1 core:4 pu:2", 2, 4, 2, kTypical},
    {"A IS 4x6x1", "syn_A_IS_4x6x1", "synthetic:pack:4 numa:1 l3:1 core:6 pu:1", 4, 6, 1, kTypical},
    {"Clovertown", "", "synthetic:pack:2 numa:1 l2:2 core:2 pu:1", 2, 4, 1, kTypical},
    {"Barcelona", "syn_A_BC_8x4x1", "synthetic:pack:8 numa:1 l3:1 core:4 pu:1", 8, 4, 1, kTypical},
    {"Niagara2", "", "synthetic:pack:4 numa:1 l2:1 core:8 pu:8", 4, 8, 8, kTypical},
};
constexpr size_t kOfOsdi = 11;

// Of each package the first `cores` cores, of each core the first `threads` participants.
std::vector<uint16_t> cut(const MachineFile& file, uint32_t packages, uint32_t cores, uint32_t threads) {
  std::map<uint16_t, std::map<uint16_t, uint32_t>> taken;  // by package and core, how many threads
  std::vector<uint16_t> members;
  for (size_t i = 0; i < file.cpus.size(); ++i) {
    if (!taken.contains(file.package[i]) && taken.size() == packages) continue;
    auto& package = taken[file.package[i]];
    if (!package.contains(file.core[i]) && package.size() == cores) continue;
    if (package[file.core[i]]++ < threads) members.push_back(static_cast<uint16_t>(i));
  }
  return members;
}

}  // namespace

const std::vector<std::string>& osdi_machines() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (size_t k = 0; k < kOfOsdi; ++k) out.push_back(kKnown[k].name);
    return out;
  }();
  return names;
}

PaperMachine paper_machine(const std::string& name, Occupancy use, const std::string& folder) {
  const auto known = std::find_if(std::begin(kKnown), std::end(kKnown), [&](const Known& k) { return name == k.name; });
  if (known == std::end(kKnown)) throw UserError(fmt::format("no paper has a machine '{}'", name));
  PaperMachine out;
  out.name = name;
  if (!folder.empty() && *known->in_folder) {
    // A matrix file does not say which CPUs share a core, so there is one file for each use.
    for (const char* suffix : {use == Occupancy::kCores ? "_1t" : "", ""}) {
      const std::string path = fmt::format("{}/{}{}.json", folder, known->in_folder, suffix);
      if (!std::filesystem::exists(path)) continue;
      out.file = read_machine_file(path);
      out.stand_in = fmt::format("matrix file {}", out.file.name);
      for (size_t i = 0; i < out.file.cpus.size(); ++i) out.members.push_back(static_cast<uint16_t>(i));
      return out;
    }
  }
  out.file = read_machine_file(known->machine);
  out.stand_in = known->whose;
  out.members = cut(out.file, known->packages, known->cores, use == Occupancy::kCores ? 1 : known->threads);
  return out;
}

PaperMachine this_machine(Occupancy use) {
  PaperMachine out;
  out.file = read_machine_file("this");
  out.name = "this machine";
  out.stand_in = out.file.origin;
  const std::vector<uint32_t> allowed = allowed_cpus();
  std::set<uint16_t> cores;
  for (size_t i = 0; i < out.file.cpus.size(); ++i) {
    if (std::find(allowed.begin(), allowed.end(), out.file.cpus[i]) == allowed.end()) continue;
    if (use == Occupancy::kCores && !cores.insert(out.file.core[i]).second) continue;
    out.members.push_back(static_cast<uint16_t>(i));
  }
  if (!out.file.here) throw UserError("only this machine can be timed; unset HWLOC_XMLFILE and HWLOC_SYNTHETIC");
  return out;
}

std::vector<uint32_t> cpus_of(const PaperMachine& machine) {
  std::vector<uint32_t> cpus;
  for (const uint16_t member : machine.members) cpus.push_back(machine.file.cpus[member]);
  return cpus;
}

std::vector<uint16_t> round_robin(const PaperMachine& machine, size_t count) {
  std::map<uint16_t, std::vector<uint16_t>> of_node;
  for (const uint16_t member : machine.members) of_node[machine.file.overlap.node[member]].push_back(member);
  std::vector<uint16_t> out;
  for (size_t k = 0; out.size() < std::min(count, machine.members.size()); ++k)
    for (const auto& [node, members] : of_node)
      if (k < members.size() && out.size() < count) out.push_back(members[k]);
  return out;
}

}  // namespace smelt::paper
