// Where the lines of measurements lie: each writer's on pages of its own, which nobody has touched before, by the
// kernel's own memory policy. On a machine of one NUMA node all lie there; the pages and the policy show all the same.
#include <gtest/gtest.h>

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "discover/machine.h"
#include "generate/registry.h"
#include "here.h"
#include "measure/bench_lines.h"
#include "measure/pinned.h"
#include "measure/track.h"
#include "profile/profile.h"
#include "schedule/build.h"

using namespace smelt;

namespace {

const auto kSystemPage = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));

uintptr_t page_of(const void* address) { return reinterpret_cast<uintptr_t>(address) / kSystemPage; }

bool is_touched(uintptr_t page) {
  unsigned char resident = 0;
  EXPECT_EQ(::mincore(reinterpret_cast<void*>(page * kSystemPage), kSystemPage, &resident), 0);
  return resident & 1;
}

// Private memory without a file, by its ends: sanitizers reserve terabytes.
using Ranges = std::vector<std::pair<uintptr_t, uintptr_t>>;  // pages

Ranges anonymous_memory() {
  Ranges out;
  out.reserve(4096);
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  char line[512];
  while (maps && std::fgets(line, sizeof line, maps)) {
    unsigned long first = 0, end = 0, inode = 0;
    char mode[5] = {}, name[8] = {};
    if (std::sscanf(line, "%lx-%lx %4s %*x %*s %lu %7s", &first, &end, mode, &inode, name) < 4) continue;
    if (inode == 0 && name[0] == 0 && mode[1] == 'w' && mode[3] == 'p')
      out.emplace_back(first / kSystemPage, end / kSystemPage);
  }
  if (maps) std::fclose(maps);
  return out;
}

// What is in `after` and was not before. Both ascend.
std::vector<uintptr_t> new_pages(const Ranges& before, const Ranges& after) {
  std::vector<uintptr_t> out;
  for (const auto& [first, end] : after)
    for (uintptr_t page = first; page < end;) {
      const auto old = std::find_if(before.begin(), before.end(),
                                    [&](const auto& range) { return page >= range.first && page < range.second; });
      if (old == before.end())
        out.push_back(page++);
      else
        page = old->second;
    }
  return out;
}

TEST(Home, LinesOfTwoWritersShareNoPage) {
  for (const size_t each : {1, 2, 9, 32, 600}) {
    constexpr size_t kOwners = 33;
    const OwnLines lines(kOwners, each);
    std::set<uintptr_t> taken, sets;
    for (size_t owner = 0; owner < kOwners; ++owner) {
      std::set<uintptr_t> own;
      for (size_t k = 0; k < each; ++k) {
        own.insert(page_of(lines.of(owner) + k));
        own.insert(page_of(reinterpret_cast<const char*>(lines.of(owner) + k + 1) - 1));
      }
      for (const uintptr_t page : own) {
        EXPECT_TRUE(taken.insert(page).second) << each << ": owner " << owner;
        EXPECT_FALSE(is_touched(page)) << each << ": owner " << owner;
      }
      sets.insert(reinterpret_cast<uintptr_t>(lines.of(owner)) % 4096);
    }
    // A parent reads one line of each of many children: they must not all want one set of its cache.
    EXPECT_GE(sets.size(), 32 * 64 / sizeof(Line)) << each;
    // A look is no touch: the page is the kernel's zeros until its owner stores.
    EXPECT_FALSE(poll(lines.of(0)->epoch, 1));
    post(*lines.of(0), 1);
    EXPECT_TRUE(is_touched(page_of(lines.of(0))));
    EXPECT_FALSE(is_touched(page_of(lines.of(1))));
  }
}

// `numactl --interleave` is inherited, and would spread the pages over the nodes.
TEST(Home, PinnedThreadsHaveMemoryOfTheirOwnNode) {
  const auto cpus = discover_machine().allowed_cpus();
  int inherited = -1, own = -1;
  const auto policy = [](int* mode) { return ::syscall(SYS_get_mempolicy, mode, nullptr, 0, nullptr, 0); };
  unsigned long first_node = 1;
  if (::syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, &first_node, 8 * sizeof first_node) != 0 || policy(&inherited) != 0)
    GTEST_SKIP() << "memory policies are refused here";
  run_pinned({{static_cast<int>(cpus[0]), [&] { policy(&own); }}});
  ::syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0);
  ASSERT_EQ(inherited, MPOL_INTERLEAVE);
  EXPECT_TRUE(own == MPOL_LOCAL || own == MPOL_DEFAULT || own == MPOL_PREFERRED) << own;
}

// A race's barriers are made by the first participant, on its CPU, as a team's are by the master, wherever the program
// that wants the race runs.
TEST(Home, BarriersOfARaceAreTouchedFirstByThoseWhoRunThem) {
  const ProfileImage image = test::guess_here();
  if (image.n() < 2) GTEST_SKIP() << "one CPU";
  MappedArena arena(4 * generation_bytes(2));
  Costs costs;
  ASSERT_EQ(subset_costs(image.costs(), std::vector<uint16_t>{0, 1}, arena, &costs), 0);
  Pattern pattern;
  Choice choice;
  ASSERT_EQ(find_pattern("sequential", &pattern), 0);
  ASSERT_EQ(build(pattern, Operation::kBarrier, -1, costs, arena, &choice), 0);
  const std::vector<const Schedule*> schedules(8, &choice.schedule);
  const Ranges before = anonymous_memory();
  Track track(schedules);
  const std::vector<uintptr_t> mapped = new_pages(before, anonymous_memory());
  ASSERT_GE(mapped.size(), schedules.size());
  const auto touched = [&] { return std::count_if(mapped.begin(), mapped.end(), is_touched); };
  EXPECT_EQ(touched(), 0);
  track.run({image.os_cpu[0], image.os_cpu[1]}, [] {});
  EXPECT_GE(touched(), 8);
}

}  // namespace
