// Which pairs stand for a profile, and what they say about a machine that is simulated.
#include "measure/recheck.h"

#include <gtest/gtest.h>

#include "bench/lab/simulated_machine.h"
#include "discover/machine.h"
#include "model/distance.h"

using namespace smelt;

namespace {

constexpr const char* kShape = "synthetic:pack:2 numa:1 l3:2 core:2 pu:2";

ProfileImage image_of(const char* shape = kShape) {
  return guess_image(machine_from_synthetic(std::string(shape).substr(10)));
}

std::vector<RecheckedPair> measured(const SimulationSettings& settings) {
  const std::unique_ptr<SimulatedMachine> machine = simulate(read_machine_file(kShape), settings);
  const ProfileImage image = image_of();
  std::vector<RecheckedPair> pairs = pairs_to_recheck(image, image.os_cpu);
  recheck(pairs, *machine);
  return pairs;
}

TEST(Canaries, AreOnePerDistance) {
  const ProfileImage image = image_of();
  const std::vector<RecheckedPair> pairs = pairs_to_recheck(image, image.os_cpu);
  ASSERT_EQ(pairs.size(), 4u);
  uint32_t before = 0;
  for (const RecheckedPair& c : pairs) {
    EXPECT_GT(c.figures.distance, before);
    before = c.figures.distance;
    EXPECT_NE(c.a, c.b);
    EXPECT_EQ(c.stored, typical_cost(static_cast<Distance>(c.figures.distance)).hop);
  }
}

TEST(Canaries, AreOnePerClassWhereThereAreClasses) {
  ProfileImage image = image_of();
  // One package is twice as far from itself.
  for (uint32_t a = 0; a < image.n(); ++a)
    for (uint32_t b = 0; b < image.n(); ++b)
      if (image.llc[a] != image.llc[b] && image.package[a] == image.package[b] && image.package[a] == 1)
        image.hop[size_t{a} * image.n() + b] *= 2;
  const auto node = static_cast<uint32_t>(Distance::kSameNode);
  const float hop = typical_cost(Distance::kSameNode).hop;
  image.classes = {{node, 0, 16, 12, 0, hop, 1, 1, 1, 0.1f}, {node, 1, 16, 12, 0, 2 * hop, 1, 1, 1, 0.1f}};
  const std::vector<RecheckedPair> pairs = pairs_to_recheck(image, image.os_cpu);
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].stored, hop);
  EXPECT_EQ(pairs[1].stored, 2 * hop);
  EXPECT_EQ(pairs[1].figures.part, 1u);
}

TEST(Canaries, AreOfTheCpusThatMayBeUsed) {
  const ProfileImage image = image_of();
  const std::vector<RecheckedPair> pairs = pairs_to_recheck(image, {0, 1, 2});
  ASSERT_EQ(pairs.size(), 2u) << "same core, same cache; nothing further";
  for (const RecheckedPair& c : pairs) EXPECT_TRUE(c.a < 3 && c.b < 3);
  EXPECT_TRUE(pairs_to_recheck(image, {5}).empty());
  EXPECT_TRUE(pairs_to_recheck(image, {}).empty());
  const ProfileImage one = image_of("synthetic:core:1 pu:1");
  EXPECT_TRUE(pairs_to_recheck(one, one.os_cpu).empty());
}

TEST(Canaries, HoldOnTheSameMachineWhateverItsNoise) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SimulationSettings settings;
    settings.seed = seed;
    settings.noise = 0.15;
    settings.outliers = 0.05;
    for (const RecheckedPair& c : measured(settings)) EXPECT_TRUE(c.within()) << c.ratio() << " of seed " << seed;
  }
}

TEST(Canaries, SayWhichClassesChanged) {
  for (const double factor : {0.5, 2.0}) {
    SimulationSettings settings;
    settings.changes = {{0, 1e9, factor, {}}};
    for (const RecheckedPair& c : measured(settings)) {
      EXPECT_FALSE(c.within());
      EXPECT_NEAR(c.ratio(), factor, factor * 0.1);
    }
  }
}

}  // namespace
