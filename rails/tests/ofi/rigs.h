// What the tests of rails share: profiles made by hand, two ends that one thread drives, processes that die.
#pragma once

#include <gtest/gtest.h>
#include <smelt/rail.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "rails/network/profile.h"
#include "rails/rail/rail.h"

namespace smelt::test {

// A latency and a bandwidth (MB/s: bytes per µs), sampled at powers of two.
inline RailCurve line(double latency_us, double mb_per_s, double spread = 0.02) {
  RailCurve curve;
  curve.count = kRailSizes;
  for (uint32_t i = 0; i < kRailSizes; ++i) {
    curve.bytes[i] = uint64_t{1} << i;
    curve.us[i] = latency_us + static_cast<double>(curve.bytes[i]) / mb_per_s;
    curve.spread[i] = spread;
  }
  return curve;
}

// Where it is not there, another one is taken.
inline std::string provider_of_test() {
  const char* provider = std::getenv("SMELT_TEST_PROVIDER");
  return provider ? provider : "net";
}

inline NetworkRail rail(const std::string& interface, const std::string& address, double latency_us, double mb_per_s) {
  NetworkRail out;
  out.interface = interface, out.driver = "test", out.local = out.remote = address, out.provider = provider_of_test();
  for (RailCurve& curve : out.rail.method) curve = line(latency_us, mb_per_s);
  out.rail.method[kRailRendezvous] = line(3 * latency_us, mb_per_s);
  out.rail.method[kRailPair] = line(1.2 * latency_us, mb_per_s / 2);
  return out;
}

inline NetworkProfile profile_of(const std::vector<NetworkRail>& rails) {
  NetworkProfile profile;
  profile.created = 1700000000, profile.node = "here", profile.peer = "there", profile.library = "libfabric 1.17";
  profile.copy = line(0.05, 5000);
  profile.rails = rails;
  return profile;
}

// Aliases of the loopback interface: as many rails as one likes, without being root.
inline NetworkProfile loopback_rails(uint32_t count, double second_is_slower = 2) {
  std::vector<NetworkRail> rails;
  for (uint32_t r = 0; r < count; ++r) {
    // An interface's name is there once in a profile that is read as JSON; here nobody does.
    rails.push_back(rail("lo", "127.0." + std::to_string(r + 1) + ".1", 20, r == 0 ? 1000 : 1000 / second_is_slower));
  }
  return profile_of(rails);
}

// Removed when the process that asked for it ends.
inline std::string scratch_file(const std::string& name) {
  struct Files {
    const pid_t owner = ::getpid();
    std::vector<std::string> paths;
    ~Files() {
      for (const std::string& path : paths)
        if (::getpid() == owner) ::unlink(path.c_str());
    }
  };
  static Files files;
  files.paths.push_back(testing::TempDir() + "rails-" + std::to_string(::getpid()) + "-" + name);
  return files.paths.back();
}

inline std::string packed_file(const NetworkProfile& profile, const std::string& name = "x.network") {
  const PackedNetwork packed = packed_network(profile);
  const std::string path = scratch_file(name);
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(&packed), sizeof packed);
  return path;
}

struct Rails {
  smelt_rails* rails = nullptr;
  Rails() = default;
  Rails(const Rails&) = delete;
  Rails& operator=(const Rails&) = delete;
  ~Rails() { close(); }
  void close() {
    smelt_rails_close(rails);
    rails = nullptr;
  }
  int open(const std::string& path, smelt_rail_options options = {}) {
    return smelt_rails_open(path.c_str(), &options, &rails);
  }
  std::string address() const {
    char text[SMELT_RAIL_ADDRESS];
    size_t bytes = 0;
    smelt_rails_address(rails, text, &bytes);
    return {text, bytes};
  }
  int connect(const std::string& address, uint32_t* peer) {
    return smelt_rails_connect(rails, address.data(), address.size(), peer);
  }
  smelt_rail_state state(uint32_t rail, uint32_t peer = 0) const {
    smelt_rail_state out{};
    smelt_rail_info(rails, peer, rail, &out);
    return out;
  }
};

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Bytes that tell where they belong.
inline std::vector<char> pattern(size_t bytes, uint64_t seed) {
  std::vector<char> data(bytes);
  uint64_t x = seed * 0x9e3779b97f4a7c15ull + 1;
  for (size_t i = 0; i < bytes; ++i) {
    if (i % 8 == 0) x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    data[i] = static_cast<char>(x >> (8 * (i % 8)));
  }
  return data;
}

// Messages in one direction: what is sent, where it arrives, and how far both ends have got.
struct Traffic {
  std::vector<std::vector<char>> data, got;
  std::vector<smelt_rail_request> sends, receives;
  size_t sent = 0, done = 0, asked = 0, there = 0;  // messages begun and complete; receives begun and complete

  void add(size_t bytes, uint64_t seed) {
    data.push_back(pattern(bytes, seed));
    got.emplace_back(bytes);
    sends.emplace_back(), receives.emplace_back();
  }
  bool complete() const { return done + there == 2 * data.size(); }
  // Begins a message and a receive now and then, at most so many ahead, and looks what is complete: whole, in order.
  void step(const Rails& from, const Rails& to, size_t ahead, std::mt19937& random) {
    if (sent < data.size() && sent - done < ahead && random() % 3 == 0) {
      ASSERT_EQ(smelt_rail_send(from.rails, &sends[sent], 0, data[sent].data(), data[sent].size()), 0);
      ++sent;
    }
    if (asked < data.size() && asked - there < ahead && random() % 3 == 0) {
      ASSERT_EQ(smelt_rail_receive(to.rails, &receives[asked], 0, got[asked].data(), got[asked].size()), 0);
      ++asked;
    }
    for (; done < sent; ++done) {
      const int result = smelt_rail_test(from.rails, &sends[done], nullptr);
      ASSERT_GE(result, 0) << done;
      if (result == 0) break;
    }
    for (; there < asked; ++there) {
      size_t bytes = 0;
      const int result = smelt_rail_test(to.rails, &receives[there], &bytes);
      ASSERT_GE(result, 0) << there;
      if (result == 0) break;
      ASSERT_EQ(bytes, data[there].size()) << there;
      ASSERT_TRUE(got[there] == data[there]) << there;
    }
  }
};

}  // namespace smelt::test
