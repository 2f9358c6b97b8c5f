// Members that come and go, of one thread and of several: one order for all, nothing lost or doubled, whoever joins or
// leaves, and whenever; and memory of the caller's, whatever is in it.
#include <atomic>
#include <cstring>
#include <numeric>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "diaries.h"

namespace smelt::test {
namespace {

// --- one thread alone can be all of them

TEST(Members, WhatIsOutOfRangeIsRefused) {
  smelt_membership* none = nullptr;
  const smelt_member_terms good{4, 16, 64, -1};
  for (const smelt_member_terms bad : {smelt_member_terms{0, 16, 64, -1},
                                       {257, 16, 64, -1},
                                       {4, 0, 64, -1},
                                       {4, 1 << 17, 64, -1},
                                       {4, 16, (1 << 20) + 1, -1}}) {
    EXPECT_EQ(smelt_membership_create(&bad, &none), -EINVAL);
    EXPECT_EQ(smelt_membership_size(&bad), 0u);
  }
  EXPECT_EQ(smelt_membership_create(nullptr, &none), -EINVAL);
  EXPECT_EQ(smelt_membership_create(&good, nullptr), -EINVAL);
  const Membership membership = for_threads(2, 16, 8);
  smelt_member* nobody = nullptr;
  EXPECT_EQ(smelt_member_join(membership.get(), 2, -1, 0, &nobody), -EINVAL);
  EXPECT_EQ(smelt_member_join(membership.get(), -2, -1, 0, &nobody), -EINVAL);
  EXPECT_EQ(smelt_member_join(nullptr, 0, -1, 0, &nobody), -EINVAL);
  const Member first = join(membership, 1), second = join(membership);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(smelt_member_place(second.get()), 0u);
  EXPECT_EQ(smelt_member_join(membership.get(), SMELT_MEMBER_ANY, -1, 0, &nobody), -EBUSY);
  EXPECT_EQ(smelt_member_join(membership.get(), 1, -1, 0, &nobody), -EBUSY);
  smelt_member_event event;
  char room[8];
  EXPECT_EQ(smelt_member_try_send(first.get(), room, 9), -EMSGSIZE);
  EXPECT_EQ(smelt_member_try_send(first.get(), nullptr, 1), -EINVAL);
  EXPECT_EQ(smelt_member_try_receive(first.get(), room, 8, nullptr), -EINVAL);
  EXPECT_EQ(smelt_member_exclude(first.get(), 1), -EINVAL) << "itself";
  EXPECT_EQ(smelt_member_view(first.get(), nullptr, nullptr, 0), 0) << "nothing was received";
  EXPECT_EQ(smelt_member_exclude(first.get(), 0), -ENOENT) << "not in the view that was received";
  EXPECT_EQ(smelt_member_try_receive(first.get(), room, 8, &event), 0);
  smelt_member_leave(nullptr);
  smelt_membership_free(nullptr);
}

TEST(Members, ViewsSayWhoIsThere) {
  const Membership membership = for_threads(3, 64, 8);
  const auto views = [](const Member& member) {
    std::vector<std::vector<unsigned>> all;
    smelt_member_event event;
    char room[8];
    while (smelt_member_try_receive(member.get(), room, sizeof room, &event) == 0) {
      if (event.kind != SMELT_MEMBER_VIEW) continue;
      std::vector<unsigned> places(3);
      uint64_t number = 0;
      places.resize(static_cast<size_t>(smelt_member_view(member.get(), &number, places.data(), 3)));
      EXPECT_EQ(number, event.view);
      all.push_back(places);
    }
    return all;
  };
  using Views = std::vector<std::vector<unsigned>>;
  const Member first = join(membership, 0);
  Member second = join(membership, 2), third = join(membership, 1);
  EXPECT_EQ(views(first), (Views{{0}, {0, 2}, {0, 1, 2}}));
  EXPECT_EQ(views(second), (Views{{0, 2}, {0, 1, 2}}));
  EXPECT_EQ(views(third), (Views{{0, 1, 2}}));
  second.reset();
  EXPECT_EQ(views(first), (Views{{0, 1}}));
  EXPECT_EQ(smelt_member_parent(first.get(), 2), -EINVAL);
  second = join(membership, 2);
  EXPECT_EQ(views(second), (Views{{0, 1, 2}}));
  EXPECT_EQ(views(third), (Views{{0, 1}, {0, 1, 2}}));
}

TEST(Members, EverybodyReceivesEverything) {
  const Membership membership = for_threads(3, 16, 100);
  Diaries diaries;
  std::vector<Member> members;
  std::vector<Writer> writers;
  for (int i = 0; i < 3; ++i) {
    members.push_back(join(membership));
    ASSERT_TRUE(members.back());
    writers.push_back({members.back().get(), diaries.fresh(), 100});
  }
  for (int round = 0; round < 2000; ++round) {
    for (Writer& writer : writers)
      if (round % 3 != 0) {
        ASSERT_EQ(writer.send(), 0) << round;
      }
    for (Writer& writer : writers) ASSERT_EQ(writer.receive_all(), 0);
  }
  ASSERT_EQ(writers[0].diary->records.load(), writers[0].sent * 3 + 3);
  ASSERT_EQ(writers[2].diary->records.load(), writers[0].sent * 3 + 1);
  diaries.check(writers[0].diary);
}

// A member that does not receive is told so; it keeps the others waiting until it receives, leaves or is excluded.
TEST(Members, TheRoomIsBounded) {
  const Membership membership = for_threads(2, 16, 8);
  Member first = join(membership, 0, kShort), second = join(membership, 1, kShort);
  smelt_member_event event;
  char room[8];
  const auto receive = [&](const Member& member) {
    int count = 0;
    while (smelt_member_try_receive(member.get(), room, 8, &event) == 0) ++count;
    return count;
  };
  receive(first);
  receive(second);
  int sent = 0;
  while (smelt_member_try_send(first.get(), "x", 1) == 0) ASSERT_LE(++sent, 16);
  EXPECT_EQ(sent, 4) << "a quarter";
  EXPECT_EQ(smelt_member_send(first.get(), "x", 1), -EAGAIN) << "its own are not received";
  EXPECT_EQ(receive(first), sent);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(smelt_member_send(first.get(), "x", 1), -ETIMEDOUT) << "the other's are not";
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::nanoseconds(kShort));
  EXPECT_EQ(receive(second), sent);
  EXPECT_EQ(smelt_member_send(first.get(), "x", 1), 0);
  EXPECT_EQ(smelt_member_receive(second.get(), room, 0, &event), -EMSGSIZE);
  EXPECT_EQ(event.bytes, 1u);
  EXPECT_EQ(smelt_member_receive(second.get(), room, 1, &event), 0);
  EXPECT_EQ(smelt_member_receive(second.get(), room, 8, &event), -ETIMEDOUT);
  while (smelt_member_try_send(first.get(), "x", 1) == 0) receive(first);
  second.reset();
  EXPECT_EQ(smelt_member_send(first.get(), "x", 1), 0) << "nobody is waited for who has left";
}

TEST(Members, WhoIsTakenOutLearnsItAndMayJoinAgain) {
  const Membership membership = for_threads(2, 16, 8);
  const Member first = join(membership, 0);
  Member second = join(membership, 1);
  smelt_member_event event;
  char room[8];
  while (smelt_member_try_receive(first.get(), room, 8, &event) == 0) {
  }
  EXPECT_EQ(smelt_member_exclude(first.get(), 1), 0);
  ASSERT_EQ(smelt_member_try_receive(first.get(), room, 8, &event), 0);
  EXPECT_EQ(event.kind, SMELT_MEMBER_VIEW);
  EXPECT_EQ(smelt_member_view(first.get(), nullptr, nullptr, 0), 1);
  EXPECT_EQ(smelt_member_send(second.get(), "x", 1), -ESTALE);
  // What lies before its end it may still find; then it is told.
  int result = 0;
  for (int i = 0; i < 4 && result == 0; ++i) result = smelt_member_receive(second.get(), room, 8, &event);
  EXPECT_EQ(result, -ESTALE);
  EXPECT_EQ(smelt_member_exclude(second.get(), 0), -ESTALE);
  smelt_member* nobody = nullptr;
  EXPECT_EQ(smelt_member_join(membership.get(), 1, -1, 0, &nobody), -EBUSY) << "it has not left";
  second.reset();
  second = join(membership, 1);
  ASSERT_TRUE(second);
  EXPECT_EQ(smelt_member_send(second.get(), "y", 1), 0);
  ASSERT_EQ(smelt_member_receive(first.get(), room, 8, &event), 0);
  ASSERT_EQ(smelt_member_receive(first.get(), room, 8, &event), 0);
  EXPECT_EQ(event.kind, SMELT_MEMBER_MESSAGE);
  EXPECT_EQ(event.place, 1u);
}

TEST(Members, JoiningAThousandTimes) {
  const Membership membership = for_threads(3, 32, 16);
  Diaries diaries;
  const Member first = join(membership, 2);
  Writer writer{first.get(), diaries.fresh(), 16};
  for (int i = 0; i < 1000; ++i) {
    Member second = join(membership, i % 2);
    ASSERT_TRUE(second) << i;
    Writer other{second.get(), diaries.fresh(), 16};
    for (int k = 0; k < i % 5; ++k) ASSERT_EQ(other.send(), 0);
    ASSERT_EQ(writer.receive_all(), 0);
    ASSERT_EQ(other.receive_all(), 0);
  }
  ASSERT_EQ(writer.receive_all(), 0);
  diaries.check(writer.diary);
  EXPECT_EQ(writer.diary->records.load(), 1 + 2 * 1000u + 2 * 1000u);
}

// A join for which there is no room is none, also later.
TEST(Members, AJoinThatTimedOutIsNone) {
  const Membership membership = for_threads(3, 16, 8);
  const Member first = join(membership, 0);
  Writer writer{first.get(), nullptr, 16};
  int joined = 0;
  smelt_member* second = nullptr;
  int result;
  while ((result = smelt_member_join(membership.get(), 1, -1, kShort, &second)) == 0) {
    ++joined;
    smelt_member_leave(second);
    ASSERT_LE(joined, 16);
  }
  EXPECT_EQ(result, -ETIMEDOUT);
  smelt_member_event event;
  char room[8];
  unsigned places[3];
  int most = 0, views = 0, count = 0;
  while (smelt_member_try_receive(first.get(), room, 8, &event) == 0) {
    ++views;
    count = smelt_member_view(first.get(), nullptr, places, 3);
    most = std::max(most, count);
  }
  EXPECT_EQ(most, 2);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(smelt_member_try_receive(first.get(), room, 8, &event), -EAGAIN);
  EXPECT_GE(joined, 1);
  EXPECT_EQ(views, 1 + 2 * joined);
}

// --- threads

// `others` threads join, talk and leave again and again, while one stays.
void come_and_go(unsigned places, unsigned messages, size_t limit, int others, int turns, bool exclude) {
  const Membership membership = for_threads(places, messages, limit);
  Diaries diaries;
  const Member first = join(membership, 0);
  ASSERT_TRUE(first);
  Writer writer{first.get(), diaries.fresh(), limit};
  std::atomic<int> busy{others}, failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < others; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t) + 1);
      for (int turn = 0; turn < turns; ++turn) {
        smelt_member* made = nullptr;
        const int error = smelt_member_join(membership.get(), SMELT_MEMBER_ANY, -1, kLong, &made);
        if (error == -EBUSY || error == -ESTALE) {
          std::this_thread::yield();
          continue;
        }
        if (error != 0) {
          ++failed;
          break;
        }
        Writer other{made, diaries.fresh(), limit};
        const int result = other.talk(random() % 60);
        failed += result != 0 && !(exclude && result == -ESTALE);
        if (random() % 2) other.receive_all();
        smelt_member_leave(made);
      }
      --busy;
    });
  std::mt19937 random(99);
  uint64_t turn = 0;
  while (busy.load() > 0) {
    ASSERT_EQ(writer.receive_all(), 0);
    if (turn < 10000 && ++turn % 8 == 0) {
      const int result = writer.send();
      ASSERT_TRUE(result == 0 || result == -EAGAIN) << result;
    }
    if (exclude && random() % 64 == 0) smelt_member_exclude(first.get(), 1 + random() % (places - 1));
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed.load(), 0);
  ASSERT_EQ(writer.receive_all(), 0);
  diaries.check(writer.diary);
}

TEST(Members, ThreadsComeAndGo) { come_and_go(5, 64, 200, 4, 60, false); }
TEST(Members, ThreadsComeAndGoWithLittleRoom) { come_and_go(4, 16, 24, 4, 60, false); }
TEST(Members, ThreadsAreTakenOutAtRandom) { come_and_go(4, 32, 100, 4, 80, true); }

TEST(Members, WhoWaitsIsWoken) {
  const Membership membership = for_threads(3, 32, 8);
  const Member first = join(membership, 0), second = join(membership, 1), third = join(membership, 2);
  std::atomic<int> failed{0};
  const auto echo = [&](smelt_member* member, unsigned from) {
    smelt_member_event event;
    uint64_t number = 0;
    for (uint64_t seen = 0; seen < 500;) {
      if (smelt_member_receive(member, &number, 8, &event) != 0) {
        ++failed;
        return;
      }
      if (event.kind != SMELT_MEMBER_MESSAGE || event.place != from) continue;
      failed += number != seen++;
      while (smelt_member_send(member, &number, 8) == -EAGAIN) {
        ++failed;
        return;
      }
    }
  };
  std::thread a([&] { echo(second.get(), 0); }), b([&] { echo(third.get(), 1); });
  for (uint64_t k = 0; k < 500 && failed.load() == 0; ++k) {
    EXPECT_EQ(smelt_member_send(first.get(), &k, 8), 0);
    smelt_member_event event;
    uint64_t number = 0;
    do {
      ASSERT_EQ(smelt_member_receive(first.get(), &number, 8, &event), 0);
    } while (event.kind != SMELT_MEMBER_MESSAGE || event.place != 2);
    EXPECT_EQ(number, k);
  }
  a.join();
  b.join();
  EXPECT_EQ(failed.load(), 0);
}

// A thread that ends without leaving: whoever it keeps waiting loses patience.
TEST(Members, PatienceEnds) {
  const Membership membership = for_threads(3, 16, 8, kShort);
  const Member first = join(membership, 0), second = join(membership, 1), silent = join(membership, 2);
  smelt_member_event event;
  char room[8];
  int views = 0;
  for (int k = 0; k < 100; ++k) {
    for (smelt_member* member : {first.get(), second.get()}) {
      const int result = smelt_member_send(member, room, 8);
      ASSERT_TRUE(result == 0 || result == -EAGAIN) << result;
      while (smelt_member_try_receive(first.get(), room, 8, &event) == 0)
        if (event.kind == SMELT_MEMBER_VIEW) views = smelt_member_view(first.get(), nullptr, nullptr, 0);
      while (smelt_member_try_receive(second.get(), room, 8, &event) == 0) {
      }
    }
  }
  EXPECT_EQ(views, 2);
  EXPECT_EQ(smelt_member_try_receive(silent.get(), room, 8, &event), -ESTALE);
}

// --- memory

// The caller's memory, which each has elsewhere.
TEST(Members, InTheCallersMemoryAtTwoAddresses) {
  const smelt_member_terms terms{2, 16, 8, -1};
  const size_t bytes = smelt_membership_size(&terms);
  ASSERT_GT(bytes, 0u);
  const int file = memfd_create("members", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(bytes)), 0);
  char* address[2];
  for (char*& one : address)
    one = static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  close(file);
  smelt_membership *a = nullptr, *b = nullptr;
  EXPECT_EQ(smelt_membership_open(address[0], bytes, &a), -EPROTO) << "nothing is there";
  EXPECT_EQ(smelt_membership_init(address[0], bytes - 1, &terms), -EINVAL);
  EXPECT_EQ(smelt_membership_init(address[0] + 64, bytes, &terms), -EINVAL);
  std::memset(address[0], 0xff, bytes);  // what was there before does not matter
  ASSERT_EQ(smelt_membership_init(address[0], bytes, &terms), 0);
  EXPECT_EQ(smelt_membership_open(address[1], bytes - 1, &b), -EPROTO);
  ASSERT_EQ(smelt_membership_open(address[0], bytes, &a), 0);
  ASSERT_EQ(smelt_membership_open(address[1], bytes, &b), 0);
  {
    const Membership here(a), there(b);
    const Member first = join(here), second = join(there);
    ASSERT_TRUE(first && second);
    smelt_member_event event;
    uint64_t number = 0;
    ASSERT_EQ(smelt_member_receive(second.get(), &number, 8, &event), 0);
    for (uint64_t k = 0; k < 1000; ++k) {
      ASSERT_EQ(smelt_member_send(first.get(), &k, 8), 0);
      ASSERT_EQ(smelt_member_receive(second.get(), &number, 8, &event), 0);
      ASSERT_EQ(number, k);
      while (smelt_member_try_receive(first.get(), &number, 8, &event) == 0) {
      }
    }
  }
  for (char* one : address) munmap(one, bytes);
}

// Another process may write anything into that memory: it must not lead beyond it, nor keep anybody for ever.
TEST(Members, DamagedMemoryIsAnErrorAndNoMore) {
  const smelt_member_terms terms{3, 16, 40, kShort};
  const size_t bytes = smelt_membership_size(&terms);
  std::mt19937_64 random(1);
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_EQ(smelt_membership_init(memory, bytes, &terms), 0);
    smelt_membership* made = nullptr;
    ASSERT_EQ(smelt_membership_open(memory, bytes, &made), 0);
    const Membership membership(made);
    smelt_member* members[2] = {};
    for (smelt_member*& member : members) ASSERT_EQ(smelt_member_join(made, -1, -1, 1'000'000, &member), 0);
    char room[40] = {};
    for (int k = 0; k < 3; ++k) smelt_member_try_send(members[0], room, 40);
    auto* words = static_cast<uint64_t*>(memory);
    for (int k = 0; k < 1 << round % 8; ++k) {
      uint64_t& word = words[16 + random() % (bytes / 8 - 16)];
      word = round % 3 ? random() >> random() % 64 : word + random() % 5;
    }
    smelt_member_event event;
    for (int k = 0; k < 12; ++k) {
      const int result = smelt_member_try_receive(members[k % 2], room, 40, &event);
      smelt_member_try_send(members[k % 2], room, 40);
      smelt_member_exclude(members[k % 2], 2);
      refused += result == -EPROTO || result == -ESTALE;
    }
    smelt_member* third = nullptr;
    if (smelt_member_join(made, -1, -1, 1'000'000, &third) == 0) smelt_member_leave(third);
    for (smelt_member* member : members) smelt_member_leave(member);
    munmap(memory, bytes);
  }
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace smelt::test
