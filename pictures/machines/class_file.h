// A machine described by class: its shape, and for each class of distance how long one transfer of a cache line takes.
// The form of the project's zoo (pictures/machines/zoo), and of files that people write for machines to come:
//
//   {"title": "2 x AMD EPYC 7742 (Zen 2, \"Rome\"), four nodes per package",
//    "shape": "pack:2 numa:4 l3:4 core:4 pu:2",      hwloc's synthetic notation
//    "note": "what the shape leaves out",            may be missing
//    "costs": {"same core": {"transfer_ns": 9.1, "source": "who measured it, where it can be read"}, ...}}
//
// The classes are those of model/distance.h, each that the shape has and no other. Transfers are published for many
// machines: half the round trip of two cores that compare-and-swap one line. The four costs of model/cost_model.h
// follow from it, see class_image.
#pragma once

#include <string>
#include <vector>

#include "discover/machine.h"
#include "model/distance.h"
#include "profile/text/json_checks.h"

namespace smelt {

struct ClassCost {
  Distance distance;
  double transfer_ns;  // > 0
  std::string source;  // never empty
};

struct ClassFile {
  std::string title, shape, note;
  std::vector<ClassCost> costs;  // near to far
  Machine machine;               // the shape
};

// Throws UserError: one line that says what is missing or wrong.
ClassFile class_file_from_json(const nlohmann::json& root, const JsonChecks& checks);

// Its costs, pair by pair.
ProfileImage class_image(const ClassFile& file);

}  // namespace smelt
