// Messages over rails, on aliases of the loopback interface: both ends in one thread where nothing need die.
#include "rigs.h"

#include "rails/ofi/packet.h"
#include "rails/ofi/port.h"

#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <random>
#include <thread>

// libfabric (1.17) leaves two pieces of 376 bytes behind, now and then: allocated and kept in it alone.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libfabric.so\n"; }

namespace smelt::test {
namespace {

constexpr double kLong = 90;  // seconds: something is stuck, however busy the machine is

struct Two {
  Rails a, b;
  uint32_t b_of_a = 0, a_of_b = 0;

  void open(const NetworkProfile& profile, smelt_rail_options options = {}) {
    const std::string path = packed_file(profile);
    ASSERT_EQ(a.open(path, options), 0);
    ASSERT_EQ(b.open(path, options), 0);
    ASSERT_EQ(a.connect(b.address(), &b_of_a), 0);
    ASSERT_EQ(b.connect(a.address(), &a_of_b), 0);
  }
  ~Two() {  // at the same time: each waits for the other's word
    smelt_rails* first = a.rails;
    a.rails = nullptr;
    std::thread other([first] { smelt_rails_close(first); });
    smelt_rails_close(b.rails);
    b.rails = nullptr;
    other.join();
  }
  // Both take turns until both are complete; their results.
  std::pair<int, int> until(smelt_rail_request* of_a, smelt_rail_request* of_b, double seconds = kLong,
                            size_t* bytes = nullptr) {
    const double end = seconds_now() + seconds;
    int first = 0, second = 0;
    while ((first == 0 || second == 0) && seconds_now() < end) {
      first = smelt_rail_test(a.rails, of_a, nullptr);
      second = smelt_rail_test(b.rails, of_b, bytes);
    }
    return {first, second};
  }
};

using Pair = std::pair<int, int>;

TEST(Rails, MessagesOfAllLengthsArriveAsTheyWere) {
  Two two;
  two.open(loopback_rails(2));
  uint64_t seed = 1;
  constexpr size_t kFull = rail_ofi::kPayload;  // of a packet
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{7}, size_t{8}, size_t{100}, kFull - 1, kFull, kFull + 1,
                       size_t{16} << 10, 2 * kFull, 2 * kFull + 1, size_t{100'001}, size_t{1} << 20, size_t{5} << 20}) {
    const std::vector<char> data = pattern(bytes, ++seed);
    std::vector<char> got(bytes + 1, 'x');
    smelt_rail_request send, receive;
    size_t length = 77;
    ASSERT_EQ(smelt_rail_receive(two.b.rails, &receive, two.a_of_b, got.data(), bytes), 0);
    ASSERT_EQ(smelt_rail_send(two.a.rails, &send, two.b_of_a, data.data(), bytes), 0);
    ASSERT_EQ(two.until(&send, &receive, kLong, &length), Pair(1, 1)) << bytes;
    EXPECT_EQ(length, bytes);
    EXPECT_TRUE(std::equal(data.begin(), data.end(), got.begin())) << bytes;
    EXPECT_EQ(got[bytes], 'x');
  }
  // Both rails took part in the long ones, the sampled bandwidths being 2 to 1.
  const smelt_rail_state fast = two.a.state(0), slow = two.a.state(1);
  EXPECT_GT(slow.bytes, 0u);
  EXPECT_GT(fast.bytes, 0u);
  EXPECT_EQ(fast.deaths + slow.deaths, 0u);
  EXPECT_EQ(fast.up + slow.up, 2u);
}

// Drives both ends without waiting for anything in particular.
void turn(Two& two, double seconds) {
  smelt_rail_request idle{};
  for (const double end = seconds_now() + seconds; seconds_now() < end;)
    smelt_rail_test(two.a.rails, &idle, nullptr), smelt_rail_test(two.b.rails, &idle, nullptr);
}

void until_up(Two& two, uint32_t rails) {
  const auto up = [&] {
    uint32_t count = 0;
    for (uint32_t r = 0; r < rails; ++r) count += two.a.state(r).up + two.b.state(r).up;
    return count;
  };
  for (const double end = seconds_now() + kLong; up() < 2 * rails && seconds_now() < end;) turn(two, 0.001);
  ASSERT_EQ(up(), 2 * rails);
}

TEST(Rails, WhatNobodyAskedForYetWaits) {
  Two two;
  two.open(loopback_rails(3));
  constexpr size_t kCount = 40;
  std::vector<std::vector<char>> data, got;
  std::vector<smelt_rail_request> sends(kCount), receives(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    data.push_back(pattern(i % 5 == 0 ? 300'000 + i : i * 400, i));
    got.emplace_back(data[i].size());
    ASSERT_EQ(smelt_rail_send(two.a.rails, &sends[i], two.b_of_a, data[i].data(), data[i].size()), 0);
  }
  turn(two, 0.2);
  for (size_t i = 0; i < kCount; ++i)
    ASSERT_EQ(smelt_rail_receive(two.b.rails, &receives[i], two.a_of_b, got[i].data(), got[i].size()), 0);
  for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(two.until(&sends[i], &receives[i]), Pair(1, 1)) << i;
  for (size_t i = 0; i < kCount; ++i) EXPECT_EQ(got[i], data[i]) << i;
}

constexpr size_t kCount = 1500, kBytes = 9000;

void hold_a_sender_back(Two& two) {
  const std::vector<char> data = pattern(kBytes, 3);
  std::vector<char> got(kBytes);
  std::vector<smelt_rail_request> sends(kCount);
  for (smelt_rail_request& send : sends)
    ASSERT_EQ(smelt_rail_send(two.a.rails, &send, two.b_of_a, data.data(), kBytes), 0);
  const auto count = [&] {
    size_t complete = 0;
    for (smelt_rail_request& send : sends) complete += smelt_rail_test(two.a.rails, &send, nullptr) == 1;
    return complete;
  };
  for (const double end = seconds_now() + kLong; count() < 256 && seconds_now() < end;) turn(two, 0.001);
  turn(two, 0.1);
  const size_t complete = count();
  EXPECT_LE(complete, 2 * 256u + 2);
  EXPECT_GE(complete, 256u);
  smelt_rail_request receive;
  for (size_t i = 0; i < kCount; ++i) {
    got.assign(kBytes, 0);
    ASSERT_EQ(smelt_rail_receive(two.b.rails, &receive, two.a_of_b, got.data(), kBytes), 0);
    ASSERT_EQ(two.until(&sends[i], &receive), Pair(1, 1)) << i;
    ASSERT_EQ(got, data) << i;
  }
}

// More than the peer may have unread: the rest waits with the sender, and comes when there is room. Both times.
TEST(Rails, ASenderThatIsNotReadIsHeldBack) {
  Two two;
  two.open(loopback_rails(2));
  for (int i = 0; i < 2; ++i) ASSERT_NO_FATAL_FAILURE(hold_a_sender_back(two));
}

TEST(Rails, ManyShortMessagesShareAPacket) {
  Two two;
  two.open(loopback_rails(1));
  constexpr size_t kCount = 2000;
  std::vector<smelt_rail_request> sends(kCount), receives(kCount);
  std::vector<uint64_t> data(kCount), got(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    data[i] = i * i;
    ASSERT_EQ(smelt_rail_receive(two.b.rails, &receives[i], two.a_of_b, &got[i], sizeof got[i]), 0);
  }
  until_up(two, 1);
  for (size_t i = 0; i < kCount; ++i)
    ASSERT_EQ(smelt_rail_send(two.a.rails, &sends[i], two.b_of_a, &data[i], sizeof data[i]), 0);
  for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(two.until(&sends[i], &receives[i]), Pair(1, 1)) << i;
  EXPECT_EQ(got, data);
  const smelt_rail_state state = two.a.state(0);
  EXPECT_GT(state.messages_joined, kCount / 2);
  EXPECT_EQ(state.messages_joined + state.packets, kCount);
}

TEST(Rails, BothDirectionsAtOnceAtRandom) {
  Two two;
  two.open(loopback_rails(3, 3));
  std::mt19937 random(7);
  constexpr size_t kCount = 150, kAhead = 20;
  Traffic ways[2];
  for (Traffic& way : ways)
    for (size_t i = 0; i < kCount; ++i) {
      const size_t bytes = random() % 4 == 0 ? random() % 2'000'000 : random() % 40'000;
      way.add(bytes, random());
    }
  for (const double end = seconds_now() + kLong; !(ways[0].complete() && ways[1].complete()) && seconds_now() < end;) {
    ASSERT_NO_FATAL_FAILURE(ways[0].step(two.a, two.b, kAhead, random)) << "from a to b";
    ASSERT_NO_FATAL_FAILURE(ways[1].step(two.b, two.a, kAhead, random)) << "from b to a";
  }
  for (const Traffic& way : ways) EXPECT_EQ(way.there + way.done, 2 * kCount);
}

TEST(Rails, ALongerMessageThanItsBufferIsCut) {
  Two two;
  two.open(loopback_rails(2));
  const std::vector<char> data = pattern(200'000, 9);
  std::vector<char> got(100'001, 'x');
  smelt_rail_request send, receive;
  size_t length = 0;
  for (const bool early : {true, false}) {
    if (early) {
      ASSERT_EQ(smelt_rail_receive(two.b.rails, &receive, 0, got.data(), 100'000), 0);
    }
    ASSERT_EQ(smelt_rail_send(two.a.rails, &send, 0, data.data(), data.size()), 0);
    if (!early) {
      turn(two, 0.05);
      ASSERT_EQ(smelt_rail_receive(two.b.rails, &receive, 0, got.data(), 100'000), 0);
    }
    ASSERT_EQ(two.until(&send, &receive, kLong, &length), Pair(1, -EMSGSIZE));
    EXPECT_EQ(length, data.size());
    EXPECT_EQ(std::memcmp(got.data(), data.data(), 100'000), 0);
    EXPECT_EQ(got[100'000], 'x');
  }
}

TEST(Rails, TheOthersSplitAsTheirNamesSay) {
  for (const uint32_t split : {SMELT_RAIL_BANDWIDTH, SMELT_RAIL_HALVES, SMELT_RAIL_SINGLE}) {
    Two two;
    smelt_rail_options options{};
    options.split = split, options.single = 1;
    two.open(loopback_rails(2, 3), options);
    until_up(two, 2);
    const std::vector<char> data = pattern(4'000'000, 1);
    std::vector<char> got(data.size());
    smelt_rail_request send, receive;
    ASSERT_EQ(smelt_rail_receive(two.b.rails, &receive, 0, got.data(), got.size()), 0);
    ASSERT_EQ(smelt_rail_send(two.a.rails, &send, 0, data.data(), data.size()), 0);
    ASSERT_EQ(two.until(&send, &receive), Pair(1, 1));
    EXPECT_EQ(got, data);
    const uint64_t wanted[] = {0, 3'000'000, 2'000'000, 0};
    EXPECT_NEAR(static_cast<double>(two.a.state(0).bytes), static_cast<double>(wanted[split]), 2) << split;
  }
}

TEST(Rails, PredictedIsWhatTheSamplesSay) {
  Two two;
  two.open(loopback_rails(2, 2));
  EXPECT_EQ(smelt_rail_predict(two.a.rails, 0, 1000), -EAGAIN) << "no rail is up before the peer answered";
  until_up(two, 2);
  EXPECT_NEAR(smelt_rail_predict(two.a.rails, 0, 1), 20, 0.1);
  // TCP begins with less than the rails hold: two round trips of 40 us at most.
  EXPECT_NEAR(smelt_rail_predict(two.a.rails, 0, 15'000'000), 20 + 15e6 / 1500 + 40, 41);
}

// --- peers that are not as they should be

TEST(RailPeers, ThatNeverAnswersIsGivenUp) {
  smelt_rail_options options{};
  options.patience_ms = 300;
  const std::string path = packed_file(loopback_rails(2));
  Rails a;
  ASSERT_EQ(a.open(path, options), 0);
  std::string address;
  {
    Rails gone;
    ASSERT_EQ(gone.open(path), 0);
    address = gone.address();
  }
  uint32_t peer;
  ASSERT_EQ(a.connect(address, &peer), 0);
  EXPECT_EQ(a.connect(address, &peer), -ENOTUNIQ);
  char data[100] = "", *big = new char[1 << 20]();
  smelt_rail_request small, large, receive;
  ASSERT_EQ(smelt_rail_send(a.rails, &small, peer, data, sizeof data), 0);
  ASSERT_EQ(smelt_rail_send(a.rails, &large, peer, big, 1 << 20), 0);
  ASSERT_EQ(smelt_rail_receive(a.rails, &receive, peer, data, sizeof data), 0);
  const double begin = seconds_now();
  while (smelt_rail_test(a.rails, &large, nullptr) == 0 && seconds_now() < begin + kLong) {
  }
  EXPECT_GE(seconds_now() - begin, 0.25);
  for (smelt_rail_request* request : {&small, &large, &receive})
    EXPECT_EQ(smelt_rail_test(a.rails, request, nullptr), -ETIMEDOUT);
  EXPECT_EQ(smelt_rail_send(a.rails, &small, peer, data, 1), -ETIMEDOUT);
  delete[] big;
}

TEST(RailPeers, OfAnotherVersionAreRefused) {
  const std::string path = packed_file(loopback_rails(1));
  Rails a, b;
  ASSERT_EQ(a.open(path), 0);
  ASSERT_EQ(b.open(path), 0);
  uint32_t peer;
  rail_ofi::RailsAddress address{};
  const std::string good = b.address();
  std::memcpy(&address, good.data(), sizeof address);
  const auto connect = [&](size_t bytes = sizeof address) {
    return smelt_rails_connect(a.rails, &address, bytes, &peer);
  };
  ++address.protocol;
  EXPECT_EQ(connect(), -EPROTO);
  EXPECT_EQ(connect(8), -EPROTO) << "known by its first words, however long it is";
  --address.protocol, ++address.magic;
  EXPECT_EQ(connect(), -EINVAL);
  --address.magic;
  EXPECT_EQ(connect(sizeof address - 1), -EINVAL);
  EXPECT_EQ(connect(0), -EINVAL);
  address.rails = 9;
  EXPECT_EQ(connect(), -EINVAL);
  address.rails = 1, address.rail[0].name_bytes = 65;
  EXPECT_EQ(connect(), -EINVAL);
  address.rail[0].name_bytes = 3;
  EXPECT_EQ(connect(), -EHOSTUNREACH);
  EXPECT_EQ(smelt_rails_connect(a.rails, a.address().data(), a.address().size(), &peer), -EINVAL) << "itself";
  EXPECT_EQ(a.connect(good, &peer), 0);
}

TEST(RailPeers, ThatCloseAreGoneAtOnce) {
  Two two;
  two.open(loopback_rails(2));
  char data[4] = "abc", got[4] = "";
  smelt_rail_request send, receive, another;
  ASSERT_EQ(smelt_rail_receive(two.b.rails, &receive, 0, got, sizeof got), 0);
  ASSERT_EQ(smelt_rail_send(two.a.rails, &send, 0, data, sizeof data), 0);
  ASSERT_EQ(two.until(&send, &receive), Pair(1, 1));
  ASSERT_EQ(smelt_rail_send(two.a.rails, &send, 0, data, sizeof data), 0);  // its last word
  std::thread closing([rails = two.a.rails] { smelt_rails_close(rails); });
  two.a.rails = nullptr;
  ASSERT_EQ(smelt_rail_receive(two.b.rails, &receive, 0, got, sizeof got), 0);
  ASSERT_EQ(smelt_rail_receive(two.b.rails, &another, 0, got, sizeof got), 0);
  const double end = seconds_now() + kLong;
  while (smelt_rail_test(two.b.rails, &another, nullptr) == 0 && seconds_now() < end) {
  }
  closing.join();
  EXPECT_EQ(smelt_rail_test(two.b.rails, &receive, nullptr), 1) << "it came before the end";
  EXPECT_EQ(smelt_rail_test(two.b.rails, &another, nullptr), -EPIPE);
  EXPECT_EQ(smelt_rail_receive(two.b.rails, &another, 0, got, sizeof got), -EPIPE);
}

// A process of its own with rails to us: it takes what comes, and says nothing of its own accord.
class OtherProcess {
 public:
  // False: it could not be. `patience_ms` is ours, and on a busy machine the other may begin later than that: it is
  // given up then, as it should be, and the next one is tried.
  bool begin(Rails& us, uint32_t patience_ms) {
    for (const double end = seconds_now() + kLong; seconds_now() < end; us.close(), kill())
      if (begin_once(us, patience_ms)) return true;
    return false;
  }
  ~OtherProcess() { kill(); }
  void signal(int number) const { ::kill(pid_, number); }
  void kill() {
    if (pid_ > 0) ::kill(pid_, SIGKILL), ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  static constexpr size_t kBytes = 64 << 20;

 private:
  bool begin_once(Rails& us, uint32_t patience_ms) {
    const std::string path = packed_file(loopback_rails(2));
    int to_child[2], to_parent[2];
    if (::pipe(to_child) != 0 || ::pipe(to_parent) != 0) return false;
    pid_ = ::fork();
    if (pid_ == 0) {
      Rails there;
      char address[SMELT_RAIL_ADDRESS];
      std::vector<char> got(kBytes);
      smelt_rail_request receive;
      uint32_t peer = 0;
      if (there.open(path) != 0 || ::write(to_parent[1], there.address().data(), there.address().size()) < 0)
        ::_exit(1);
      const ssize_t bytes = ::read(to_child[0], address, sizeof address);
      if (bytes <= 0 || there.connect({address, static_cast<size_t>(bytes)}, &peer) != 0) ::_exit(1);
      for (;;) {
        if (smelt_rail_receive(there.rails, &receive, peer, got.data(), got.size()) != 0) ::_exit(1);
        while (smelt_rail_test(there.rails, &receive, nullptr) == 0) ::sched_yield();
        smelt_rail_request answer;
        if (smelt_rail_send(there.rails, &answer, peer, "so", 2) != 0) ::_exit(1);
        while (smelt_rail_test(there.rails, &answer, nullptr) == 0) ::sched_yield();
      }
    }
    smelt_rail_options options{};
    options.patience_ms = patience_ms;
    char address[SMELT_RAIL_ADDRESS];
    uint32_t peer = 0;
    bool begun = us.open(path, options) == 0;
    const ssize_t bytes = begun ? ::read(to_parent[0], address, sizeof address) : 0;
    begun = bytes > 0 && ::write(to_child[1], us.address().data(), us.address().size()) > 0 &&
            us.connect({address, static_cast<size_t>(bytes)}, &peer) == 0;
    for (int fd : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) ::close(fd);
    smelt_rail_request idle{};
    constexpr double kPatiences = 5, kMs = 1e-3;  // by then it is up, or given up
    for (const double end = seconds_now() + kPatiences * kMs * patience_ms;
         begun && us.state(0).up + us.state(1).up < 2 && seconds_now() < end;)
      smelt_rail_test(us.rails, &idle, nullptr);
    return begun && us.state(0).up + us.state(1).up == 2;
  }
  pid_t pid_ = 0;
};

int result_of(const Rails& rails, smelt_rail_request* request, double seconds) {
  int result = 0;
  for (const double end = seconds_now() + seconds; result == 0 && seconds_now() < end; ::sched_yield())
    result = smelt_rail_test(rails.rails, request, nullptr);
  return result;
}

TEST(RailPeers, ThatAreKilledWithHalfAMessageAreGivenUp) {
  OtherProcess other;
  Rails a;
  ASSERT_TRUE(other.begin(a, 500));
  const std::vector<char> data(OtherProcess::kBytes);
  smelt_rail_request send;
  ASSERT_EQ(smelt_rail_send(a.rails, &send, 0, data.data(), data.size()), 0);
  const double end = seconds_now() + kLong;
  int result = 0;
  while (result == 0 && a.state(0).bytes + a.state(1).bytes < 8 << 20 && seconds_now() < end)
    result = smelt_rail_test(a.rails, &send, nullptr);
  ASSERT_EQ(result, 0);
  other.kill();
  EXPECT_EQ(result_of(a, &send, kLong), -EPIPE);
  EXPECT_EQ(a.state(0).up + a.state(1).up, 0u);
  EXPECT_EQ(smelt_rail_send(a.rails, &send, 0, data.data(), 1), -EPIPE);
}

// One that computes is as silent as a dead one; its kernel says that it is there.
TEST(RailPeers, ThatComputeForLongerThanThePatienceAreWaitedFor) {
  OtherProcess other;
  Rails a;
  ASSERT_TRUE(other.begin(a, 300));
  other.signal(SIGSTOP);
  smelt_rail_request receive, send;
  char got[3] = "";
  const std::vector<char> data = pattern(300'000, 2);
  ASSERT_EQ(smelt_rail_receive(a.rails, &receive, 0, got, 2), 0);
  ASSERT_EQ(smelt_rail_send(a.rails, &send, 0, data.data(), data.size()), 0);
  EXPECT_EQ(result_of(a, &receive, 1.8), 0);  // after 1.2 s its kernel is asked
  EXPECT_EQ(result_of(a, &send, 0), 0);
  other.signal(SIGCONT);
  EXPECT_EQ(result_of(a, &receive, kLong), 1);
  EXPECT_EQ(result_of(a, &send, kLong), 1);
  EXPECT_STREQ(got, "so");
  // And it is silent once more, with nothing left of the first time: killed while an answer is awaited.
  ASSERT_EQ(smelt_rail_receive(a.rails, &receive, 0, got, 2), 0);
  other.kill();
  EXPECT_EQ(result_of(a, &receive, kLong), -EPIPE);
}

// A peer that speaks the language and lies: nothing of it is believed further than it can be checked, and others are
// served as before.
TEST(RailPeers, ThatLieAreGivenUp) {
  constexpr int kAlone = 10;  // nothing else is wrong with these
  std::mt19937 random(11);
  int given_up = 0;
  Two honest;
  honest.open(loopback_rails(1));
  for (int lie = 0; lie < 40; ++lie) {
    rail_ofi::Port liar;
    ASSERT_EQ(liar.open("127.0.1.1", provider_of_test().c_str()), 0);
    rail_ofi::RailsAddress mine{}, theirs{};
    std::memcpy(&theirs, honest.b.address().data(), sizeof theirs);
    mine = theirs;
    mine.instance = 4711 + static_cast<uint64_t>(lie);
    size_t bytes = sizeof mine.rail[0].name;
    ASSERT_EQ(liar.name(mine.rail[0].name, &bytes), 0);
    mine.rail[0].name_bytes = static_cast<uint32_t>(bytes);
    uint32_t peer = 0;
    ASSERT_EQ(smelt_rails_connect(honest.b.rails, &mine, sizeof mine, &peer), 0);
    uint64_t to = 0;
    ASSERT_EQ(liar.insert(theirs.rail[0].name, theirs.rail[0].name_bytes, &to), 0);
    char got[4000], packet[rail_ofi::kPacketBytes] = "";
    smelt_rail_request receive, idle{};
    ASSERT_EQ(smelt_rail_receive(honest.b.rails, &receive, peer, got, sizeof got), 0);

    using rail_ofi::PacketHeader, rail_ofi::Fragment, rail_ofi::PacketKind;
    auto& header = *reinterpret_cast<PacketHeader*>(packet);
    auto& fragment = *reinterpret_cast<Fragment*>(packet + sizeof(PacketHeader));
    const auto post = [&](PacketKind kind, uint64_t number, uint32_t bytes_of_it) {
      header.magic = rail_ofi::kPacketMagic, header.kind = static_cast<uint16_t>(kind);
      header.from = mine.instance, header.to = theirs.instance, header.bytes = bytes_of_it, header.epoch = 1;
      header.number = number, header.heard_epoch = 1;
      const double end = seconds_now() + kLong;
      int error;
      while ((error = liar.send(packet, bytes_of_it, to, nullptr)) == -EAGAIN && seconds_now() < end) {
        rail_ofi::Event event;
        liar.poll(&event, 1);
        smelt_rail_test(honest.b.rails, &idle, nullptr);
      }
      ASSERT_EQ(error, 0);
      for (int i = 0; i < 200; ++i) {
        rail_ofi::Event event;
        liar.poll(&event, 1);
        smelt_rail_test(honest.b.rails, &idle, nullptr);
      }
    };
    post(PacketKind::kHello, 0, sizeof(PacketHeader));
    header.fragments = 1;
    const uint32_t length = sizeof(PacketHeader) + sizeof(Fragment) + 1000;
    fragment = {0, 5000, 0, 1000, 0};
    switch (lie) {
      case 0: fragment.bytes = 1'000'000; break;            // more than the packet has
      case 1: fragment.offset = 4500; break;                // beyond the message
      case 2: fragment.offset = ~uint64_t{0} - 500; break;  // and around
      case 3: fragment.message = 5000; break;               // far ahead
      case 4: header.fragments = 60'000; break;             // than there are
      case 5:
        header.messages_read = ~uint64_t{0}, header.arrived = ~uint64_t{0};
        fragment.bytes = 1001;
        break;
      case 6: fragment.length = 0; break;
      case 7: fragment.bytes = 0; break;
      case 8:
      case 9: break;  // below
      default:        // anything at all
        for (char& c : packet)
          if (random() % 8 == 0) c = static_cast<char>(random());
        header.fragments = static_cast<uint16_t>(1 + random() % 4);
        if (random() % 2 == 0)
          fragment = {random() % 3, 2000, random() % 3000, static_cast<uint32_t>(random() % 1500), 0};
        if (random() % 2 == 0) header.arrived = random() % 5, header.unread = static_cast<uint32_t>(random());
    }
    post(PacketKind::kData, 0, length);
    uint64_t number = 1;
    header.fragments = 1;
    if (lie == 8 || lie >= kAlone) {
      fragment = {0, 6000, 1000, 1000, 0};  // the message has become longer
      post(PacketKind::kData, number++, length);
    }
    if (lie == 9 || lie >= kAlone) {
      fragment = {0, 5000, 500, 1000, 0};  // half of it was there
      post(PacketKind::kData, number++, length);
    }
    int result = smelt_rail_test(honest.b.rails, &receive, nullptr);
    for (const double end = seconds_now() + kLong; lie < kAlone && result == 0 && seconds_now() < end;) {
      rail_ofi::Event event;
      liar.poll(&event, 1);
      result = smelt_rail_test(honest.b.rails, &receive, nullptr);
    }
    EXPECT_TRUE(result == 0 || result == -EPROTO) << "lie " << lie << ": " << result;
    if (lie < kAlone) {
      ASSERT_EQ(result, -EPROTO) << "lie " << lie;
    }
    given_up += result == -EPROTO;

    char word[6] = "hello", heard[6] = "";
    smelt_rail_request send, listen;
    ASSERT_EQ(smelt_rail_receive(honest.b.rails, &listen, honest.a_of_b, heard, sizeof heard), 0);
    ASSERT_EQ(smelt_rail_send(honest.a.rails, &send, honest.b_of_a, word, sizeof word), 0);
    ASSERT_EQ(honest.until(&send, &listen), Pair(1, 1)) << "lie " << lie;
    EXPECT_STREQ(heard, "hello");
    liar.close();
  }
  EXPECT_GT(given_up, 12);
}

// --- profiles that are not as they should be

TEST(RailProfile, IsCheckedAsAnEnemysWork) {
  const NetworkProfile profile = loopback_rails(2);
  const PackedNetwork good = packed_network(profile);
  const std::string path = scratch_file("hostile.network");
  const auto open_bytes = [&](const void* bytes, size_t count) {
    ::unlink(path.c_str());
    std::ofstream(path, std::ios::binary).write(static_cast<const char*>(bytes), static_cast<std::streamsize>(count));
    Rails rails;
    return rails.open(path);
  };
  const auto with = [&](const std::function<void(PackedNetwork*)>& change, bool sealed = true) {
    PackedNetwork bad;
    std::memcpy(static_cast<void*>(&bad), &good, sizeof good);
    change(&bad);
    if (sealed) seal_network(&bad);
    return open_bytes(&bad, sizeof bad);
  };
  EXPECT_EQ(with([](PackedNetwork*) {}), 0);
  EXPECT_EQ(with([](PackedNetwork* bad) { bad->rail[1].rail.method[2].us[3] = 5; }, false), -EBADMSG) << "damaged";
  EXPECT_EQ(with([](PackedNetwork* bad) { bad->version = kPackedNetworkVersion + 1; }, false), -EBADMSG);
  EXPECT_EQ(with([](PackedNetwork* bad) { bad->byte_order = 0x04030201; }, false), -EBADMSG);
  EXPECT_EQ(with([](PackedNetwork* bad) { bad->magic[0] = 's'; }, false), -EBADMSG);
  EXPECT_EQ(with([](PackedNetwork* bad) { bad->rails = 0; }), -EBADMSG);
  EXPECT_EQ(with([](PackedNetwork* bad) { bad->rails = 9; }), -EBADMSG);
  EXPECT_EQ(with([](PackedNetwork* bad) { bad->copy.count = 26; }), -EBADMSG);
  for (const double us : {0.0, -1.0, 2e9, double(INFINITY), double(NAN)})
    EXPECT_EQ(with([&](PackedNetwork* bad) { bad->copy.us[7] = us; }), -EBADMSG) << us;
  EXPECT_EQ(with([](PackedNetwork* bad) { bad->rail[0].rail.method[0].us[9] = 1e-3; }), -EBADMSG) << "decreases";
  EXPECT_EQ(with([](PackedNetwork* bad) { bad->rail[0].rail.method[0].bytes[9] = 4; }), -EBADMSG);
  EXPECT_EQ(with([](PackedNetwork* bad) { bad->rail[0].rail.method[0].bytes[24] = uint64_t{1} << 40; }), -EBADMSG);
  EXPECT_EQ(with([](PackedNetwork* bad) { bad->rail[0].rail.method[0].spread[0] = -1; }), -EBADMSG);
  EXPECT_EQ(with([](PackedNetwork* bad) { bad->rail[1].interface[0] = 0; }), -EBADMSG);
  EXPECT_EQ(with([](PackedNetwork* bad) { std::memset(bad->rail[1].local, 'x', sizeof bad->rail[1].local); }),
            -EBADMSG);
  EXPECT_EQ(with([](PackedNetwork* bad) { bad->rail[1].provider[1] = '\n'; }), -EBADMSG);
  for (size_t count : {size_t{0}, size_t{7}, size_t{40}, sizeof good / 2, sizeof good - 1})
    EXPECT_EQ(open_bytes(&good, count), -EBADMSG) << count << " bytes: half-written";
  std::vector<char> longer(sizeof good + 1);
  std::memcpy(longer.data(), &good, sizeof good);
  EXPECT_EQ(open_bytes(longer.data(), longer.size()), -EBADMSG);

  ASSERT_EQ(with([](PackedNetwork*) {}), 0);
  ::chmod(path.c_str(), 0666);
  EXPECT_EQ(Rails().open(path), -EBADMSG) << "others may write it";
  ::chmod(path.c_str(), 0644);
  const std::string link = scratch_file("link.network");
  ::unlink(link.c_str());
  ASSERT_EQ(::symlink(path.c_str(), link.c_str()), 0);
  EXPECT_EQ(Rails().open(link), -EBADMSG);
  EXPECT_EQ(Rails().open(testing::TempDir()), -EBADMSG);
  EXPECT_EQ(Rails().open("/no/such/x.network"), -ENOENT);
  // Fine, but not of this machine: no such interface, or an address that is none.
  EXPECT_EQ(with([](PackedNetwork* bad) {
              for (PackedRail& one : bad->rail) std::strcpy(one.interface, "nosuch0");
            }),
            -ENODEV);
  EXPECT_EQ(with([](PackedNetwork* bad) {
              for (PackedRail& one : bad->rail) std::strcpy(one.local, "one.two");
            }),
            -ENODEV);
  ::unlink(path.c_str());
}

TEST(RailArguments, AreChecked) {
  smelt_rail_request request{};
  smelt_rails* none = nullptr;
  uint32_t peer;
  smelt_rail_options options{};
  const std::string path = packed_file(loopback_rails(2));
  EXPECT_EQ(smelt_rails_open(path.c_str(), nullptr, nullptr), -EINVAL);
  options.split = 4;
  EXPECT_EQ(smelt_rails_open(path.c_str(), &options, &none), -EINVAL);
  options.split = SMELT_RAIL_SINGLE, options.single = 2;
  EXPECT_EQ(smelt_rails_open(path.c_str(), &options, &none), -EINVAL);
  options = {}, options.reserved[4] = 1;
  EXPECT_EQ(smelt_rails_open(path.c_str(), &options, &none), -EINVAL);
  Rails rails;
  ASSERT_EQ(rails.open(path), 0);
  EXPECT_EQ(smelt_rail_send(rails.rails, &request, 0, "x", 1), -EINVAL) << "there is no peer";
  EXPECT_EQ(smelt_rail_receive(rails.rails, &request, 0, nullptr, 0), -EINVAL);
  EXPECT_EQ(smelt_rail_test(rails.rails, &request, nullptr), -EINVAL) << "never begun";
  EXPECT_EQ(smelt_rail_look(&request, nullptr), -EINVAL) << "never begun";
  EXPECT_EQ(smelt_rail_look(nullptr, nullptr), -EINVAL);
  EXPECT_EQ(smelt_rails_connect(rails.rails, nullptr, 0, &peer), -EINVAL);
  EXPECT_EQ(smelt_rail_predict(rails.rails, 0, 1), -EINVAL);
  smelt_rails_close(nullptr);
}

}  // namespace
}  // namespace smelt::test
