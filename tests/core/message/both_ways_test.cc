// Long messages both ways at once: which are under way is known, and all comes to its end.
#include <gtest/gtest.h>

#include <csignal>
#include <vector>

#include "processes.h"

namespace smelt::test {
namespace {

using Bytes = std::vector<unsigned char>;
using message::Endpoint;
using message::Request;
using message::Shape;

constexpr uint64_t kBytes = 100'000;
constexpr int kWindow = 16, kWindows = 40;

Bytes content_of(uint16_t from, int number) {
  Bytes bytes(kBytes);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(from * 100 + number + i / 7);
  return bytes;
}

// Windows of messages, of which each side sends the other as many. How many things were wrong.
int exchange(Endpoint& end, uint16_t me) {
  const auto other = static_cast<uint16_t>(1 - me);
  int wrong = 0;
  for (int window = 0; window < kWindows; ++window) {
    std::vector<Bytes> sent(kWindow), got(kWindow, Bytes(kBytes));
    std::vector<Request> requests(2 * kWindow);
    std::vector<Request*> all;
    for (int i = 0; i < kWindow; ++i) {
      wrong += end.receive(&requests[i], other, 0, i, false, got[i].data(), kBytes) != 0;
      all.push_back(&requests[i]);
    }
    for (int i = 0; i < kWindow; ++i) {
      sent[i] = content_of(me, window + i);
      wrong += end.send(&requests[kWindow + i], other, 0, i, sent[i].data(), kBytes) != 0;
      all.push_back(&requests[kWindow + i]);
    }
    wrong += end.wait_for(all.data(), 2 * kWindow, 2 * kWindow) != 2 * kWindow;
    for (int i = 0; i < kWindow; ++i) wrong += got[i] != content_of(other, window + i);
    wrong += end.long_under_way() != 0 || end.awaited_in_pieces() != 0;
  }
  return wrong;
}

class BothWays : public testing::TestWithParam<bool> {};  // one thread at a time calls?
INSTANTIATE_TEST_SUITE_P(Alone, BothWays, testing::Bool());

// By either way, in pieces and by trial.
TEST_P(BothWays, MessagesComeAndAreNoLongerUnderWay) {
  NEEDS_PROCESSES();
  for (const int how : {0, 1, 2}) {
    Processes processes(Shape{2});
    const auto set = [how](Endpoint& end) {
      end.set_limits(1024, how == 1 ? UINT64_MAX : 0);
      end.set_trials(how == 2);
      end.set_alone(GetParam());
    };
    const pid_t child = processes.member(1, [&set](Endpoint& end) {
      set(end);
      return exchange(end, 1);
    });
    set(*processes.own);
    ASSERT_TRUE(processes.meet());
    EXPECT_EQ(exchange(*processes.own, 0), 0);
    EXPECT_EQ(processes.ended(child), 0);
    const message::Counters counters = processes.own->counters();
    EXPECT_EQ(counters.received_single_copy + counters.received_pieces, uint64_t{kWindow} * kWindows);
    EXPECT_TRUE(how != 1 || counters.received_single_copy == 0);
    EXPECT_TRUE(how != 2 || counters.received_pieces >= 8);
  }
}

// What is announced counts until it is received.
TEST_P(BothWays, ALongMessageIsUnderWayUntilItIsReceived) {
  NEEDS_PROCESSES();
  Processes processes(Shape{2});
  const pid_t child = processes.member(1, [](Endpoint& end) {
    Request go;
    Bytes bytes(kBytes);
    if (end.receive(&go, 0, 0, 1, false, bytes.data(), kBytes) != 0 || end.wait(&go) != 0) return 1;
    if (end.receive(&go, 0, 0, 0, false, bytes.data(), kBytes) != 0) return 1;
    return end.wait(&go);
  });
  processes.own->set_alone(GetParam());
  processes.own->set_limits(1024, UINT64_MAX);
  ASSERT_TRUE(processes.meet());
  const Bytes bytes(kBytes, 3);
  Request sent, go;
  EXPECT_EQ(processes.own->long_under_way(), 0u);
  ASSERT_EQ(processes.own->send(&sent, 1, 0, 0, bytes.data(), kBytes), 0);
  EXPECT_EQ(processes.own->long_under_way(), 1u);
  ASSERT_EQ(processes.own->send(&go, 1, 0, 1, bytes.data(), 8), 0);
  EXPECT_EQ(processes.own->wait(&go), 0);
  EXPECT_EQ(processes.own->wait(&sent), 0);
  EXPECT_EQ(processes.own->long_under_way(), 0u);
  EXPECT_EQ(processes.ended(child), 0);
}

// A sender that dies between two of its pieces leaves none awaited.
TEST_P(BothWays, PiecesOfTheDeadAreNotAwaited) {
  NEEDS_PROCESSES();
  Processes processes(Shape{2});
  const pid_t child = processes.member(1, [](Endpoint& end) {
    const Bytes bytes(4 << 20, 1);
    Request send;  // nobody makes progress for it
    end.send(&send, 0, 0, 0, bytes.data(), bytes.size());
    for (;;) pause();
    return 0;
  });
  processes.own->set_alone(GetParam());
  processes.own->set_limits(1024, UINT64_MAX);
  ASSERT_TRUE(processes.meet());
  Bytes bytes(4 << 20);
  Request receive;
  ASSERT_EQ(processes.own->receive(&receive, 1, 0, 0, false, bytes.data(), bytes.size()), 0);
  while (processes.own->awaited_in_pieces() == 0) processes.own->progress();
  kill(child, SIGKILL);
  EXPECT_EQ(processes.own->wait(&receive), -EPIPE);
  EXPECT_EQ(processes.own->awaited_in_pieces(), 0u);
  EXPECT_EQ(processes.ended(child), 1000 + SIGKILL);
}

}  // namespace
}  // namespace smelt::test
