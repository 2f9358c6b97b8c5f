// Files of measurements that others took: the times of trees and patterns on a machine, and the models' figures for
// them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pictures/machines/machine_file.h"

namespace smelt {

enum class TreeWay { kDown, kUp };
struct MeasuredOperation {
  const char* name;
  std::vector<TreeWay> ways;  // one after the other over the same tree
};
const std::vector<MeasuredOperation>& measured_operations();

// One row of "measured": a tree written out, or a pattern of the registry on some CPUs of the machine.
struct MeasuredRow {
  const MeasuredOperation* operation = nullptr;
  std::string name;  // of the tree, or as the file calls the pattern
  double time = 0;   // in whatever unit, the same for a file
  // A tree
  uint16_t root = 0;
  std::vector<std::vector<uint16_t>> children;
  // A pattern; "" for a tree
  std::string pattern, cpus;  // cpus as --cpus has them; "" for all
  bool loop = false;          // one of many barriers in a loop that does nothing else
};

struct MeasuredFile {
  std::string path, name;
  std::string stand_in;  // "" where the costs are the machine's own; else whose they are
  MachineFile machine;
  std::vector<MeasuredRow> rows;
};

// Throws UserError.
MeasuredFile read_measured_file(const std::string& path);
// By one model, > 0, in the unit of the machine's costs. Throws UserError.
double predicted_time(const MeasuredFile& file, const MeasuredRow& row, bool paper);

}  // namespace smelt
