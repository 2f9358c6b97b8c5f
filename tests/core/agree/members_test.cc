// Members that come and go, threads and processes: one order for all, nothing lost or doubled, whoever joins, leaves, is
// killed or stopped, and whenever.
#include <smelt/member.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agree/members.h"

#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

namespace smelt::test {
namespace {

using namespace std::chrono_literals;
constexpr int64_t kForEver = -1, kShort = 50'000'000, kLong = 60'000'000'000;  // ns

struct FreeMembership {
  void operator()(smelt_membership* membership) const { smelt_membership_free(membership); }
};
using Membership = std::unique_ptr<smelt_membership, FreeMembership>;
struct LeaveMember {
  void operator()(smelt_member* member) const { smelt_member_leave(member); }
};
using Member = std::unique_ptr<smelt_member, LeaveMember>;

Membership for_threads(unsigned places, unsigned messages, size_t bytes, int64_t patience_ns = kForEver) {
  const smelt_member_terms terms{places, messages, bytes, patience_ns};
  smelt_membership* made = nullptr;
  EXPECT_EQ(smelt_membership_create(&terms, &made), 0);
  return Membership(made);
}
Member join(const Membership& membership, int place = SMELT_MEMBER_ANY, int64_t timeout_ns = kLong) {
  smelt_member* made = nullptr;
  const int error = smelt_member_join(membership.get(), place, SMELT_MEMBER_ANY, timeout_ns, &made);
  return Member(error == 0 ? made : nullptr);
}

// What a message says: who sent it (a number that nobody else has, also not the next at the same place), and which of
// its messages it is. The rest of the bytes follow from that.
struct Said {
  uint64_t who, count;
};
size_t length_of(Said said, size_t limit) {
  return sizeof said + (said.who * 31 + said.count * 7) % (limit - sizeof said + 1);
}
std::vector<unsigned char> message_of(Said said, size_t limit) {
  std::vector<unsigned char> bytes(length_of(said, limit));
  std::memcpy(bytes.data(), &said, sizeof said);
  for (size_t i = sizeof said; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(said.who + said.count + i);
  return bytes;
}

// What one member received, in memory that survives it.
struct Record {
  uint64_t position, view;
  uint32_t kind, place;
  uint64_t who, count;  // of a view: a sum over its members and tree

  bool operator==(const Record&) const = default;
};
constexpr size_t kMostRecords = 40'000;
struct Diary {
  std::atomic<uint64_t> sent, records;
  std::atomic<bool> wrong;
  uint64_t who;
  Record record[kMostRecords];
};
struct Diaries {
  static constexpr size_t kMost = 1500;
  Diary* diary = static_cast<Diary*>(
      mmap(nullptr, kMost * sizeof(Diary), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  std::atomic<uint32_t>* used = static_cast<std::atomic<uint32_t>*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));

  Diaries() = default;
  Diaries(const Diaries&) = delete;
  Diaries& operator=(const Diaries&) = delete;
  ~Diaries() {
    munmap(diary, kMost * sizeof(Diary));
    munmap(used, 4096);
  }
  Diary* fresh() {
    const uint32_t number = used->fetch_add(1);
    if (number >= kMost) return nullptr;
    diary[number].who = number + 1;
    return &diary[number];
  }

  // One order: at each position all have the same; and nobody lacks one between the first and the last that it has.
  // Of each sender the messages come in the order of sending, from the first on, and none twice. Those of whom a
  // witness has seen both the coming and the going have lost none.
  void check(const Diary* witness) const {
    std::map<uint64_t, Record> order;
    for (uint32_t i = 0; i < used->load(); ++i) {
      ASSERT_FALSE(diary[i].wrong.load()) << "diary " << i;
      for (uint64_t k = 0; k < diary[i].records.load(); ++k) {
        const Record& record = diary[i].record[k];
        const auto [at, first] = order.emplace(record.position, record);
        ASSERT_TRUE(first || at->second == record) << "position " << record.position << ", diary " << i;
      }
    }
    std::map<uint64_t, uint64_t> said;
    uint64_t view = 0;
    for (const auto& [position, record] : order) {
      if (record.kind == SMELT_MEMBER_VIEW) {
        ASSERT_GT(record.view, view);
        view = record.view;
      } else {
        ASSERT_EQ(said[record.who]++, record.count) << "of " << record.who << " at position " << position;
      }
    }
    for (uint32_t i = 0; i < used->load(); ++i) {
      const uint64_t records = diary[i].records.load();
      for (uint64_t k = 1; k < records; ++k) {
        const auto next = std::next(order.find(diary[i].record[k - 1].position));
        ASSERT_TRUE(next != order.end() && next->first == diary[i].record[k].position)
            << "diary " << i << " lacks position " << next->first;
      }
      // Whoever was sure that a message is in the order is right.
      if (witness) {
        ASSERT_GE(said[diary[i].who], diary[i].sent.load()) << "of " << i;
      }
    }
  }
};

// A member with its diary.
struct Writer {
  smelt_member* member;
  Diary* diary;
  size_t limit;
  std::vector<unsigned char> room = std::vector<unsigned char>(limit);
  uint64_t sent = 0;

  int send() {
    const auto bytes = message_of({diary->who, sent}, limit);
    const int result = smelt_member_try_send(member, bytes.data(), bytes.size());
    if (result == 0) diary->sent.store(++sent);
    return result;
  }
  int note(const smelt_member_event& event) {
    Record record{event.position, event.view, static_cast<uint32_t>(event.kind), event.place, 0, 0};
    if (event.kind == SMELT_MEMBER_VIEW) {
      unsigned places[SMELT_MEMBER_PLACES];
      uint64_t number = 0;
      const int count = smelt_member_view(member, &number, places, SMELT_MEMBER_PLACES);
      int roots = 0;
      for (int i = 0; i < count; ++i) {
        const int parent = smelt_member_parent(member, places[i]);
        roots += parent == -1;
        record.who += uint64_t{1} << places[i] % 64;
        record.count = record.count * 31 + static_cast<uint64_t>(parent + 2);
      }
      if (roots != 1 || number != event.view) diary->wrong = true;
    } else {
      Said said;
      std::memcpy(&said, room.data(), sizeof said);
      const auto expected = message_of(said, limit);
      if (event.bytes != expected.size() || std::memcmp(room.data(), expected.data(), event.bytes) != 0)
        diary->wrong = true;
      record.who = said.who;
      record.count = said.count;
    }
    const uint64_t k = diary->records.load();
    if (k == kMostRecords) return -ENOSPC;
    diary->record[k] = record;
    diary->records.store(k + 1);
    return 0;
  }
  int receive(bool wait) {
    smelt_member_event event;
    const int result = wait ? smelt_member_receive(member, room.data(), room.size(), &event)
                            : smelt_member_try_receive(member, room.data(), room.size(), &event);
    return result == 0 ? note(event) : result;
  }
  // All that is there.
  int receive_all() {
    int result;
    while ((result = receive(false)) == 0) {
    }
    return result == -EAGAIN ? 0 : result;
  }
  // Sends so many, and receives meanwhile.
  int talk(uint64_t messages) {
    for (uint64_t k = 0; k < messages;) {
      int result = send();
      if (result == 0) ++k;
      if (result != 0 && result != -EAGAIN) return result;
      if (result == -EAGAIN) std::this_thread::yield();
      if ((result = receive_all()) != 0) return result;
    }
    return 0;
  }
};

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

// Who does not receive is told so; who keeps the others waiting keeps them until it receives, leaves or is excluded.
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

}  // namespace
}  // namespace smelt::test
