// Both forms of one profile, byte by byte as they have been since version 5: profiles lie in caches and go from machine
// to machine, so a change that alters them needs a new version, not a new golden file.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/fingerprint.h"
#include "packed.h"
#include "profile/text/image.h"

using namespace smelt;
using namespace smelt::test;

namespace {

std::string golden_json() {
  const char* path = std::getenv("SMELT_TEST_PROFILE_JSON");
  std::ifstream file(path ? path : "");
  EXPECT_TRUE(file) << "SMELT_TEST_PROFILE_JSON does not name a file that can be read";
  return {std::istreambuf_iterator<char>(file), {}};
}

// Some of everything, and every array, number and text different from the others.
Packed sample() {
  Packed packed(4, 2, true);
  for (uint32_t i = 0; i < 4; ++i) {
    packed.array<uint16_t>(packed.at.package)[i] = static_cast<uint16_t>(i / 2);
    packed.array<uint16_t>(packed.at.llc)[i] = static_cast<uint16_t>(10 + i / 2);
    packed.array<uint16_t>(packed.at.node)[i] = static_cast<uint16_t>(20 + i);
    for (uint32_t j = 0; j < 4; ++j) {
      if (i == j) continue;
      float matrix = 1;
      for (const uint64_t at : {packed.at.hop, packed.at.send_busy, packed.at.recv_busy, packed.at.ready_read})
        packed.array<float>(at)[4 * i + j] = static_cast<float>(10 * i + j) / 7 + 100 * matrix++;
    }
  }
  packed.header().fingerprint = 0xfedcba9876543210;
  packed.header().pairs_measured = 8;
  packed.header().one_way_hop = 57.13f;
  packed.header().spread = 0.07f;
  packed.header().conditions = kBesideOthers | kUnsteady;
  packed.header().others = 1.3f;
  std::strcpy(packed.header().kernel, "6.1.0-13-amd64");
  std::strcpy(packed.header().microcode, "0xa0011d5");
  std::strcpy(packed.header().machine, "A \"quoted\" CPU \\ \xc2\xb5");
  packed.seal();
  return packed;
}

TEST(Formats, JsonIsAsItWas) {
  Packed packed = sample();
  Profile profile;
  attach_image(packed.bytes.data(), &profile);
  EXPECT_EQ(profile_to_json(image_from_profile(profile)), golden_json());
}

TEST(Formats, PackedIsAsItWas) {
  const Packed packed = sample();
  ASSERT_EQ(packed.bytes.size(), 1976u);
  EXPECT_EQ(fnv1a(packed.bytes.data(), packed.bytes.size()), 0x9766b909f28d5064);
  const std::vector<std::byte> again = profile_from_json(golden_json(), "golden").pack();
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(again.data()), again.size()), packed.bytes);
  Profile profile;
  attach_image(packed.bytes.data(), &profile);
  EXPECT_EQ(image_from_profile(profile).pack(), again);
}

// Profiles of before there were strict curves say nothing of it, and hold loose ones.
TEST(Formats, OnlyStrictCurvesSaySo) {
  for (const CurveSet& set : profile_from_json(golden_json(), "golden").curves) EXPECT_EQ(set.sync, 0u);
  Packed packed = sample();
  packed.curves()[1].sync = static_cast<uint32_t>(Sync::kStrict);
  packed.seal();
  Profile profile;
  attach_image(packed.bytes.data(), &profile);
  const std::string json = profile_to_json(image_from_profile(profile));
  EXPECT_EQ(json.find("\"sync\""), json.find("\"sync\": \"strict\", \"participants\": 16"));
  EXPECT_NE(json.find("\"sync\""), std::string::npos);
  EXPECT_EQ(json.find("\"sync\""), json.rfind("\"sync\""));
  const std::vector<std::byte> again = profile_from_json(json, "strict").pack();
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(again.data()), again.size()), packed.bytes);
}

}  // namespace
