// Messages between endpoints: every way they travel, threads and processes, order, wildcards, room, deaths.
#include "message/endpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <thread>
#include <vector>

#include "processes.h"

namespace smelt::test {
namespace {

using message::Endpoint;
using message::kInCellBytes;
using message::kInlineBytes;
using message::Request;
using message::Shape;
using Bytes = std::vector<unsigned char>;

// What the k-th message of a lane is; every way of travelling comes, short ones more often.
Bytes content(uint64_t lane, uint64_t k) {
  std::mt19937_64 random(lane * 1'000'003 + k);
  const uint64_t kind = random() % 64;
  const size_t most = kind == 0 ? 40'000 : kind < 8 ? 9'000 : 300;
  Bytes bytes(random() % (most + 1));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(lane * 31 + k + i / 7);
  return bytes;
}

int send_now(Endpoint& end, uint16_t to, int32_t tag, const Bytes& bytes) {
  Request request;
  const int error = end.send(&request, to, 0, tag, bytes.data(), bytes.size());
  return error ? error : end.wait(&request);
}
int receive_now(Endpoint& end, int32_t source, int32_t tag, bool any_tag, Bytes* bytes, Request* request) {
  bytes->resize(40'000);
  const int error = end.receive(request, source, 0, tag, any_tag, bytes->data(), bytes->size());
  const int result = error ? error : end.wait(request);
  bytes->resize(result == 0 ? request->length : 0);
  return result;
}

// Data in every other byte: bytes of the message are at twice their position.
struct Packed : Request {
  const unsigned char* whole = nullptr;
};
void pack_every_other(Request* send, uint64_t at, void* data, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; ++i)
    static_cast<unsigned char*>(data)[i] = static_cast<const Packed*>(send)->whole[2 * (at + i)];
}
void unpack_every_other(Request* receive, uint64_t at, const void* data, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; ++i)
    static_cast<unsigned char*>(receive->buffer)[2 * (at + i)] = static_cast<const unsigned char*>(data)[i];
}
Bytes spread(const Bytes& bytes) {
  Bytes out(2 * bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) out[2 * i] = bytes[i];
  return out;
}

struct Form {
  bool single_copy, posted_first, send_spread, receive_spread, synchronous;
};

TEST(Endpoint, EveryLengthComesInEveryForm) {
  for (int form = 0; form < 32; ++form) {
    const Form now{(form & 1) != 0, (form & 2) != 0, (form & 4) != 0, (form & 8) != 0, (form & 16) != 0};
    const Members members(Shape{2}, now.single_copy);
    for (const size_t length : {size_t{0}, size_t{1}, size_t{kInCellBytes}, size_t{kInCellBytes} + 1,
                                size_t{kInlineBytes}, size_t{kInlineBytes} + 1, size_t{8192}, size_t{16384},
                                size_t{16385}, size_t{1} << 20, (size_t{1} << 20) + 1}) {
      Bytes sent(length);
      for (size_t i = 0; i < length; ++i) sent[i] = static_cast<unsigned char>(i * 7 + length + i / 256);
      const Bytes data = now.send_spread ? spread(sent) : sent;
      Bytes got(now.receive_spread ? 2 * length : length);
      Packed send;
      Request receive;
      send.whole = data.data();
      if (now.send_spread) send.pack = pack_every_other;
      if (now.receive_spread) receive.unpack = unpack_every_other;
      const auto post = [&] { ASSERT_EQ(members[1].receive(&receive, 0, 3, -5, false, got.data(), length), 0); };
      if (now.posted_first) post();
      ASSERT_EQ(members[0].send(&send, 1, 3, -5, now.send_spread ? nullptr : data.data(), length, now.synchronous), 0);
      while (members[1].progress() || members[0].progress()) {
      }
      if (!now.posted_first) {
        EXPECT_EQ(members[0].test(&send), !now.synchronous && length <= 16384) << "form " << form << ", " << length;
        post();
      }
      while (!members[0].test(&send) || !members[1].test(&receive)) {
        members[0].progress();
        members[1].progress();
      }
      EXPECT_EQ(send.error, 0);
      EXPECT_EQ(receive.error, 0);
      EXPECT_TRUE(got == (now.receive_spread ? spread(sent) : sent)) << "form " << form << ", " << length;
      EXPECT_EQ(receive.length, length);
      EXPECT_EQ(receive.peer, 0);
      EXPECT_EQ(receive.tag, -5);
    }
    const message::Counters counters = members[1].counters();
    EXPECT_EQ(counters.received_inline, 5u);
    EXPECT_EQ(counters.received_eager, 3u);
    const bool pieces = !now.single_copy || now.send_spread;
    EXPECT_EQ(counters.received_pieces, pieces ? 3u : 0u);
    EXPECT_EQ(counters.received_single_copy, pieces ? 0u : 3u);
    EXPECT_EQ(counters.unexpected, now.posted_first ? 0u : 11u);
    EXPECT_EQ(counters.longest_unexpected, now.posted_first ? 0u : 1u);
  }
}

TEST(Endpoint, ALookEndsWithTheLastThatWasWaitedFor) {
  const Members members(Shape{2});
  for (const uint32_t wanted : {1u, 2u}) {
    Request sends[3], receives[3];
    for (Request& receive : receives) ASSERT_EQ(members[1].receive(&receive, 0, 0, 7, false, nullptr, 0), 0);
    for (Request& send : sends) ASSERT_EQ(members[0].send(&send, 1, 0, 7, nullptr, 0), 0);
    EXPECT_TRUE(members[1].progress(wanted));
    for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(members[1].test(&receives[i]), i < wanted) << i;
    for (Request& receive : receives) EXPECT_EQ(members[1].wait(&receive), 0);
  }
  // Those that nobody has waited for are no end, and wait() looks for its own behind them.
  Request sends[3], last;
  for (int i = 0; i < 3; ++i) ASSERT_EQ(members[0].send(&sends[i], 1, 0, i, nullptr, 0), 0);
  ASSERT_EQ(members[1].receive(&last, 0, 0, 2, false, nullptr, 0), 0);
  EXPECT_TRUE(members[1].progress());
  EXPECT_TRUE(members[1].test(&last));
  EXPECT_EQ(members[1].counters().unexpected, 2u);
  for (int i = 0; i < 2; ++i) {
    Request receive;
    ASSERT_EQ(members[1].receive(&receive, 0, 0, i, false, nullptr, 0), 0);
    EXPECT_TRUE(members[1].test(&receive));
  }
}

TEST(Endpoint, WhatDoesNotFitIsCutOffAndSaid) {
  for (const bool single_copy : {true, false}) {
    const Members members(Shape{2}, single_copy);
    for (const size_t length : {size_t{100}, size_t{5000}, size_t{50'000}})
      for (const size_t capacity : {size_t{0}, size_t{50}, size_t{20'000}}) {
        if (capacity >= length) continue;
        const Bytes sent(length, 7);
        Bytes got(length, 0);
        Request send, receive;
        ASSERT_EQ(members[0].send(&send, 1, 0, 0, sent.data(), length), 0);
        ASSERT_EQ(members[1].receive(&receive, 0, 0, 0, false, got.data(), capacity), 0);
        std::thread other([&] { EXPECT_EQ(members[0].wait(&send), 0); });
        EXPECT_EQ(members[1].wait(&receive), -EMSGSIZE);
        other.join();
        EXPECT_EQ(receive.length, length);
        EXPECT_EQ(std::count(got.begin(), got.end(), 7), static_cast<long>(capacity));
      }
  }
}

TEST(Endpoint, LimitsDecideWhichWay) {
  const Members members(Shape{2});
  members[0].set_limits(2000, 0);
  members[1].set_limits(8192, 20'000);
  Bytes got(30'000);
  for (const size_t length : {size_t{2000}, size_t{2001}, size_t{20'000}}) {
    const Bytes sent(length, static_cast<unsigned char>(length));
    Request send, receive;
    ASSERT_EQ(members[1].receive(&receive, 0, 0, 0, false, got.data(), got.size()), 0);
    ASSERT_EQ(members[0].send(&send, 1, 0, 0, sent.data(), length), 0);
    std::thread other([&] { EXPECT_EQ(members[0].wait(&send), 0); });
    EXPECT_EQ(members[1].wait(&receive), 0);
    other.join();
    EXPECT_TRUE(std::equal(sent.begin(), sent.end(), got.begin()));
  }
  const message::Counters counters = members[1].counters();
  EXPECT_EQ(counters.received_eager, 1u);
  EXPECT_EQ(counters.received_pieces, 1u);
  EXPECT_EQ(counters.received_single_copy, 1u);
  Request request;
  EXPECT_EQ(members[0].send(&request, 2, 0, 0, nullptr, 0), -EINVAL);
}

TEST(Endpoint, ProbedHeldCancelled) {
  const Members members(Shape{2});
  const Bytes sent[] = {Bytes(10, 1), Bytes(3000, 2), Bytes(100'000, 3)};
  for (const bool ordered : {false, true}) {
    Request sends[3], receive;
    for (int i = 0; i < 3; ++i) ASSERT_EQ(members[0].send(&sends[i], 1, 2, 5 + i, sent[i].data(), sent[i].size()), 0);
    members[1].progress();
    message::Seen seen{};
    EXPECT_FALSE(members[1].probe(0, 2, 4, false, &seen));
    EXPECT_FALSE(members[1].probe(0, 1, 5, false, &seen));
    for (int i = 0; i < 3; ++i) {
      const int32_t source = ordered ? -1 : 0;
      ASSERT_TRUE(members[1].probe(source, 2, 5 + i, false, &seen));
      EXPECT_EQ(seen.sender, 0);
      EXPECT_EQ(seen.tag, 5 + i);
      EXPECT_EQ(seen.length, sent[i].size());
      Request holder;
      holder.holds = true;
      bool done = false;
      ASSERT_EQ(members[1].receive(&holder, source, 2, ordered ? 0 : 5 + i, ordered, nullptr, 0, &done), 0);
      EXPECT_TRUE(done && holder.error == 0);
      EXPECT_EQ(holder.tag, 5 + i);
      EXPECT_EQ(holder.length, sent[i].size());
      EXPECT_FALSE(members[1].probe(0, 2, 5 + i, false, &seen)) << "nobody else gets it";
      Bytes got(seen.length);
      members[1].receive_held(&receive, &holder, got.data(), got.size());
      EXPECT_EQ(members[1].wait(&receive), 0);
      EXPECT_EQ(got, sent[i]);
      EXPECT_EQ(receive.tag, 5 + i);
      EXPECT_EQ(members[0].wait(&sends[i]), 0);
    }
    ASSERT_EQ(members[1].receive(&receive, ordered ? -1 : 0, 2, 5, false, nullptr, 0), 0);
    EXPECT_TRUE(members[1].cancel(&receive));
    EXPECT_EQ(members[1].wait(&receive), -ECANCELED);
    EXPECT_FALSE(members[1].cancel(&receive));
    Request again;
    ASSERT_EQ(members[0].send(&again, 1, 2, 5, sent[0].data(), 10), 0);
    members[1].progress();
    EXPECT_TRUE(members[1].probe(0, 2, 5, false, &seen)) << "the cancelled one did not get it";
    Bytes got(10);
    ASSERT_EQ(members[1].receive(&receive, 0, 2, 5, false, got.data(), 10), 0);
    EXPECT_EQ(members[1].wait(&receive), 0);
  }
  EXPECT_EQ(members[1].counters().switches, 1u);
  EXPECT_EQ(members[1].counters().wildcards, 7u);
}

// Who waits for a receive that another thread takes back is told; who polls, and who sleeps.
TEST(Endpoint, WhoWaitsForWhatIsCancelledIsTold) {
  const Members members(Shape{2});
  Request receives[2];
  std::atomic<int> told{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(members[1].receive(&receives[i], 0, 0, i, false, nullptr, 0), 0);
    threads.emplace_back([&, i] {
      EXPECT_EQ(members[1].wait(&receives[i]), -ECANCELED);
      told.fetch_add(1);
    });
    usleep(50'000);
  }
  for (int i = 2; i-- > 0;) EXPECT_TRUE(members[1].cancel(&receives[i]));
  for (int i = 0; i < 2000 && told.load() < 2; ++i) usleep(5'000);
  if (told.load() < 2) {
    std::fprintf(stderr, "only %d of two are told\n", told.load());
    _exit(1);
  }
  for (std::thread& thread : threads) thread.join();
}

// What nobody has received is lost with its context, and leaves its packets to the sender; others' is not.
TEST(Endpoint, ForgetsWhatNobodyHasReceivedOfAContext) {
  const Members members(Shape{2, 64, 8, 8192});
  const Bytes sent[] = {Bytes(10, 1), Bytes(3000, 2)};
  for (const bool ordered : {false, true})
    for (int round = 0; round < 20; ++round) {
      for (const uint16_t context : {3, 4})
        for (int32_t tag = 0; tag < 4; ++tag)
          for (int i = 0; i < 2; ++i) {
            Request send;
            bool done = false;
            ASSERT_EQ(members[0].send(&send, 1, context, tag, sent[i].data(), sent[i].size(), false, &done), 0);
            members[1].progress();
            ASSERT_EQ(members[0].wait(&send), 0);
          }
      message::Seen seen{};
      ASSERT_TRUE(members[1].probe(ordered ? -1 : 0, 3, 0, ordered, &seen));
      members[1].forget(3);
      EXPECT_FALSE(members[1].probe(ordered ? -1 : 0, 3, 0, ordered, &seen));
      for (int32_t tag = 0; tag < 4; ++tag) {
        EXPECT_FALSE(members[1].probe(0, 3, tag, false, &seen));
        for (const Bytes& expected : sent) {
          Request receive;
          Bytes got(expected.size());
          ASSERT_EQ(members[1].receive(&receive, ordered ? -1 : 0, 4, tag, false, got.data(), got.size()), 0);
          EXPECT_EQ(members[1].wait(&receive), 0);
          EXPECT_EQ(got, expected);
        }
      }
    }
}

// Messages that nobody asks for do not keep their sender from others.
TEST(Endpoint, UnexpectedMessagesLeaveTheSenderItsPackets) {
  for (const uint32_t packets : {2u, 8u}) {
    const Members members(Shape{2, 16, packets, 8192});
    const Bytes large(4000, 9);
    std::vector<Request> sends(100);
    for (Request& send : sends) {
      ASSERT_EQ(members[0].send(&send, 1, 0, 1, large.data(), large.size()), 0);
      for (int i = 0; i < 3; ++i) members[1].progress(), members[0].progress();
      ASSERT_TRUE(members[0].test(&send));
    }
    Bytes got(4000);
    for (size_t i = 0; i < sends.size(); ++i) {
      Request receive;
      ASSERT_EQ(members[1].receive(&receive, 0, 0, 1, false, got.data(), got.size()), 0);
      ASSERT_TRUE(members[1].test(&receive));
      EXPECT_EQ(got, large);
    }
    EXPECT_EQ(members[1].counters().longest_unexpected, 100u);
    EXPECT_EQ(members[1].counters().received_eager, 100u);
  }
}

uint64_t resident_bytes() {
  uint64_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}
TEST(Endpoint, MessagesThatNobodyAsksForTakeLittleMoreThanTheyNeed) {
  const Members members(Shape{2});
  const uint64_t before = resident_bytes();
  const Bytes bytes(300, 1);
  const auto send_all = [&] {
    for (int i = 0; i < 20'000; ++i) {
      Request send;
      ASSERT_EQ(members[0].send(&send, 1, 0, 1, bytes.data(), bytes.size()), 0);
      members[1].progress();
      ASSERT_TRUE(members[0].test(&send));
    }
  };
  send_all();
  EXPECT_EQ(members[1].counters().longest_unexpected, 20'000u);
  const uint64_t taken = resident_bytes() - before;
  for (int i = 0; i < 20'000; ++i) {
    Request receive;
    Bytes got(bytes.size());
    ASSERT_EQ(members[1].receive(&receive, 0, 0, 1, false, got.data(), got.size()), 0);
    ASSERT_TRUE(members[1].test(&receive));
  }
  send_all();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which remember every byte
  EXPECT_LT(taken, 20'000u * 1'200);
  EXPECT_LT(resident_bytes() - before, taken + taken / 4) << "what was received is not used again";
#else
  EXPECT_GT(taken, 20'000u * 300);
#endif
}

struct Called : Request {
  int times = 0;
};
TEST(Endpoint, WhatIsNotCompleteAtOnceIsToldOnceWhenItIs) {
  const Members members(Shape{2, 4, 2, 8192});
  const Bytes bytes(40'000, 3);
  Bytes got(40'000);
  std::vector<Called> sends(60), receives(60);
  const auto called = [](Request* request) { static_cast<Called*>(request)->times += 1; };
  const auto note = [](Called& request, bool done) { request.times += done; };
  bool done = false;
  for (size_t i = 0; i < sends.size(); ++i) {
    sends[i].completed = receives[i].completed = called;
    const size_t length = i % 3 == 0 ? 8 : i % 3 == 1 ? 3000 : 40'000;
    ASSERT_EQ(members[0].send(&sends[i], 1, 0, 0, bytes.data(), length, false, &done), 0);
    note(sends[i], done);
    if (i % 7 == 0) members[1].progress();
  }
  for (Called& receive : receives) {
    ASSERT_EQ(members[1].receive(&receive, 0, 0, 0, false, got.data(), got.size(), &done), 0);
    note(receive, done);
  }
  for (int i = 0; i < 1000; ++i) members[0].progress(), members[1].progress();
  for (size_t i = 0; i < sends.size(); ++i) {
    EXPECT_TRUE(members[0].test(&sends[i]) && members[1].test(&receives[i])) << i;
    EXPECT_EQ(sends[i].times, 1) << i;
    EXPECT_EQ(receives[i].times, 1) << i;
  }
}

// Much more than there is room for, in every way of travelling, both to each other, and received in another order.
TEST(Endpoint, NobodyBlocksWhileAllSendFirst) {
  for (const bool single_copy : {true, false}) {
    const Members members(Shape{2, 16, 8, 8192}, single_copy);
    constexpr int kTags = 5, kEach = 200;
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    Through through(2);
    for (uint16_t me = 0; me < 2; ++me)
      threads.emplace_back([&, me] {
        std::vector<Bytes> contents;
        std::vector<Request> sends(kTags * kEach);
        for (int i = 0; i < kTags * kEach; ++i) contents.push_back(content(me * kTags + i % kTags, i / kTags));
        for (int i = 0; i < kTags * kEach; ++i)
          wrong += members[me].send(&sends[i], 1 - me, 0, i % kTags, contents[i].data(), contents[i].size()) != 0;
        for (int tag = kTags; tag-- > 0;)
          for (int k = 0; k < kEach; ++k) {
            Bytes got, expected = content((1 - me) * kTags + tag, k);
            Request request;
            wrong += receive_now(members[me], 1 - me, tag, false, &got, &request) != 0 || got != expected;
          }
        for (Request& send : sends) wrong += members[me].wait(&send) != 0;
        through.wait(members[me]);
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(members[0].counters().deferred + members[1].counters().deferred, 0u);
  }
}

// One side of a lane: messages of one tag between two members, a few under way at a time.
int run_lane(Endpoint& end, bool sends, uint16_t other, int32_t tag, uint64_t lane, uint64_t messages) {
  constexpr uint64_t kWindow = 8;
  std::mt19937_64 random(lane * 2 + sends);
  int wrong = 0;
  for (uint64_t k = 0; k < messages; k += kWindow) {
    Request requests[kWindow];
    Bytes bytes[kWindow];
    for (uint64_t i = 0; i < kWindow; ++i) {
      bytes[i] = sends ? content(lane, k + i) : Bytes(40'000);
      wrong += (sends ? end.send(&requests[i], other, 0, tag, bytes[i].data(), bytes[i].size())
                      : end.receive(&requests[i], other, 0, tag, false, bytes[i].data(), bytes[i].size())) != 0;
      if (random() % 256 == 0) std::this_thread::yield();
    }
    for (uint64_t i = 0; i < kWindow; ++i) {
      wrong += end.wait(&requests[i]) != 0;
      if (sends) continue;
      bytes[i].resize(requests[i].length);
      wrong += bytes[i] != content(lane, k + i);
    }
  }
  return wrong;
}

// Every member has a thread per lane: it sends to the next member, receives from the one before.
int run_lanes(Endpoint& end, uint16_t me, uint16_t members, int lanes, uint64_t messages) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  const uint16_t next = (me + 1) % members, before = (me + members - 1) % members;
  for (int lane = 0; lane < lanes; ++lane) {
    threads.emplace_back([&, lane] { wrong += run_lane(end, true, next, lane, me * lanes + lane, messages); });
    threads.emplace_back([&, lane] { wrong += run_lane(end, false, before, lane, before * lanes + lane, messages); });
  }
  for (std::thread& thread : threads) thread.join();
  return wrong;
}

TEST(Endpoint, ManyThreadsOfManyMembersKeepTheOrderOfEachTag) {
  const Shape shape{3, 32, 16};
  const Members members(shape);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  Through through(3);
  for (uint16_t me = 0; me < 3; ++me)
    threads.emplace_back([&, me] {
      wrong += run_lanes(members[me], me, 3, 3, 4'000);
      through.wait(members[me]);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// More threads than anybody has CPUs, each with one message under way: all but one of each member sleep, and nobody
// wakes who is not told to.
TEST(Endpoint, ManyThreadsSleepUntilTheirOwnMessageComes) {
  constexpr int kThreads = 24, kRounds = 200;
  const Members members(Shape{2});
  for (const End& end : members.ends) end->set_sleep(0);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < kThreads; ++t)
    for (uint16_t me = 0; me < 2; ++me)
      threads.emplace_back([&, t, me] {
        for (int i = 0; i < kRounds; ++i) {
          uint64_t out = static_cast<uint64_t>(t) << 32 | static_cast<uint64_t>(i), in = 0;
          Request send, receive;
          const auto sends = [&] {
            members[me].send(&send, 1 - me, 0, t, &out, sizeof out);
            members[me].wait(&send);
          };
          if (me == 0) sends();
          members[me].receive(&receive, 1 - me, 0, t, false, &in, sizeof in);
          wrong += members[me].wait(&receive) != 0 || in != out;
          if (me == 1) sends();
        }
      });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(members[0].counters().sleeps, 0u);
}

// A host whose progress waits for a message, once.
struct WaitingHost {
  Endpoint* end;
  std::atomic<int> got{-1};
  bool entered = false;
  static void progress(void* argument) {
    auto* host = static_cast<WaitingHost*>(argument);
    if (host->entered) return;
    host->entered = true;
    Request request;
    int value = 0;
    EXPECT_EQ(host->end->receive(&request, 1, 0, 7, false, &value, sizeof value), 0);
    EXPECT_EQ(host->end->wait(&request), 0);
    host->got = value;
  }
};

TEST(Endpoint, TheHostMayWaitWhereItIsCalled) {
  const Members members(Shape{2}, true);
  WaitingHost host{&members[0]};
  members[0].set_host(WaitingHost::progress, &host);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it waits there by now
    const int value = 5;
    Request request;
    EXPECT_EQ(members[1].send(&request, 0, 0, 7, &value, sizeof value), 0);
    while (host.got < 0) std::this_thread::yield();  // what the poller itself waits for comes afterwards
    EXPECT_EQ(members[1].send(&request, 0, 0, 8, &value, sizeof value), 0);
  });
  Request request;
  int value = 0;
  EXPECT_EQ(members[0].receive(&request, 1, 0, 8, false, &value, sizeof value), 0);
  EXPECT_EQ(members[0].wait(&request), 0);
  other.join();
  EXPECT_EQ(host.got, 5);
}

// The poller is with the host, which waits for what a thread does that sleeps: for its message.
struct StuckHost {
  std::atomic<bool> is_here{false}, got{false};
  static void progress(void* argument) {
    auto* host = static_cast<StuckHost*>(argument);
    host->is_here = true;
    while (!host->got) usleep(1000);
  }
};

TEST(Endpoint, WhoSleepsGetsOnThoughThePollerIsKept) {
  const Members members(Shape{2});
  StuckHost host;
  members[0].set_sleep(20'000'000);
  members[0].set_host(StuckHost::progress, &host);
  std::thread poller([&] {
    Request request;
    EXPECT_EQ(members[0].receive(&request, 1, 0, 8, false, nullptr, 0), 0);
    EXPECT_EQ(members[0].wait(&request), 0);
  });
  while (!host.is_here) usleep(1000);
  std::thread sleeper([&] {
    Request request;
    EXPECT_EQ(members[0].receive(&request, 1, 0, 7, false, nullptr, 0), 0);
    EXPECT_EQ(members[0].wait(&request), 0);
    host.got = true;
  });
  while (members[0].counters().sleeps == 0) usleep(1000);
  EXPECT_EQ(send_now(members[1], 0, 7, {}), 0);
  for (int i = 0; i < 20'000 && !host.got; ++i) usleep(1000);
  if (!host.got) {
    std::fprintf(stderr, "the sleeper's message does not come\n");
    _exit(1);
  }
  EXPECT_EQ(send_now(members[1], 0, 8, {}), 0);
  poller.join();
  sleeper.join();
}

// Sends that have found no room when the endpoint is closed: it does not look at them, nor wait for room.
TEST(Endpoint, ClosedItLeavesWhatIsNotCompleteAlone) {
  for (const bool single_copy : {true, false}) {
    const Shape shape{2, 4, 2, 8192};
    const SharedPages pages(shape.bytes());
    End ends[] = {open_end(pages.get(), shape, 0, single_copy), open_end(pages.get(), shape, 1, single_copy)};
    const Bytes bytes(40'000, 3);
    Bytes got(40'000);
    std::vector<Called> sends(40);
    const auto called = [](Request* request) { static_cast<Called*>(request)->times += 1; };
    for (size_t i = 0; i < sends.size(); ++i) {
      sends[i].completed = called;
      const size_t length = i % 3 == 0 ? 40'000 : i % 3 == 1 ? 3000 : 8;
      ASSERT_EQ(ends[0]->send(&sends[i], 1, 0, 0, bytes.data(), length), 0);
    }
    Request receive;  // of a long one: its sender knows that it may go
    ASSERT_EQ(ends[1]->receive(&receive, 0, 0, 0, false, got.data(), got.size()), 0);
    ends[1]->progress();
    ends[0]->progress();
    std::vector<int> times;
    std::vector<bool> complete;
    for (const Called& send : sends) {
      times.push_back(send.times);
      complete.push_back(ends[0]->test(&send));
    }
    EXPECT_NE(std::count(complete.begin(), complete.end(), false), 0);
    ends[1]->progress();  // there is room again
    ends[0].reset();
    for (size_t i = 0; i < sends.size(); ++i) {
      EXPECT_EQ(sends[i].times, times[i]) << i;
      EXPECT_EQ(sends[i].state.load() == Request::kComplete, complete[i]) << i;
    }
  }
}

// Threads that wait for some of many requests, which come in any order, from several threads.
TEST(Endpoint, WhoWaitsForSomeGetsAtLeastSoMany) {
  constexpr int kThreads = 4, kRounds = 100, kRequests = 20;
  const Members members(Shape{2});
  for (const End& end : members.ends) end->set_sleep(0);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int round = 0; round < kRounds; ++round) {
        int order[kRequests];
        for (int i = 0; i < kRequests; ++i) order[i] = i;
        std::shuffle(order, order + kRequests, random);
        for (const int i : order) {
          const Bytes bytes = content(t, round * kRequests + i);
          Request send;
          members[0].send(&send, 1, static_cast<uint16_t>(t), i, bytes.data(), bytes.size());
          wrong += members[0].wait(&send) != 0;
          if (random() % 8 == 0) std::this_thread::yield();
        }
        Request answer;
        members[0].receive(&answer, 1, static_cast<uint16_t>(t), 1000, false, nullptr, 0);
        wrong += members[0].wait(&answer) != 0;
      }
    });
    threads.emplace_back([&, t] {
      std::mt19937 random(t + 100);
      for (int round = 0; round < kRounds; ++round) {
        Request receives[kRequests];
        Bytes got[kRequests];
        std::vector<Request*> pending;
        for (int i = 0; i < kRequests; ++i) {
          got[i].resize(40'000);
          members[1].receive(&receives[i], 0, static_cast<uint16_t>(t), i, false, got[i].data(), got[i].size());
          pending.push_back(&receives[i]);
        }
        while (!pending.empty()) {
          const auto needed = 1 + random() % static_cast<uint32_t>(pending.size());
          const uint32_t complete = members[1].wait_for(pending.data(), static_cast<uint32_t>(pending.size()), needed);
          uint32_t found = 0;
          std::erase_if(pending, [&](Request* request) {
            const bool is_complete = members[1].test(request);
            found += is_complete;
            return is_complete;
          });
          wrong += complete < needed || found < complete;
        }
        for (int i = 0; i < kRequests; ++i) {
          got[i].resize(receives[i].length);
          wrong += got[i] != content(t, round * kRequests + i);
        }
        Request answer;
        members[1].send(&answer, 0, static_cast<uint16_t>(t), 1000, nullptr, 0);
        wrong += members[1].wait(&answer) != 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Endpoint, ProcessesWithManyThreads) {
  NEEDS_PROCESSES();
  Processes processes(Shape{3});
  std::vector<pid_t> children;
  for (uint16_t i = 1; i < 3; ++i)
    children.push_back(processes.member(i, [i](Endpoint& end) { return run_lanes(end, i, 3, 2, 5'000); }));
  ASSERT_TRUE(processes.meet());
  EXPECT_EQ(run_lanes(*processes.own, 0, 3, 2, 5'000), 0);
  for (const pid_t child : children) EXPECT_EQ(processes.ended(child), 0);
}

// Whatever is found out, the first messages have gone both ways, and all are right.
TEST(Endpoint, SingleCopyAndPiecesAreTried) {
  NEEDS_PROCESSES();
  constexpr uint64_t kEach = 40;
  const auto filled = [](uint64_t k) {
    Bytes bytes(50'000 + k);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(k + i / 7);
    return bytes;
  };
  for (const bool tries : {true, false})
    for (const uint64_t limit : {uint64_t{0}, UINT64_MAX}) {
      Processes processes(Shape{2});
      const pid_t child = processes.member(1, [&](Endpoint& end) {
        int wrong = 0;
        for (uint64_t k = 0; k < kEach; ++k) wrong += send_now(end, 0, 0, filled(k)) != 0;
        return wrong;
      });
      processes.own->set_limits(1024, limit);
      processes.own->set_trials(tries);
      ASSERT_TRUE(processes.meet());
      int wrong = 0;
      for (uint64_t k = 0; k < kEach; ++k) {
        Bytes got(k == 7 ? 0 : 60'000);  // one that has room for nothing
        Request receive;
        ASSERT_EQ(processes.own->receive(&receive, 1, 0, 0, false, got.data(), got.size()), 0);
        EXPECT_EQ(processes.own->wait(&receive), k == 7 ? -EMSGSIZE : 0);
        EXPECT_EQ(receive.length, 50'000 + k);
        got.resize(k == 7 ? 0 : receive.length);
        wrong += k != 7 && got != filled(k);
      }
      EXPECT_EQ(wrong, 0);
      EXPECT_EQ(processes.ended(child), 0);
      const message::Counters counters = processes.own->counters();
      EXPECT_EQ(counters.received_single_copy + counters.received_pieces, kEach);
      if (counters.received_single_copy <= 1 && limit == 0) GTEST_SKIP() << "the kernel refuses single copy here";
      const uint64_t unusual = limit == 0 ? counters.received_pieces : counters.received_single_copy;
      if (tries) {
        EXPECT_GE(unusual, 8u);
      } else {
        EXPECT_LE(unusual, 1u) << "the empty one at most";
      }
    }
}

TEST(Endpoint, FromAnybodyTheMessagesOfEachComeInOrder) {
  NEEDS_PROCESSES();
  constexpr uint64_t kEach = 10'000;
  Processes processes(Shape{4});
  std::vector<pid_t> children;
  for (uint16_t i = 1; i < 4; ++i)
    children.push_back(processes.member(i, [i](Endpoint& end) {
      end.set_alone(i % 2 == 0);
      int wrong = 0;
      for (uint64_t k = 0; k < kEach; ++k) wrong += send_now(end, 0, static_cast<int32_t>(k % 7), content(i, k)) != 0;
      return wrong;
    }));
  processes.own->set_alone(true);
  ASSERT_TRUE(processes.meet());
  uint64_t next[4] = {}, wrong = 0;
  for (uint64_t got = 0; got < 3 * kEach; ++got) {
    Request request;
    Bytes bytes;
    wrong += receive_now(*processes.own, -1, 0, true, &bytes, &request) != 0;
    const uint64_t k = next[request.peer]++;
    wrong += request.tag != static_cast<int32_t>(k % 7) || bytes != content(request.peer, k);
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_TRUE(processes.own->table().is_ordered(0));
  for (const pid_t child : children) EXPECT_EQ(processes.ended(child), 0);
}

// What a member had sent before it was killed comes; then whoever waits for it is told.
class WaitingForTheDead : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Alone, WaitingForTheDead, testing::Bool());
TEST_P(WaitingForTheDead, IsTold) {
  NEEDS_PROCESSES();
  Processes processes(Shape{2, 16, 8, 8192});
  processes.own->set_alone(GetParam());
  const pid_t child = processes.member(1, [](Endpoint& end) {
    for (int k = 0; k < 10; ++k) send_now(end, 0, 1, Bytes(100, 5));
    for (;;) pause();
    return 0;
  });
  ASSERT_TRUE(processes.meet());
  Request request;
  Bytes bytes;
  EXPECT_EQ(receive_now(*processes.own, 1, 1, false, &bytes, &request), 0);
  EXPECT_FALSE(processes.own->is_lost(1));
  std::thread killer([&] {
    usleep(50'000);
    kill(child, SIGKILL);
  });
  const Bytes large(100'000);
  Request announced;  // to somebody who will never receive it
  ASSERT_EQ(processes.own->send(&announced, 1, 0, 0, large.data(), large.size()), 0);
  EXPECT_EQ(processes.own->wait(&announced), -EPIPE);
  killer.join();
  for (int k = 1; k < 10; ++k) {
    ASSERT_EQ(receive_now(*processes.own, 1, 1, false, &bytes, &request), 0);
    EXPECT_EQ(bytes, Bytes(100, 5));
  }
  EXPECT_EQ(receive_now(*processes.own, 1, 1, false, &bytes, &request), -EPIPE);
  EXPECT_EQ(receive_now(*processes.own, 1, 0, true, &bytes, &request), -EPIPE);
  EXPECT_EQ(receive_now(*processes.own, -1, 0, true, &bytes, &request), -EPIPE);
  EXPECT_TRUE(processes.own->is_lost(1));
  EXPECT_TRUE(processes.own->is_lost(-1));
  EXPECT_FALSE(processes.own->is_lost(0));
  std::vector<Request> many(200);  // the inbox of the dead is full
  for (Request& one : many) ASSERT_EQ(processes.own->send(&one, 1, 0, 0, large.data(), large.size()), 0);
  for (Request& one : many) EXPECT_EQ(processes.own->wait(&one), -EPIPE);
  EXPECT_EQ(processes.own->long_under_way(), 0u);
  EXPECT_EQ(processes.ended(child), 1000 + SIGKILL);
}

}  // namespace
}  // namespace smelt::test
