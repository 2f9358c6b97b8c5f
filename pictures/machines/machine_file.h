// Any description of a machine, read into costs: the one door for all verbs that take another machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/arena.h"
#include "model/cost_model.h"
#include "model/curves.h"
#include "profile/measured.h"
#include "profile/profile.h"

namespace smelt {

struct MachineFile {
  std::string name;          // machine name, or the file's
  std::string kind;          // "measured", "guessed" (topology and typical costs), "classes" (topology and published
                             // costs), "matrix" (t_send, t_receive)
  std::string origin;        // of the overlap-aware costs, one line: method and date, or what they are derived from
  std::string paper_origin;  // of the paper's; the same, but for a matrix file: there they are the file's own
  std::string note;          // why a profile was passed over, "" when none was
  std::vector<std::string> sources;  // "classes": a line for each cost, and the parts that the shape leaves out
  bool here = false;                 // the machine we run on: we can tell which CPUs a process may use and how it would
                                     // choose
  CostUnit unit = CostUnit::kNanoseconds;
  uint64_t fingerprint = 0;             // of the machine, 0 when not known
  std::vector<uint32_t> cpus;           // the kernel's number of participant i
  std::vector<uint16_t> package, core;  // [n], as in the profile; one package and a core each where not known
  std::vector<CurveSet> curves;         // of the methods of groups, where the profile has some
  // A profile's other figures (profile/measured.h); empty or 0 where there is none
  std::vector<ClassFigures> classes;
  std::vector<Winner> winners;
  std::vector<std::vector<uint32_t>> winner_cpus;  // [winners] kernel numbers
  WaitFigures wait{};
  std::vector<FanCurves> fans;
  std::vector<QueueCurves> queues;
  std::vector<DistanceCurves> distances;
  float one_way_hop = 0;                 // of the ping-pong
  Costs overlap;                         // the overlap-aware costs
  Costs paper;                           // the same machine under the paper's additive model
  std::shared_ptr<MappedArena> storage;  // both point into it
};

// `what` is one of
//   "this"                    the running machine, as the runtime sees it: its profile, else the guess; where hwloc's
//                             environment (HWLOC_SYNTHETIC, HWLOC_XMLFILE) describes another machine, that one
//   "synthetic:<description>" hwloc's notation, e.g. "synthetic:pack:2 core:4 pu:1"
//   "zoo:<name>"              a machine of the project's zoo (zoo.h)
//   a path                    our profile (JSON or packed), a matrix file (t_send, t_receive, numa_node, unit, name),
//                             a class file (class_file.h), or an hwloc XML file; told apart by content, not
//                             by name
// Throws UserError: not in the zoo, not readable, NaN, negative, not square, more than 1024 CPUs, wrong types.
MachineFile read_machine_file(const std::string& what);

// The profile that its thresholds are computed from, as a view of the file.
Profile profile_of(const MachineFile& machine);

}  // namespace smelt
