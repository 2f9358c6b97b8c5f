// Which pairs may run together, and the short test that decides it.
#include "measure/company.h"

#include <gtest/gtest.h>

#include <set>

#include "discover/machine.h"

using namespace smelt;

namespace {

// 32 CPUs, four to a cache.
const std::vector<Pu>& pus() {
  static const Machine machine = machine_from_synthetic("pack:1 l3:8 core:4 pu:1");
  return machine.pus;
}

std::vector<Spot> all_pairs() {
  std::vector<Spot> pairs;
  for (uint32_t a = 0; a < 32; ++a)
    for (uint32_t b = a + 1; b < 32; ++b) pairs.push_back({a, b});
  return pairs;
}

TEST(Batches, ShareNoCpuAndTakeEveryPairOnce) {
  for (const Company company : {Company{1, false}, Company{4, false}, Company{16, true}}) {
    std::vector<Spot> pending = all_pairs();
    std::set<std::pair<uint32_t, uint32_t>> seen;
    while (!pending.empty()) {
      const std::vector<Spot> batch = company.take(pending, pus());
      ASSERT_FALSE(batch.empty());
      ASSERT_LE(batch.size(), company.most);
      std::multiset<uint32_t> cpus, caches;
      for (Spot spot : batch) {
        EXPECT_TRUE(seen.emplace(spot.a, spot.b).second);
        cpus.insert({spot.a, spot.b});
        std::set<uint32_t> own{pus()[spot.a].llc, pus()[spot.b].llc};
        caches.insert(own.begin(), own.end());
      }
      for (uint32_t cpu : cpus) EXPECT_EQ(cpus.count(cpu), 1u);
      for (uint32_t cache : caches) EXPECT_TRUE(company.share_llc || caches.count(cache) == 1) << cache;
    }
    EXPECT_EQ(seen.size(), 32u * 31 / 2);
  }
}

// Hops of machines that slow down as told.
Company found(uint32_t most, const std::function<double(const std::vector<Spot>&, Spot)>& hop) {
  return find_company(all_pairs(), pus(), most, [&](const std::vector<Spot>& together) {
    std::vector<double> hops;
    for (Spot spot : together) hops.push_back(hop(together, spot));
    return hops;
  });
}

bool shares_cache(const std::vector<Spot>& together, Spot spot) {
  const auto caches = [](Spot each) { return std::set<uint32_t>{pus()[each.a].llc, pus()[each.b].llc}; };
  for (Spot other : together)
    for (uint32_t cache : caches(other))
      if (!(other == spot) && caches(spot).count(cache)) return true;
  return false;
}

TEST(FindCompany, TakesAsManyAsDoNotDisturb) {
  const Company free = found(16, [](const auto&, Spot) { return 100.0; });
  EXPECT_EQ(free.most, 16u);
  EXPECT_TRUE(free.share_llc);
  const Company sharing =
      found(16, [](const auto& together, Spot spot) { return shares_cache(together, spot) ? 130.0 : 100.0; });
  EXPECT_FALSE(sharing.share_llc);
  EXPECT_EQ(sharing.most, 8u) << "one for each cache";
  const Company crowd = found(16, [](const auto& together, Spot) { return together.size() > 3 ? 120.0 : 100.0; });
  EXPECT_EQ(crowd.most, 2u);
  const Company alone =
      found(16, [](const auto& together, Spot) { return 100.0 * static_cast<double>(together.size()); });
  EXPECT_EQ(alone.most, 1u);
  const Company a_little = found(16, [](const auto& together, Spot) { return together.size() > 1 ? 110.0 : 100.0; });
  EXPECT_EQ(a_little.most, 1u) << "all of them, if only a little";
  EXPECT_EQ(found(1, [](const auto&, Spot) { return 100.0; }).most, 1u);
}

// The machine gets faster for good just when the pairs first run together, which hides that they disturb each other.
TEST(FindCompany, IsNotFooledByAMachineThatChanges) {
  bool changed = false;
  const Company company = found(16, [&](const auto& together, Spot) {
    changed |= together.size() > 1;
    return (changed ? 60.0 : 100.0) * (together.size() > 1 ? 1.5 : 1.0);
  });
  EXPECT_EQ(company.most, 1u);
}

TEST(FindCompany, IsNotFooledByOneWildPair) {
  bool first = true;
  const Company company = found(16, [&](const auto& together, Spot) {
    const bool wild = together.size() == 16 && first;
    if (wild) first = false;
    return wild ? 1000.0 : 100.0;
  });
  EXPECT_EQ(company.most, 16u);
}

}  // namespace
