// Rails between two nodes: two network namespaces, pairs of interfaces between them, tbf that limits their rates, and a
// relay that delays. Interfaces go down in the middle of messages and come back. How long messages take and which way
// they go, where that follows from how long others took, is for a quiet machine: TwoNodesTimed.
#include "rigs.h"

#include "rails/bench/nodes.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <new>

namespace smelt::test {
namespace {

// What the sending node tells the test while it runs.
struct Shared {
  std::atomic<uint32_t> sent, arrived, wrong;
  std::atomic<int> sender, receiver;  // 0: at work, 1: done, negative: failed
  std::atomic<uint32_t> stop;
  smelt_rail_state state[3];
  double seconds[1000];  // of each message, until its answer
};

class TwoNodes : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why = nodes_.make();
    if (!why.empty()) GTEST_SKIP() << why;
    shared_ = new (::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared{};
  }
  void TearDown() override {
    for (const pid_t pid : children_) ::kill(pid, SIGKILL), ::waitpid(pid, nullptr, 0);
    if (shared_) ::munmap(shared_, sizeof *shared_);
  }

  void add_rail(uint32_t mbits, uint32_t delay_us = 0) {
    // As most machines have it. BBR spreads what it sends over a round trip.
    const std::string why = nodes_.add_rail(mbits, delay_us, SMELT_TEST_RELAY, "cubic");
    if (!why.empty()) GTEST_SKIP() << why;
    rates_.push_back(mbits), delays_.push_back(delay_us);
  }
  void set(uint32_t i, int node, const char* state) { ASSERT_TRUE(nodes_.set(i, node, state)); }

  std::string profile_for(int node) const {
    std::vector<NetworkRail> all;
    for (uint32_t i = 0; i < nodes_.rails(); ++i)
      all.push_back(rail(Nodes::interface(i), Nodes::address(i, node), 100 + delays_[i],
                         rates_[i] / 8.0 * 0.957));  // headers take the rest
    return packed_file(profile_of(all), "node" + std::to_string(node) + ".network");
  }

  // Both nodes begin: node 1 sends messages of so many bytes until told to stop, `ahead` before the answer to the
  // first; node 2 looks at each and answers.
  void begin(size_t bytes, uint32_t ahead = 1, uint32_t patience_ms = 20'000) {
    int addresses[2][2];
    ASSERT_EQ(::pipe(addresses[0]), 0);
    ASSERT_EQ(::pipe(addresses[1]), 0);
    for (const int node : {1, 2}) {
      const std::string profile = profile_for(node);
      const pid_t pid = ::fork();
      if (pid == 0) {
        nodes_.enter(node);
        const int error = run(node, profile, addresses[2 - node][0], addresses[node - 1][1], bytes, ahead, patience_ms);
        (node == 1 ? shared_->sender : shared_->receiver) = error;
        ::_exit(0);
      }
      children_.push_back(pid);
    }
    for (const auto& pair : addresses) ::close(pair[0]), ::close(pair[1]);
  }

  int run(int node, const std::string& profile, int from, int to, size_t bytes, uint32_t ahead, uint32_t patience_ms) {
    smelt_rail_options options{};
    options.patience_ms = patience_ms;
    Rails rails;
    char text[SMELT_RAIL_ADDRESS];
    uint32_t peer = 0;
    if (const int error = rails.open(profile, options)) return error;
    const std::string mine = rails.address();
    if (::write(to, mine.data(), mine.size()) < 0) return -EIO;
    const ssize_t got = ::read(from, text, sizeof text);
    if (got <= 0) return -EIO;
    if (const int error = rails.connect({text, static_cast<size_t>(got)}, &peer)) return error;
    return node == 1 ? send_all(rails, peer, bytes, ahead) : answer_all(rails, peer, bytes);
  }

  int send_all(Rails& rails, uint32_t peer, size_t bytes, uint32_t ahead) {
    const std::vector<char> data = pattern(bytes, 5);
    std::vector<std::vector<char>> copies(ahead, data);
    std::vector<smelt_rail_request> sends(ahead);
    std::vector<double> begun(ahead);
    smelt_rail_request receive;
    uint64_t answer = 0, done = 0, sent = 0;
    for (;;) {
      for (; sent < done + ahead && !shared_->stop; ++sent) {
        const uint32_t i = static_cast<uint32_t>(sent % ahead);
        std::memcpy(copies[i].data(), &sent, sizeof sent);
        if (pause_us_ > 0) ::usleep(pause_us_);
        begun[i] = seconds_now();
        if (const int error = smelt_rail_send(rails.rails, &sends[i], peer, copies[i].data(), bytes)) return error;
        shared_->sent = static_cast<uint32_t>(sent + 1);
      }
      if (sent == done) break;
      if (const int error = smelt_rail_receive(rails.rails, &receive, peer, &answer, sizeof answer)) return error;
      int result;
      while ((result = smelt_rail_test(rails.rails, &receive, nullptr)) == 0) look(rails);
      if (result < 0) return result;
      if (answer != done) return -EBADMSG;
      while ((result = smelt_rail_test(rails.rails, &sends[done % ahead], nullptr)) == 0) look(rails);
      if (result < 0) return result;
      shared_->seconds[done % 1000] = seconds_now() - begun[done % ahead];
      shared_->arrived = static_cast<uint32_t>(++done);
    }
    look(rails);
    const uint64_t end = ~uint64_t{0};
    smelt_rail_send(rails.rails, &receive, peer, &end, sizeof end);
    while (smelt_rail_test(rails.rails, &receive, nullptr) == 0) ::sched_yield();
    return 1;
  }

  int answer_all(Rails& rails, uint32_t peer, size_t bytes) {
    std::vector<char> wanted = pattern(bytes, 5), got(bytes);
    for (uint64_t number = 0;; ++number) {
      smelt_rail_request receive, send;
      std::memset(got.data(), 0, bytes);
      size_t length = 0;
      int result = smelt_rail_receive(rails.rails, &receive, peer, got.data(), bytes);
      for (; result == 0; ::sched_yield()) result = smelt_rail_test(rails.rails, &receive, &length);
      if (result < 0) return result;
      if (length == sizeof number) return 1;
      std::memcpy(wanted.data(), &number, sizeof number);
      if (length != bytes || got != wanted) ++shared_->wrong;
      if (const int error = smelt_rail_send(rails.rails, &send, peer, &number, sizeof number)) return error;
      while (smelt_rail_test(rails.rails, &send, nullptr) == 0) ::sched_yield();
    }
  }

  void look(const Rails& rails) {
    ::sched_yield();
    for (uint32_t i = 0; i < nodes_.rails(); ++i) shared_->state[i] = rails.state(i);
  }

  // Waits until so many messages have arrived; false: they have not in so many seconds.
  bool wait_arrived(uint32_t count, double seconds = 60) {
    for (const double end = seconds_now() + seconds; seconds_now() < end; ::usleep(1000))
      if (shared_->arrived >= count || shared_->sender < 0 || shared_->receiver < 0) break;
    EXPECT_GE(shared_->sender, 0);
    EXPECT_GE(shared_->receiver, 0);
    return shared_->arrived >= count;
  }
  template <typename What>
  bool wait_until(What what, double seconds = 60) {
    for (const double end = seconds_now() + seconds; seconds_now() < end; ::usleep(1000))
      if (what()) return true;
    return false;
  }
  void end() {
    shared_->stop = 1;
    EXPECT_TRUE(wait_until([&] { return shared_->sender != 0 && shared_->receiver != 0; }));
    EXPECT_EQ(shared_->sender, 1);
    EXPECT_EQ(shared_->receiver, 1);
    EXPECT_EQ(shared_->wrong, 0u);
    EXPECT_EQ(shared_->sent, shared_->arrived);
  }
  double best_seconds(uint32_t from, uint32_t to) const {
    double best = 1e9;
    for (uint32_t i = from; i < to; ++i) best = std::min(best, shared_->seconds[i]);
    return best;
  }

  Nodes nodes_;
  std::vector<uint32_t> rates_, delays_;
  uint32_t pause_us_ = 0;  // before each message
  Shared* shared_ = nullptr;
  std::vector<pid_t> children_;
};

#define ADD_RAIL(...)    \
  add_rail(__VA_ARGS__); \
  if (IsSkipped()) return

TEST_F(TwoNodes, EachOfThreeRailsCarriesAPart) {
  ADD_RAIL(120);
  ADD_RAIL(60);
  ADD_RAIL(30);
  begin(2 << 20);
  ASSERT_TRUE(wait_arrived(4));
  end();
  for (uint32_t i = 0; i < 3; ++i) EXPECT_GT(shared_->state[i].bytes, 0u) << i;
}

TEST_F(TwoNodes, ARailThatGoesDownLosesNothingAndComesBack) {
  ADD_RAIL(200);
  ADD_RAIL(80);
  begin(1 << 20, 3);
  ASSERT_TRUE(wait_arrived(4));
  for (const int node : {1, 2})  // once the sender's end, once the receiver's
    for (const uint32_t victim : {1u, 0u}) {
      const uint32_t before = shared_->arrived, deaths = shared_->state[victim].deaths;
      set(victim, node, "down");
      EXPECT_TRUE(wait_until([&] { return shared_->state[victim].deaths > deaths; })) << node << victim;
      EXPECT_TRUE(wait_arrived(before + 5)) << "by the other, node " << node << ", rail " << victim;
      set(victim, node, "up");
      EXPECT_TRUE(wait_until([&] { return shared_->state[victim].up == 1; })) << node << victim;
      const uint64_t bytes = shared_->state[victim].bytes;
      EXPECT_TRUE(wait_until([&] { return shared_->state[victim].bytes > bytes + (1 << 20); })) << "used again";
    }
  end();
  EXPECT_GT(shared_->state[0].again + shared_->state[1].again, 0u);
}

TEST_F(TwoNodes, BothDownIsAPause) {
  ADD_RAIL(200);
  ADD_RAIL(80);
  begin(1 << 20, 2);
  ASSERT_TRUE(wait_arrived(2));
  set(0, 1, "down"), set(1, 2, "down");
  ::usleep(700'000);
  const uint32_t before = shared_->arrived;
  set(0, 1, "up"), set(1, 2, "up");
  EXPECT_TRUE(wait_arrived(before + 6));
  end();
}

// --- on a quiet machine

using TwoNodesTimed = TwoNodes;

TEST_F(TwoNodesTimed, TwoUnequalRailsCarryWhatBothCan) {
  ADD_RAIL(200);
  ADD_RAIL(80);
  begin(2 << 20);
  ASSERT_TRUE(wait_arrived(8));
  end();
  // 2 MiB over 280 Mbit/s take 63 ms with TCP's headers, over 200 alone 88, in halves 110.
  EXPECT_LT(best_seconds(1, 8), 0.080);
  EXPECT_GT(best_seconds(1, 8), 0.050) << "faster than the rails are";
}

TEST_F(TwoNodesTimed, ARailThatBecomesSlowGetsLess) {
  ADD_RAIL(160);
  ADD_RAIL(160);
  begin(2 << 20);
  ASSERT_TRUE(wait_arrived(5));
  EXPECT_LT(shared_->state[0].slow, 1.6);
  ASSERT_TRUE(nodes_.limit(0, 32));
  EXPECT_TRUE(wait_until([&] { return shared_->state[0].slow > 2.5; })) << shared_->state[0].slow;
  const uint32_t begin = shared_->arrived + 1;
  const uint64_t slow = shared_->state[0].bytes, fast = shared_->state[1].bytes;
  ASSERT_TRUE(wait_arrived(begin + 5));
  EXPECT_LT(3 * (shared_->state[0].bytes - slow), shared_->state[1].bytes - fast);
  // 2 MiB over 192 Mbit/s: 92 ms; in halves 550.
  EXPECT_LT(best_seconds(begin, begin + 5), 0.160);
  ASSERT_TRUE(nodes_.limit(0, 160));
  EXPECT_TRUE(wait_until([&] { return shared_->state[0].slow < 1.6; })) << shared_->state[0].slow;
  end();
}

// 256 KiB take 27 ms over the near rail alone, and 61 where the far one gets more than TCP lets out after a pause.
TEST_F(TwoNodesTimed, AFarRailGetsWhatTcpLetsOutAfterAPause) {
  ADD_RAIL(80);
  ADD_RAIL(160, 20'000);
  pause_us_ = 300'000;
  begin(256 << 10);
  ASSERT_TRUE(wait_arrived(10));
  end();
  double most = 0;
  for (uint32_t i = 4; i < 10; ++i) most = std::max(most, shared_->seconds[i]);
  EXPECT_LT(most, 0.045);
  EXPECT_GT(shared_->state[1].bytes, 0u);
}

// 1 MiB takes 106 ms over the near rail alone, 95 over the far one with the answer, 50 over both.
TEST_F(TwoNodesTimed, AFarRailCarriesItsShareInARow) {
  ADD_RAIL(80);
  ADD_RAIL(160, 20'000);
  begin(1 << 20);
  ASSERT_TRUE(wait_arrived(14));
  end();
  EXPECT_LT(best_seconds(8, 14), 0.070);
  EXPECT_LT(shared_->state[1].slow, 1.6);
}

// What was sampled holds no more when the rails are opened.
TEST_F(TwoNodesTimed, ARailThatIsSlowerThanItsSamplesGetsLessFromTheStart) {
  ADD_RAIL(160);
  ADD_RAIL(160);
  ASSERT_TRUE(nodes_.limit(0, 32));
  begin(2 << 20);
  EXPECT_TRUE(wait_until([&] { return shared_->state[0].slow > 2.5; }, 3)) << shared_->state[0].slow;
  EXPECT_LT(shared_->arrived, 8u) << "seen too late";
  const uint32_t begin = shared_->arrived + 1;
  ASSERT_TRUE(wait_arrived(begin + 5));
  end();
  // 2 MiB over 192 Mbit/s: 92 ms; in halves, as the samples would have it, 270.
  EXPECT_LT(best_seconds(begin, begin + 5), 0.160);
}

TEST_F(TwoNodesTimed, ARailThatIsFarAwayCarriesOnlyWhatIsWorthTheWay) {
  ADD_RAIL(80);
  ADD_RAIL(160, 20'000);
  begin(32 << 10);  // over the near one 3.4 ms
  EXPECT_TRUE(wait_until([&] { return shared_->state[1].up == 1; }));
  const uint32_t first = shared_->arrived + 1;
  ASSERT_TRUE(wait_arrived(first + 10));
  EXPECT_LT(best_seconds(first, first + 10), 0.018);
  EXPECT_EQ(shared_->state[1].bytes, 0u);
  end();
}

TEST_F(TwoNodesTimed, ARailThatIsFarAwayHelpsLongMessages) {
  ADD_RAIL(80);
  ADD_RAIL(160, 20'000);
  begin(2 << 20);
  ASSERT_TRUE(wait_arrived(4));  // TCP finds out what such a rail carries
  const uint32_t first = shared_->arrived + 1;
  const uint64_t near = shared_->state[0].bytes, far = shared_->state[1].bytes;
  ASSERT_TRUE(wait_arrived(first + 8));
  const uint64_t near_now = shared_->state[0].bytes, far_now = shared_->state[1].bytes;
  end();
  // 73 ms for all over both, if the far one's first byte were there at once; 218 over the near one alone.
  EXPECT_LT(best_seconds(first, first + 8), 0.190);
  EXPECT_GT(far_now - far, (near_now - near) / 4);
}

TEST_F(TwoNodesTimed, ThreeRails) {
  ADD_RAIL(120);
  ADD_RAIL(60);
  ADD_RAIL(30);
  begin(2 << 20);
  ASSERT_TRUE(wait_arrived(5));
  end();
  EXPECT_LT(best_seconds(1, 5), 0.115);  // 84 ms over all, 147 over the widest
}

}  // namespace
}  // namespace smelt::test
