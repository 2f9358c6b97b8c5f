// Groups of a pool: of any of its members in any order, at once and one after the other; those that rest and are woken
// go on as if they were new, with whatever was called before, and those that must not be woken are not. Nothing grows.
#include <gtest/gtest.h>

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "../sanitized.h"
#include "address_space.h"
#include "group/group.h"
#include "group/pool.h"
#include "here.h"
#include "processes.h"

namespace smelt::test {
namespace {

using Members = std::vector<unsigned>;

// A process of a pool, and what it is called for. A failure is said by whom it happens to (EXPECT_HERE), and ends it.
struct Here {
  Seat& seat;
  smelt_host host;
  smelt_pool* pool = nullptr;
  explicit Here(Seat& seat) : seat(seat), host(host_of(&seat)) {}

  bool is_in(const Members& members) const {
    return std::find(members.begin(), members.end(), seat.me) != members.end();
  }
  int make(unsigned key, const Members& members, smelt_group** group) const {
    const auto me = std::find(members.begin(), members.end(), seat.me) - members.begin();
    return smelt_pool_group(pool, &host, key, members.data(), static_cast<unsigned>(members.size()),
                            static_cast<unsigned>(me), group);
  }
};

int in_pool(unsigned n, const std::function<int(Here&)>& body) {
  return run_processes(n, [&](Seat& seat) {
    Here here(seat);
    EXPECT_HERE(smelt_pool_create(&here.host, n, seat.me, &here.pool) == 0, "no pool");
    const int result = body(here);
    smelt_pool_free(here.pool);
    smelt_groups_end();
    return result;
  });
}

smelt_data at(void* base) { return {base, nullptr, nullptr, nullptr}; }
void add(void*, const void* left, void* right, size_t elements) {
  const auto* l = static_cast<const uint64_t*>(left);
  auto* r = static_cast<uint64_t*>(right);
  for (size_t i = 0; i < elements; ++i) r[i] = l[i] + r[i];
}

// Two collectives of so many numbers, in which everybody hears everybody and not everybody does; `round` is in the
// data, so that what is left of an earlier call is seen.
int exercise(smelt_group* group, size_t count, uint64_t round, unsigned root) {
  const smelt_fold sum{sizeof(uint64_t), add, nullptr, nullptr, 0};
  const unsigned n = group->n, me = group->me;
  std::vector<uint64_t> in(count), out(count);
  for (size_t i = 0; i < count; ++i) in[i] = round * 1000003 + i * (me + 1);
  const smelt_data from = at(in.data()), to = at(out.data());
  EXPECT_HERE(smelt_group_allreduce(group, &from, &to, count, &sum) == 0, "allreduce");
  for (size_t i = 0; i < count; ++i)
    EXPECT_HERE(out[i] == n * (round * 1000003) + i * (n * (n + 1) / 2), "allreduce of %zu in round %llu: element %zu",
                count, static_cast<unsigned long long>(round), i);
  for (size_t i = 0; i < count; ++i) out[i] = me == root ? round * 31 + i : 0;
  EXPECT_HERE(smelt_group_broadcast(group, &to, count * sizeof(uint64_t), root) == 0, "broadcast");
  for (size_t i = 0; i < count; ++i)
    EXPECT_HERE(out[i] == round * 31 + i, "broadcast of %zu in round %llu: element %zu", count,
                static_cast<unsigned long long>(round), i);
  return 0;
}

// The numbers of calls are around the lengths of the rings, so that a life begins at every place of them; all methods.
TEST(Pool, AWokenGroupGoesOn) {
  for (const unsigned n : {2u, 3u, 5u}) {
    const int failed = in_pool(n, [n](Here& here) {
      Members all(n);
      std::iota(all.begin(), all.end(), 0);
      const char* memory = nullptr;
      for (uint32_t life = 0; life < 60; ++life) {
        smelt_group* group = nullptr;
        EXPECT_HERE(here.make(life % 7, all, &group) == 0, "group %u", life);
        EXPECT_HERE(group->life == life, "life %u is the group's %u", life, group->life);
        if (life == 0) memory = group->block.address;
        EXPECT_HERE(group->block.address == memory, "life %u in other memory", life);
        constexpr size_t kCounts[] = {1, 3, 20, 5000, 1, 100000};
        for (uint32_t call = 0; call < life % 19; ++call) {
          if (exercise(group, kCounts[(life + call) % (life % 10 == 0 ? 6 : 3)], life * 100 + call, (life + call) % n))
            return 1;
        }
        if (life % 3 == 0) smelt_group_barrier(group);
        smelt_group_free(group);
      }
      return 0;
    });
    EXPECT_EQ(failed, 0) << n << " processes";
  }
}

// Disjoint groups have the same key at the same time, as MPI's communicators may.
TEST(Pool, AnyMembersInAnyOrder) {
  constexpr unsigned kProcesses = 5;
  const int failed = in_pool(kProcesses, [](Here& here) {
    std::mt19937 random(7);  // the same on all
    std::vector<smelt_group*> kept;
    for (unsigned round = 0; round < 400; ++round) {
      Members order(kProcesses);
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      const unsigned first = random() % (kProcesses - 1) + 1;
      const size_t count = size_t{1} << random() % 12;
      const bool keep = random() % 3 == 0;
      const Members parts[] = {{order.begin(), order.begin() + first}, {order.begin() + first, order.end()}};
      for (const Members& members : parts) {
        if (!here.is_in(members)) continue;
        smelt_group* group = nullptr;
        EXPECT_HERE(here.make(round % 50, members, &group) == 0, "round %u", round);
        for (unsigned root = 0; root < members.size(); ++root)
          if (exercise(group, count, round, root)) return 1;
        if (keep)
          kept.push_back(group);
        else
          smelt_group_free(group);
      }
      // What was kept is used again, and freed in another order than it was made.
      if (round % 20 == 19) {
        std::shuffle(kept.begin(), kept.end(), std::mt19937(here.seat.me));
        for (smelt_group* group : kept) smelt_group_free(group);
        kept.clear();
      }
    }
    for (smelt_group* group : kept) smelt_group_free(group);
    return 0;
  });
  EXPECT_EQ(failed, 0);
}

// Who calls with other lengths than the others, or not at all, loses what the group could have been; the next one is
// made anew and whole.
TEST(Pool, WhatWentWrongIsNotWoken) {
  const int failed = in_pool(2, [](Here& here) {
    smelt_group* group = nullptr;
    EXPECT_HERE(here.make(0, {0, 1}, &group) == 0 && exercise(group, 1, 1, 0) == 0, "first");
    char data[40000] = "";
    const smelt_data where = at(data);
    // An own call of the root, which need not wait; nobody takes it.
    if (here.seat.me == 0) smelt_group_broadcast(group, &where, 8, 0);
    smelt_group_free(group);
    EXPECT_HERE(here.make(0, {0, 1}, &group) == 0, "second");
    EXPECT_HERE(group->life == 0 && exercise(group, 3, 2, 1) == 0, "a call was left out: life %u", group->life);
    const smelt_fold sum{sizeof(uint64_t), add, nullptr, nullptr, 0};
    std::vector<uint64_t> in(5000), out(5000);
    const smelt_data from = at(in.data()), to = at(out.data());
    const int differs = smelt_group_allreduce(group, &from, &to, here.seat.me == 0 ? 1 : 5000, &sum);
    EXPECT_HERE(differs == -EMSGSIZE, "other lengths: %d", differs);
    smelt_group_free(group);
    EXPECT_HERE(here.make(0, {0, 1}, &group) == 0, "third");
    EXPECT_HERE(group->life == 0 && exercise(group, 5000, 3, 0) == 0, "lengths differed: life %u", group->life);
    smelt_group_free(group);
    EXPECT_HERE(here.make(0, {0, 1}, &group) == 0 && group->life == 1, "control: life %u", group->life);
    smelt_group_free(group);
    return 0;
  });
  EXPECT_EQ(failed, 0);
}

// What a group was told it is used for is each life's own.
TEST(Pool, EachLifeIsAskedAnew) {
  const int failed = in_pool(3, [](Here& here) {
    const smelt_sync lives[][3] = {{SMELT_SYNC_STRICT, SMELT_SYNC_STRICT, SMELT_SYNC_STRICT},
                                   {SMELT_SYNC_AUTO, SMELT_SYNC_AUTO, SMELT_SYNC_AUTO},
                                   {SMELT_SYNC_STRICT, SMELT_SYNC_STRICT, SMELT_SYNC_LOOSE},
                                   {SMELT_SYNC_STRICT, SMELT_SYNC_STRICT, SMELT_SYNC_STRICT}};
    const smelt_sync expected[] = {SMELT_SYNC_STRICT, SMELT_SYNC_LOOSE, SMELT_SYNC_LOOSE, SMELT_SYNC_STRICT};
    for (unsigned life = 0; life < 4; ++life) {
      here.host.sync = lives[life][here.seat.me];
      smelt_group* group = nullptr;
      EXPECT_HERE(here.make(0, {2, 0, 1}, &group) == 0, "life %u", life);
      const char* why = nullptr;
      const smelt_sync sync = smelt_group_sync(group, &why);
      EXPECT_HERE(sync == expected[life] && group->life == life, "life %u: %d, '%s'", life, sync, why);
      EXPECT_HERE((std::strlen(why) > 0) == (life != 1), "life %u: '%s'", life, why);
      smelt_group_free(group);
    }
    return 0;
  });
  EXPECT_EQ(failed, 0);
}

// Everybody calls until everybody waits so; what the calls give is right all the while, although they do not all know
// at the same time.
int call_until(smelt_group* group, bool crowded) {
  const smelt_fold sum{sizeof(uint64_t), add, nullptr, nullptr, 0};
  for (uint64_t round = 0;; ++round) {
    if (exercise(group, 3, round, round % group->n) != 0) return 1;
    uint64_t mine = group->crowded == crowded, all = 0;
    const smelt_data from = at(&mine), to = at(&all);
    EXPECT_HERE(smelt_group_allreduce(group, &from, &to, 1, &sum) == 0, "allreduce");
    if (all == group->n) return 0;
  }
}

// All on one CPU is a crowd, and a CPU for each is none; a group that began as one must not stay it. A group that rests
// is not woken as what it is not any more.
TEST(Pool, FollowsTheAffinity) {
  cpu_set_t all, one;
  sched_getaffinity(0, sizeof all, &all);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "there is one CPU";
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  const int failed = in_pool(2, [&](Here& here) {
    smelt_group* group = nullptr;
    char line[240];
    sched_setaffinity(0, sizeof one, &one);
    EXPECT_HERE(here.make(1, {0, 1}, &group) == 0, "make");
    EXPECT_HERE(group->crowded && smelt_group_crowded(group), "begins as a crowd");
    for (const bool narrow : {false, true, false}) {
      const cpu_set_t& cpus = narrow ? one : all;
      sched_setaffinity(0, sizeof cpus, &cpus);
      if (call_until(group, narrow) != 0) return 1;
      smelt_group_summary(group, line, sizeof line);
      EXPECT_HERE((std::strstr(line, "crowded") != nullptr) == narrow, "%s", line);
    }
    smelt_group_free(group);
    EXPECT_HERE(here.make(1, {0, 1}, &group) == 0, "make");
    smelt_group_summary(group, line, sizeof line);
    EXPECT_HERE(std::strstr(line, "on CPUs ") && !smelt_group_crowded(group), "planned anew: %s", line);
    if (exercise(group, 3, 1, 1) != 0) return 1;
    smelt_group_free(group);
    return 0;
  });
  EXPECT_EQ(failed, 0);
}

TEST(Pool, KeysAndMembersThatAreNot) {
  const int failed = in_pool(2, [](Here& here) {
    smelt_group* group = nullptr;
    const unsigned twice[] = {0, 1}, beyond[] = {here.seat.me, 2};
    const auto make = [&](unsigned key, const unsigned* members, unsigned n, unsigned me) {
      return smelt_pool_group(here.pool, &here.host, key, members, n, me, &group);
    };
    EXPECT_HERE(make(pool_keys(2), twice, 2, here.seat.me) == -ERANGE, "a key too many");
    EXPECT_HERE(make(0, beyond, 2, 0) == -EINVAL, "a member too many");
    EXPECT_HERE(make(0, twice, 2, 1 - here.seat.me) == -EINVAL, "somebody else");
    EXPECT_HERE(make(0, twice, 0, 0) == -EINVAL && make(0, nullptr, 2, 0) == -EINVAL, "nobody");
    EXPECT_HERE(make(pool_keys(2) - 1, twice, 2, here.seat.me) == 0, "the last key");
    const int wrong = exercise(group, 3, 1, 0);
    smelt_group_free(group);
    return wrong;
  });
  EXPECT_EQ(failed, 0);
}

TEST(Pool, RefusedByAll) {
  const int failed = run_processes(3, [](Seat& seat) {
    set_setting("SMELT_TUNE=chunk", seat.me == 1 ? "512" : "1024");
    const smelt_host host = host_of(&seat);
    smelt_pool* pool = nullptr;
    EXPECT_HERE(smelt_pool_create(&host, 3, seat.me, &pool) == -EINVAL && !pool, "settings differ");
    return 0;
  });
  EXPECT_EQ(failed, 0);
  const int without = run_processes(3, [](Seat& seat) {
    if (seat.me == 0) setenv("SMELT_SHM_MB", "0", 1);
    const smelt_host host = host_of(&seat);
    smelt_pool* pool = nullptr;
    EXPECT_HERE(smelt_pool_create(&host, 3, seat.me, &pool) == -ENOMEM && !pool, "no memory");
    return 0;
  });
  EXPECT_EQ(without, 0);
}

// A group for which one of them has no memory is refused to all, and leaves the pool as it was.
TEST(Pool, AGroupRefusedByOne) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's shadow takes more address space than that";
  if (!address_space_can_be_limited()) GTEST_SKIP() << "RLIMIT_AS has no effect here, as under qemu-user";
  for (const unsigned poor : {0u, 2u}) {
    const int failed = in_pool(3, [poor](Here& here) {
      smelt_group *group = nullptr, *later = nullptr;
      EXPECT_HERE(here.make(0, {0, 1, 2}, &group) == 0, "first");
      rlimit before{};
      getrlimit(RLIMIT_AS, &before);
      // What is in stock, eight groups' memory at most, is used up first.
      std::vector<smelt_group*> made;
      if (here.seat.me == poor) limit_address_space();
      int error = 0;
      for (int i = 0; i < 10 && !error; ++i) {
        if (!(error = here.make(1, {0, 1, 2}, &later))) made.push_back(later);
      }
      EXPECT_HERE(error == -ENOMEM, "refused: %d", error);
      setrlimit(RLIMIT_AS, &before);
      EXPECT_HERE(here.make(1, {0, 1, 2}, &later) == 0, "later");
      made.push_back(later);
      made.push_back(group);
      for (smelt_group* one : made) {
        if (exercise(one, 20, 4, 2)) return 1;
        smelt_group_free(one);
      }
      return 0;
    });
    EXPECT_EQ(failed, 0) << "without memory: " << poor;
  }
}

long field_of_status(const char* name) {
  long value = -1;
  char line[256];
  FILE* file = std::fopen("/proc/self/status", "r");
  while (file && std::fgets(line, sizeof line, file))
    if (std::strncmp(line, name, std::strlen(name)) == 0) value = std::atol(line + std::strlen(name));
  if (file) std::fclose(file);
  return value;
}

// Of two each: 40 KiB of memory and 4.5 MiB of address space before there were pools.
TEST(Pool, ManyAliveAndManyThatCome) {
  const int failed = in_pool(2, [](Here& here) {
    constexpr unsigned kAlive = 1200, kLives = 3000;
    const Members both{0, 1};
    const long before = field_of_status("VmSize:");
    std::vector<smelt_group*> alive(kAlive);
    for (unsigned i = 0; i < kAlive; ++i) {
      EXPECT_HERE(here.make(i, both, &alive[i]) == 0, "group %u", i);
      if (exercise(alive[i], 1, i, 0)) return 1;
    }
    const long grown = field_of_status("VmSize:") - before;
    EXPECT_HERE(kSanitized || grown < long{kAlive} * 400, "%u groups alive take %ld KiB of address space", kAlive,
                grown);
    for (unsigned i = 0; i < kAlive; ++i)
      if (exercise(alive[i], 2, i, 1)) return 1;
    for (unsigned i = 0; i < kAlive; ++i) smelt_group_free(alive[here.seat.me == 0 ? i : kAlive - 1 - i]);
    EXPECT_HERE(here.pool->rest_count <= 1024, "%u groups rest", here.pool->rest_count);
    long memory = 0, space = 0;
    for (unsigned life = 0; life < kLives; ++life) {
      smelt_group* group = nullptr;
      EXPECT_HERE(here.make(life % 3, life % 2 ? Members{1, 0} : both, &group) == 0, "life %u", life);
      if (exercise(group, 1 + life % 100 / 99 * 1000, life, life % 2)) return 1;
      smelt_group_free(group);
      if (life == kLives / 10) memory = field_of_status("VmRSS:"), space = field_of_status("VmSize:");
    }
    EXPECT_HERE(kSanitized || field_of_status("VmRSS:") < memory + 1024, "memory grew from %ld KiB to %ld", memory,
                field_of_status("VmRSS:"));
    EXPECT_HERE(field_of_status("VmSize:") < space + 8192, "address space grew from %ld KiB to %ld", space,
                field_of_status("VmSize:"));
    return 0;
  });
  EXPECT_EQ(failed, 0);
}

// What rests gives way where there is no room for another: one MiB is left beside the pool's letters.
TEST(Pool, WhatRestsMakesRoom) {
  const int failed = run_processes(3, [](Seat& seat) {
    setenv("SMELT_SHM_MB", "2", 1);
    Here here(seat);
    EXPECT_HERE(smelt_pool_create(&here.host, 3, seat.me, &here.pool) == 0, "no pool");
    for (unsigned round = 0; round < 4; ++round) {
      // All are led by the same process, and of those that rest after a round none has the members of the next one.
      const Members members = round % 2 ? Members{0, 2} : Members{0, 1};
      if (!here.is_in(members)) continue;
      std::vector<smelt_group*> groups;
      smelt_group* group = nullptr;
      while (here.make(0, members, &group) == 0) groups.push_back(group);
      for (smelt_group* one : groups) {
        if (exercise(one, 3, round, 0)) return 1;
        smelt_group_free(one);
      }
      EXPECT_HERE(groups.size() > 20 && groups.size() < 40, "round %u: %zu groups", round, groups.size());
    }
    smelt_pool_free(here.pool);
    smelt_groups_end();
    return 0;
  });
  EXPECT_EQ(failed, 0);
}

// Each thread has keys of its own, and the same members as the other.
TEST(Pool, ThreadsOfOneProcess) {
  struct Thread {
    const Here* here;
    unsigned number;
    int result = 1;
    static void* run(void* argument) {
      auto& self = *static_cast<Thread*>(argument);
      self.result = self.make_and_free();
      return nullptr;
    }
    int make_and_free() const {
      for (unsigned round = 0; round < 500; ++round) {
        smelt_group* group = nullptr;
        const Members members = round % 3 == 0 ? Members{2, 1, 0} : Members{0, 1, 2};
        EXPECT_HERE(here->make(number, members, &group) == 0, "thread %u, round %u", number, round);
        if (exercise(group, 1 + round % 50, number * 1000 + round, round % 3)) return 1;
        smelt_group_free(group);
      }
      return 0;
    }
  };
  const int failed = in_pool(3, [](Here& here) {
    Thread threads[] = {{&here, 0}, {&here, 1}, {&here, 2}};
    pthread_t handles[3];
    for (unsigned i = 0; i < 3; ++i) pthread_create(&handles[i], nullptr, Thread::run, &threads[i]);
    for (const pthread_t handle : handles) pthread_join(handle, nullptr);
    return threads[0].result | threads[1].result | threads[2].result;
  });
  EXPECT_EQ(failed, 0);
}

// The second pool has the memory of the first.
TEST(Pool, OneAfterTheOther) {
  const int failed = run_processes(2, [](Seat& seat) {
    Here here(seat);
    for (int round = 0; round < 3; ++round) {
      EXPECT_HERE(smelt_pool_create(&here.host, 2, seat.me, &here.pool) == 0, "pool %d", round);
      for (int life = 0; life < 3; ++life) {
        smelt_group* group = nullptr;
        EXPECT_HERE(here.make(3, {1, 0}, &group) == 0 && exercise(group, 30, 9, 1) == 0, "group");
        smelt_group_free(group);
      }
      smelt_pool_free(here.pool);
    }
    smelt_groups_end();
    return 0;
  });
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace smelt::test
