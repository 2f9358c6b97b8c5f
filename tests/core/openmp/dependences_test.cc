// Dependences without any OpenMP runtime: which task waits for which, what is freed, and many threads at once.
#include "openmp/dependences.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace smelt::openmp {
namespace {

// Blocks that are counted, and at most `most` of them.
struct Blocks {
  std::atomic<int> alive{0};
  int most = 1 << 30;
  void* get() {
    if (alive.load(std::memory_order_relaxed) >= most) return nullptr;
    alive.fetch_add(1, std::memory_order_relaxed);
    return std::malloc(kDependBlockBytes);
  }
  void put(void* block) {
    alive.fetch_sub(1, std::memory_order_relaxed);
    std::free(block);
  }
};

struct Use {
  const void* address;
  Access access;
};

// A parent and its children, by number.
struct Parent {
  Blocks blocks;
  DependTable table{};
  std::vector<DependNode*> nodes;
  std::vector<int> ready;

  bool add(const std::vector<Use>& uses) {
    const auto count = static_cast<uint32_t>(uses.size());
    EXPECT_TRUE(table.reserve(count, blocks));
    auto* const node = new (blocks.get()) DependNode{};
    EXPECT_TRUE(reserve_memberships(*node, count, blocks));
    node->task = reinterpret_cast<void*>(nodes.size());
    nodes.push_back(node);
    for (const Use& use : uses) table.stamp(*node, use.address, use.access);
    for (const Use& use : uses)
      table.add(*node, use.address, blocks, [](const DependNode&) { FAIL() << "there is memory"; });
    return one_less(*node);
  }

  std::vector<int> end(int task) {
    ready.clear();
    DependNode* const node = nodes[static_cast<size_t>(task)];
    close(*node, [&](void* other) { ready.push_back(static_cast<int>(reinterpret_cast<uintptr_t>(other))); });
    drop(node, blocks);
    std::sort(ready.begin(), ready.end());
    return ready;
  }
};

int cells[100];
constexpr const int *kA = &cells[0], *kB = &cells[1];
constexpr Access kIn = Access::kIn, kOut = Access::kOut;
using Tasks = std::vector<int>;

TEST(Dependences, GroupsWaitForTheGroupBefore) {
  Parent parent;
  EXPECT_TRUE(parent.add({{kA, kOut}}));   // 0
  EXPECT_FALSE(parent.add({{kA, kIn}}));   // 1
  EXPECT_FALSE(parent.add({{kA, kIn}}));   // 2
  EXPECT_FALSE(parent.add({{kA, kOut}}));  // 3
  EXPECT_FALSE(parent.add({{kA, kIn}}));   // 4
  EXPECT_FALSE(parent.add({{kA, kIn}}));   // 5
  EXPECT_FALSE(parent.add({{kA, kOut}}));  // 6
  EXPECT_TRUE(parent.add({{kB, kIn}}));    // 7
  EXPECT_EQ(parent.end(0), (Tasks{1, 2}));
  EXPECT_EQ(parent.end(2), Tasks{});
  EXPECT_EQ(parent.end(1), Tasks{3});
  EXPECT_EQ(parent.end(3), (Tasks{4, 5}));
  EXPECT_EQ(parent.end(4), Tasks{});
  EXPECT_EQ(parent.end(5), Tasks{6});
  EXPECT_FALSE(parent.add({{kA, kIn}, {kB, kIn}})) << "8: beside 7, after 6";
  EXPECT_FALSE(parent.add({{kA, kOut}, {kB, kOut}}));  // 9
  EXPECT_EQ(parent.end(6), Tasks{8});
  EXPECT_EQ(parent.end(7), Tasks{});
  EXPECT_EQ(parent.end(8), Tasks{9});
  EXPECT_EQ(parent.end(9), Tasks{});
  parent.table.free_all(parent.blocks);
  EXPECT_EQ(parent.blocks.alive.load(), 0);
}

TEST(Dependences, WritersFollowEachOther) {
  Parent parent;
  EXPECT_TRUE(parent.add({{kA, kOut}}));   // 0
  EXPECT_FALSE(parent.add({{kA, kOut}}));  // 1
  EXPECT_FALSE(parent.add({{kA, kOut}}));  // 2
  EXPECT_EQ(parent.end(0), Tasks{1});
  EXPECT_EQ(parent.end(1), Tasks{2});
  EXPECT_EQ(parent.end(2), Tasks{});
  parent.table.free_all(parent.blocks);
  EXPECT_EQ(parent.blocks.alive.load(), 0);
}

TEST(Dependences, AnAddressNamedTwiceCountsAsItsStrongestUse) {
  Parent parent;
  EXPECT_TRUE(parent.add({{kA, kIn}, {kA, kOut}, {kA, kIn}}));  // 0
  EXPECT_FALSE(parent.add({{kA, kIn}, {kA, kIn}}));             // 1
  EXPECT_FALSE(parent.add({{kA, kIn}}));                        // 2
  EXPECT_FALSE(parent.add({{kA, kOut}, {kA, kIn}}));            // 3: after the readers, before all others
  EXPECT_FALSE(parent.add({{kA, kIn}}));                        // 4
  EXPECT_EQ(parent.end(0), (Tasks{1, 2}));
  EXPECT_EQ(parent.end(1), Tasks{});
  EXPECT_EQ(parent.end(2), Tasks{3});
  EXPECT_EQ(parent.end(3), Tasks{4});
  EXPECT_EQ(parent.end(4), Tasks{});
  parent.table.free_all(parent.blocks);
  EXPECT_EQ(parent.blocks.alive.load(), 0);
}

TEST(Dependences, WhoIsNotAddedWaitsForThoseOnly) {
  Parent parent;
  parent.add({{kA, kOut}});  // 0
  parent.add({{kA, kIn}});   // 1
  parent.add({{kB, kIn}});   // 2
  const auto waits = [&](const void* address, Access access) {
    Tasks found;
    parent.table.wait_for(address, access, [&](const DependNode& node) {
      if (!is_closed(node)) found.push_back(static_cast<int>(reinterpret_cast<uintptr_t>(node.task)));
    });
    return found;
  };
  EXPECT_EQ(waits(kA, kIn), Tasks{0});
  EXPECT_EQ(waits(kA, kOut), Tasks{1});
  EXPECT_EQ(waits(kB, kIn), Tasks{});
  EXPECT_EQ(waits(kB, kOut), Tasks{2});
  EXPECT_EQ(waits(&cells[2], kOut), Tasks{});
  for (int i = 0; i < 3; ++i) parent.end(i);
  EXPECT_EQ(waits(kA, kOut), Tasks{});
  parent.table.free_all(parent.blocks);
}

// What has ended is forgotten: memory goes with what is open, not with what has been.
TEST(Dependences, MemoryIsThatOfOpenTasks) {
  Parent parent;
  std::vector<int> many(20000);
  for (int i = 0; i < 20000; ++i) {
    EXPECT_TRUE(parent.add({{&many[static_cast<size_t>(i)], kOut}, {kA, kIn}}));
    parent.end(i);
  }
  EXPECT_LT(parent.blocks.alive.load(), 100);
  EXPECT_LE(parent.table.room, 128u);
  parent.table.free_all(parent.blocks);
  EXPECT_EQ(parent.blocks.alive.load(), 0);
}

TEST(Dependences, WithoutMemoryTheMakerWaits) {
  Parent parent;
  for (int i = 0; i < 40; ++i) parent.add({{kA, kIn}});
  parent.table.reserve(1, parent.blocks);
  auto* const node = new (parent.blocks.get()) DependNode{};
  ASSERT_TRUE(reserve_memberships(*node, 1, parent.blocks));
  parent.blocks.most = parent.blocks.alive.load();
  int waited = 0;
  parent.table.stamp(*node, kA, kOut);
  parent.table.add(*node, kA, parent.blocks, [&](const DependNode&) { ++waited; });
  EXPECT_EQ(waited, 40 - static_cast<int>(DependNode::kSlots) + 1);
  drop(node, parent.blocks);
  for (int i = 0; i < 40; ++i) parent.end(i);
  parent.table.free_all(parent.blocks);
  EXPECT_EQ(parent.blocks.alive.load(), 0);
}

// A maker, and threads that run what is ready: every cell is written by one at a time, and read by none meanwhile. The
// cells are not atomic: under ThreadSanitizer an edge that is missing, or orders nothing, is a race.
struct Task {
  DependNode* node;
  std::vector<Use> uses;
};

void run(Task* task, std::vector<int>& wrong) {
  for (const Use& use : task->uses) {
    auto* const cell = static_cast<int*>(const_cast<void*>(use.address));
    if (use.access == Access::kOut)
      ++*cell;
    else if (*cell < 0)
      wrong.push_back(*cell);
  }
}

TEST(Dependences, ManyThreads) {
  constexpr int kTasks = 30000;
  Blocks blocks;
  DependTable table{};
  std::vector<Task> tasks(kTasks);
  std::mutex lock;
  std::deque<Task*> ready;
  std::atomic<int> ended{0};
  std::vector<int> expected(std::size(cells));
  std::fill(std::begin(cells), std::end(cells), 0);
  const auto offer = [&](Task* task) {
    const std::lock_guard<std::mutex> guard(lock);
    ready.push_back(task);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      std::vector<int> wrong;
      while (ended.load(std::memory_order_relaxed) < kTasks) {
        Task* task = nullptr;
        {
          const std::lock_guard<std::mutex> guard(lock);
          if (!ready.empty()) {
            task = ready.front();
            ready.pop_front();
          }
        }
        if (!task) {
          std::this_thread::yield();
          continue;
        }
        run(task, wrong);
        DependNode* const node = task->node;
        std::vector<Task*> next;
        close(*node, [&](void* other) { next.push_back(static_cast<Task*>(other)); });
        for (Task* other : next) offer(other);
        drop(node, blocks);
        ended.fetch_add(1, std::memory_order_relaxed);
      }
      EXPECT_TRUE(wrong.empty());
    });
  }
  std::minstd_rand random(7);
  for (int i = 0; i < kTasks; ++i) {
    Task& task = tasks[static_cast<size_t>(i)];
    for (uint32_t k = random() % 4 + 1; k > 0; --k) {
      const size_t cell = random() % std::size(cells);
      const Access access = random() % 3 == 0 ? kOut : kIn;
      bool again = false;
      for (const Use& use : task.uses) again |= use.address == &cells[cell];
      if (again) continue;
      expected[cell] += access == kOut;
      task.uses.push_back({&cells[cell], access});
    }
    const auto count = static_cast<uint32_t>(task.uses.size());
    ASSERT_TRUE(table.reserve(count, blocks));
    task.node = new (blocks.get()) DependNode{};
    task.node->task = &task;
    ASSERT_TRUE(reserve_memberships(*task.node, count, blocks));
    for (const Use& use : task.uses) table.stamp(*task.node, use.address, use.access);
    for (const Use& use : task.uses) table.add(*task.node, use.address, blocks, [](const DependNode&) { FAIL(); });
    if (one_less(*task.node)) offer(&task);
    while (i - ended.load(std::memory_order_relaxed) > 200) std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < std::size(cells); ++i) EXPECT_EQ(cells[i], expected[i]) << i;
  table.free_all(blocks);
  EXPECT_EQ(blocks.alive.load(), 0);
}

}  // namespace
}  // namespace smelt::openmp
