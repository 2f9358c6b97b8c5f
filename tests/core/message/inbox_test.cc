// The inbox: many senders, threads and processes; order of each, no loss, a full ring, senders that are killed while
// they write.
#include "message/inbox.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "children.h"
#include "shared_pages.h"

namespace smelt::test {
namespace {

struct SharedInbox {
  explicit SharedInbox(uint32_t size) : pages(sizeof(InboxFront) + size * (sizeof(uint64_t) + sizeof(InboxCell)) + 64) {
    char* const at = static_cast<char*>(pages.get());
    inbox.front = reinterpret_cast<InboxFront*>(at);
    inbox.cells = reinterpret_cast<InboxCell*>(at + sizeof(InboxFront));
    inbox.claims = reinterpret_cast<std::atomic<uint64_t>*>(inbox.cells + size);
    inbox.size = size;
    inbox.write_empty();
  }
  SharedPages pages;
  Inbox inbox;
};

// Every byte of the payload tells which message of whom it is.
void fill(char* payload, uint16_t sender, uint64_t number) {
  const uint64_t word = uint64_t{sender} << 48 | number;
  for (uint32_t i = 0; i < kCellPayload; i += 8) std::memcpy(payload + i, &word, 8);
}
bool is(const char* payload, uint16_t sender, uint64_t number) {
  char expected[kCellPayload];
  fill(expected, sender, number);
  return std::memcmp(payload, expected, kCellPayload) == 0;
}

void send_all(const Inbox& inbox, uint16_t sender, uint64_t messages) {
  std::mt19937_64 random(sender);
  for (uint64_t k = 0; k < messages;) {
    uint64_t position;
    InboxCell* cell = inbox.claim(sender, &position);
    if (!cell) {
      std::this_thread::yield();
      continue;
    }
    if (random() % 4096 == 0) std::this_thread::yield();  // claimed, and not yet written
    fill(cell->payload, sender, k++);
    inbox.publish(cell, position, sender);
  }
}

// Takes so many messages; how many came that were not the next of their senders.
uint64_t receive_all(InboxReader& reader, uint32_t senders, uint64_t messages) {
  std::vector<uint64_t> next(senders);
  uint64_t wrong = 0;
  for (uint64_t got = 0; got < messages;) {
    int32_t sender;
    const InboxCell* cell = reader.peek(&sender);
    if (!cell) {
      std::this_thread::yield();
      continue;
    }
    wrong += !is(cell->payload, sender, next.at(sender)++);
    reader.pass();
    ++got;
  }
  return wrong;
}

TEST(Inbox, ATailThatComesLateIsSteppedOver) {
  SharedInbox shared(8);
  InboxReader reader{shared.inbox};
  uint64_t position, claimed = 0;
  for (uint64_t round = 0; round < 3; ++round) {
    // What a claimer writes there who was kept from it for so long.
    for (const uint64_t late : {uint64_t{0}, 8 * round, claimed}) {
      shared.inbox.front->tail.store(late, std::memory_order_relaxed);
      InboxCell* cell = shared.inbox.claim(1, &position);
      ASSERT_NE(cell, nullptr) << late;
      EXPECT_EQ(position, claimed++);
      shared.inbox.publish(cell, position, 1);
    }
    while (claimed < 8 * (round + 1)) {
      shared.inbox.front->tail.store(0, std::memory_order_relaxed);
      InboxCell* cell = shared.inbox.claim(1, &position);
      ASSERT_NE(cell, nullptr);
      EXPECT_EQ(position, claimed++);
      shared.inbox.publish(cell, position, 1);
    }
    shared.inbox.front->tail.store(0, std::memory_order_relaxed);
    EXPECT_EQ(shared.inbox.claim(1, &position), nullptr) << "it is full";
    int32_t sender;
    for (int i = 0; i < 8; ++i) {
      ASSERT_NE(reader.peek(&sender), nullptr);
      reader.pass();
    }
  }
}

TEST(Inbox, AFullRingSaysSoAndLosesNothing) {
  const SharedInbox shared(4);
  InboxReader reader{shared.inbox};
  int32_t sender;
  for (int round = 0; round < 3; ++round) {
    uint64_t position = 0;
    for (uint64_t k = 0; k < 4; ++k) {
      InboxCell* cell = shared.inbox.claim(7, &position);
      ASSERT_NE(cell, nullptr);
      EXPECT_EQ(reader.peek(&sender) == nullptr, k == 0);
      EXPECT_EQ(reader.claimed_by(), 7);
      fill(cell->payload, 7, k);
      shared.inbox.publish(cell, position, 7);
    }
    EXPECT_EQ(shared.inbox.claim(7, &position), nullptr);
    EXPECT_EQ(receive_all(reader, 8, 4), 0u);
    EXPECT_EQ(reader.peek(&sender), nullptr);
    EXPECT_EQ(reader.claimed_by(), -1);
  }
}

TEST(Inbox, ThreadsSendIntoShortAndLongRings) {
  for (const uint32_t size : {1u, 2u, 8u, 256u}) {
    constexpr uint16_t kSenders = 4;
    const uint64_t each = 80 * size;  // a busy machine takes its time for each turn of the ring
    const SharedInbox shared(size);
    InboxReader reader{shared.inbox};
    std::vector<std::thread> threads;
    for (uint16_t s = 0; s < kSenders; ++s) threads.emplace_back([&, s] { send_all(shared.inbox, s, each); });
    EXPECT_EQ(receive_all(reader, kSenders, kSenders * each), 0u) << size << " cells";
    for (std::thread& thread : threads) thread.join();
  }
}

pid_t fork_sender(const SharedInbox& shared, uint16_t sender, uint64_t messages) {
  const pid_t child = fork_child();
  if (child != 0) return child;
  send_all(shared.inbox, sender, messages);
  _exit(0);
}

TEST(Inbox, ProcessesSend) {
  constexpr uint16_t kSenders = 3;
  constexpr uint64_t kEach = 10'000;
  const SharedInbox shared(64);
  InboxReader reader{shared.inbox};
  std::vector<pid_t> children;
  for (uint16_t s = 0; s < kSenders; ++s) children.push_back(fork_sender(shared, s, kEach));
  EXPECT_EQ(receive_all(reader, kSenders, kSenders * kEach), 0u);
  for (const pid_t child : children) EXPECT_EQ(ended(child), 0);
}

// Sends a few messages and stops in the middle of the next, or is killed in the middle of one before.
pid_t fork_victim(const SharedInbox& shared, uint16_t sender, uint64_t messages) {
  const pid_t child = fork_child();
  if (child != 0) return child;
  send_all(shared.inbox, sender, messages);
  uint64_t position;
  while (!shared.inbox.claim(sender, &position)) std::this_thread::yield();
  for (;;) pause();
}

// A sender is killed while it has a cell, again and again; the other's messages all come.
TEST(Inbox, WhoIsKilledHoldsNobodyUp) {
  constexpr uint16_t kOther = 0, kVictim = 1;
  constexpr uint64_t kKills = 15;
  const SharedInbox shared(8);
  InboxReader reader{shared.inbox};
  const pid_t other = fork_sender(shared, kOther, UINT64_MAX);
  uint64_t wrong = 0, next[2] = {};
  const auto take = [&](const InboxCell* cell, int32_t sender) {
    wrong += !is(cell->payload, sender, next[sender]++);
    reader.pass();
  };
  for (uint64_t k = 0; k < kKills; ++k) {
    const pid_t victim = fork_victim(shared, kVictim, 50 * k);
    next[kVictim] = 0;
    int32_t sender;
    for (bool is_held = false; !is_held;) {
      if (const InboxCell* cell = reader.peek(&sender))
        take(cell, sender);
      else if (!(is_held = reader.claimed_by() == kVictim))
        std::this_thread::yield();
    }
    kill(victim, SIGKILL);
    ended(victim);
    // What it had finished comes; at most one cell that it had not.
    uint64_t passed = 0;
    for (const uint64_t end = reader.head + 16; reader.head < end;) {
      if (const InboxCell* cell = reader.peek(&sender)) {
        take(cell, sender);
      } else if (reader.claimed_by() == kVictim) {
        reader.pass_dead(kVictim);
        ++passed;
      } else {
        std::this_thread::yield();
      }
    }
    wrong += passed > 1;
  }
  kill(other, SIGKILL);
  ended(other);
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(next[kOther], 16u);
}

}  // namespace
}  // namespace smelt::test
