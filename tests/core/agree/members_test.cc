// Members that come and go, threads and processes: one order for all, nothing lost or doubled, whoever joins, leaves,
// is killed or stopped, and whenever.
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
constexpr size_t kMostRecords = 200'000;
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
    const uint32_t diaries = std::min<uint32_t>(used->load(), kMost);
    for (uint32_t i = 0; i < diaries; ++i) {
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
    for (uint32_t i = 0; i < diaries; ++i) {
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
  int talk(uint64_t messages, std::chrono::microseconds pause = 0us) {
    for (uint64_t k = 0; k < messages;) {
      int result = send();
      if (result == 0) ++k;
      if (result != 0 && result != -EAGAIN) return result;
      if (result == -EAGAIN) std::this_thread::yield();
      if (pause > 0us) std::this_thread::sleep_for(pause);
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

// --- processes

// How another process ended: its exit status, or 1000 + the signal.
int ended(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}
pid_t in_another_process(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child != 0) return child;
  alarm(120);
  _exit(body());
}
Membership for_processes(unsigned places, unsigned messages, size_t bytes, smelt_member_ticket* ticket,
                         int64_t patience_ns = kForEver) {
  const smelt_member_terms terms{places, messages, bytes, patience_ns};
  smelt_membership* made = nullptr;
  EXPECT_EQ(smelt_membership_create_shared(&terms, ticket, &made), 0);
  return Membership(made);
}
Membership attached(const smelt_member_ticket& ticket) {
  smelt_membership* made = nullptr;
  return Membership(smelt_membership_attach(&ticket, &made) == 0 ? made : nullptr);
}

class MembersOfProcesses : public testing::Test {
 protected:
  void SetUp() override {
    if (kThreadSanitizer) GTEST_SKIP() << "it does not look into other processes";
  }
};

// Joins, talks and leaves, so many times or (negative) for ever. 0, or what went wrong.
int visit(const smelt_member_ticket& ticket, Diaries& diaries, size_t limit, int turns, unsigned most, unsigned seed) {
  const Membership membership = attached(ticket);
  if (!membership) return 1;
  std::mt19937 random(seed);
  for (int turn = 0; turn != turns; ++turn) {
    smelt_member* made = nullptr;
    const int error = smelt_member_join(membership.get(), SMELT_MEMBER_ANY, -1, kLong, &made);
    if (error == -EBUSY || error == -ESTALE) {
      std::this_thread::yield();
      continue;
    }
    if (error != 0) return 2;
    Diary* diary = most == 0 ? nullptr : diaries.fresh();
    if (diary) {
      Writer writer{made, diary, limit};
      const int result = writer.talk(random() % most, 20us);
      if (result != 0 && result != -ESTALE && result != -ENOSPC) return 3;
    }
    smelt_member_leave(made);
  }
  return 0;
}

TEST_F(MembersOfProcesses, ComeAndGo) {
  Diaries diaries;
  smelt_member_ticket ticket;
  const Membership membership = for_processes(4, 64, 100, &ticket);
  const Member first = join(membership);
  Writer writer{first.get(), diaries.fresh(), 100};
  std::vector<pid_t> children;
  for (unsigned i = 0; i < 3; ++i)
    children.push_back(in_another_process([&] { return visit(ticket, diaries, 100, 40, 60, i); }));
  size_t left = children.size();
  while (left > 0) {
    ASSERT_EQ(writer.receive_all(), 0);
    int status;
    for (pid_t& child : children) {
      if (child == 0 || waitpid(child, &status, WNOHANG) != child) continue;
      EXPECT_EQ(status, 0);
      child = 0;
      --left;
    }
    std::this_thread::yield();
  }
  ASSERT_EQ(writer.receive_all(), 0);
  diaries.check(writer.diary);
  EXPECT_EQ(smelt_member_view(first.get(), nullptr, nullptr, 0), 1);
}

// Killed at any time, in the middle of whatever they do; `most` 0: they do nothing but make views.
void kill_at_random(int kills, unsigned most, unsigned messages) {
  Diaries diaries;
  smelt_member_ticket ticket;
  constexpr size_t kLimit = 60;
  const Membership membership = for_processes(4, messages, kLimit, &ticket);
  const Member first = join(membership, SMELT_MEMBER_ANY, 2'000'000);
  ASSERT_TRUE(first);
  Writer writer{first.get(), diaries.fresh(), kLimit};
  std::mt19937 random(most + 7);
  std::vector<pid_t> children(3);
  const auto spawn = [&] {
    const unsigned seed = random();
    return in_another_process([&, seed] { return visit(ticket, diaries, kLimit, -1, most, seed); });
  };
  for (pid_t& child : children) child = spawn();
  uint64_t views = 0;
  for (int killed = 0; killed < kills; ++killed) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 8000);
    do {
      const uint64_t before = writer.diary->records.load();
      const int result = writer.receive(true);
      ASSERT_TRUE(result == 0 || result == -ETIMEDOUT) << result;
      if (most > 0 && random() % 4 == 0 && writer.diary->sent.load() < 2000) {
        const int sent = writer.send();
        ASSERT_TRUE(sent == 0 || sent == -EAGAIN) << sent;
      }
      views += writer.diary->records.load() > before;
    } while (std::chrono::steady_clock::now() < until);
    pid_t& child = children[random() % children.size()];
    ASSERT_EQ(kill(child, SIGKILL), 0);
    // Now and then it is waited for later: until then the kernel knows its number, and it is gone all the same.
    const pid_t gone = child;
    if (random() % 2) {
      ASSERT_EQ(ended(gone), 1000 + SIGKILL);
      child = spawn();
    } else {
      child = spawn();
      ASSERT_EQ(ended(gone), 1000 + SIGKILL);
    }
  }
  for (const pid_t child : children) kill(child, SIGKILL);
  // The survivor finds all of them gone, though nobody has waited for them.
  const auto patience = std::chrono::steady_clock::now() + 30s;
  int result = 0;
  while ((result == 0 || smelt_member_view(first.get(), nullptr, nullptr, 0) > 1) &&
         std::chrono::steady_clock::now() < patience) {
    result = writer.receive(true);
    ASSERT_TRUE(result == 0 || result == -ETIMEDOUT) << result;
  }
  EXPECT_EQ(smelt_member_view(first.get(), nullptr, nullptr, 0), 1);
  for (const pid_t child : children) EXPECT_EQ(ended(child), 1000 + SIGKILL);
  EXPECT_GT(views, static_cast<uint64_t>(kills) / 2);
  diaries.check(writer.diary);
}

TEST_F(MembersOfProcesses, KilledAtRandomWhileAllSend) { kill_at_random(120, 200, 64); }
TEST_F(MembersOfProcesses, KilledInTheMiddleOfViews) { kill_at_random(200, 0, 32); }

// Stopped for longer than the others' patience, they are taken out; going on, they learn it, and come again.
TEST_F(MembersOfProcesses, StoppedOnesAreTakenOutAndComeAgain) {
  Diaries diaries;
  smelt_member_ticket ticket;
  constexpr size_t kLimit = 60;
  const Membership membership = for_processes(3, 32, kLimit, &ticket, kShort);
  const Member first = join(membership);
  ASSERT_TRUE(first);
  Writer writer{first.get(), diaries.fresh(), kLimit};
  std::vector<pid_t> children;
  for (unsigned i = 0; i < 2; ++i)
    children.push_back(in_another_process([&] { return visit(ticket, diaries, kLimit, -1, 1000, i); }));
  std::mt19937 random(5);
  const auto go_on = [&](auto until) {
    const auto patience = std::chrono::steady_clock::now() + 30s;
    while (!until() && std::chrono::steady_clock::now() < patience) {
      ASSERT_EQ(writer.receive_all(), 0) << "nobody takes us out";
      writer.send();
      std::this_thread::sleep_for(20us);
    }
  };
  int excluded = 0;
  for (int round = 0; round < 12; ++round) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 20000);
    go_on([&] { return std::chrono::steady_clock::now() >= until; });
    for (const pid_t child : children) ASSERT_EQ(kill(child, SIGSTOP), 0);
    go_on([&] { return smelt_member_view(first.get(), nullptr, nullptr, 0) == 1; });
    excluded += smelt_member_view(first.get(), nullptr, nullptr, 0) == 1;
    for (const pid_t child : children) ASSERT_EQ(kill(child, SIGCONT), 0);
    go_on([&] { return smelt_member_view(first.get(), nullptr, nullptr, 0) > 1; });
  }
  EXPECT_EQ(excluded, 12);
  for (const pid_t child : children) kill(child, SIGKILL);
  for (const pid_t child : children) EXPECT_EQ(ended(child), 1000 + SIGKILL);
  ASSERT_EQ(writer.receive_all(), 0);
  diaries.check(nullptr);
}

// All members are dead: who comes next is alone, at whatever place.
TEST_F(MembersOfProcesses, TheirPlacesAreTakenAgain) {
  smelt_member_ticket ticket;
  const Membership membership = for_processes(3, 16, 8, &ticket);
  for (int round = 0; round < 10; ++round) {
    std::vector<pid_t> children;
    for (int place = 0; place < 3; ++place) {
      children.push_back(in_another_process([&] {
        const Membership there = attached(ticket);
        const Member member = join(there, place);
        if (!member) return 1;
        smelt_member_event event;
        char room[8];
        while (smelt_member_try_send(member.get(), room, 8) == 0) {
        }
        for (int i = 0; i < place; ++i) smelt_member_try_receive(member.get(), room, 8, &event);
        raise(SIGKILL);
        return 2;
      }));
      ASSERT_EQ(ended(children.back()), 1000 + SIGKILL);
    }
    const Member member = join(membership, round % 3);
    ASSERT_TRUE(member) << round;
    smelt_member_event event;
    char room[8];
    // The first view may have the dead in it, whom nobody has found yet.
    int views = 0;
    do {
      ASSERT_EQ(smelt_member_receive(member.get(), room, 8, &event), 0);
      EXPECT_EQ(event.kind, SMELT_MEMBER_VIEW);
      ASSERT_LE(++views, 3);
    } while (smelt_member_view(member.get(), nullptr, nullptr, 0) != 1);
  }
}

// The dead have left no room for the view that would say so, and not all of them are neighbours of the survivor's.
TEST_F(MembersOfProcesses, ManyDeadAndNoRoom) {
  smelt_member_ticket ticket;
  constexpr int kOthers = 11;
  const Membership membership = for_processes(kOthers + 1, 16, 8, &ticket);
  const Member first = join(membership, 0, 2'000'000);
  ASSERT_TRUE(first);
  smelt_member_event event;
  char room[8] = {};
  std::vector<pid_t> children;
  for (int place = 1; place <= kOthers; ++place) {
    int told[2];
    ASSERT_EQ(pipe(told), 0);
    children.push_back(in_another_process([&] {
      const Membership there = attached(ticket);
      const Member member = join(there, place);
      if (write(told[1], member ? "y" : "n", 1) == 1) pause();
      return 1;
    }));
    char answer = 0;
    ASSERT_EQ(read(told[0], &answer, 1), 1);
    ASSERT_EQ(answer, 'y');
    close(told[0]);
    close(told[1]);
    while (smelt_member_try_receive(first.get(), room, 8, &event) == 0) {
    }
  }
  while (smelt_member_try_send(first.get(), room, 8) == 0) {
  }
  while (smelt_member_try_receive(first.get(), room, 8, &event) == 0) {
  }
  ASSERT_EQ(smelt_member_view(first.get(), nullptr, nullptr, 0), kOthers + 1);
  for (const pid_t child : children) kill(child, SIGKILL);
  const auto patience = std::chrono::steady_clock::now() + 30s;
  while (smelt_member_view(first.get(), nullptr, nullptr, 0) > 1 && std::chrono::steady_clock::now() < patience) {
    const int result = smelt_member_receive(first.get(), room, 8, &event);
    ASSERT_TRUE(result == 0 || result == -ETIMEDOUT) << result;
  }
  EXPECT_EQ(smelt_member_view(first.get(), nullptr, nullptr, 0), 1);
  for (const pid_t child : children) EXPECT_EQ(ended(child), 1000 + SIGKILL);
}

TEST_F(MembersOfProcesses, TicketsAreLookedAt) {
  smelt_member_ticket ticket;
  Membership membership = for_processes(3, 16, 8, &ticket);
  for (int word = 0; word < 3; ++word) {
    smelt_member_ticket wrong = ticket;
    wrong.word[word] ^= 0x10;  // another name, process, or length
    EXPECT_FALSE(attached(wrong)) << "word " << word;
  }
  const Membership there = attached(ticket);
  ASSERT_TRUE(there);
  membership.reset();
  EXPECT_FALSE(attached(ticket)) << "gone";
  EXPECT_TRUE(join(there)) << "the memory is not";
}

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
