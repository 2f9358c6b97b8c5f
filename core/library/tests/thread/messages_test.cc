// Messages between user-level threads: of two endpoints in this process, and of processes.
#include <smelt/message.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "message/children.h"
#include "message/shared_pages.h"
#include "threads.h"

namespace smelt::test {
namespace {

using Bytes = std::vector<unsigned char>;

Bytes content(uint64_t lane, uint64_t k, size_t length) {
  Bytes bytes(length);
  for (size_t i = 0; i < length; ++i) bytes[i] = static_cast<unsigned char>(lane * 31 + k * 7 + i / 5);
  return bytes;
}

std::shared_ptr<smelt_endpoint> owned(smelt_endpoint* endpoint) {
  return {endpoint, [](smelt_endpoint* last) { smelt_endpoint_leave(last, 1); }};
}
struct Close {
  void operator()(smelt_messages* messages) const { smelt_messages_close(messages); }
};
using Messages = std::unique_ptr<smelt_messages, Close>;

// The thread sanitizer takes two mappings of the same memory for two memories, so there the nodes of one process send
// by one endpoint, each message to and from its only process.
#if defined(__SANITIZE_THREAD__)
constexpr bool kOneMapping = true;
#else
constexpr bool kOneMapping = false;
#endif

// One of the processes, or what stands for one.
struct Node {
  std::shared_ptr<smelt_endpoint> end;
  Scheduler scheduler;
  Messages messages;

  void open(unsigned workers, unsigned flags = 0) {
    scheduler = scheduler_of(workers, flags);
    smelt_messages* made = nullptr;
    ASSERT_EQ(smelt_messages_open(scheduler.get(), end.get(), 7, &made), 0);
    messages.reset(made);
  }
  operator smelt_messages*() const { return messages.get(); }
  // Threads that run `body(k)`, on until join().
  void start(size_t count, std::function<void(size_t)> of) {
    body = std::move(of);
    bodies.resize(count);
    threads.resize(count);
    for (size_t k = 0; k < count; ++k) {
      bodies[k] = [this, k] { body(k); };
      ASSERT_EQ(smelt_thread_spawn(scheduler.get(), call, &bodies[k], SMELT_ANY_WORKER, &threads[k]), 0);
    }
  }
  void join() {
    for (smelt_thread* thread : threads) ASSERT_EQ(smelt_thread_join(thread, nullptr), 0);
    threads.clear();
  }
  std::function<void(size_t)> body;
  std::vector<Body> bodies;
  std::vector<smelt_thread*> threads;
};

// Two nodes in this process.
class MessagesHere : public Threads {
 protected:
  void SetUp() override {
    Threads::SetUp();
    if (IsSkipped()) return;
    smelt_endpoint_ticket ticket;
    smelt_endpoint* made = nullptr;
    ASSERT_EQ(smelt_endpoint_offer(2, &ticket, &made), 0);
    node[0].end = owned(made);
    if (kOneMapping) {
      node[1].end = node[0].end;
      return;
    }
    ASSERT_EQ(smelt_endpoint_join(&ticket, 2, 1, &made), 0);
    node[1].end = owned(made);
  }
  void TearDown() override {
    for (Node& each : node) each.messages.reset();  // either may be asking by the endpoint of both
  }
  void open(unsigned workers, unsigned flags = 0) {
    for (Node& each : node) each.open(workers, flags);
  }
  // The process that is node `i`.
  static unsigned at(unsigned i) { return kOneMapping ? 0 : i; }
  Node node[2];
};

void send(smelt_messages* messages, unsigned to, int key, const Bytes& bytes) {
  ASSERT_EQ(smelt_message_send(messages, to, key, bytes.data(), bytes.size()), 0);
}
void expect(smelt_messages* messages, unsigned from, int key, const Bytes& bytes) {
  Bytes got(bytes.size() + 1);
  uint64_t length = 0;
  ASSERT_EQ(smelt_message_receive(messages, from, key, got.data(), got.size(), &length), 0);
  got.resize(length);
  ASSERT_EQ(got, bytes);
}

// On side `me`, thread k sends to thread k over there, which is in process `other`, and back.
void ping_pong(smelt_messages* messages, unsigned me, unsigned other, size_t k, int rounds, size_t length) {
  const int there = static_cast<int>(2 * k), back = there + 1;
  for (int round = 0; round < rounds; ++round) {
    const Bytes ping = content(k, round, length), pong = content(k + 1, round, length);
    if (me == 0)
      send(messages, other, there, ping);
    else
      expect(messages, other, there, ping);
    if (me == 0)
      expect(messages, other, back, pong);
    else
      send(messages, other, back, pong);
  }
}

TEST_F(MessagesHere, ComeInEveryLength) {
  open(1);
  for (const size_t length :
       {size_t{0}, size_t{1}, size_t{208}, size_t{209}, size_t{16384}, size_t{16385}, size_t{1} << 20}) {
    for (unsigned me = 0; me < 2; ++me)
      node[me].start(1, [&, me](size_t k) { ping_pong(node[me], me, at(1 - me), k, 5, length); });
    for (Node& each : node) each.join();
  }
}

TEST_F(MessagesHere, OfManyThreadsFindThem) {
  for (const unsigned workers : {1u, 2u, 3u})
    for (const unsigned flags : {0u, unsigned{SMELT_NO_STEALING}}) {
      open(workers, flags);
      for (unsigned me = 0; me < 2; ++me)
        node[me].start(kSanitized ? 50 : 300,
                       [&, me](size_t k) { ping_pong(node[me], me, at(1 - me), k, 10, 8 + k % 3 * 300); });
      for (Node& each : node) each.join();
      for (Node& each : node) each.messages.reset();
    }
}

// A thread is signalled by others as well, before and while it waits.
TEST_F(MessagesHere, AreWaitedForAmongOtherSignals) {
  open(2);
  std::atomic<bool> over{false};
  smelt_thread* waiter = nullptr;
  std::atomic<bool> there{false};
  node[0].start(2, [&](size_t k) {
    if (k == 0) {
      waiter = smelt_thread_self();
      there = true;
      for (int round = 0; round < 200; ++round) expect(node[0], at(1), 0, content(0, round, 100));
      over = true;
    } else {
      while (!there) smelt_thread_yield();
      for (int i = 0; !over && i < 1'000'000; ++i) {
        smelt_thread_signal(waiter);
        smelt_thread_yield();
      }
      while (!over) smelt_thread_yield();
    }
  });
  node[1].start(1, [&](size_t) {
    for (int round = 0; round < 200; ++round) send(node[1], 0, 0, content(0, round, 100));
  });
  for (Node& each : node) each.join();
}

// Nobody is ever idle here: still somebody takes in what comes.
TEST_F(MessagesHere, ComeWhileEverybodyIsBusy) {
  open(1);
  std::atomic<bool> come{false};
  node[0].start(3, [&](size_t k) {
    if (k == 0) {
      expect(node[0], at(1), 3, content(1, 2, 40));
      come = true;
    }
    while (!come) smelt_thread_yield();
  });
  node[1].start(1, [&](size_t) { send(node[1], 0, 3, content(1, 2, 40)); });
  for (Node& each : node) each.join();
}

TEST_F(MessagesHere, MayBeManyAtATimeAndDoneInAnyOrder) {
  open(2);
  constexpr int kCount = 100;
  node[1].start(1, [&](size_t) {
    std::vector<smelt_message> sends(kCount);
    std::vector<Bytes> data;
    for (int i = 0; i < kCount; ++i) data.push_back(content(9, i, i % 10 == 0 ? 50'000 : 20));
    for (int i = 0; i < kCount; ++i)
      ASSERT_EQ(smelt_message_start_send(node[1], &sends[i], 0, i, data[i].data(), data[i].size()), 0);
    for (smelt_message& one : sends) ASSERT_EQ(smelt_message_wait(node[1], &one), 0);
  });
  node[0].start(1, [&](size_t) {
    std::vector<smelt_message> receives(kCount);
    std::vector<Bytes> data(kCount, Bytes(50'000));
    for (int i = kCount - 1; i >= 0; --i)
      ASSERT_EQ(smelt_message_start_receive(node[0], &receives[i], at(1), i, data[i].data(), data[i].size()), 0);
    for (int i = 0; i < kCount; ++i) {
      if (i % 2 == 0) {
        while (smelt_message_test(node[0], &receives[i]) == 0) smelt_thread_yield();
      } else {
        ASSERT_EQ(smelt_message_wait(node[0], &receives[i]), 0);
      }
      ASSERT_EQ(receives[i].transfer.error, 0);
      data[i].resize(receives[i].transfer.length);
      ASSERT_EQ(data[i], content(9, i, i % 10 == 0 ? 50'000 : 20));
    }
  });
  for (Node& each : node) each.join();
}

TEST_F(MessagesHere, ThatAreLongerThanTheRoomSaySo) {
  open(1);
  node[1].start(1, [&](size_t) { send(node[1], 0, 0, content(0, 0, 100)); });
  node[0].start(1, [&](size_t) {
    Bytes got(60);
    uint64_t length = 0;
    EXPECT_EQ(smelt_message_receive(node[0], at(1), 0, got.data(), got.size(), &length), -EMSGSIZE);
    EXPECT_EQ(length, 100u);
    EXPECT_TRUE(std::equal(got.begin(), got.end(), content(0, 0, 100).begin()));
  });
  for (Node& each : node) each.join();
}

TEST_F(MessagesHere, RefuseWhatCannotBe) {
  open(1);
  smelt_messages* made = nullptr;
  EXPECT_EQ(smelt_messages_open(node[0].scheduler.get(), node[0].end.get(), 8, &made), -EBUSY);
  EXPECT_EQ(smelt_messages_open(nullptr, node[0].end.get(), 8, &made), -EINVAL);
  EXPECT_EQ(smelt_messages_open(node[0].scheduler.get(), nullptr, 8, &made), -EINVAL);
  EXPECT_EQ(smelt_messages_open(node[0].scheduler.get(), node[0].end.get(), 65536, &made), -EINVAL);
  char byte = 0;
  EXPECT_EQ(smelt_message_send(node[0], 1, 0, &byte, 1), -EPERM) << "no user-level thread";
  EXPECT_EQ(smelt_message_receive(node[0], 1, 0, &byte, 1, nullptr), -EPERM);
  node[0].start(1, [&](size_t) {
    EXPECT_EQ(smelt_message_send(node[0], 2, 0, &byte, 1), -EINVAL) << "no such process";
    EXPECT_EQ(smelt_message_send(node[0], 1, -1, &byte, 1), -EINVAL);
    EXPECT_EQ(smelt_message_send(node[0], 1, 0, nullptr, 1), -EINVAL);
    EXPECT_EQ(smelt_message_receive(node[0], 2, 0, &byte, 1, nullptr), -EINVAL);
    EXPECT_EQ(smelt_message_send(node[1], 0, 0, &byte, 1), -EPERM) << "a thread of another scheduler";
  });
  node[0].join();
  // A kernel thread may begin, test, and wait for what is done.
  smelt_message send, receive;
  EXPECT_EQ(smelt_message_start_receive(node[1], &receive, 0, 5, &byte, 1), 0);
  EXPECT_EQ(smelt_message_wait(node[1], &receive), -EPERM);
  EXPECT_EQ(smelt_message_test(node[1], &receive), 0);
  EXPECT_EQ(smelt_message_start_send(node[0], &send, at(1), 5, "x", 1), 0);
  while (smelt_message_test(node[1], &receive) == 0) std::this_thread::yield();
  EXPECT_EQ(smelt_message_wait(node[1], &receive), 0);
  EXPECT_EQ(byte, 'x');
  while (smelt_message_test(node[0], &send) == 0) std::this_thread::yield();
  smelt_messages_close(nullptr);
}

// Whether there is a server depends on the CPUs, of which SMELT_CPUS may say that there are many.
TEST_F(MessagesHere, AreServedWhereACpuIsFree) {
  open(1);
  const char* const cpus = std::getenv("SMELT_CPUS");
  if (cpus && std::atoi(cpus) > 1) {
    EXPECT_EQ(smelt_messages_served(node[0]), 1);
  }
  node[1].messages.reset();
  node[1].open(std::max(2u, std::thread::hardware_concurrency()) + (cpus ? std::atoi(cpus) : 0));
  EXPECT_EQ(smelt_messages_served(node[1]), 0);
}

// Workers without a waiter sleep: they do not watch for messages that nobody wants.
TEST_F(MessagesHere, ThatNobodyWaitsForKeepNobodyAwake) {
  open(2);
  const auto slept = [&] {
    smelt_scheduler_counts counts;
    EXPECT_EQ(smelt_scheduler_figures(node[0].scheduler.get(), &counts), 0);
    return counts.slept;
  };
  const uint64_t before = slept();
  // As long as it takes: each of two goes to sleep again and again, but the machine may be busy.
  const timespec nap{0, 10'000'000};
  for (int naps = 0; naps < 2000 && slept() < before + 4; ++naps) ::nanosleep(&nap, nullptr);
  EXPECT_GE(slept(), before + 4);
}

// --- processes ---

// Member 0 is this process; the others run `body` and end with whether it failed.
class MessagesAcross : public Threads {
 protected:
  void begin(unsigned members, const std::function<void(Node&, unsigned)>& body, unsigned workers) {
    smelt_endpoint_ticket ticket;
    smelt_endpoint* made = nullptr;
    ASSERT_EQ(smelt_endpoint_offer(members, &ticket, &made), 0);
    SharedPages* const pages = new SharedPages(4096);
    ready.reset(pages);
    auto& there = *static_cast<std::atomic<unsigned>*>(pages->get());
    for (unsigned me = 1; me < members; ++me) {
      const pid_t child = fork_child();
      if (child != 0) {
        children.push_back(child);
        continue;
      }
      Node mine;
      smelt_endpoint* joined = nullptr;
      if (smelt_endpoint_join(&ticket, members, me, &joined) != 0) _exit(99);
      mine.end = owned(joined);
      there += 1;
      while (there < members) std::this_thread::yield();
      mine.open(workers);
      body(mine, me);
      mine.messages.reset();
      mine.scheduler.reset();
      mine.end.reset();
      _exit(testing::Test::HasFailure() ? 98 : 0);
    }
    node.end = owned(made);
    there += 1;
    while (there < members && !std::any_of(children.begin(), children.end(), has_failed)) std::this_thread::yield();
    node.open(workers);
  }
  void TearDown() override {
    for (const pid_t child : children) {
      if (HasFailure()) ::kill(child, SIGKILL);
      EXPECT_EQ(ended(child), 0);
    }
  }
  Node node;
  std::unique_ptr<SharedPages> ready;
  std::vector<pid_t> children;
};

TEST_F(MessagesAcross, OfManyThreadsFindThem) {
  NEEDS_PROCESSES();
  const auto side = [](Node& mine, unsigned me) {
    const std::function<void(size_t)> body = [&](size_t k) {
      ping_pong(mine, me, 1 - me, k, 20, k % 16 == 0 ? 40'000 : 8 + k % 3 * 300);
    };
    mine.start(200, body);
    mine.join();
  };
  begin(2, side, 2);
  side(node, 0);
}

// Every process has a thread for each key, and each sends its own to the next process.
TEST_F(MessagesAcross, GoRoundARing) {
  NEEDS_PROCESSES();
  constexpr unsigned kMembers = 4;
  const auto side = [](Node& mine, unsigned me) {
    const std::function<void(size_t)> body = [&](size_t k) {
      for (int round = 0; round < 30; ++round) {
        const auto key = static_cast<int>(k);
        send(mine, (me + 1) % kMembers, key, content(me, round, 100 + k));
        const unsigned from = (me + kMembers - 1) % kMembers;
        expect(mine, from, key, content(from, round, 100 + k));
      }
    };
    mine.start(40, body);
    mine.join();
  };
  begin(kMembers, side, 1);
  side(node, 0);
}

// A million bytes wait for a receive that never comes, others for messages that never come.
TEST_F(MessagesAcross, OfADeadProcessEnd) {
  NEEDS_PROCESSES();
  begin(
      2,
      [](Node& mine, unsigned) {
        const std::function<void(size_t)> body = [&](size_t) {
          send(mine, 0, 0, content(1, 1, 10));
          ::raise(SIGKILL);
        };
        mine.start(1, body);
        mine.join();
      },
      1);
  const Bytes big(1 << 20);
  const std::function<void(size_t)> body = [&](size_t k) {
    char byte;
    if (k == 0)
      expect(node, 1, 0, content(1, 1, 10));
    else if (k == 1)
      EXPECT_EQ(smelt_message_send(node, 1, 1, big.data(), big.size()), -EPIPE);
    else
      EXPECT_EQ(smelt_message_receive(node, 1, static_cast<int>(k), &byte, 1, nullptr), -EPIPE);
  };
  node.start(20, body);
  node.join();
  EXPECT_EQ(ended(children[0]), 1000 + SIGKILL);
  children.clear();
}

}  // namespace
}  // namespace smelt::test
