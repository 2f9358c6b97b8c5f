// Whatever describes a machine, read into costs: the one door for `smelt tree`, `smelt predict` and the tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/arena.h"
#include "model/cost_model.h"
#include "model/curves.h"
#include "model/measured.h"

namespace smelt {

struct MachineFile {
  std::string name;             // machine name, or the file's
  std::string kind;             // "measured", "guessed" (topology and typical costs), "classes" (topology and published
                                // costs), "matrix" (t_send, t_receive)
  std::string origin;           // one line: method and date, or the matrix file's own kind and source
  std::string note;             // why a profile was passed over, "" when none was
  std::vector<std::string> sources;  // "classes": a line for each cost, and what the shape leaves out
  CostUnit unit = CostUnit::kNanoseconds;
  uint64_t fingerprint = 0;     // of the machine, 0 when not known
  std::vector<uint32_t> cpus;   // the kernel's number of participant i
  std::vector<uint16_t> package, core;  // [n], as in the profile; one package and a core each where not known
  std::vector<CurveSet> curves; // of the methods of groups, where the profile has some
  std::vector<ClassFigures> classes;    // of a calibration; empty elsewhere
  std::vector<Winner> winners;          // of its races
  std::vector<std::vector<uint32_t>> winner_cpus;  // [winners] kernel numbers
  WaitFigures wait{};                   // the same; 0: not measured
  Costs overlap;                // the overlap-aware costs
  Costs paper;                  // the same machine under the paper's additive model
  std::shared_ptr<MappedArena> storage;  // what both point into
};

// `what` is one of
//   "this"                    the running machine, as the runtime sees it: its profile, else the guess
//   "synthetic:<description>" hwloc's notation, e.g. "synthetic:pack:2 core:4 pu:1"
//   "zoo:<name>"              a machine of the project's zoo (zoo/zoo.h)
//   a path                    our profile (JSON or packed), a matrix file (t_send, t_receive, numa_node, unit, name),
//                             a class file (discover/class_file.h), or an hwloc XML file; told apart by content, not
//                             by name
// Throws UserError: not in the zoo, not readable, NaN, negative, not square, more than 1024 CPUs, wrong types.
MachineFile read_machine_file(const std::string& what);

}  // namespace smelt
