#include "machines.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <stdexcept>

namespace smelt::test {

namespace {

TestMachine read_machine(const std::filesystem::path& path) {
  const nlohmann::json file = nlohmann::json::parse(std::ifstream(path));
  TestMachine machine;
  machine.name = path.stem().string();
  machine.unit = file.at("unit") == "cycles" ? CostUnit::kCycles : CostUnit::kNanoseconds;
  machine.node = file.at("numa_node").get<std::vector<uint16_t>>();
  machine.n = static_cast<uint32_t>(machine.node.size());
  for (const auto& row : file.at("t_send")) {
    for (const auto& cost : row) machine.t_send.push_back(cost.get<float>());
  }
  for (const auto& row : file.at("t_receive")) {
    for (const auto& cost : row) machine.t_receive.push_back(cost.get<float>());
  }
  return machine;
}

std::vector<TestMachine> load() {
  std::vector<TestMachine> all;
  const char* const folder = std::getenv("SMELT_TEST_MACHINES");
  if (folder && std::filesystem::is_directory(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".json") all.push_back(read_machine(entry.path()));
    }
    std::sort(all.begin(), all.end(), [](const TestMachine& a, const TestMachine& b) { return a.name < b.name; });
    std::cout << "machines: " << all.size() << " from SMELT_TEST_MACHINES, and synthetic ones\n";
  } else {
    std::cout << "machines: SMELT_TEST_MACHINES names no folder, so synthetic ones only\n";
  }
  // Corner cases that no real machine has come along as well.
  all.push_back(make_machine("symmetric_1x8", 1, 8, 100, 100, 0, 1));
  all.push_back(make_machine("symmetric_1x70", 1, 70, 100, 100, 0, 1));
  all.push_back(make_machine("symmetric_4x4", 4, 4, 100, 600, 0, 1));
  all.push_back(make_machine("singletons_20x1", 20, 1, 100, 600, 0.1f, 2));
  all.push_back(make_machine("spread_2x10", 2, 10, 100, 600, 0.2f, 3));
  all.push_back(make_machine("spread_8x8", 8, 8, 60, 250, 0.5f, 4));
  all.push_back(make_machine("random_1x23", 1, 23, 300, 300, 0.99f, 5));
  all.push_back(make_machine("random_3x7", 3, 7, 300, 300, 0.99f, 6));
  all.push_back(make_machine("zeros_2x6", 2, 6, 0, 0, 0, 7));
  if (!folder) all.push_back(make_machine("large_32x8", 32, 8, 40, 200, 0.3f, 8));
  return all;
}

}  // namespace

Costs TestMachine::paper(Arena& arena) const {
  Costs costs;
  const int error = costs_from_send_receive(n, unit, t_send.data(), t_receive.data(), node.data(), arena, &costs);
  if (error != 0) throw std::runtime_error(name + " is no usable machine");
  return costs;
}

Costs TestMachine::overlap(Arena& arena) const {
  Costs costs;
  if (overlap_costs_from_additive(paper(arena), arena, &costs) != 0) throw std::runtime_error("arena used up");
  return costs;
}

std::ostream& operator<<(std::ostream& out, const TestMachine& machine) { return out << machine.name; }

namespace {

const std::vector<TestMachine>& all() {
  static const std::vector<TestMachine> loaded = load();
  return loaded;
}

}  // namespace

const std::vector<TestMachine>& machines() {
#ifdef __SANITIZE_ADDRESS__
  // Every mistake in memory that a machine's size can make shows on some of them, and all would take minutes.
  static const std::vector<TestMachine> some = [] {
    std::vector<TestMachine> chosen;
    for (size_t i = 0; i < all().size(); ++i)
      if (all()[i].n <= 64 ? i % 3 == 0 : all()[i].n <= 128) chosen.push_back(all()[i]);
    return chosen;
  }();
  return some;
#else
  return all();
#endif
}

const TestMachine* find_machine(const std::string& name) {
  for (const TestMachine& machine : all()) {
    if (machine.name == name) return &machine;
  }
  return nullptr;
}

TestMachine make_machine(const std::string& name, uint32_t nodes, uint32_t per_node, float local, float remote,
                         float spread, uint32_t seed) {
  TestMachine machine;
  machine.name = name;
  machine.n = nodes * per_node;
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> factor(1 - spread, 1 + spread);
  machine.t_send.resize(size_t{machine.n} * machine.n);
  machine.t_receive.resize(machine.t_send.size());
  for (uint32_t i = 0; i < machine.n; ++i) {
    machine.node.push_back(static_cast<uint16_t>(i / per_node));
    for (uint32_t j = 0; j < machine.n; ++j) {
      if (i == j) continue;
      const float cost = i / per_node == j / per_node ? local : remote;
      machine.t_send[size_t{i} * machine.n + j] = 0.3f * cost * factor(random);
      machine.t_receive[size_t{i} * machine.n + j] = cost * factor(random);
    }
  }
  return machine;
}

std::vector<uint16_t> random_subset(uint32_t n, uint32_t count, uint32_t seed) {
  std::vector<uint16_t> all(n);
  std::iota(all.begin(), all.end(), uint16_t{0});
  std::mt19937 random(seed);
  std::shuffle(all.begin(), all.end(), random);
  all.resize(std::min(count, n));
  return all;
}

}  // namespace smelt::test
