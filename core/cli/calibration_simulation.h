// smelt calibrate --simulate: the calibration of a machine that is not there, held against what it should have found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smelt {

struct SimulationArguments {
  std::string machine;       // as read_machine_file takes it
  double noise_percent = 5;  // SimulationSettings, in the units of the command line
  double outliers_percent = 1;
  double drift_percent = 0;          // per simulated second
  std::string flip;                  // "SECONDS:FACTOR" or "SECONDS:FACTOR:CPUS": from then on so many times the cost
  std::vector<std::string> service;  // "other package=12", in the machine's unit
  uint64_t seed = 1;
  bool all_pairs = false;
  std::string output;  // a .profile to write, "" for none
  bool json = false, quiet = false;
};

// Prints the classes, truth against measured. Throws UserError.
int simulate_calibration(const SimulationArguments& arguments);

}  // namespace smelt
