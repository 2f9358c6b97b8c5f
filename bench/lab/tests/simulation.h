// What the tests on simulated machines share: the distance from the truth, and machines to be measured.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/lab/simulated_machine.h"
#include "measure/calibrate.h"
#include "profile/text/statistics.h"

namespace smelt::test {

inline double hop_between(const Costs& costs, uint32_t a, uint32_t b) {
  return (double{costs.hop[costs.at(a, b)]} + costs.hop[costs.at(b, a)]) / 2;
}

// Each figure of each class against the median over all pairs that belong to it, measured or not.
struct Errors {
  double hop = 0, ready_read = 0;  // relative, of the worst class
  double busy = 0;                 // send_busy and recv_busy; beyond 0.1 % of the hop and the rounding, relative
  double by_distance = 0;          // the matrix's median per distance, however it was split
  std::vector<double> pairs;       // each pair's hop, relative
};

using Factor = std::function<double(uint32_t a, uint32_t b)>;  // what has become of the truth

inline double undisturbed(uint32_t, uint32_t) { return 1; }

inline Errors errors_of(const Calibration& result, const Costs& truth, const Factor& factor = undisturbed) {
  struct Figures {
    std::vector<double> hop, send, receive, ready;
  };
  std::map<uint16_t, Figures> classes;
  std::map<uint32_t, std::pair<std::vector<double>, std::vector<double>>> distances;
  Errors errors;
  for (uint32_t a = 0; a < truth.n; ++a)
    for (uint32_t b = a + 1; b < truth.n; ++b) {
      const double by = factor(a, b), hop = by * hop_between(truth, a, b), found = result.image.hop[truth.at(a, b)];
      const uint16_t index = result.class_of[truth.at(a, b)];
      Figures& figures = classes[index];
      figures.hop.push_back(hop);
      for (const size_t at : {truth.at(a, b), truth.at(b, a)}) {
        figures.send.push_back(by * truth.send_busy[at]);
        figures.receive.push_back(by * truth.recv_busy[at]);
        figures.ready.push_back(by * truth.ready_read[at]);
      }
      errors.pairs.push_back(std::abs(found / hop - 1));
      auto& [ours, theirs] = distances[result.image.classes.at(index).distance];
      ours.push_back(found), theirs.push_back(hop);
    }
  for (const auto& [index, figures] : classes) {
    const ClassFigures& found = result.image.classes[index];
    const auto relative = [](double value, double expected) { return std::abs(value / expected - 1); };
    const double expected = median(figures.hop);
    errors.hop = std::max(errors.hop, relative(found.hop, expected));
    errors.ready_read = std::max(errors.ready_read, relative(found.ready_read, median(figures.ready)));
    // They are differences of samples, a hundredth of the hop: its noise and two decimals are all of them on fast
    // pairs.
    for (const auto& [busy, exact] :
         {std::pair{found.send_busy, median(figures.send)}, std::pair{found.recv_busy, median(figures.receive)}})
      errors.busy = std::max(errors.busy, std::max(0.0, std::abs(busy - exact) - 0.001 * expected - 0.005) / exact);
  }
  for (const auto& [distance, values] : distances)
    errors.by_distance = std::max(errors.by_distance, std::abs(median(values.first) / median(values.second) - 1));
  return errors;
}

inline bool is_marked(const Calibration& result, uint32_t marks = kMarkUnsteady) {
  return std::any_of(result.image.classes.begin(), result.image.classes.end(),
                     [&](const ClassFigures& figures) { return (figures.marks & marks) != 0; });
}
inline bool is_wide(const Calibration& result) { return is_marked(result, kMarkWide); }

inline bool remarked(const Calibration& result, const std::string& word) {
  return std::any_of(result.remarks.begin(), result.remarks.end(),
                     [&](const std::string& remark) { return remark.find(word) != std::string::npos; });
}

inline std::string all_remarks(const Calibration& result) {
  std::string text;
  for (const std::string& remark : result.remarks) text += remark + "\n";
  return text;
}

inline Calibration run(SimulatedMachine& simulated, CalibrationOptions options = {}) {
  return calibrate(simulated.machine(), simulated, options);
}

// 64 CPUs: two packages of two nodes, two caches each, four cores of two threads. Five classes.
inline const MachineFile& sixty_four() {
  static const MachineFile file = read_machine_file("synthetic:pack:2 numa:2 l3:2 core:4 pu:2");
  return file;
}

inline double seconds_undisturbed(const MachineFile& file, CalibrationOptions options = {}) {
  const auto simulated = simulate(file);
  run(*simulated, options);
  return simulated->seconds();
}

// A machine with costs of our own.
inline MachineFile with_costs(const std::string& description, const std::function<double(uint32_t, uint32_t)>& hop) {
  MachineFile file = read_machine_file(description);
  const uint32_t n = file.overlap.n;
  auto* hops = file.storage->make<float>(size_t{n} * n);
  for (uint32_t a = 0; a < n; ++a)
    for (uint32_t b = 0; b < n; ++b)
      hops[size_t{a} * n + b] = a == b ? 0 : static_cast<float>(hop(std::min(a, b), std::max(a, b)));
  file.overlap.hop = hops;
  return file;
}

}  // namespace smelt::test
