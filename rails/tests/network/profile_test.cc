// The network profile: what is written is read, and nothing damaged is.
#include "rails/network/profile.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "profile/text/error.h"

namespace smelt {
namespace {

std::string given() {
  std::ifstream file(std::getenv("SMELT_TEST_NETWORK"));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string refusal(const std::string& text) {
  try {
    network_from_json(text, "net.json");
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

void expect_refusal(const nlohmann::json& json, const std::string& says) {
  const std::string why = refusal(json.dump());
  EXPECT_TRUE(why.starts_with("net.json: ") && why.find(says) != why.npos) << why << "\n  not: " << says;
  EXPECT_EQ(why.find('\n'), why.npos) << why;
}

TEST(NetworkProfile, IsWrittenAsItWasRead) {
  const std::string text = given();
  ASSERT_FALSE(text.empty());
  const NetworkProfile profile = network_from_json(text, "net.json");
  EXPECT_EQ(profile.rails.size(), 2u);
  EXPECT_EQ(profile.rails[1].interface, "slow0");
  EXPECT_EQ(profile.rails[1].mtu, 1500u);
  EXPECT_EQ(profile.rails[0].rail.method[kRailEager].bytes[24], kLongestRailSample);
  EXPECT_DOUBLE_EQ(profile.rails[1].rail.method[kRailPair].us[0], 408.204);
  EXPECT_EQ(network_to_json(profile), text);
}

TEST(NetworkProfile, EachDamageIsOneLine) {
  const nlohmann::json good = nlohmann::json::parse(given());
  EXPECT_EQ(refusal(good.dump()), "accepted");
  const auto with = [&](const char* pointer, nlohmann::json value) {
    nlohmann::json copy = good;
    copy[nlohmann::json::json_pointer(pointer)] = std::move(value);
    return copy;
  };
  expect_refusal(with("/format", "smelt machine profile"), "not a network profile");
  expect_refusal(with("/version", kNetworkProfileVersion + 1), "version " + std::to_string(kNetworkProfileVersion + 1));
  expect_refusal(with("/version", -1), "\"version\"");
  expect_refusal(with("/peer", "a\nb"), "\"peer\"");
  expect_refusal(with("/peer", std::string(300, 'x')), "\"peer\"");
  expect_refusal(with("/rails", nlohmann::json::array()), "empty");
  expect_refusal(with("/rails", nlohmann::json::array({1, 2, 3, 4, 5, 6, 7, 8, 9})), "at most 8");
  expect_refusal(with("/rails/0", 7), "object is expected");
  expect_refusal(with("/rails/1/interface", "fast0"), "twice");
  expect_refusal(with("/rails/1/interface", "sixteen-letters-"), "15 printable");
  expect_refusal(with("/rails/1/local", "1000.1000.1000.1000"), "15 printable");
  expect_refusal(with("/rails/1/speed", -1), "speed");
  expect_refusal(with("/peer_class", "c0ffee"), "16 hexadecimal");
  expect_refusal(with("/peer_class", "00c0ffee00c0ffeg"), "16 hexadecimal");
  expect_refusal(with("/rails/1/interface", "eth0,eth1"), "no interface");
  expect_refusal(with("/rails/1/interface", "eth0 = 1"), "no interface");
  expect_refusal(with("/rails/0/mtu", 1e9), "\"mtu\"");
  expect_refusal(with("/rails/0/eager", nullptr), "object is expected");
  expect_refusal(with("/rails/0/eager/us/3", 0), "is 0");
  expect_refusal(with("/rails/0/eager/us/3", -1), "from 0 to 1e9");
  expect_refusal(with("/rails/0/eager/us/3", 1e300), "from 0 to 1e9");
  expect_refusal(with("/rails/0/eager/us/3", "1"), "not a number");
  expect_refusal(with("/rails/0/eager/us/3", 1e8), "takes less");
  expect_refusal(with("/rails/0/pair/bytes/3", 4), "do not increase");
  expect_refusal(with("/rails/0/pair/bytes/0", 0), "do not increase");
  expect_refusal(with("/rails/0/pair/bytes/24", (1 << 24) + 1), "whole number");
  expect_refusal(with("/copy/spread", nlohmann::json::array({1})), "1 spreads");
  expect_refusal(with("/copy/bytes", nlohmann::json::array()), "0 sizes");
  expect_refusal(with("/copy/bytes", std::vector<int>(26, 1)), "at most 25");
  for (const auto& [key, value] : good.items()) {
    nlohmann::json copy = good;
    copy.erase(key);
    expect_refusal(copy, "\"" + key + "\" is missing");
  }
  for (const auto& [key, value] : good["rails"][1].items()) {
    nlohmann::json copy = good;
    copy["rails"][1].erase(key);
    expect_refusal(copy, "\"" + key + "\" is missing");
  }
}

TEST(NetworkProfile, HalfWrittenIsRefusedWhereverItEnds) {
  const std::string text = given();
  for (size_t bytes = 0; bytes + 2 < text.size(); bytes += 211) EXPECT_NE(refusal(text.substr(0, bytes)), "accepted");
  EXPECT_NE(refusal(std::string(100000, '[')), "accepted");
}

TEST(NetworkProfile, FlippedBytesNeverGetThroughAsNonsense) {
  const std::string text = given();
  for (size_t at = 0; at < text.size(); at += 31) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at / 31 % 8));
    try {
      const NetworkProfile profile = network_from_json(damaged, "net.json");  // a digit became another: fine
      for (const NetworkRail& rail : profile.rails)
        for (const RailCurve& curve : rail.rail.method)
          for (uint32_t i = 1; i < curve.count; ++i) ASSERT_GE(curve.us[i], curve.us[i - 1]);
    } catch (const UserError&) {
    }
  }
}

TEST(NetworkProfile, FileIsReplacedWhole) {
  std::string folder = testing::TempDir() + "/smelt_network_XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const NetworkProfile profile = network_from_json(given(), "net.json");
  const std::string path = folder + "/deep/er/net.json";
  write_network_profile(profile, path);
  write_network_profile(profile, path);
  EXPECT_EQ(network_to_json(read_network_profile(path)), given());
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/deep/er")) files += entry.is_regular_file();
  for (const char* name : {"x.network.json", "x.json", "x"}) EXPECT_EQ(packed_network_path(name), "x.network");
  EXPECT_EQ(packed_network_path("x.network"), "x.network.network") << "one form does not replace the other";
  EXPECT_EQ(files, 3u) << "the profile, its packed form and the lock";
  EXPECT_THROW(write_network_profile(profile, "/proc/no/net.json"), UserError);
  EXPECT_THROW(read_network_profile(folder + "/none.json"), UserError);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace smelt
