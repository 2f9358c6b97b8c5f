// Messages over rails that are pretended: in the place of libfabric there are queues in this process, which refuse,
// fail, hold back, lose and mix up packets when they are told to. Time is pretended, too: each look at the clock takes
// half a microsecond of it, so that a test which is kept waiting for a CPU sees no rail being slow.
#include "rigs.h"

#include "rails/ofi/lifeline.h"
#include "rails/ofi/packet.h"
#include "rails/ofi/port.h"

#include <netinet/in.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

namespace smelt::test {
namespace {

// One end of a rail.
struct Wire {
  struct Receive {
    void* buffer;
    size_t bytes;
    void* context;
  };
  struct Letter {
    uint64_t to;
    std::vector<char> packet;
  };
  std::deque<Receive> receives;
  std::deque<std::vector<char>> arrived;  // for which there was no receive
  std::deque<rail_ofi::Event> events;
  std::deque<Letter> held;
  std::vector<rail_ofi::PacketKind> sent;
  bool open = true, refuses = false, refuses_receives = false, holds = false;
  uint32_t fails = 0;  // so many next ones; every other is there all the same
};

struct Wires {
  std::mutex mutex;                        // two ends close in two threads
  std::vector<std::unique_ptr<Wire>> all;  // as they were opened
  std::map<const rail_ofi::Port*, Wire*> of;

  Wire& operator[](size_t i) { return *all.at(i); }
  void deliver(uint64_t to, std::vector<char> packet) {
    Wire& wire = *all.at(to);
    if (!wire.open) return;
    wire.arrived.push_back(std::move(packet));
    match(wire);
  }
  static void match(Wire& wire) {
    for (; !wire.receives.empty() && !wire.arrived.empty(); wire.receives.pop_front(), wire.arrived.pop_front()) {
      const Wire::Receive& receive = wire.receives.front();
      const std::vector<char>& packet = wire.arrived.front();
      std::memcpy(receive.buffer, packet.data(), std::min(packet.size(), receive.bytes));
      wire.events.push_back({receive.context, static_cast<uint32_t>(packet.size()), 0});
    }
  }
} wires;

using Lock = std::lock_guard<std::mutex>;

std::atomic<int64_t> clock_ns{1'000'000'000};
int64_t look_at_clock() { return clock_ns.fetch_add(500, std::memory_order_relaxed); }
double seconds() { return 1e-9 * static_cast<double>(look_at_clock()); }
void pass(double seconds) { clock_ns.fetch_add(static_cast<int64_t>(1e9 * seconds), std::memory_order_relaxed); }

}  // namespace
}  // namespace smelt::test

namespace smelt::rail_ofi {

using test::wires, test::Wire, test::Lock;

int64_t Port::now() { return test::look_at_clock(); }

int Port::open(const char*, const char*) {
  const Lock lock(wires.mutex);
  wires.all.push_back(std::make_unique<Wire>());
  wires.of[this] = wires.all.back().get();
  endpoint_ = reinterpret_cast<fid_ep*>(this);
  return 0;
}

void Port::close() {
  if (!endpoint_) return;
  const Lock lock(wires.mutex);
  wires.of[this]->open = false, wires.of[this]->events.clear();
  wires.of.erase(this);
  endpoint_ = nullptr;
}

int Port::name(void* text, size_t* bytes) const {
  const Lock lock(wires.mutex);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  while (wires.all[at.sin_port].get() != wires.of[this]) ++at.sin_port;
  std::memcpy(text, &at, *bytes = sizeof at);
  return 0;
}

int Port::insert(const void* peer_name, size_t bytes, uint64_t* peer) {
  sockaddr_in at{};
  if (bytes != sizeof at) return -EINVAL;
  std::memcpy(&at, peer_name, sizeof at);
  *peer = at.sin_port;
  return 0;
}

int Port::send(const void* data, size_t bytes, uint64_t peer, void* context) {
  const Lock lock(wires.mutex);
  Wire& wire = *wires.of[this];
  if (wire.refuses) return -EAGAIN;
  const auto* begin = static_cast<const char*>(data);
  wire.sent.push_back(static_cast<PacketKind>(reinterpret_cast<const PacketHeader*>(begin)->kind));
  if (wire.fails > 0) {
    if (wire.fails-- % 2 == 0) wires.deliver(peer, {begin, begin + bytes});
    wire.events.push_back({context, 0, EIO});
    return 0;
  }
  wire.holds ? wire.held.push_back({peer, {begin, begin + bytes}}) : wires.deliver(peer, {begin, begin + bytes});
  wire.events.push_back({context, 0, 0});
  return 0;
}

int Port::receive(void* buffer, size_t bytes, void* context) {
  const Lock lock(wires.mutex);
  Wire& wire = *wires.of[this];
  if (wire.refuses_receives) return -EAGAIN;
  wire.receives.push_back({buffer, bytes, context});
  test::Wires::match(wire);
  return 0;
}

uint32_t Port::poll(Event* events, uint32_t room) {
  const Lock lock(wires.mutex);
  Wire& wire = *wires.of[this];
  uint32_t count = 0;
  for (; count < room && !wire.events.empty(); wire.events.pop_front()) events[count++] = wire.events.front();
  return count;
}

// Nobody's kernel is asked.
Lifeline::Word Lifeline::look(uint32_t, uint32_t, uint16_t, int64_t) { return Word::kThere; }
void Lifeline::close() {}

}  // namespace smelt::rail_ofi

namespace smelt::test {
namespace {

constexpr double kLong = 60;  // seconds: something is stuck

// Two ends with two rails each: wires 0 and 1 are a's, 2 and 3 b's.
class Pretended : public testing::Test {
 protected:
  Pretended() { wires.all.clear(); }
  ~Pretended() override {
    for (const auto& wire : wires.all) {
      const Lock lock(wires.mutex);
      wire->refuses = wire->refuses_receives = wire->holds = false, wire->fails = 0;
    }
    close();
  }
  void begin(uint32_t split = SMELT_RAIL_EQUAL_FINISH, uint32_t rails = 2, double mb_per_s = 1000, double us = 20) {
    smelt_rail_options options{};
    options.split = split;
    std::vector<NetworkRail> all;
    for (uint32_t r = 0; r < rails; ++r)
      all.push_back(rail("lo", "127.0." + std::to_string(r + 1) + ".1", us, mb_per_s));
    const std::string path = packed_file(profile_of(all));
    ASSERT_EQ(a_.open(path, options), 0);
    ASSERT_EQ(b_.open(path, options), 0);
    uint32_t peer;
    ASSERT_EQ(a_.connect(b_.address(), &peer), 0);
    ASSERT_EQ(b_.connect(a_.address(), &peer), 0);
    ASSERT_TRUE(until([&] {
      uint32_t up = 0;
      for (uint32_t r = 0; r < rails; ++r) up += a_.state(r).up + b_.state(r).up;
      return up == 2 * rails;
    }));
  }
  void close() {  // at the same time: each waits for the other's word
    std::thread other([rails = std::exchange(a_.rails, nullptr)] { smelt_rails_close(rails); });
    smelt_rails_close(std::exchange(b_.rails, nullptr));
    other.join();
  }
  void turn() {
    smelt_rail_request idle{};
    if (a_.rails) smelt_rail_test(a_.rails, &idle, nullptr);
    if (b_.rails) smelt_rail_test(b_.rails, &idle, nullptr);
  }
  template <typename What>
  bool until(What what, double patience = kLong) {
    for (const double end = seconds() + patience; !what(); turn())
      if (seconds() > end) return false;
    return true;
  }
  int result(Rails& rails, smelt_rail_request* request, double patience = kLong) {
    int result = 0;
    until([&] { return (result = smelt_rail_test(rails.rails, request, nullptr)) != 0; }, patience);
    return result;
  }

  // A message from a to b; of what wire 0 holds meanwhile, each packet comes out so many seconds after it began.
  void message(const std::vector<char>& data, const std::function<double(size_t)>& arrives) {
    std::vector<char> got(data.size());
    smelt_rail_request send, receive;
    size_t packet = 0;
    const double begin = seconds();
    ASSERT_EQ(smelt_rail_receive(b_.rails, &receive, 0, got.data(), got.size()), 0);
    ASSERT_EQ(smelt_rail_send(a_.rails, &send, 0, data.data(), data.size()), 0);
    ASSERT_TRUE(until([&] {
      if (const Lock lock(wires.mutex); !wires[0].held.empty() && seconds() - begin >= arrives(packet)) {
        ++packet;
        const Wire::Letter letter = std::move(wires[0].held.front());
        wires[0].held.pop_front();
        wires.deliver(letter.to, letter.packet);
      }
      return smelt_rail_look(&send, nullptr) != 0 && smelt_rail_look(&receive, nullptr) != 0;
    }));
    EXPECT_TRUE(got == data);
  }
  void release() {
    wires[0].holds = false;
    for (const Wire::Letter& letter : std::exchange(wires[0].held, {})) wires.deliver(letter.to, letter.packet);
  }

  Rails a_, b_;
};

// libfabric may say "later" for ever, and nothing is under way of which an answer could be missed.
TEST_F(Pretended, ARailThatTakesNothingIsDown) {
  begin(SMELT_RAIL_HALVES);
  const std::vector<char> data = pattern(1'000'000, 1);
  std::vector<char> got(data.size());
  smelt_rail_request send, receive;
  wires[1].refuses = true;
  ASSERT_EQ(smelt_rail_receive(b_.rails, &receive, 0, got.data(), got.size()), 0);
  ASSERT_EQ(smelt_rail_send(a_.rails, &send, 0, data.data(), data.size()), 0);
  EXPECT_EQ(result(a_, &send, 20), 1);
  EXPECT_EQ(result(b_, &receive, 20), 1);
  EXPECT_TRUE(got == data);
  EXPECT_GE(a_.state(1).deaths, 1u);
  EXPECT_EQ(a_.state(1).bytes, 0u);
  wires[1].refuses = false;
  EXPECT_TRUE(until([&] { return a_.state(1).up == 1; }));
}

TEST_F(Pretended, WhatWasRefusedGoesWithoutAWordOfThePeer) {
  begin(SMELT_RAIL_EQUAL_FINISH, 1);
  char data[100] = "", got[100];
  for (int again = 0; again < 20; ++again) {  // after a second without a word the peer would be asked
    smelt_rail_request send, receive;
    ASSERT_EQ(smelt_rail_receive(b_.rails, &receive, 0, got, sizeof got), 0);
    ASSERT_EQ(smelt_rail_send(a_.rails, &send, 0, data, sizeof data), 0);
    ASSERT_EQ(result(b_, &receive), 1);
    wires[0].refuses = true;
    const double begin = seconds();
    wires[0].sent.clear();
    ASSERT_EQ(smelt_rail_receive(b_.rails, &receive, 0, got, sizeof got), 0);
    ASSERT_EQ(smelt_rail_send(a_.rails, &send, 0, data, sizeof data), 0);
    until([] { return false; }, 0.02);
    EXPECT_TRUE(wires[0].sent.empty());
    wires[0].refuses = false;
    ASSERT_EQ(result(b_, &receive), 1);
    EXPECT_EQ(std::count(wires[0].sent.begin(), wires[0].sent.end(), rail_ofi::PacketKind::kPing), 0);
    ASSERT_LT(seconds() - begin, 0.8);
  }
}

TEST_F(Pretended, AReceiveThatCouldNotBePostedIsPostedLater) {
  begin(SMELT_RAIL_EQUAL_FINISH, 1);
  wires[1].refuses_receives = true;
  std::vector<smelt_rail_request> sends(300), receives(300);
  char data[9000] = "", got[9000];
  for (size_t i = 0; i < sends.size(); ++i) {
    ASSERT_EQ(smelt_rail_receive(b_.rails, &receives[i], 0, got, sizeof got), 0);
    ASSERT_EQ(smelt_rail_send(a_.rails, &sends[i], 0, data, sizeof data), 0);
  }
  EXPECT_TRUE(until([] { return wires[1].receives.empty() && wires[1].events.empty() && !wires[1].arrived.empty(); }));
  wires[1].refuses_receives = false;
  for (size_t i = 0; i < sends.size(); ++i) ASSERT_EQ(result(b_, &receives[i], 20), 1) << i;
}

// The rail by which the sender would have been told that all is there says nothing; the peer closes.
TEST_F(Pretended, WhatThePeerHadReadBeforeItClosedWasSent) {
  begin(SMELT_RAIL_HALVES);
  const std::vector<char> data = pattern(400'000, 1);
  std::vector<char> got(data.size());
  smelt_rail_request send, receive, next;
  char more[1];
  wires[3].holds = true;
  ASSERT_EQ(smelt_rail_receive(b_.rails, &receive, 0, got.data(), got.size()), 0);
  ASSERT_EQ(smelt_rail_receive(a_.rails, &next, 0, more, sizeof more), 0);
  ASSERT_EQ(smelt_rail_send(a_.rails, &send, 0, data.data(), data.size()), 0);
  ASSERT_EQ(result(b_, &receive), 1);
  std::thread closing([rails = std::exchange(b_.rails, nullptr)] { smelt_rails_close(rails); });
  EXPECT_EQ(result(a_, &next), -EPIPE);
  EXPECT_EQ(result(a_, &send), 1);
  closing.join();
}

// The canary: packets trickle over one rail, whatever its samples promise.
TEST_F(Pretended, ARailThatIsSlowerThanItsSamplesGetsLess) {
  begin();
  const std::vector<char> data = pattern(4'000'000, 1);
  const auto every_4_ms = [](size_t packet) { return 0.004 * static_cast<double>(packet); };
  EXPECT_EQ(a_.state(0).slow, 1);
  wires[0].holds = true;
  for (int i = 0; i < 40 && a_.state(0).slow < 4; ++i) message(data, every_4_ms);
  ASSERT_GE(a_.state(0).slow, 4);
  const uint64_t slow = a_.state(0).bytes, fast = a_.state(1).bytes;
  message(data, every_4_ms);
  EXPECT_LT(2 * (a_.state(0).bytes - slow), a_.state(1).bytes - fast);
  release();
}

// On a distant rail TCP begins slowly after every pause, and that is not the rail's slowness. 800 kB are on its way,
// there and back; 600 arrive as TCP lets them out.
TEST_F(Pretended, WhatADistantRailTakesAfterAPauseIsExpected) {
  begin(SMELT_RAIL_EQUAL_FINISH, 1, 10, 40'000);
  const RailCurve curve = line(40'000, 10);
  const std::vector<char> data = pattern(600'000, 1);
  const double in_a_row = 100'000;  // µs
  const auto arrives = [&](double window) {
    return [&curve, window](size_t packet) {
      return 1e-6 * rail_finish({&curve, 0, 1, window}, (packet + 1) * rail_ofi::kPacketBytes);
    };
  };
  wires[0].holds = true;
  const double cold = smelt_rail_predict(a_.rails, 0, data.size());
  EXPECT_NEAR(cold, rail_finish({&curve, 0, 1, 14480}, data.size()), 0.1 * cold);
  EXPECT_GT(cold, 4 * in_a_row);
  message(data, arrives(14480));
  EXPECT_LT(a_.state(0).slow, 2);
  message(data, arrives(HUGE_VAL));
  EXPECT_LT(a_.state(0).slow, 2);
  const double warm = smelt_rail_predict(a_.rails, 0, data.size());
  EXPECT_LT(warm, 1.5 * in_a_row);
  pass(0.3);  // a timeout: half of the window is left
  turn();
  const double paused = smelt_rail_predict(a_.rails, 0, data.size());
  if (std::ifstream("/proc/sys/net/ipv4/tcp_slow_start_after_idle").get() == '0')
    EXPECT_NEAR(paused, warm, 1);
  else
    EXPECT_GT(paused, warm * 1.1);
  EXPECT_LT(paused, cold);
  message(data, [](size_t packet) { return 0.1 + 0.03 * static_cast<double>(packet); });
  EXPECT_GE(a_.state(0).slow, 2) << "slower than a pause explains";
  release();
}

// A megabyte, of which never more than 10 kB were under way, leaves TCP's window nearly as it was.
TEST_F(Pretended, AWindowThatIsNotUsedDoesNotGrow) {
  begin(SMELT_RAIL_EQUAL_FINISH, 1, 10, 40'000);
  const std::vector<char> data = pattern(10'000, 1);
  const double cold = smelt_rail_predict(a_.rails, 0, 600'000);
  for (int i = 0; i < 100; ++i) {
    message(data, [](size_t) { return 0; });
    int turns = 0;
    const double heard = seconds() + 0.002;
    until([&] { return ++turns > 20 && seconds() > heard; });
  }
  EXPECT_GT(smelt_rail_predict(a_.rails, 0, 600'000), 0.7 * cold);
}

// What was under way is what has used it, also when all of that has arrived.
TEST_F(Pretended, AWindowThatIsUsedUpGrows) {
  begin(SMELT_RAIL_EQUAL_FINISH, 1, 10, 40'000);
  const double cold = smelt_rail_predict(a_.rails, 0, 600'000);
  message(pattern(14'000, 1), [](size_t) { return 0; });
  const double heard = seconds() + 0.002;
  until([&] { return seconds() > heard; });
  // Twice the window is one round trip less.
  EXPECT_LT(smelt_rail_predict(a_.rails, 0, 600'000), cold - 60'000);
}

// Who computes for a while finds what has arrived meanwhile all at once, and late.
TEST_F(Pretended, WhatArrivesWhileNobodyLooksIsNotSlow) {
  begin(SMELT_RAIL_EQUAL_FINISH, 1, 10, 1000);
  wires[0].holds = true;
  message(pattern(1'000'000, 1), [](size_t packet) {
    if (packet % 9 == 8) pass(0.1);
    return 0.0016 * static_cast<double>(packet);
  });
  EXPECT_LT(a_.state(0).slow, 2);
  release();
}

// What a dead rail still delivers after it has come back is of its life before.
TEST_F(Pretended, PacketsOfALifeBeforeCountForNothing) {
  begin(SMELT_RAIL_HALVES);
  const auto message = [this](uint64_t seed) {
    const std::vector<char> data = pattern(400'000, seed);
    std::vector<char> got(data.size());
    smelt_rail_request send, receive;
    ASSERT_EQ(smelt_rail_receive(b_.rails, &receive, 0, got.data(), got.size()), 0);
    ASSERT_EQ(smelt_rail_send(a_.rails, &send, 0, data.data(), data.size()), 0);
    EXPECT_EQ(result(a_, &send, 20), 1);
    EXPECT_EQ(result(b_, &receive, 20), 1);
    EXPECT_TRUE(got == data);
  };
  wires[0].holds = true;
  message(1);  // over the other, in the end
  ASSERT_GE(a_.state(0).deaths, 1u);
  const std::deque<Wire::Letter> late = std::exchange(wires[0].held, {});
  wires[0].holds = false;
  ASSERT_TRUE(until([&] { return a_.state(0).up == 1; }));
  for (const Wire::Letter& letter : late)
    if (const auto& header = *reinterpret_cast<const rail_ofi::PacketHeader*>(letter.packet.data());
        header.kind == static_cast<uint16_t>(rail_ofi::PacketKind::kData)) {
      const Lock lock(wires.mutex);
      wires.deliver(letter.to, letter.packet);
    }
  message(2);
}

// Rails fail, are silent for a while, and then give what they held: all of it, some, or in any order. Messages come
// whole, once, and in order.
class AnyTrouble : public Pretended, public testing::WithParamInterface<uint32_t> {};

TEST_P(AnyTrouble, MessagesComeOnceAndInOrder) {
  std::mt19937 random(GetParam());
  begin(SMELT_RAIL_EQUAL_FINISH, 3, 30);  // so slow that a link's window is shorter than a message
  constexpr size_t kCount = 120, kAhead = 12;
  Traffic ways[2];
  for (Traffic& way : ways)
    for (size_t i = 0; i < kCount; ++i) {
      const size_t bytes = random() % 3 == 0 ? random() % 2'000'000 : random() % 20'000;
      way.add(bytes, random());
    }
  const auto trouble = [&] {
    Wire& wire = wires[random() % wires.all.size()];
    if (wire.holds) {
      wire.holds = false;
      if (random() % 2 == 0) std::shuffle(wire.held.begin(), wire.held.end(), random);
      const bool loses = random() % 2 == 0;
      const Lock lock(wires.mutex);
      for (Wire::Letter& letter : wire.held)
        if (!loses || random() % 3 > 0) wires.deliver(letter.to, std::move(letter.packet));
      wire.held.clear();
    } else if (random() % 3 == 0) {
      wire.holds = true;
    } else {
      wire.fails = 1 + random() % 4;
    }
  };
  double next = 0;
  const double end = seconds() + kLong;
  while (!(ways[0].complete() && ways[1].complete()) && seconds() < end) {
    if (seconds() > next) next = seconds() + 1e-3 * static_cast<double>(random() % 8), trouble();
    turn();  // who has all that it wants still has to tell the other, again where that was lost
    ASSERT_NO_FATAL_FAILURE(ways[0].step(a_, b_, kAhead, random)) << "from a to b";
    ASSERT_NO_FATAL_FAILURE(ways[1].step(b_, a_, kAhead, random)) << "from b to a";
  }
  for (const Traffic& way : ways) EXPECT_EQ(way.there + way.done, 2 * kCount);
  uint64_t deaths = 0, again = 0;
  for (uint32_t r = 0; r < 3; ++r) deaths += a_.state(r).deaths + b_.state(r).deaths, again += a_.state(r).again;
  // There was trouble; how much of it comes before the end is a matter of the machine's speed.
  EXPECT_GT(deaths, 0u);
  EXPECT_GT(again, 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, AnyTrouble, testing::Range(1u, 4u));

}  // namespace
}  // namespace smelt::test
