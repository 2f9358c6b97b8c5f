// The machines the generator tests run on.
//
// From the folder of JSON matrices that SMELT_TEST_MACHINES names (t_send and t_receive, row = sender; numa_node;
// unit; name), and where there is none, from shapes made up here. All are loaded once.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "base/arena.h"
#include "model/cost_model.h"

namespace smelt::test {

inline constexpr size_t kBlockBytes = size_t{256} << 20;  // for a MappedArena: backed only as far as it is used

struct TestMachine {
  std::string name;
  CostUnit unit = CostUnit::kNanoseconds;
  uint32_t n = 0;
  std::vector<float> t_send, t_receive;  // [n * n]
  std::vector<uint16_t> node;            // [n]

  Costs paper(Arena& arena) const;    // the additive model
  Costs overlap(Arena& arena) const;  // the overlap-aware one derived from it
};
std::ostream& operator<<(std::ostream& out, const TestMachine& machine);  // its name, for GoogleTest

const std::vector<TestMachine>& machines();                // under AddressSanitizer some of them, of every size to 128
const TestMachine* find_machine(const std::string& name);  // by its file's name without ".json"; nullptr if not there

// Shapes: `nodes` x `per_node`, one cost inside a node and one across; `spread` makes every pair different.
TestMachine make_machine(const std::string& name, uint32_t nodes, uint32_t per_node, float local, float remote,
                         float spread, uint32_t seed);

// `count` different indices below n, in random order, the same for the same seed.
std::vector<uint16_t> random_subset(uint32_t n, uint32_t count, uint32_t seed);

}  // namespace smelt::test
