// Groups by every pattern, where each process believes to have a CPU of its own on a pretended machine of 64
// (tests/gomp_shim/pretended_cpus.c is part of this program): what a group with CPUs to spare plans, and not a crowd's
// star. Only the plans are pretended: each process by itself has the first CPU, so they all seem to share it, and
// whoever waits yields, as is best here.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/fingerprint.h"
#include "core/folder.h"
#include "discover/machine.h"
#include "generate/registry.h"
#include "group/group.h"
#include "here.h"
#include "processes.h"

namespace smelt::test {
namespace {

// The profile, once for all tests: it must carry this machine's fingerprint.
class Pretended : public testing::Environment {
 public:
  void SetUp() override {
    ProfileImage image = guess_image(machine_from_synthetic("pack:2 numa:2 l3:2 core:4 pu:2"));
    image.header.fingerprint = machine_fingerprint();
    image.header.created = 1;
    image.header.pairs_measured = image.n() * (image.n() - 1);
    set_text(image.header.method, sizeof image.header.method, "made up");
    const auto bytes = image.pack();
    const std::string path =
        folder_.write("64.profile", std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    setenv("SMELT_PROFILE", path.c_str(), 1);
    setenv("SMELT_CPUS", "64", 1);
  }

 private:
  Folder folder_;
};
[[maybe_unused]] const auto* const registered = testing::AddGlobalTestEnvironment(new Pretended);

void add(void* calls, const void* left, void* right, size_t elements) {
  ++*static_cast<unsigned*>(calls);
  for (size_t i = 0; i < elements; ++i) static_cast<uint64_t*>(right)[i] += static_cast<const uint64_t*>(left)[i];
}

// It has another outcome in every other order.
uint64_t ordered(uint64_t left, uint64_t right) { return left * 3 + right; }
void add_ordered(void*, const void* left, void* right, size_t elements) {
  auto* const to = static_cast<uint64_t*>(right);
  for (size_t i = 0; i < elements; ++i) to[i] = ordered(static_cast<const uint64_t*>(left)[i], to[i]);
}

// Operations that keep the order, or may go along the tree.
int collectives(smelt_group* group, const Seat& seat, unsigned flags) {
  unsigned calls = 0;
  const smelt_fold sum{sizeof(uint64_t), flags ? add : add_ordered, nullptr, &calls, flags};
  for (const size_t count : {size_t{1}, size_t{40}, size_t{3000}}) {
    for (unsigned round = 0; round < 4; ++round) {
      const unsigned root = round * 7 % seat.n;
      std::vector<uint64_t> mine(count), out(count);
      for (size_t i = 0; i < count; ++i) mine[i] = seat.me * 1000 + i + round;
      const smelt_data from{mine.data(), nullptr, nullptr, nullptr}, to{out.data(), nullptr, nullptr, nullptr};
      const auto total = [&](size_t i) {
        if (flags) return uint64_t{seat.n} * (seat.n - 1) / 2 * 1000 + seat.n * (i + round);
        uint64_t all = 0, block = 0;
        for (unsigned k = seat.n; k-- > 0;) {
          const uint64_t one = k * 1000 + i + round;
          block = k + 1 == seat.n || k % 16 == 15 ? one : ordered(one, block);
          if (k % 16 == 0) all = k + 16 >= seat.n ? block : ordered(block, all);
        }
        return all;
      };
      EXPECT_HERE(smelt_group_allreduce(group, &from, &to, count, &sum) == 0, "allreduce");
      for (size_t i = 0; i < count; ++i) EXPECT_HERE(out[i] == total(i), "allreduce of %zu: element %zu", count, i);
      out.assign(count, 0);
      EXPECT_HERE(smelt_group_reduce(group, &from, &to, count, &sum, root) == 0, "reduce");
      for (size_t i = 0; i < count && seat.me == root; ++i)
        EXPECT_HERE(out[i] == total(i), "reduce of %zu: element %zu", count, i);
      const smelt_data data{mine.data(), nullptr, nullptr, nullptr};
      EXPECT_HERE(smelt_group_broadcast(group, &data, count * sizeof(uint64_t), root) == 0, "broadcast");
      for (size_t i = 0; i < count; ++i)
        EXPECT_HERE(mine[i] == root * 1000 + i + round, "broadcast of %zu from %u: element %zu", count, root, i);
    }
  }
  return 0;
}

// The barrier: everybody sees everybody's mark of this round.
int barriers(smelt_group* group, const Seat& seat) {
  for (unsigned round = 1; round <= 20; ++round) {
    seat.meeting->probe[seat.me].process = static_cast<int32_t>(round);
    smelt_group_barrier(group);
    for (unsigned i = 0; i < seat.n; ++i)
      EXPECT_HERE(seat.meeting->probe[i].process == static_cast<int32_t>(round), "rank %u, round %u: %u is missing",
                  seat.me, round, i);
    smelt_group_barrier(group);
  }
  return 0;
}

// How many processes failed. `told`: what the group must say its barrier and its broadcast are; "" where it is its own
// choice.
int failures(unsigned n, const char* pattern, const std::string& barrier, const std::string& broadcast) {
  return run_processes(n, [&](Seat& seat) {
    set_setting("SMELT_TUNE=pattern", pattern);
    const smelt_host host = host_of(&seat);
    smelt_group* group = nullptr;
    EXPECT_HERE(smelt_group_create(&host, n, seat.me, &group) == 0, "create");
    char line[256];
    smelt_group_summary(group, line, sizeof line);
    EXPECT_HERE(std::string(line).find("crowded") == std::string::npos, "%s", line);
    smelt_group_describe(group, SMELT_COLLECTIVE_BARRIER, 0, line, sizeof line);
    EXPECT_HERE(std::string(line).starts_with(barrier), "barrier by %s: %s", pattern, line);
    smelt_group_describe(group, SMELT_COLLECTIVE_BROADCAST, 0, line, sizeof line);
    EXPECT_HERE(std::string(line).ends_with(broadcast), "broadcast by %s: %s", pattern, line);
    smelt_group_describe(group, SMELT_COLLECTIVE_REDUCE, 0, line, sizeof line);
    const std::string reduce = line;
    const bool along = reduce.find("order-free operations along ") != std::string::npos;
    // A pattern that is asked for and is a tree serves reductions, too; two kinds of operations, two ways.
    EXPECT_HERE(broadcast.empty() || reduce.ends_with(" along" + broadcast.substr(1)), "reduce by %s: %s", pattern,
                line);
    // On this machine the tree is cheaper than the fixed order once several blocks send far messages to one CPU.
    EXPECT_HERE(n < 33 || along, "reduce: %s", line);
    unsigned calls = 0;
    const smelt_fold sum{sizeof(uint64_t), add, nullptr, &calls, SMELT_FOLD_ANY_ORDER};
    uint64_t one = 1, total = 0;
    const smelt_data from{&one, nullptr, nullptr, nullptr}, to{&total, nullptr, nullptr, nullptr};
    EXPECT_HERE(smelt_group_reduce(group, &from, &to, 1, &sum, 0) == 0, "reduce");
    EXPECT_HERE(seat.me != 0 || total == n, "reduce: %u instead of %u", static_cast<unsigned>(total), n);
    // Who has combined: everybody what its children brought; in the fixed order the heads of blocks, and the root also
    // what those made.
    const ReduceRoute* route = group->tree_for(sum, 0);
    EXPECT_HERE(along == (route != nullptr), "%s", reduce.c_str());
    unsigned expected = seat.me % 16 == 0 ? (n - seat.me < 16 ? n - seat.me : 16) - 1 : 0;
    if (seat.me == 0) expected += (n - 1) / 16;
    // Up to 16, the last ones combine their part, if that is cheaper: of 16 those on the second cache.
    const unsigned last = n > 16 ? 0 : group->parts_to(0) - 1;
    EXPECT_HERE(n != 16 || last == 8, "the part begins with %u", last);
    if (n <= 16) expected = seat.me == 0 ? last : seat.me == last ? n - 1 - last : 0;
    if (route) expected = route->count;
    EXPECT_HERE(calls == expected, "%s: rank %u combined %u times, not %u", reduce.c_str(), seat.me, calls, expected);
    const bool best = broadcast.empty() && barrier.empty();
    EXPECT_HERE(!best || !route || n > 16 || calls < n - 1, "%s, which is the fixed order's star", reduce.c_str());
    int result = barriers(group, seat);
    for (const unsigned flags : {0, 1})
      if (!result) result = collectives(group, seat, flags);
    smelt_group_free(group);
    smelt_groups_end();
    return result;
  });
}

class GroupPatterns : public testing::TestWithParam<unsigned> {};

TEST_P(GroupPatterns, EveryOne) {
  const unsigned n = GetParam();
  for (const PatternInfo& info : pattern_registry()) {
    Pattern pattern;
    char text[40];
    ASSERT_EQ(find_pattern(info.name, &pattern), 0);
    pattern_text(pattern, text, sizeof text);
    if (std::string(info.name) == "pair" && n != 2) continue;
    SCOPED_TRACE(text);
    EXPECT_EQ(failures(n, info.name, std::string(text) + ", predicted", info.tree ? std::string(", ") + text : ""), 0);
  }
}

// Lines for every kind of group: a root's second one is used from so many participants on that two packages have some.
TEST_P(GroupPatterns, Lines) {
  for (const char* const name : {"line:1", "line:2", "relay:1"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(failures(GetParam(), name, std::string(name) + ", predicted", std::string(", ") + name), 0);
  }
}

TEST_P(GroupPatterns, TheCheapest) { EXPECT_EQ(failures(GetParam(), "best", "", ""), 0); }

INSTANTIATE_TEST_SUITE_P(Processes, GroupPatterns, testing::Values(3u, 4u, 5u, 7u, 8u, 16u, 33u, 64u),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace smelt::test
