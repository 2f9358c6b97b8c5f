// Queues of every kind between threads and processes: order, no loss, flow control, closing, peers that are slow,
// killed or never come.
#include <smelt/queue.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "library/queue/queue.h"
#include "standing_clock.h"

namespace smelt::test {
namespace {

using namespace std::chrono_literals;
using Bytes = std::vector<unsigned char>;
constexpr int64_t kForEver = -1, kShort = 50'000'000;  // ns

struct FreeQueue {
  void operator()(smelt_queue* queue) const { smelt_queue_free(queue); }
};
using Queue = std::unique_ptr<smelt_queue, FreeQueue>;

// The message of this number: every length up to `limit` comes, short ones more often, and every byte tells.
Bytes message(uint64_t number, size_t limit) {
  const uint64_t mixed = (number + 1) * 0x9e3779b97f4a7c15;
  const size_t most = mixed >> 60 == 0 ? limit : mixed >> 60 < 4 ? 4 * SMELT_QUEUE_SLOT : SMELT_QUEUE_SLOT;
  Bytes bytes(mixed % (std::min(most, limit) + 1));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(mixed >> 8 * (i % 8)) + i / 8;
  return bytes;
}

enum class Form { kWait, kTry, kInPlace };

int send(smelt_queue* queue, const Bytes& bytes, Form form) {
  if (form == Form::kWait) return smelt_queue_send(queue, bytes.data(), bytes.size());
  const bool in_place = form == Form::kInPlace && bytes.size() <= SMELT_QUEUE_SLOT;
  for (;;) {
    void* payload = nullptr;
    int result =
        in_place ? smelt_queue_reserve(queue, &payload) : smelt_queue_try_send(queue, bytes.data(), bytes.size());
    if (result == 0 && in_place) {
      if (!bytes.empty()) std::memcpy(payload, bytes.data(), bytes.size());
      result = smelt_queue_commit(queue, bytes.size());
    }
    if (result != -EAGAIN) return result;
    std::this_thread::yield();
  }
}

int receive(smelt_queue* queue, Bytes* bytes, Form form) {
  bytes->resize(smelt_queue_limit(queue));
  size_t length = 0;
  int result;
  if (form == Form::kWait) {
    result = smelt_queue_receive(queue, bytes->data(), bytes->size(), &length);
  } else {
    const void* payload = nullptr;
    do {
      result = form == Form::kInPlace ? smelt_queue_peek(queue, &payload, &length) : -EMSGSIZE;
      if (result == -EMSGSIZE) result = smelt_queue_try_receive(queue, bytes->data(), bytes->size(), &length);
      if (result == -EAGAIN) std::this_thread::yield();
    } while (result == -EAGAIN);
    if (result == 0 && payload) {
      if (length != 0) std::memcpy(bytes->data(), payload, length);
      result = smelt_queue_consume(queue);
    }
  }
  bytes->resize(result == 0 ? length : 0);
  return result;
}

// Messages of these numbers; how many were sent or were what they should be before something went wrong.
uint64_t send_all(smelt_queue* queue, uint64_t from, uint64_t to, Form form) {
  for (uint64_t k = from; k < to; ++k)
    if (send(queue, message(k, smelt_queue_limit(queue)), form) != 0) return k - from;
  return to - from;
}
uint64_t receive_all(smelt_queue* queue, uint64_t from, uint64_t to, Form form) {
  Bytes bytes;
  for (uint64_t k = from; k < to; ++k)
    if (receive(queue, &bytes, form) != 0 || bytes != message(k, smelt_queue_limit(queue))) return k - from;
  return to - from;
}

struct Ends {
  std::vector<Queue> owned;
  smelt_queue* operator[](size_t i) const { return owned[i].get(); }
};

Ends between_threads(const std::string& kind, unsigned capacity, unsigned ends, int64_t timeout_ns) {
  std::vector<smelt_queue*> made(ends);
  EXPECT_EQ(smelt_queue_create(kind.c_str(), capacity, ends, timeout_ns, made.data()), 0);
  Ends result;
  for (smelt_queue* queue : made) result.owned.emplace_back(queue);
  return result;
}

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

class Kinds : public testing::TestWithParam<std::string> {
 protected:
  bool pair() const { return GetParam() != "one-to-many"; }
  Ends threads(unsigned capacity, int64_t timeout_ns = kForEver) const {
    return between_threads(GetParam(), capacity, 2, timeout_ns);
  }
  Queue shared(unsigned capacity, smelt_queue_ticket* ticket, int64_t timeout_ns = kForEver, unsigned ends = 2) const {
    smelt_queue* queue = nullptr;
    EXPECT_EQ(smelt_queue_create_shared(GetParam().c_str(), capacity, ends, timeout_ns, ticket, &queue), 0);
    return Queue(queue);
  }
};
Queue attached(const smelt_queue_ticket& ticket, unsigned end, int64_t timeout_ns = kForEver) {
  smelt_queue* queue = nullptr;
  return Queue(smelt_queue_attach(&ticket, end, timeout_ns, &queue) == 0 ? queue : nullptr);
}

std::vector<std::string> all_kinds() {
  std::vector<std::string> names;
  for (unsigned i = 0; smelt_queue_kind(i); ++i) names.push_back(smelt_queue_kind(i));
  return names;
}
std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Queue, Kinds, testing::ValuesIn(all_kinds()), test_name);

TEST(Queue, TheTableNamesAllKinds) {
  EXPECT_EQ(all_kinds(), (std::vector<std::string>{"ump", "fastforward", "one-to-many"}));
  EXPECT_EQ(smelt_queue_kind(3), nullptr);
  EXPECT_EQ(smelt_queue_help(3), nullptr);
  EXPECT_NE(std::string(smelt_queue_help(0)), "");
}

TEST(Queue, WhatIsOutOfRangeIsRefused) {
  smelt_queue* ends[3] = {};
  EXPECT_EQ(smelt_queue_create("nonsense", 8, 2, 0, ends), -ENOENT);
  EXPECT_EQ(smelt_queue_create("ump", 0, 2, 0, ends), -EINVAL);
  EXPECT_EQ(smelt_queue_create("ump", SMELT_QUEUE_MAX_CAPACITY + 1, 2, 0, ends), -EINVAL);
  EXPECT_EQ(smelt_queue_create("ump", 8, 3, 0, ends), -EINVAL) << "a pair has two ends";
  EXPECT_EQ(smelt_queue_create("one-to-many", 8, 1, 0, ends), -EINVAL);
  EXPECT_EQ(smelt_queue_create("ump", 8, 2, 0, nullptr), -EINVAL);
  EXPECT_EQ(smelt_queue_size("ump", 8, 3), 0u);
  EXPECT_EQ(ends[0], nullptr);
  const Ends pair = between_threads("ump", 4, 2, 0), many = between_threads("one-to-many", 4, 3, 0);
  size_t bytes;
  EXPECT_EQ(smelt_queue_send(pair[0], nullptr, 1), -EINVAL);
  EXPECT_EQ(smelt_queue_try_receive(pair[0], nullptr, 1, &bytes), -EINVAL);
  EXPECT_EQ(smelt_queue_try_send(nullptr, "", 0), -EINVAL);
  EXPECT_EQ(smelt_queue_send(many[1], "", 0), -ENOTSUP);
  EXPECT_EQ(smelt_queue_receive(many[0], nullptr, 0, &bytes), -ENOTSUP);
  EXPECT_EQ(smelt_queue_can_receive(many[0]), -ENOTSUP);
  EXPECT_EQ(smelt_queue_commit(pair[0], 1), -EINVAL) << "nothing was reserved";
  smelt_queue_free(nullptr);
}

// At any place of the ring: `capacity` messages fit, or one that needs as many slots; not endlessly many; and what is
// there is not overwritten.
TEST_P(Kinds, HoldWhatTheyWereAskedForAndNoMoreThanTheyHave) {
  for (const unsigned capacity : {1u, 2u, 3u, 4u, 5u, 8u, 12u, 13u, 48u, 49u, 64u}) {
    const Ends ends = threads(capacity);
    ASSERT_EQ(smelt_queue_limit(ends[0]), capacity * size_t{SMELT_QUEUE_SLOT});
    uint64_t sent = 0, received = 0;
    for (unsigned start = 0; start < 3 * capacity + 9; ++start) {
      uint64_t number;
      size_t bytes;
      const uint64_t before = sent;
      while (smelt_queue_can_send(ends[0], sizeof sent) == 1) {
        ASSERT_EQ(smelt_queue_try_send(ends[0], &sent, sizeof sent), 0);
        ++sent;
        ASSERT_LE(sent - received, 3 * capacity + 4) << "it holds more than there is memory";
      }
      ASSERT_GE(sent - before, capacity) << "start " << start;
      ASSERT_EQ(smelt_queue_try_send(ends[0], &sent, sizeof sent), -EAGAIN);
      ASSERT_EQ(smelt_queue_can_send(ends[0], sizeof sent), 0);
      for (; received < sent; ++received) {
        ASSERT_EQ(smelt_queue_can_receive(ends[1]), 1);
        ASSERT_EQ(smelt_queue_try_receive(ends[1], &number, sizeof number, &bytes), 0);
        ASSERT_EQ(bytes, sizeof number);
        ASSERT_EQ(number, received);
      }
      ASSERT_EQ(smelt_queue_can_receive(ends[1]), 0);
      ASSERT_EQ(smelt_queue_try_receive(ends[1], &number, sizeof number, &bytes), -EAGAIN);
      const Bytes longest(smelt_queue_limit(ends[0]), static_cast<unsigned char>(start + 1));
      Bytes came(longest.size());
      ASSERT_EQ(smelt_queue_try_send(ends[0], longest.data(), longest.size()), 0) << "start " << start;
      ASSERT_EQ(smelt_queue_try_receive(ends[1], came.data(), came.size(), &bytes), 0);
      ASSERT_EQ(came, longest);
      // One more, so that the next round starts elsewhere.
      ASSERT_EQ(smelt_queue_try_send(ends[0], nullptr, 0), 0);
      ASSERT_EQ(smelt_queue_try_receive(ends[1], nullptr, 0, &bytes), 0);
      ASSERT_EQ(bytes, 0u);
    }
    EXPECT_EQ(smelt_queue_try_send(ends[0], "", smelt_queue_limit(ends[0]) + 1), -EMSGSIZE);
    EXPECT_EQ(smelt_queue_can_send(ends[0], smelt_queue_limit(ends[0]) + 1), -EMSGSIZE);
  }
}

// However full it is: what is there and the next message together need no more slots than the capacity, so it is taken.
TEST_P(Kinds, WhatFitsBesideWhatIsThereIsTaken) {
  for (const unsigned capacity : {1u, 3u, 4u, 13u, 25u, 64u, 97u}) {
    const Ends ends = threads(capacity);
    uint64_t sent = 0, received = 0, there = 0, mixed = 1;
    Bytes bytes;
    for (int step = 0; step < 5000; ++step) {
      mixed = mixed * 0x5851f42d4c957f2d + 0x14057b7ef767814f;
      const Bytes next = message(sent, smelt_queue_limit(ends[0]));
      const bool fits = there + queue::slots_of(next.size()) <= capacity;
      if (fits && (sent == received || mixed >> 63)) {
        ASSERT_EQ(smelt_queue_try_send(ends[0], next.data(), next.size()), 0) << there << " of " << capacity;
        there += queue::slots_of(next.size());
        ++sent;
      } else {
        ASSERT_EQ(receive(ends[1], &bytes, Form::kWait), 0);
        ASSERT_EQ(bytes, message(received, smelt_queue_limit(ends[0])));
        there -= queue::slots_of(bytes.size());
        ++received;
      }
    }
  }
}

// From and to any address, and not a byte beyond.
TEST_P(Kinds, EveryLengthIsCopiedAsItIs) {
  const Ends ends = threads(8);
  for (size_t length = 0; length <= 3 * SMELT_QUEUE_SLOT; ++length)
    for (size_t shift = 0; shift < 9; ++shift) {
      Bytes from(shift + length), to(shift + length + 16, 0xee);
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(length + 7 * i + 1);
      size_t bytes = ~size_t{0};
      ASSERT_EQ(smelt_queue_try_send(ends[0], from.data() + shift, length), 0);
      ASSERT_EQ(smelt_queue_try_receive(ends[1], to.data() + shift, length, &bytes), 0);
      ASSERT_EQ(bytes, length);
      Bytes wanted(to.size(), 0xee);
      std::copy(from.begin() + static_cast<std::ptrdiff_t>(shift), from.end(),
                wanted.begin() + static_cast<std::ptrdiff_t>(shift));
      ASSERT_EQ(to, wanted) << length << " bytes at " << shift;
    }
}

TEST_P(Kinds, OrderAndNoLossBetweenThreads) {
  constexpr uint64_t kMessages = 20'000;
  for (const unsigned capacity : {1u, 7u, 64u})
    for (const Form form : {Form::kWait, Form::kTry, Form::kInPlace}) {
      const Ends ends = threads(capacity);
      uint64_t sent = 0, received = 0;
      std::thread peer([&] { received = receive_all(ends[1], 0, kMessages, form); });
      sent = send_all(ends[0], 0, kMessages, form);
      peer.join();
      EXPECT_EQ(sent, kMessages);
      EXPECT_EQ(received, kMessages) << "capacity " << capacity;
      EXPECT_EQ(smelt_queue_can_receive(ends[1]), 0);
    }
}

// Both directions, and both ends used by two threads at a time.
TEST_P(Kinds, BothDirectionsAtOnce) {
  if (!pair()) GTEST_SKIP() << "one direction";
  constexpr uint64_t kMessages = 20'000;
  const Ends ends = threads(5);
  uint64_t done[4] = {};
  std::vector<std::thread> four;
  for (unsigned i = 0; i < 2; ++i) {
    four.emplace_back([&, i] { done[i] = send_all(ends[i], 1000 * i, 1000 * i + kMessages, Form::kWait); });
    four.emplace_back([&, i] { done[2 + i] = receive_all(ends[1 - i], 1000 * i, 1000 * i + kMessages, Form::kWait); });
  }
  for (std::thread& one : four) one.join();
  for (const uint64_t count : done) EXPECT_EQ(count, kMessages);
}

// There and back: who waits is woken, or found out, every time. With SMELT_WAIT=sleep everybody sleeps every time.
TEST_P(Kinds, PingPong) {
  if (!pair()) GTEST_SKIP() << "one direction";
  constexpr uint64_t kRounds = 3000;
  const Ends ends = threads(4);
  std::thread peer([&] {
    uint64_t number;
    size_t bytes;
    for (uint64_t k = 0; k < kRounds; ++k) {
      if (smelt_queue_receive(ends[1], &number, sizeof number, &bytes) != 0) return;
      ++number;
      if (smelt_queue_send(ends[1], &number, sizeof number) != 0) return;
    }
  });
  for (uint64_t k = 0; k < kRounds; ++k) {
    uint64_t number = 2 * k;
    size_t bytes;
    ASSERT_EQ(smelt_queue_send(ends[0], &number, sizeof number), 0);
    ASSERT_EQ(smelt_queue_receive(ends[0], &number, sizeof number, &bytes), 0);
    ASSERT_EQ(number, 2 * k + 1);
  }
  peer.join();
}

TEST_P(Kinds, SlowReceiversAndSlowSenders) {
  constexpr uint64_t kMessages = 600;
  for (const bool slow_receiver : {false, true}) {
    const Ends ends = threads(6);
    uint64_t received = 0;
    std::thread peer([&] {
      for (uint64_t k = 0; k < kMessages; k += 20) {
        if (slow_receiver) std::this_thread::sleep_for(3ms);
        received += receive_all(ends[1], k, k + 20, Form::kWait);
      }
    });
    uint64_t sent = 0;
    for (uint64_t k = 0; k < kMessages; k += 20) {
      if (!slow_receiver) std::this_thread::sleep_for(3ms);
      sent += send_all(ends[0], k, k + 20, Form::kWait);
    }
    peer.join();
    EXPECT_EQ(sent, kMessages);
    EXPECT_EQ(received, kMessages);
  }
}

// A long wait costs no CPU: the thread gives it up.
TEST_P(Kinds, WhoWaitsLongSleeps) {
  const Ends ends = threads(4);
  long switches = 0;
  int result = -1;
  std::thread peer([&] {
    rusage before{}, after{};
    getrusage(RUSAGE_THREAD, &before);
    size_t bytes;
    result = smelt_queue_receive(ends[1], nullptr, 0, &bytes);
    getrusage(RUSAGE_THREAD, &after);
    switches = after.ru_nvcsw - before.ru_nvcsw;
  });
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(smelt_queue_send(ends[0], nullptr, 0), 0);
  peer.join();
  EXPECT_EQ(result, 0);
  EXPECT_GE(switches, 1);
}

TEST_P(Kinds, TheStatedTimeEndsWhereTheClockStands) {
  const Ends ends = threads(16, kShort);
  const StandingClock stands;
  size_t bytes;
  EXPECT_EQ(smelt_queue_receive(ends[1], nullptr, 0, &bytes), -ETIMEDOUT);
}

TEST_P(Kinds, APeerThatNeverComesIsAnErrorAfterTheStatedTime) {
  const Ends ends = threads(16, kShort);
  size_t bytes;
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(smelt_queue_receive(ends[1], nullptr, 0, &bytes), -ETIMEDOUT);
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::nanoseconds(kShort));
  const uint64_t sent = send_all(ends[0], 0, 100, Form::kWait);
  EXPECT_GE(sent, 1u);
  EXPECT_LT(sent, 100u);
  // Nothing is lost of it all, and the queue goes on.
  EXPECT_EQ(receive_all(ends[1], 0, sent, Form::kWait), sent);
  EXPECT_EQ(send_all(ends[0], sent, sent + 3, Form::kWait), 3u);
  EXPECT_EQ(receive_all(ends[1], sent, sent + 3, Form::kWait), 3u);
}

TEST_P(Kinds, WhatWasSentBeforeClosingIsReceived) {
  Ends ends = threads(8);
  ASSERT_EQ(send_all(ends[0], 0, 3, Form::kWait), 3u);
  ends.owned[0].reset();
  EXPECT_EQ(receive_all(ends[1], 0, 3, Form::kWait), 3u);
  size_t bytes;
  EXPECT_EQ(smelt_queue_receive(ends[1], nullptr, 0, &bytes), -EPIPE);
  EXPECT_EQ(smelt_queue_try_receive(ends[1], nullptr, 0, &bytes), -EPIPE);
  EXPECT_EQ(smelt_queue_can_receive(ends[1]), -EPIPE);

  Ends others = threads(8);
  others.owned[1].reset();
  int result = 0;
  for (int i = 0; i < 100 && result == 0; ++i) result = smelt_queue_send(others[0], nullptr, 0);
  EXPECT_EQ(result, -EPIPE);
}

TEST_P(Kinds, ClosingWakesWhoWaits) {
  for (const size_t closes : {0u, 1u}) {
    Ends ends = threads(2);
    int result = 0;
    std::thread peer([&] {
      size_t bytes;
      while (result == 0)
        result = closes == 0 ? smelt_queue_receive(ends[1], nullptr, 0, &bytes) : smelt_queue_send(ends[0], nullptr, 0);
    });
    std::this_thread::sleep_for(30ms);
    ends.owned[closes].reset();
    peer.join();
    EXPECT_EQ(result, -EPIPE);
  }
}

TEST_P(Kinds, AMessageThatDoesNotFitStays) {
  const Ends ends = threads(8);
  const Bytes three(3 * SMELT_QUEUE_SLOT - 1, 7), one(SMELT_QUEUE_SLOT, 9);
  ASSERT_EQ(send(ends[0], three, Form::kWait), 0);
  ASSERT_EQ(send(ends[0], three, Form::kWait), 0);
  ASSERT_EQ(send(ends[0], one, Form::kWait), 0);
  Bytes came(three.size());
  size_t bytes = 0;
  EXPECT_EQ(smelt_queue_receive(ends[1], came.data(), three.size() - 1, &bytes), -EMSGSIZE);
  EXPECT_EQ(bytes, three.size());
  ASSERT_EQ(smelt_queue_receive(ends[1], came.data(), bytes, &bytes), 0);
  EXPECT_EQ(came, three);
  const void* payload = nullptr;
  bytes = 0;
  EXPECT_EQ(smelt_queue_peek(ends[1], &payload, &bytes), -EMSGSIZE);
  EXPECT_EQ(bytes, three.size());
  EXPECT_EQ(smelt_queue_consume(ends[1]), 0) << "it is dropped";
  ASSERT_EQ(smelt_queue_peek(ends[1], &payload, &bytes), 0);
  EXPECT_EQ(Bytes(static_cast<const unsigned char*>(payload), static_cast<const unsigned char*>(payload) + bytes), one);
  EXPECT_EQ(smelt_queue_consume(ends[1]), 0);
  EXPECT_EQ(smelt_queue_consume(ends[1]), -EAGAIN);
}

TEST_P(Kinds, InPlaceNothingIsCopied) {
  const Ends ends = threads(4);
  for (uint64_t k = 0; k < 40; ++k) {
    void* payload = nullptr;
    ASSERT_EQ(smelt_queue_reserve(ends[0], &payload), 0);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(payload) % 8, 0u);
    std::memset(payload, static_cast<int>(k), SMELT_QUEUE_SLOT);
    EXPECT_EQ(smelt_queue_can_receive(ends[1]), 0) << "not before it is committed";
    EXPECT_EQ(smelt_queue_commit(ends[0], SMELT_QUEUE_SLOT + 1), -EINVAL);
    ASSERT_EQ(smelt_queue_commit(ends[0], SMELT_QUEUE_SLOT), 0);
    EXPECT_EQ(smelt_queue_commit(ends[0], 1), -EINVAL);
    const void* seen = nullptr;
    size_t bytes = 0;
    ASSERT_EQ(smelt_queue_peek(ends[1], &seen, &bytes), 0);
    EXPECT_EQ(seen, payload);
    EXPECT_EQ(bytes, size_t{SMELT_QUEUE_SLOT});
    EXPECT_EQ(static_cast<const unsigned char*>(seen)[SMELT_QUEUE_SLOT - 1], k);
    ASSERT_EQ(smelt_queue_consume(ends[1]), 0);
  }
}

// Where 32 bits of the position come round to 0. All slots are used in the lap before, as they are by then.
TEST_P(Kinds, SequenceNumbersWrap) {
  const Ends ends = threads(8);
  const uint64_t ring = ends[0]->shared->ring, start = (uint64_t{1} << 32) - 2 * ring;
  ends[0]->sender.next = start;
  ends[0]->sender.free = start + ring;
  ends[1]->receiver.next = ends[1]->receiver.acknowledged = start;
  ends[1]->receiver.own->read.store(start);
  for (uint64_t k = 0; k < 5 * ring; ++k) {
    ASSERT_EQ(smelt_queue_can_receive(ends[1]), 0);
    ASSERT_EQ(smelt_queue_try_send(ends[0], &k, sizeof k), 0);
    uint64_t number;
    size_t bytes;
    ASSERT_EQ(smelt_queue_try_receive(ends[1], &number, sizeof number, &bytes), 0) << k;
    ASSERT_EQ(number, k);
  }
}

TEST(OneToMany, EveryReaderGetsEveryMessage) {
  constexpr uint64_t kMessages = 10'000;
  for (const unsigned readers : {1u, 2u, 5u}) {
    const Ends ends = between_threads("one-to-many", 6, 1 + readers, kForEver);
    std::vector<uint64_t> received(readers);
    std::vector<std::thread> peers;
    for (unsigned i = 0; i < readers; ++i)
      peers.emplace_back([&, i] { received[i] = receive_all(ends[1 + i], 0, kMessages, Form(i % 3)); });
    EXPECT_EQ(send_all(ends[0], 0, kMessages, Form::kWait), kMessages);
    for (std::thread& one : peers) one.join();
    EXPECT_EQ(received, std::vector<uint64_t>(readers, kMessages));
  }
}

TEST(OneToMany, TheSlowestReaderCountsUntilItLeaves) {
  Ends ends = between_threads("one-to-many", 8, 3, kShort);
  size_t bytes;
  while (smelt_queue_can_send(ends[0], 0) == 1) {
    ASSERT_EQ(smelt_queue_send(ends[0], nullptr, 0), 0);
    ASSERT_EQ(smelt_queue_receive(ends[1], nullptr, 0, &bytes), 0);
  }
  EXPECT_EQ(smelt_queue_send(ends[0], nullptr, 0), -ETIMEDOUT) << "reader 2 has read nothing";
  ends.owned[2].reset();
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(smelt_queue_send(ends[0], nullptr, 0), 0);
    ASSERT_EQ(smelt_queue_receive(ends[1], nullptr, 0, &bytes), 0);
  }
  ends.owned[1].reset();
  int result = 0;
  for (int i = 0; i < 100 && result == 0; ++i) result = smelt_queue_send(ends[0], nullptr, 0);
  EXPECT_EQ(result, -EPIPE);
}

// --- processes

TEST_P(Kinds, OrderAndNoLossBetweenProcesses) {
  constexpr uint64_t kMessages = 10'000;
  for (const unsigned capacity : {1u, 24u})
    for (const Form form : {Form::kWait, Form::kTry, Form::kInPlace}) {
      smelt_queue_ticket ticket;
      const Queue here = shared(capacity, &ticket);
      ASSERT_TRUE(here);
      const pid_t child = in_another_process([&] {
        const Queue there = attached(ticket, 1);
        if (!there) return 1;
        if (receive_all(there.get(), 0, kMessages, form) != kMessages) return 2;
        return !pair() || send_all(there.get(), 5, kMessages, form) == kMessages - 5 ? 0 : 3;
      });
      EXPECT_EQ(send_all(here.get(), 0, kMessages, form), kMessages);
      if (pair()) {
        EXPECT_EQ(receive_all(here.get(), 5, kMessages, form), kMessages - 5);
      }
      EXPECT_EQ(ended(child), 0);
    }
}

// A sender of another process may look for sleepers too early. A sleeper that it missed looks again after a slice.
TEST_P(Kinds, AMissedSleeperOfAnotherProcessLooksAgain) {
  smelt_queue_ticket ticket;
  const Queue here = shared(4, &ticket);
  ASSERT_TRUE(here);
  const pid_t child = in_another_process([&] {
    alarm(20);
    const Queue there = attached(ticket, 1);
    return there && receive_all(there.get(), 0, 1, Form::kWait) == 1 ? 0 : 1;
  });
  Bell& bell = here->sender.channel->sent;
  while (bell.sleepers.load() == 0 && waitpid(child, nullptr, WNOHANG) == 0) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(20ms);
  bell.sleepers.store(0);
  EXPECT_EQ(send_all(here.get(), 0, 1, Form::kWait), 1u);
  EXPECT_EQ(ended(child), 0);
}

TEST(OneToMany, EveryProcessGetsEveryMessage) {
  constexpr uint64_t kMessages = 3000;
  smelt_queue_ticket ticket;
  smelt_queue* made = nullptr;
  ASSERT_EQ(smelt_queue_create_shared("one-to-many", 10, 4, kForEver, &ticket, &made), 0);
  const Queue here(made);
  std::vector<pid_t> children;
  for (unsigned i = 1; i < 4; ++i)
    children.push_back(in_another_process([&] {
      const Queue there = attached(ticket, i);
      return there && receive_all(there.get(), 0, kMessages, Form::kWait) == kMessages ? 0 : 1;
    }));
  EXPECT_EQ(send_all(here.get(), 0, kMessages, Form::kWait), kMessages);
  for (const pid_t child : children) EXPECT_EQ(ended(child), 0);
}

TEST_P(Kinds, AReceiverThatIsKilledIsAnErrorAfterTheStatedTime) {
  smelt_queue_ticket ticket;
  const Queue here = shared(8, &ticket, kShort);
  const pid_t child = in_another_process([&] {
    const Queue there = attached(ticket, 1);
    if (!there || receive_all(there.get(), 0, 100, Form::kWait) != 100) return 1;
    raise(SIGKILL);
    return 2;
  });
  uint64_t sent = 0;
  while (sent < 100) sent += send_all(here.get(), sent, 100, Form::kWait);  // it may be late
  EXPECT_EQ(ended(child), 1000 + SIGKILL);
  EXPECT_LT(send_all(here.get(), 100, 1000, Form::kWait), 900u);
  EXPECT_EQ(smelt_queue_send(here.get(), Bytes(SMELT_QUEUE_SLOT * 8).data(), SMELT_QUEUE_SLOT * 8), -ETIMEDOUT);
}

// Killed anywhere, mostly within a message: what came is whole and in order, then comes the error.
TEST_P(Kinds, ASenderThatIsKilledLeavesNothingHalf) {
  for (int round = 0; round < 10; ++round) {
    smelt_queue_ticket ticket;
    smelt_queue* made = nullptr;
    // One to many sends from end 0: the child makes that one, and tells the ticket.
    int told[2];
    ASSERT_EQ(pipe(told), 0);
    const pid_t child = in_another_process([&] {
      if (smelt_queue_create_shared(GetParam().c_str(), 16, 2, kForEver, &ticket, &made) != 0) return 1;
      if (write(told[1], &ticket, sizeof ticket) != sizeof ticket) return 2;
      send_all(made, 0, UINT64_MAX, Form::kWait);
      return 3;
    });
    ASSERT_EQ(read(told[0], &ticket, sizeof ticket), static_cast<ssize_t>(sizeof ticket));
    close(told[0]);
    close(told[1]);
    const Queue here = attached(ticket, 1, 4 * kShort);
    ASSERT_TRUE(here);
    const uint64_t before = 500 + 37 * static_cast<uint64_t>(round);
    Bytes bytes;
    uint64_t k = 0;
    int result;
    while (k < before) {
      if ((result = receive(here.get(), &bytes, Form::kWait)) == -ETIMEDOUT) continue;  // it may be late
      ASSERT_EQ(result, 0);
      ASSERT_EQ(bytes, message(k++, smelt_queue_limit(here.get())));
    }
    ASSERT_EQ(kill(child, SIGKILL), 0);
    EXPECT_EQ(ended(child), 1000 + SIGKILL);
    while ((result = receive(here.get(), &bytes, Form::kWait)) == 0) {
      ASSERT_EQ(bytes, message(k, smelt_queue_limit(here.get()))) << k;
      ASSERT_LT(++k, before + 1000);
    }
    EXPECT_EQ(result, -ETIMEDOUT);
  }
}

TEST_P(Kinds, EndsAreTakenOnceAndTicketsLookedAt) {
  smelt_queue_ticket ticket;
  Queue here = shared(8, &ticket);
  smelt_queue* none = nullptr;
  EXPECT_EQ(smelt_queue_attach(&ticket, 0, 0, &none), -EINVAL) << "the creator has it";
  EXPECT_EQ(smelt_queue_attach(&ticket, 2, 0, &none), -EINVAL);
  for (int word = 0; word < 3; ++word) {
    smelt_queue_ticket wrong = ticket;
    wrong.word[word] ^= 0x10;  // another name, process, or length
    EXPECT_EQ(smelt_queue_attach(&wrong, 1, 0, &none), -ENOTSUP) << "word " << word;
  }
  const Queue there = attached(ticket, 1);
  ASSERT_TRUE(there);
  EXPECT_EQ(smelt_queue_attach(&ticket, 1, 0, &none), -EBUSY);
  here.reset();
  EXPECT_EQ(smelt_queue_attach(&ticket, 1, 0, &none), -ENOTSUP) << "gone";
  size_t bytes;
  EXPECT_EQ(smelt_queue_receive(there.get(), nullptr, 0, &bytes), -EPIPE);
}

// The caller's memory, which each has elsewhere.
TEST_P(Kinds, InTheCallersMemoryAtTwoAddresses) {
  const size_t bytes = smelt_queue_size(GetParam().c_str(), 8, 2);
  ASSERT_GT(bytes, 8u * 64);
  const int file = memfd_create("queue", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(bytes)), 0);
  char* address[2];
  for (char*& one : address)
    one = static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  close(file);
  ASSERT_NE(address[0], address[1]);
  smelt_queue *first = nullptr, *second = nullptr;
  EXPECT_EQ(smelt_queue_open(address[0], bytes, 0, kForEver, &first), -EPROTO) << "nothing is there";
  EXPECT_EQ(smelt_queue_init(address[0], bytes - 1, GetParam().c_str(), 8, 2), -EINVAL);
  EXPECT_EQ(smelt_queue_init(address[0] + 64, bytes, GetParam().c_str(), 8, 2), -EINVAL);
  std::memset(address[0], 0xff, bytes);  // what was there before does not matter
  ASSERT_EQ(smelt_queue_init(address[0], bytes, GetParam().c_str(), 8, 2), 0);
  EXPECT_EQ(smelt_queue_open(address[1], bytes - 1, 1, kForEver, &second), -EPROTO);
  ASSERT_EQ(smelt_queue_open(address[0], bytes, 0, kForEver, &first), 0);
  ASSERT_EQ(smelt_queue_open(address[1], bytes, 1, kForEver, &second), 0);
  EXPECT_EQ(smelt_queue_open(address[1], bytes, 0, kForEver, &second), -EBUSY);
  {
    const Queue here(first), there(second);
    for (uint64_t k = 0; k < 1000; ++k) {
      ASSERT_EQ(send_all(here.get(), k, k + 1, Form::kWait), 1u);
      ASSERT_EQ(receive_all(there.get(), k, k + 1, Form::kWait), 1u);
    }
  }
  for (char* one : address) munmap(one, bytes);
}

// --- where the threads are

std::vector<int> allowed_cpus() {
  cpu_set_t mask;
  sched_getaffinity(0, sizeof mask, &mask);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(static_cast<size_t>(cpu), &mask)) cpus.push_back(cpu);
  return cpus;
}
void bind_self(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(cpu), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
}
class Bound : public Kinds {
 protected:
  // How often the waiting receiver went to sleep while each of kRounds messages came kLate after the last. Everything
  // happens in threads of its own, bound to these CPUs; the queue is made by one of them.
  static constexpr int kRounds = 40;
  static constexpr auto kLate = 2ms;  // longer than a crowd yields, far shorter than the test's SMELT_TUNE=spin_us
  void measure(int sender_cpu, int receiver_cpu, long* sleeps, bool* spins) const {
    std::thread receiver([&, this] {
      bind_self(receiver_cpu);
      const Ends ends = threads(64);
      std::thread sender([&] {
        bind_self(sender_cpu);
        for (int k = 0; k < kRounds; ++k) {
          const auto until = std::chrono::steady_clock::now() + kLate;
          while (std::chrono::steady_clock::now() < until)
            if (sender_cpu == receiver_cpu) std::this_thread::yield();
          smelt_queue_send(ends[0], nullptr, 0);
        }
      });
      rusage before{}, after{};
      getrusage(RUSAGE_THREAD, &before);
      size_t bytes;
      for (int k = 0; k < kRounds; ++k) smelt_queue_receive(ends[1], nullptr, 0, &bytes);
      getrusage(RUSAGE_THREAD, &after);
      *sleeps = after.ru_nvcsw - before.ru_nvcsw;
      *spins = ends[1]->receiver.burst > 0;
      sender.join();
    });
    receiver.join();
  }
};
INSTANTIATE_TEST_SUITE_P(Queue, Bound, testing::ValuesIn(all_kinds()), test_name);

// The affinity mask has one CPU, and all the same there is one for each. (SMELT_TUNE=spin_us says how long it spins.)
TEST_P(Bound, ToACpuEachTheySpin) {
  const std::vector<int> cpus = allowed_cpus();
  if (cpus.size() < 2) GTEST_SKIP() << "one CPU";
  long sleeps = 0;
  bool spins = false;
  measure(cpus[0], cpus[1], &sleeps, &spins);
  EXPECT_LE(sleeps, kRounds / 2);
  EXPECT_TRUE(spins);
}

TEST_P(Bound, ToOneCpuTheyMakeRoom) {
  long sleeps = 0;
  bool spins = true;
  measure(allowed_cpus()[0], allowed_cpus()[0], &sleeps, &spins);
  EXPECT_GE(sleeps, 1);
  EXPECT_FALSE(spins);
}

// Another process may write anything into that memory: it must not lead beyond it.
TEST_P(Kinds, DamagedMemoryIsAnErrorAndNoMore) {
  const Ends ends = threads(8);
  ASSERT_EQ(smelt_queue_send(ends[0], "x", 1), 0);
  queue::Receiver& receiver = ends[1]->receiver;
  std::atomic<uint64_t>& word = receiver.at(receiver.next).word;
  word.store(word.load() | 0xffff'ffff);
  Bytes room(1 << 20);
  size_t bytes;
  EXPECT_EQ(smelt_queue_receive(ends[1], room.data(), room.size(), &bytes), -EPROTO);
  EXPECT_EQ(smelt_queue_consume(ends[1]), -EPROTO);
}

}  // namespace
}  // namespace smelt::test
