// Sampling between two real processes, over the loopback interface and between two network namespaces; and peers that
// are silent, of another version, or die.
#include <gtest/gtest.h>

#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/os/os.h"
#include "profile/text/error.h"
#include "rails/bench/nodes.h"
#include "rails/network/control.h"
#include "rails/network/fabric.h"
#include "rails/network/interfaces.h"
#include "rails/network/journal.h"
#include "rails/network/sampling.h"

namespace smelt {
namespace {

// A process that runs `what` and ends; killed with the test.
class Child {
 public:
  template <typename What>
  explicit Child(What what) : pid_(::fork()) {
    if (pid_ != 0) return;
    int code = 0;
    try {
      what();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
      code = 1;
    }
    ::_exit(code);
  }
  ~Child() {
    if (pid_ > 0) ::kill(pid_, SIGKILL), ::waitpid(pid_, nullptr, 0);
  }
  int join() {
    int status = -1;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

std::string why_not(const std::function<void()>& what) {
  try {
    what();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

void expect_curves(const NetworkProfile& profile) {
  for (const NetworkRail& rail : profile.rails)
    for (const RailCurve& curve : rail.rail.method) {
      ASSERT_GE(curve.count, 8u) << rail.interface;
      EXPECT_GE(curve.bytes[curve.count - 1], 64u << 10) << rail.interface;
      for (uint32_t i = 0; i < curve.count; ++i) {
        EXPECT_GT(curve.us[i], 0);
        if (i > 0) {
          EXPECT_GE(curve.us[i], curve.us[i - 1]);
        }
      }
    }
  // What was measured can be kept.
  EXPECT_EQ(network_to_json(network_from_json(network_to_json(profile), "here")), network_to_json(profile));
}

NetworkProfile sample(const std::string& host, uint16_t port, double seconds) {
  Control control(connect_to(host, port, 20));
  SamplingOptions options;
  options.seconds = seconds;
  return sample_networks(control, options);
}

// Of this machine, sampled once, and as the other end has it.
struct Sampled {
  NetworkProfile here, there;
};

const Sampled& loopback() {
  static const Sampled sampled = [] {
    Sampled both;
    const Listener listener("127.0.0.1", 0);
    const std::string theirs = testing::TempDir() + "theirs-" + std::to_string(::getpid()) + ".network.json";
    Child peer([&] {
      Control control(listener.accept());
      write_network_profile(serve_sampling(control).value(), theirs);
    });
    both.here = sample("127.0.0.1", listener.port(), 0.5);
    EXPECT_EQ(peer.join(), 0);
    both.there = read_network_profile(theirs);
    ::unlink(theirs.c_str()), ::unlink(packed_network_path(theirs).c_str());
    return both;
  }();
  return sampled;
}

TEST(Network, LoopbackBetweenTwoProcesses) {
  const NetworkProfile &profile = loopback().here, &mirrored = loopback().there;
  // Both have it, each from its side.
  EXPECT_EQ(mirrored.node, profile.peer);
  EXPECT_EQ(mirrored.peer_class, profile.peer_class);
  ASSERT_EQ(mirrored.rails.size(), 1u);
  EXPECT_EQ(mirrored.rails[0].local, profile.rails[0].remote);
  ASSERT_EQ(profile.rails.size(), 1u);
  NetworkProfile back = seen_from_peer(mirrored, profile.peer_class);
  back.created = profile.created;
  EXPECT_EQ(network_to_json(back), network_to_json(profile));
  EXPECT_EQ(profile.rails[0].interface, "lo");
  EXPECT_EQ(profile.rails[0].local, "127.0.0.1");
  EXPECT_EQ(profile.library.substr(0, 10), "libfabric ");
  expect_curves(profile);
  // No network here takes as long for 1 byte as for what it could carry of a thousand pages.
  const RailCurve& eager = profile.rails[0].rail.method[kRailEager];
  EXPECT_LT(eager.us[0], eager.us[eager.count - 1]);
}

TEST(Network, ASilentPeerIsTold) {
  const Listener listener("127.0.0.1", 0);
  Control control(connect_to("127.0.0.1", listener.port(), 20));  // accepted by nobody
  EXPECT_NE(why_not([&] { control.hear(0.2); }).find("not answered"), std::string::npos);
  EXPECT_NE(why_not([] { connect_to("127.0.0.1", 1, 5); }).find("smelt network listen"), std::string::npos);
  EXPECT_NE(why_not([] { connect_to("no such host", 1, 5); }), "");
}

TEST(Network, AnotherVersionIsTold) {
  for (const char* line : {"smelt-network 4 node 00c0ffee00c0ffee", "smelt-network 3 node c0ffee", "GET / HTTP/1.0",
                           "failed no fabric here"}) {
    const Listener listener("127.0.0.1", 0);
    std::thread peer([&] {
      Control control(listener.accept());
      control.say(line);
      why_not([&] { control.hear(); });
    });
    const std::string why = why_not([&] { sample("127.0.0.1", listener.port(), 1); });
    peer.join();
    EXPECT_TRUE(why.find("version 4") != why.npos || why.find("another language") != why.npos ||
                why.find("the peer: no fabric here") != why.npos)
        << why;
  }
}

TEST(Network, WhatAPeerSaysIsPrintable) {
  const Listener listener("127.0.0.1", 0);
  Control control(connect_to("127.0.0.1", listener.port(), 20));
  Control(listener.accept()).say("failed \x1b]0;x\a\xff \tby me");
  EXPECT_EQ(control.hear(), (std::vector<std::string>{"failed", "?]0;x??", "?by", "me"}));
}

// What it hands over is kept as a profile only where that could be read again.
TEST(Network, AHostileProfileIsRefused) {
  NetworkProfile profile;
  profile.node = "me", profile.peer = "you", profile.library = "libfabric 1.17", profile.created = 1;
  const auto curve = [](RailCurve* out) { out->count = 1, out->bytes[0] = 1, out->us[0] = 1; };
  curve(&profile.copy);
  for (const bool twice : {false, true}) {
    NetworkRail rail;
    rail.interface = twice ? "b0" : "a0", rail.local = "10.1.2.3", rail.remote = "127.0.0.1", rail.provider = "tcp";
    for (RailCurve& one : rail.rail.method) curve(&one);
    profile.rails.push_back(rail);
    const Listener listener("127.0.0.1", 0);
    std::optional<NetworkProfile> kept;
    std::string why;
    std::thread server([&] {
      Control control(listener.accept());
      why = why_not([&] { kept = serve_sampling(control); });
    });
    {
      Control control(connect_to("127.0.0.1", listener.port(), 20));
      control.say("smelt-network 3 me 00c0ffee00c0ffee");
      const std::string text = network_to_json(profile);
      std::string hex;
      for (const char c : text) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(c));
        hex += digits;
      }
      for (size_t at = 0; at < hex.size(); at += 2000) control.say("piece " + hex.substr(at, 2000));
      control.say("done");
      control.hear();
      EXPECT_EQ(control.hear().at(0), twice ? "failed" : "kept");
    }
    server.join();
    EXPECT_EQ(kept.has_value(), !twice);
    EXPECT_EQ(why.find("lo is there twice") != why.npos, twice) << why;
  }
}

TEST(Network, HostileOrdersAreRefused) {
  for (const char* order :
       {"rail ../etc", "rail 192.0.2.77", "run 0 1 1", "done now", "", "addresses x", "piece zz", "piece"}) {
    const Listener listener("127.0.0.1", 0);
    std::string why;
    std::thread server([&] {
      Control control(listener.accept());
      why = why_not([&] { serve_sampling(control); });
    });
    {
      Control control(connect_to("127.0.0.1", listener.port(), 20));
      control.say("smelt-network 3 me 00c0ffee00c0ffee");
      control.say(order);
      control.hear();
      EXPECT_EQ(control.hear().at(0), "failed") << order;
    }
    server.join();
    EXPECT_NE(why, "") << order;
  }
}

TEST(Network, ALineWithoutEndIsRefused) {
  const Listener listener("127.0.0.1", 0);
  Control writer(connect_to("127.0.0.1", listener.port(), 20));
  Control reader(listener.accept());
  for (int i = 0; i < 8; ++i) writer.say(std::string(1000, 'x'));
  EXPECT_EQ(reader.hear().at(0).size(), 1000u);
  Control other(connect_to("127.0.0.1", listener.port(), 20));
  Control second(listener.accept());
  std::string line(8000, 'x');
  line.back() = 'y';
  other.say(line.substr(0, 3000));
  other.say(line);
  EXPECT_EQ(second.hear().at(0).size(), 3000u);
  EXPECT_NE(why_not([&] { second.hear(); }), "");
}

TEST(Network, APeerThatDiesInTheMiddleIsNoticed) {
  const Listener listener("127.0.0.1", 0);
  Child peer([&] {
    Control control(listener.accept());
    serve_sampling(control);
  });
  Control control(connect_to("127.0.0.1", listener.port(), 20));
  SamplingOptions options;
  options.seconds = 600;  // it is not done before
  options.progress = [&](uint32_t done, uint32_t) {
    if (done == 0) std::thread([pid = peer.pid()] { ::usleep(300'000), ::kill(pid, SIGKILL); }).detach();
  };
  EXPECT_NE(why_not([&] { sample_networks(control, options); }), "");
  EXPECT_EQ(peer.join(), 128 + SIGKILL);
}

TEST(Network, AnInterruptedSamplingGoesOn) {
  const std::string path = testing::TempDir() + "journal-" + std::to_string(::getpid()) + ".network.json";
  using Keys = std::set<std::string>;
  const auto sample_once = [&](uint32_t stop_after, Keys* measured) {
    const Listener listener("127.0.0.1", 0);
    Child peer([&] {
      Control control(listener.accept());
      serve_sampling(control);
    });
    NetworkJournal journal(path, false);
    Control control(connect_to("127.0.0.1", listener.port(), 20));
    SamplingOptions options;
    options.seconds = 0.1;
    options.store = journal.store();
    const CurveStore store = options.store;
    options.store.keep = [&, store](const std::string& key, const RailCurve& curve) {
      EXPECT_EQ(curve.count, 1u) << "each size of each way is kept as soon as it is known";
      store.keep(key, curve);
      measured->insert(key);
    };
    options.progress = [&](uint32_t done, uint32_t) {
      if (done >= stop_after) throw UserError("interrupted");
    };
    const std::string why = why_not([&] { sample_networks(control, options); });
    if (why.empty()) journal.remove();
    return why;
  };
  Keys first, second;
  EXPECT_EQ(sample_once(12, &first), "interrupted");
  EXPECT_GE(first.size(), 4u * kRailMethods - 1) << "4 sizes at least, but not two pieces of 1 byte";
  EXPECT_EQ(sample_once(100, &second), "");
  EXPECT_GE(second.size(), 4u);
  for (const std::string& key : second) EXPECT_EQ(first.count(key), 0u) << key << " was known";
  EXPECT_NE(::access((path + ".partial").c_str(), F_OK), 0) << "it is done";
}

TEST(Network, AJournalIsReadUpToItsLastWholeLine) {
  const std::string path = testing::TempDir() + "lines-" + std::to_string(::getpid()) + ".json",
                    file = path + ".partial";
  RailCurve curve, found;
  curve.count = 2;
  curve.bytes[0] = 1, curve.bytes[1] = 2, curve.us[0] = 1.5, curve.us[1] = 2.25, curve.spread[1] = 0.5;
  const auto known = [&](bool fresh = false) { return NetworkJournal(path, fresh).known(); };
  {
    NetworkJournal journal(path, false);
    EXPECT_NE(why_not([&] { NetworkJournal other(path, false); }).find("wait for it"), std::string::npos);
    for (const char* key : {"a b 1", "a b 2", "a b 3"}) journal.store().keep(key, curve);
  }
  {
    NetworkJournal journal(path, false);
    EXPECT_EQ(journal.known(), 3u);
    ASSERT_TRUE(journal.store().find("a b 2", &found));
    EXPECT_EQ(found.count, 2u);
    EXPECT_EQ(found.us[1], 2.25);
    EXPECT_EQ(found.spread[1], 0.5);
    EXPECT_FALSE(journal.store().find("a b", &found));
  }
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto rewrite = [&](const std::string& with) { std::ofstream(file) << with; };
  rewrite(text.substr(0, text.size() - 3));  // half-written
  EXPECT_EQ(known(), 2u);
  NetworkJournal(path, false).store().keep("a b 4", curve);
  EXPECT_EQ(known(), 3u) << "half a line hides what comes after it";
  std::string damaged = text;
  damaged[damaged.find("1.5", damaged.find('\n', 40))] = '0';  // as good a number
  rewrite(damaged);
  EXPECT_LT(known(), 3u);
  rewrite("something else\n" + text);
  EXPECT_EQ(known(), 0u);
  rewrite(text);
  const timeval old[2] = {{1000, 0}, {1000, 0}};
  ::utimes(file.c_str(), old);
  EXPECT_EQ(known(), 0u);
  rewrite(text);
  EXPECT_EQ(known(true), 0u);
}

TEST(Network, AProfileIsCheckedAgainstTheNetwork) {
  NetworkProfile profile = loopback().here;
  const auto with_peer = [](const std::function<void(Control&)>& what) {
    const Listener listener("127.0.0.1", 0);
    Child peer([&] {
      Control control(listener.accept());
      if (serve_sampling(control).has_value()) throw UserError("it was only looked at");
    });
    Control control(connect_to("127.0.0.1", listener.port(), 20));
    what(control);
    EXPECT_EQ(peer.join(), 0);
  };
  profile.rails.push_back(profile.rails[0]);
  profile.rails[1].driver = "another";
  with_peer([&](Control& control) {
    const std::vector<RailCheck> checks = check_networks(control, profile);
    ASSERT_EQ(checks.size(), 6u);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_GT(checks[i].is_us, 0);
      EXPECT_EQ(checks[i].was_us, rail_time(profile.rails[0].rail.method[kRailEager], checks[i].bytes));
      EXPECT_EQ(checks[i + 3].is_us, 0);
    }
  });
}

TEST(Interfaces, ThatShareANetworkReachThePeer) {
  const auto interface = [](const char* name, const char* address, uint32_t network, uint32_t mask) {
    return NetworkInterface{
        .name = name, .driver = "", .mtu = 1500, .address = address, .network = network, .mask = mask};
  };
  const std::vector<NetworkInterface> mine = {
      interface("lo", "127.0.0.1", 0x7f000000, 0xff000000), interface("a0", "10.1.0.1", 0x0a010000, 0xffffff00),
      interface("b0", "10.2.0.1", 0x0a020000, 0xffffff00), interface("c0", "10.3.0.1", 0x0a030000, 0xffffff00)};
  const std::vector<Reach> rails =
      reaching(mine, {"127.0.0.1", "10.2.0.2", "10.1.0.2", "10.9.0.2", "junk"}, "10.2.0.1", "10.2.0.2");
  ASSERT_EQ(rails.size(), 2u);
  EXPECT_EQ(rails[0].interface.name, "b0");
  EXPECT_EQ(rails[1].interface.name, "a0");
  EXPECT_EQ(rails[1].remote, "10.1.0.2");
  ASSERT_EQ(reaching(mine, {"127.0.0.1"}, "127.0.0.1", "127.0.0.1").size(), 1u);
}

// Two namespaces, two pairs of interfaces between them, of which one is slowed to 80 Mbit/s: what is sampled is the
// network, and no interface's word for it.
TEST(TwoNamespaces, EveryInterfaceIsARail) {
  Nodes nodes;
  std::string why = nodes.make();
  for (const uint32_t mbits : {0u, 80u})
    if (why.empty()) why = nodes.add_rail(mbits);
  if (!why.empty()) GTEST_SKIP() << why;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  Child peer([&] {
    nodes.enter(2);
    const Listener listener("0.0.0.0", 7711);
    (void)!::write(ready[1], "x", 1);
    for (int times = 0; times < 2; ++times) {
      Control control(listener.accept());
      serve_sampling(control);
    }
  });
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  constexpr uint64_t kBytes = 512 << 10, kBurst = 64 << 10;
  NetworkProfile profile;
  double us = 0, all_us = 0;
  std::thread sampler([&] {  // a thread of its own: only it moves into the namespace
    nodes.enter(1);
    why = why_not([&] {
      profile = sample(Nodes::address(0, 2), 7711, 0.5);
      Control control(connect_to(Nodes::address(0, 2), 7711, 20));
      const int64_t begin = os::now_ns();
      us = time_ways(control, profile.rails.at(1), {{kRailEager, kBytes}}, 36).at(0);
      all_us = 1e-3 * static_cast<double>(os::now_ns() - begin);
    });
  });
  sampler.join();
  ASSERT_EQ(why, "");
  EXPECT_EQ(peer.join(), 0);
  ASSERT_EQ(profile.rails.size(), 2u);
  for (uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(profile.rails[i].interface, Nodes::interface(i));
    EXPECT_EQ(profile.rails[i].local, Nodes::address(i, 1));
    EXPECT_EQ(profile.rails[i].remote, Nodes::address(i, 2));
  }
  EXPECT_EQ(profile.rails[0].driver, "veth");
  EXPECT_EQ(profile.rails[0].mtu, 1500u);
  expect_curves(profile);
  // 80 Mbit/s are 10 bytes a microsecond, but for a bucket that may be full; the interface itself claims 10 Gbit/s. On
  // a busy machine it takes longer, on none less.
  EXPECT_GT(us, 0.95 * (kBytes - kBurst) / 10);
  // It is one way: 27 of the 36 round trips, at least, took twice as long or longer.
  EXPECT_GT(all_us, 27 * 2 * us);
}

}  // namespace
}  // namespace smelt
