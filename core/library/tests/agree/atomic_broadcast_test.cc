// Atomic broadcast between threads and processes: one order for all, nothing lost, lengths, slow members, members that
// leave or are killed, damaged memory.
#include <smelt/atomic_broadcast.h>
#include <smelt/queue.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "members.h"

namespace smelt::test {
namespace {

using namespace std::chrono_literals;
using Bytes = std::vector<unsigned char>;
using Message = smelt_atomic_broadcast_message;

struct FreeMember {
  void operator()(smelt_atomic_broadcast* member) const { smelt_atomic_broadcast_free(member); }
};
using Member = std::unique_ptr<smelt_atomic_broadcast, FreeMember>;

std::vector<Member> between_threads(unsigned members, const smelt_tree* tree, unsigned capacity,
                                    int64_t timeout_ns = kPatience) {
  std::vector<smelt_atomic_broadcast*> made(members);
  EXPECT_EQ(smelt_atomic_broadcast_create(members, tree, capacity, timeout_ns, made.data()), 0);
  std::vector<Member> owned;
  for (smelt_atomic_broadcast* one : made) owned.emplace_back(one);
  return owned;
}

// The k-th message of this member: every length up to `limit` comes, and every byte tells.
Bytes message(unsigned sender, uint64_t k, size_t limit) {
  const uint64_t mixed = ((k + 1) * 1024 + sender) * 0x9e3779b97f4a7c15;
  const size_t most = mixed >> 60 == 0 ? limit : mixed >> 60 < 4 ? 4 * SMELT_QUEUE_SLOT : SMELT_ATOMIC_BROADCAST_SLOT;
  Bytes bytes((mixed >> 20) % (std::min(most, limit) + 1));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(mixed >> 8 * (i % 8)) + i / 8;
  return bytes;
}

// What a member saw: the senders, in its order; which of a sender's messages it was follows.
struct Seen {
  std::vector<unsigned> senders;
  std::string wrong;  // what was not as it should be
};

// Takes part: sends `count` messages (any number of them, 0 too), delivers `total`.
Seen take_part(smelt_atomic_broadcast* member, unsigned index, unsigned members, uint64_t count, uint64_t total,
               bool tries, Delays delays) {
  const size_t limit = smelt_atomic_broadcast_limit(member);
  Seen seen;
  std::vector<uint64_t> of(members);
  Bytes data(limit);
  uint64_t sent = 0;
  while (seen.senders.size() < total) {
    delays.maybe();
    // As many as go, then one is delivered.
    while (sent < count) {
      const Bytes bytes = message(index, sent, limit);
      const int result = smelt_atomic_broadcast_try_send(member, bytes.data(), bytes.size());
      if (result == -EAGAIN || result == -EDEADLK) break;
      if (result != 0) {
        seen.wrong = "send: " + std::to_string(result);
        return seen;
      }
      ++sent;
      if (sent % 8 == 0) break;
    }
    Message told{};
    const int result = tries || sent < count ? smelt_atomic_broadcast_try_deliver(member, data.data(), limit, &told)
                                             : smelt_atomic_broadcast_deliver(member, data.data(), limit, &told);
    if (result == -EAGAIN) {
      std::this_thread::yield();
      continue;
    }
    if (result != 0) {
      seen.wrong = "deliver: " + std::to_string(result);
      return seen;
    }
    if (told.number != seen.senders.size()) seen.wrong = "a number is missing";
    if (told.sender >= members) {
      seen.wrong = "no such sender";
      return seen;
    }
    const Bytes expected = message(told.sender, of[told.sender]++, limit);
    if (told.bytes != expected.size() || (!expected.empty() && std::memcmp(expected.data(), data.data(), told.bytes)))
      seen.wrong = "not what was sent";
    seen.senders.push_back(told.sender);
  }
  return seen;
}

// --- threads

// members, pattern, capacity
class Trees : public testing::TestWithParam<std::tuple<unsigned, const char*, unsigned>> {};
INSTANTIATE_TEST_SUITE_P(AtomicBroadcast, Trees,
                         testing::Values(std::tuple(1u, "sequential", 4u), std::tuple(2u, "sequential", 1u),
                                         std::tuple(2u, "sequential", 16u), std::tuple(3u, "sequential", 2u),
                                         std::tuple(4u, "binary", 1u), std::tuple(5u, "fibonacci", 90u),
                                         std::tuple(7u, "binary", 8u), std::tuple(8u, "knomial:3", 5u)));

TEST_P(Trees, EverybodyDeliversEverythingInOneOrder) {
  const auto [members, pattern, capacity] = GetParam();
  const uint64_t each = members < 6 ? 400 : 150;
  for (const unsigned root : {0u, members - 1}) {
    const TreePointer tree = tree_of(pattern, members, static_cast<int>(root));
    ASSERT_TRUE(tree);
    const std::vector<Member> all = between_threads(members, tree.get(), capacity);
    EXPECT_EQ(smelt_atomic_broadcast_parent(all[root].get()), -1);
    EXPECT_EQ(smelt_atomic_broadcast_limit(all[0].get()), capacity * size_t{SMELT_QUEUE_SLOT} - 8);
    std::vector<Seen> seen(members);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < members; ++i)
      threads.emplace_back([&, i] {
        seen[i] = take_part(all[i].get(), i, members, each, each * members, i % 2 == 1, Delays(100 * root + i));
      });
    for (std::thread& one : threads) one.join();
    for (unsigned i = 0; i < members; ++i) {
      EXPECT_EQ(seen[i].wrong, "") << "member " << i;
      EXPECT_EQ(seen[i].senders.size(), each * members) << "member " << i;
      EXPECT_EQ(seen[i].senders, seen[0].senders) << "member " << i << " saw another order";
    }
  }
}

TEST(AtomicBroadcast, TheTreeOfThisMachineServes) {
  const std::vector<Member> all = between_threads(4, nullptr, 16);
  EXPECT_EQ(smelt_atomic_broadcast_parent(all[0].get()), -1);
  std::vector<Seen> seen(4);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i)
    threads.emplace_back([&, i] { seen[i] = take_part(all[i].get(), i, 4, i == 2 ? 500 : 0, 500, false, Delays(i)); });
  for (std::thread& one : threads) one.join();
  for (const Seen& one : seen) {
    EXPECT_EQ(one.wrong, "");
    EXPECT_EQ(one.senders, std::vector<unsigned>(500, 2));
  }
}

// Nothing is timed: member 2 does not deliver, so there is an end to what the others can send, and none of it is lost.
TEST(AtomicBroadcast, ASlowMemberStopsTheOthersAndNothingIsLost) {
  const TreePointer tree = tree_of("sequential", 3, 0);
  const std::vector<Member> all = between_threads(3, tree.get(), 4, kShort);
  uint64_t sent = 0, delivered[3] = {};
  Message told;
  int result = 0;
  const auto deliver_one = [&](unsigned i) {
    uint64_t number = ~uint64_t{0};
    if (smelt_atomic_broadcast_try_deliver(all[i].get(), &number, sizeof number, &told) != 0) return false;
    EXPECT_EQ(number, delivered[i]++);
    return true;
  };
  for (int idle = 0; idle < 20;) {
    while ((result = smelt_atomic_broadcast_try_send(all[1].get(), &sent, sizeof sent)) == 0) {
      ++sent;
      idle = 0;
      ASSERT_LT(sent, 200u) << "there is no end";
    }
    ASSERT_TRUE(result == -EAGAIN || result == -EDEADLK);
    while (deliver_one(0) || deliver_one(1)) idle = 0;
    ++idle;
  }
  EXPECT_GE(sent, 4u);
  EXPECT_EQ(smelt_atomic_broadcast_send(all[1].get(), &sent, sizeof sent), -ETIMEDOUT);
  while (delivered[0] < sent || delivered[1] < sent || delivered[2] < sent)
    ASSERT_TRUE(deliver_one(0) | deliver_one(1) | deliver_one(2)) << delivered[0] << " " << delivered[2];
  EXPECT_EQ(smelt_atomic_broadcast_try_deliver(all[2].get(), nullptr, 0, &told), -EAGAIN);
}

// All send and nobody delivers: each is told that it must, and after that it goes on.
TEST(AtomicBroadcast, TheRootTakesFromItsChildrenInTurn) {
  constexpr unsigned kEach = 4;
  const TreePointer tree = tree_of("sequential", 3, 0);
  const std::vector<Member> members = between_threads(3, tree.get(), 4 * kEach);
  for (unsigned child : {1u, 2u})
    for (unsigned k = 0; k < kEach; ++k)
      ASSERT_EQ(smelt_atomic_broadcast_try_send(members[child].get(), &k, sizeof k), 0);
  unsigned before = 0, data = 0;
  for (unsigned k = 0; k < 2 * kEach; ++k) {
    Message told{};
    ASSERT_EQ(smelt_atomic_broadcast_try_deliver(members[0].get(), &data, sizeof data, &told), 0);
    EXPECT_NE(told.sender, before) << "the message of number " << k;
    before = told.sender;
  }
}

TEST(AtomicBroadcast, WhoOnlySendsIsToldToDeliver) {
  for (const char* pattern : {"sequential", "binary"}) {
    const TreePointer tree = tree_of(pattern, 3, 0);
    const std::vector<Member> all = between_threads(3, tree.get(), 2);
    std::vector<std::thread> threads;
    std::atomic<int> told_to_deliver{0};
    std::vector<std::string> wrong(3);
    for (unsigned i = 0; i < 3; ++i)
      threads.emplace_back([&, i] {
        Message told;
        uint64_t number;
        unsigned delivered = 0;
        for (uint64_t k = 0; k < 300; ++k) {
          int result;
          while ((result = smelt_atomic_broadcast_send(all[i].get(), &k, sizeof k)) == -EDEADLK) {
            ++told_to_deliver;
            if (smelt_atomic_broadcast_deliver(all[i].get(), &number, sizeof number, &told) != 0) wrong[i] = "deliver";
            if (told.number != delivered) wrong[i] = "another order";
            ++delivered;
          }
          if (result != 0) wrong[i] = "send " + std::to_string(result);
        }
        while (delivered < 900 && smelt_atomic_broadcast_deliver(all[i].get(), &number, sizeof number, &told) == 0)
          ++delivered;
        if (delivered != 900) wrong[i] += " delivered " + std::to_string(delivered);
      });
    for (std::thread& one : threads) one.join();
    EXPECT_EQ(wrong, std::vector<std::string>(3));
    EXPECT_GT(told_to_deliver, 0);
  }
}

TEST(AtomicBroadcast, AMessageThatDoesNotFitStays) {
  const std::vector<Member> all = between_threads(2, nullptr, 8);
  const size_t limit = smelt_atomic_broadcast_limit(all[0].get());
  const Bytes longest(limit, 7);
  EXPECT_EQ(smelt_atomic_broadcast_send(all[0].get(), longest.data(), limit + 1), -EMSGSIZE);
  ASSERT_EQ(smelt_atomic_broadcast_send(all[0].get(), longest.data(), limit), 0);
  Bytes came(limit);
  for (const Member& one : all) {
    Message told{};
    EXPECT_EQ(smelt_atomic_broadcast_deliver(one.get(), came.data(), limit - 1, &told), -EMSGSIZE);
    EXPECT_EQ(told.bytes, limit);
    EXPECT_EQ(smelt_atomic_broadcast_deliver(one.get(), came.data(), limit, &told), 0);
    EXPECT_EQ(came, longest);
    EXPECT_EQ(smelt_atomic_broadcast_try_deliver(one.get(), came.data(), limit, &told), -EAGAIN);
  }
}

TEST(AtomicBroadcast, NobodyIsWaitedForLongerThanStated) {
  const std::vector<Member> all = between_threads(2, nullptr, 8, kShort);
  Message told;
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(smelt_atomic_broadcast_deliver(all[1].get(), nullptr, 0, &told), -ETIMEDOUT);
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::nanoseconds(kShort));
}

// A member in the middle leaves: those below get what it had passed on, then -EPIPE; the others go on.
TEST(AtomicBroadcast, WhoIsBelowAMemberThatLeavesIsTold) {
  const TreePointer chain = tree_of("knomial:2", 4, 0);
  std::vector<Member> all = between_threads(4, chain.get(), 8);
  unsigned below = 0;
  for (unsigned i = 1; i < 4; ++i)
    if (smelt_atomic_broadcast_parent(all[i].get()) != 0) below = i;
  ASSERT_NE(below, 0u);
  const auto middle = static_cast<unsigned>(smelt_atomic_broadcast_parent(all[below].get()));
  const unsigned other = 6 - below - middle;
  Message told;
  int number = 5, came = 0;
  ASSERT_EQ(smelt_atomic_broadcast_send(all[0].get(), &number, sizeof number), 0);
  ASSERT_EQ(smelt_atomic_broadcast_deliver(all[middle].get(), &came, sizeof came, &told), 0);
  std::thread waits([&] {
    int first = 0;
    Message its;
    EXPECT_EQ(smelt_atomic_broadcast_deliver(all[below].get(), &first, sizeof first, &its), 0);
    EXPECT_EQ(first, 5);
    EXPECT_EQ(smelt_atomic_broadcast_deliver(all[below].get(), &first, sizeof first, &its), -EPIPE);
    EXPECT_EQ(smelt_atomic_broadcast_send(all[below].get(), &first, sizeof first), -EPIPE);
  });
  std::this_thread::sleep_for(20ms);
  all[middle].reset();
  waits.join();
  EXPECT_EQ(smelt_atomic_broadcast_deliver(all[0].get(), &came, sizeof came, &told), 0);
  for (number = 6; number < 100; ++number) {
    ASSERT_EQ(smelt_atomic_broadcast_send(all[0].get(), &number, sizeof number), 0);
    ASSERT_EQ(smelt_atomic_broadcast_deliver(all[0].get(), &came, sizeof came, &told), 0);
    if (number == 6) {
      ASSERT_EQ(smelt_atomic_broadcast_deliver(all[other].get(), &came, sizeof came, &told), 0);
      EXPECT_EQ(came, 5);
    }
    ASSERT_EQ(smelt_atomic_broadcast_deliver(all[other].get(), &came, sizeof came, &told), 0);
    ASSERT_EQ(came, number);
  }
}

TEST(AtomicBroadcast, WhatIsOutOfRangeIsRefused) {
  smelt_atomic_broadcast* made[3] = {};
  EXPECT_EQ(smelt_atomic_broadcast_create(0, nullptr, 8, 0, made), -EINVAL);
  EXPECT_EQ(smelt_atomic_broadcast_create(SMELT_MAX_PARTICIPANTS + 1, nullptr, 8, 0, made), -EINVAL);
  EXPECT_EQ(smelt_atomic_broadcast_create(2, nullptr, 0, 0, made), -EINVAL);
  EXPECT_EQ(smelt_atomic_broadcast_create(2, nullptr, SMELT_ATOMIC_BROADCAST_MAX_CAPACITY + 1, 0, made), -EINVAL);
  EXPECT_EQ(smelt_atomic_broadcast_create(2, nullptr, 8, 0, nullptr), -EINVAL);
  const TreePointer three = tree_of("sequential", 3);
  EXPECT_EQ(smelt_atomic_broadcast_create(2, three.get(), 8, 0, made), -EINVAL) << "a tree of three";
  EXPECT_EQ(smelt_atomic_broadcast_size(0, 8), 0u);
  const std::vector<Member> all = between_threads(2, nullptr, 8);
  Message told;
  EXPECT_EQ(smelt_atomic_broadcast_send(all[0].get(), nullptr, 1), -EINVAL);
  EXPECT_EQ(smelt_atomic_broadcast_deliver(all[0].get(), nullptr, 1, &told), -EINVAL);
  EXPECT_EQ(smelt_atomic_broadcast_deliver(all[0].get(), nullptr, 0, nullptr), -EINVAL);
  EXPECT_EQ(smelt_atomic_broadcast_try_send(nullptr, "", 0), -EINVAL);
  smelt_atomic_broadcast_free(nullptr);
}

// --- processes

Member attached(const smelt_atomic_broadcast_ticket& ticket, unsigned index, int64_t timeout_ns) {
  smelt_atomic_broadcast* member = nullptr;
  return Member(smelt_atomic_broadcast_attach(&ticket, index, timeout_ns, &member) == 0 ? member : nullptr);
}

TEST(AtomicBroadcast, OneOrderBetweenProcesses) {
  constexpr unsigned kMembers = 4;
  constexpr uint64_t kEach = 1000, kTotal = kEach * kMembers;
  for (const unsigned capacity : {3u, 80u}) {
    const TreePointer tree = tree_of("knomial:2", kMembers, 1);
    const Shared<unsigned char> orders(kMembers * kTotal);
    smelt_atomic_broadcast_ticket ticket;
    smelt_atomic_broadcast* made = nullptr;
    ASSERT_EQ(smelt_atomic_broadcast_create_shared(kMembers, tree.get(), capacity, kPatience, &ticket, &made), 0);
    Member here(made);
    const auto body = [&](smelt_atomic_broadcast* member, unsigned i) {
      const Seen seen = take_part(member, i, kMembers, kEach, kTotal, i == 2, Delays(i));
      for (size_t k = 0; k < seen.senders.size(); ++k)
        orders[i * kTotal + k] = static_cast<unsigned char>(seen.senders[k]);
      return seen.wrong.empty() ? 0 : 1;
    };
    std::vector<pid_t> children;
    for (unsigned i = 1; i < kMembers; ++i)
      children.push_back(in_another_process([&] {
        const Member there = attached(ticket, i, kPatience);
        return there ? body(there.get(), i) : 2;
      }));
    EXPECT_EQ(body(here.get(), 0), 0);
    for (const pid_t child : children) EXPECT_EQ(ended(child), 0);
    for (unsigned i = 1; i < kMembers; ++i) EXPECT_EQ(std::memcmp(&orders[0], &orders[i * kTotal], kTotal), 0) << i;
  }
}

// Killed anywhere, whoever it is: what each of the others has seen is a beginning of what the longest has seen, and
// each learns of it by an error.
TEST(AtomicBroadcast, OfAKilledMemberTheOthersLearnAndTheirOrderStaysRight) {
  constexpr unsigned kMembers = 4;
  constexpr size_t kMost = 1 << 20;
  for (unsigned round = 0; round < 6; ++round) {
    const unsigned victim = 1 + round % (kMembers - 1), root = round % 2;
    const uint64_t enough = 500 + 37 * round;
    const TreePointer tree = tree_of("knomial:2", kMembers, static_cast<int>(root));
    const Shared<unsigned char> orders(kMembers * kMost);
    const Shared<std::atomic<uint64_t>> seen(kMembers);
    smelt_atomic_broadcast_ticket ticket;
    smelt_atomic_broadcast* made = nullptr;
    ASSERT_EQ(smelt_atomic_broadcast_create_shared(kMembers, tree.get(), 8, 10 * kShort, &ticket, &made), 0);
    const Member here(made);
    // Sends and delivers until an error comes: that is its end, too.
    const auto body = [&](smelt_atomic_broadcast* member, unsigned i) {
      Message told;
      uint64_t k = 0, came[8];
      for (int late = 0;;) {
        int result = smelt_atomic_broadcast_try_send(member, &k, sizeof k);
        if (result == 0) ++k;
        if (result != 0 && result != -EAGAIN && result != -EDEADLK) return -result;
        result = smelt_atomic_broadcast_deliver(member, came, sizeof came, &told);
        if (result == -ETIMEDOUT && seen[victim] < enough && ++late < 60)
          continue;  // it may be late, and is not dead yet
        if (result != 0) return -result;
        const uint64_t at = seen[i].load();
        if (told.number != at || at == kMost) return 200;
        orders[i * kMost + at] = static_cast<unsigned char>(told.sender);
        seen[i].store(at + 1);
      }
    };
    std::vector<pid_t> children(kMembers);
    for (unsigned i = 1; i < kMembers; ++i)
      children[i] = in_another_process([&] {
        Member there = attached(ticket, i, 10 * kShort);
        const int result = there ? body(there.get(), i) : 201;
        (void)there.release();  // as it is: nobody is told
        return result;
      });
    std::thread killer([&] {
      for (int i = 0; i < 60'000 && seen[victim] < enough; ++i) std::this_thread::sleep_for(1ms);
      EXPECT_EQ(kill(children[victim], SIGKILL), 0);
    });
    const int mine = body(here.get(), 0);
    killer.join();
    EXPECT_TRUE(mine == ETIMEDOUT || mine == EPIPE) << mine;
    for (unsigned i = 1; i < kMembers; ++i) {
      const int how = ended(children[i]);
      if (i == victim) {
        EXPECT_EQ(how, 1000 + SIGKILL);
      } else {
        EXPECT_TRUE(how == ETIMEDOUT || how == EPIPE) << "member " << i << ": " << how;
      }
    }
    for (unsigned i = 0; i < kMembers; ++i)
      for (unsigned j = 0; j < i; ++j)
        EXPECT_EQ(std::memcmp(&orders[i * kMost], &orders[j * kMost], std::min(seen[i].load(), seen[j].load())), 0)
            << "members " << i << " and " << j;
  }
}

TEST(AtomicBroadcast, MembersAreTakenOnceAndTicketsLookedAt) {
  smelt_atomic_broadcast_ticket ticket;
  smelt_atomic_broadcast* made = nullptr;
  ASSERT_EQ(smelt_atomic_broadcast_create_shared(3, nullptr, 8, kShort, &ticket, &made), 0);
  Member here(made);
  smelt_atomic_broadcast* none = nullptr;
  EXPECT_EQ(smelt_atomic_broadcast_attach(&ticket, 0, 0, &none), -EINVAL) << "the creator is that";
  EXPECT_EQ(smelt_atomic_broadcast_attach(&ticket, 3, 0, &none), -EINVAL);
  for (int word = 0; word < 3; ++word) {
    smelt_atomic_broadcast_ticket wrong = ticket;
    wrong.word[word] ^= 0x10;
    EXPECT_EQ(smelt_atomic_broadcast_attach(&wrong, 1, 0, &none), -ENOTSUP) << "word " << word;
  }
  const Member there = attached(ticket, 1, kShort);
  ASSERT_TRUE(there);
  EXPECT_EQ(smelt_atomic_broadcast_attach(&ticket, 1, 0, &none), -EBUSY);
  here.reset();
  EXPECT_EQ(smelt_atomic_broadcast_attach(&ticket, 2, 0, &none), -ENOTSUP) << "gone";
  Message told;
  EXPECT_EQ(smelt_atomic_broadcast_deliver(there.get(), nullptr, 0, &told), -EPIPE);
}

// The caller's memory, which each has elsewhere; and whatever may be written there, it does not lead out of it.
TEST(AtomicBroadcast, InTheCallersMemoryAtTwoAddresses) {
  const TreePointer tree = tree_of("sequential", 2, 0);
  const size_t bytes = smelt_atomic_broadcast_size(2, 8);
  ASSERT_GT(bytes, 8u * 64);
  const int file = memfd_create("atomic_broadcast", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(bytes)), 0);
  char* address[2];
  for (char*& one : address)
    one = static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  close(file);
  smelt_atomic_broadcast *first = nullptr, *second = nullptr;
  EXPECT_EQ(smelt_atomic_broadcast_open(address[0], bytes, 0, kPatience, &first), -EPROTO) << "nothing is there";
  EXPECT_EQ(smelt_atomic_broadcast_init(address[0], bytes - 1, 2, tree.get(), 8), -EINVAL);
  EXPECT_EQ(smelt_atomic_broadcast_init(address[0] + 64, bytes, 2, tree.get(), 8), -EINVAL);
  std::memset(address[0], 0xff, bytes);  // what was there before does not matter
  ASSERT_EQ(smelt_atomic_broadcast_init(address[0], bytes, 2, tree.get(), 8), 0);
  EXPECT_EQ(smelt_atomic_broadcast_open(address[1], bytes - 1, 1, kPatience, &second), -EPROTO);

  // Every word of the head and of the tree, wrong in several ways: an error, or a member that can be freed.
  for (size_t at = 0; at < 256; at += 2)
    for (const uint16_t wrong : {0x0000, 0xffff, 0x0001, 0x0400}) {
      const Bytes before(address[0], address[0] + bytes);
      std::memcpy(address[0] + at, &wrong, sizeof wrong);
      for (unsigned i = 0; i < 2; ++i)
        if (smelt_atomic_broadcast_open(address[1], bytes, i, 0, &first) == 0) smelt_atomic_broadcast_free(first);
      std::memcpy(address[0], before.data(), bytes);
    }

  ASSERT_EQ(smelt_atomic_broadcast_open(address[0], bytes, 0, kPatience, &first), 0);
  ASSERT_EQ(smelt_atomic_broadcast_open(address[1], bytes, 1, kPatience, &second), 0);
  EXPECT_EQ(smelt_atomic_broadcast_open(address[1], bytes, 0, kPatience, &second), -EBUSY);
  {
    const Member here(first), there(second);
    std::vector<Seen> seen(2);
    std::thread other([&] { seen[1] = take_part(second, 1, 2, 500, 1000, false, Delays(1)); });
    seen[0] = take_part(first, 0, 2, 500, 1000, false, Delays(0));
    other.join();
    EXPECT_EQ(seen[0].wrong + seen[1].wrong, "");
    EXPECT_EQ(seen[0].senders, seen[1].senders);
  }
  for (char* one : address) munmap(one, bytes);
}

// A message that no member has sent, in the place of one: an error, for good.
TEST(AtomicBroadcast, WhatNoMemberHasSentIsAnError) {
  const TreePointer tree = tree_of("sequential", 2, 0);
  const size_t bytes = smelt_atomic_broadcast_size(2, 8), edge = smelt_queue_size("ump", 8, 2);
  std::unique_ptr<unsigned char, decltype(&std::free)> memory(
      static_cast<unsigned char*>(std::aligned_alloc(SMELT_ATOMIC_BROADCAST_ALIGNMENT, bytes)), std::free);
  for (const uint64_t header : {uint64_t{1} << 16 | 1, uint64_t{2}}) {  // number 1 and not 0; a sender of two
    ASSERT_EQ(smelt_atomic_broadcast_init(memory.get(), bytes, 2, tree.get(), 8), 0);
    smelt_queue* forged = nullptr;
    // The edge above member 1 is the last.
    ASSERT_EQ(smelt_queue_open(memory.get() + bytes - edge, edge, 0, 0, &forged), 0);
    ASSERT_EQ(smelt_queue_send(forged, &header, sizeof header), 0);
    smelt_atomic_broadcast* made = nullptr;
    ASSERT_EQ(smelt_atomic_broadcast_open(memory.get(), bytes, 1, kShort, &made), 0);
    const Member here(made);
    Message told;
    for (int i = 0; i < 2; ++i) EXPECT_EQ(smelt_atomic_broadcast_deliver(made, nullptr, 0, &told), -EPROTO);
    EXPECT_EQ(smelt_atomic_broadcast_send(made, nullptr, 0), -EPROTO);
    smelt_queue_free(forged);
  }
}

}  // namespace
}  // namespace smelt::test
