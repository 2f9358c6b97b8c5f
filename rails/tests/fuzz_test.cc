// Network profiles, damaged (tests/fuzz/fuzz.h).
#include "tests/fuzz/fuzz.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <vector>

#include "rails/network/profile.h"
#include "rails/rail/packed.h"
#include "tests/cli/program.h"

namespace smelt::test {
namespace {

// Everything that a program does with a network profile it believes.
void use_rails(Mutator& mutator, const Rail* rails, uint32_t count, const RailCurve& copy) {
  RailCurve curves[kMaxRails];
  RailNow now[kMaxRails];
  for (uint32_t r = 0; r < count; ++r) {
    limits_of(rails[r], copy);
    curves[r] = transfer_curve(rails[r]);
    ASSERT_LE(curves[r].count, kRailSizes);
    EXPECT_TRUE(std::is_sorted(curves[r].us, curves[r].us + curves[r].count));
    now[r] = {&curves[r], static_cast<double>(mutator.below(3) * 1000), mutator.one_in(3) ? 2.5 : 1,
              mutator.one_in(3) ? static_cast<double>(1 + mutator.below(1 << 20)) : HUGE_VAL};
    const uint64_t packets[] = {mutator.below(16000), mutator.below(100), 0, mutator.below(5000)};
    EXPECT_GE(aggregate_packets(rails[r], copy, packets, 4), 1u);
    EXPECT_TRUE(std::isfinite(rail_bandwidth(curves[r])));
  }
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{20'000}, mutator.below(1 << 20) + 1, uint64_t{1} << 40}) {
    RailSplit split;
    if (choose_split(now, count, bytes, &split) != 0) continue;
    uint64_t sum = 0;
    for (const uint64_t part : split.bytes) sum += part;
    EXPECT_EQ(sum, bytes);
    EXPECT_TRUE(split.finish_us > 0 && std::isfinite(split.finish_us)) << split.finish_us;
  }
}

TEST_F(Fuzz, JsonNetworkProfiles) {
  std::vector<std::string> corpus = {read_file(from_environment("SMELT_TEST_NETWORK"))};
  ASSERT_FALSE(corpus[0].empty());
  NetworkProfile one = network_from_json(corpus[0], "the corpus");
  one.rails.resize(1);
  for (RailCurve& curve : one.rails[0].rail.method) curve.count = 3;
  corpus.push_back(network_to_json(one));
  each_case([&](Mutator& mutator) {
    const std::string text = mutator.damage_text(mutator.any(corpus), mutator.any(corpus), kJsonWords);
    parse([&] {
      const NetworkProfile profile = network_from_json(text, "case.json");
      std::vector<Rail> rails;
      for (const NetworkRail& rail : profile.rails) rails.push_back(rail.rail);
      use_rails(mutator, rails.data(), static_cast<uint32_t>(rails.size()), profile.copy);
      const std::string again = network_to_json(profile);
      EXPECT_EQ(network_to_json(network_from_json(again, "again")), again);
      const PackedNetwork packed = packed_network(profile);
      EXPECT_EQ(network_fault(&packed, sizeof packed), nullptr);
    });
  });
  expect_both();
}

TEST_F(Fuzz, PackedNetworkProfiles) {
  const PackedNetwork good =
      packed_network(network_from_json(read_file(from_environment("SMELT_TEST_NETWORK")), "the corpus"));
  const std::string whole(reinterpret_cast<const char*>(&good), sizeof good);
  each_case([&](Mutator& mutator) {
    std::string bytes = whole;
    if (mutator.one_in(4)) {
      bytes = mutator.damage(bytes, whole);
    } else {
      const uint64_t words[] = {0,
                                1,
                                26,
                                uint64_t{1} << 24,
                                UINT64_MAX,
                                0x7ff0000000000000,
                                0x7ff8000000000000,
                                0xbff0000000000000,
                                0x41cdcd6500000000,
                                0x0000000000000001,
                                mutator.below(UINT64_MAX)};
      for (uint64_t fields = 1 + mutator.below(3); fields > 0; --fields) {
        const size_t used = offsetof(PackedNetwork, rail) + 2 * sizeof(PackedRail);
        const size_t at = mutator.below(mutator.one_in(2) ? 96 : used - 8) & ~size_t{3};
        bytes.replace(at, 8, reinterpret_cast<const char*>(&words[mutator.below(std::size(words))]), 8);
      }
    }
    PackedNetwork network;
    const auto fault_of = [&] {  // the checks read it where a program would: in memory of its own, of its size
      std::vector<uint64_t> aligned((bytes.size() + 7) / 8);
      std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(aligned.data()));
      return network_fault(aligned.data(), bytes.size());
    };
    if (bytes.size() == sizeof network && !mutator.one_in(4)) {
      std::memcpy(static_cast<void*>(&network), bytes.data(), sizeof network);
      const uint32_t rails = network.rails;
      seal_network(&network);
      EXPECT_EQ(network.rails, rails);
      bytes.assign(reinterpret_cast<const char*>(&network), sizeof network);
    }
    const char* fault = fault_of();
    if (fault) {
      ++refused_;
      EXPECT_EQ(std::string(fault).find('\n'), std::string::npos) << fault;
      return;
    }
    ++accepted_;
    std::memcpy(static_cast<void*>(&network), bytes.data(), sizeof network);
    std::vector<Rail> rails;
    for (uint32_t r = 0; r < network.rails; ++r) rails.push_back(network.rail[r].rail);
    use_rails(mutator, rails.data(), network.rails, network.copy);
  });
  expect_both();
}

}  // namespace
}  // namespace smelt::test
