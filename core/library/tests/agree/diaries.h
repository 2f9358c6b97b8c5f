// Members that keep diaries: what the tests of members share. All diaries must have one order, with nothing lost
// or doubled.
#pragma once

#include <smelt/member.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include <sys/mman.h>

#include "members.h"

namespace smelt::test {

using namespace std::chrono_literals;
constexpr int64_t kLong = 60'000'000'000;  // ns

struct FreeMembership {
  void operator()(smelt_membership* membership) const { smelt_membership_free(membership); }
};
using Membership = std::unique_ptr<smelt_membership, FreeMembership>;
struct LeaveMember {
  void operator()(smelt_member* member) const { smelt_member_leave(member); }
};
using Member = std::unique_ptr<smelt_member, LeaveMember>;

inline Membership for_threads(unsigned places, unsigned messages, size_t bytes, int64_t patience_ns = kForEver) {
  const smelt_member_terms terms{places, messages, bytes, patience_ns};
  smelt_membership* made = nullptr;
  EXPECT_EQ(smelt_membership_create(&terms, &made), 0);
  return Membership(made);
}
inline Member join(const Membership& membership, int place = SMELT_MEMBER_ANY, int64_t timeout_ns = kLong) {
  smelt_member* made = nullptr;
  const int error = smelt_member_join(membership.get(), place, SMELT_MEMBER_ANY, timeout_ns, &made);
  return Member(error == 0 ? made : nullptr);
}

// What a message says: who sent it (a number that nobody else has, also not the next at the same place), and which of
// its messages it is. The rest of the bytes follow from that.
struct Said {
  uint64_t who, count;
};
inline size_t length_of(Said said, size_t limit) {
  return sizeof said + (said.who * 31 + said.count * 7) % (limit - sizeof said + 1);
}
inline std::vector<unsigned char> message_of(Said said, size_t limit) {
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
  // Each sender's messages come in the order of sending, from the first on, and none twice. Those of whom a
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
      // A member that was sure that a message is in the order is right.
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

inline Membership for_processes(unsigned places, unsigned messages, size_t bytes, smelt_member_ticket* ticket,
                                int64_t patience_ns = kForEver) {
  const smelt_member_terms terms{places, messages, bytes, patience_ns};
  smelt_membership* made = nullptr;
  EXPECT_EQ(smelt_membership_create_shared(&terms, ticket, &made), 0);
  return Membership(made);
}
inline Membership attached(const smelt_member_ticket& ticket) {
  smelt_membership* made = nullptr;
  return Membership(smelt_membership_attach(&ticket, &made) == 0 ? made : nullptr);
}

}  // namespace smelt::test
