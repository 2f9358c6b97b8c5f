// Machines described by class: the costs that follow, and every way in which a file can be wrong.
#include "pictures/machines/class_file.h"

#include <gtest/gtest.h>

#include "folder.h"
#include "pictures/machines/machine_file.h"

using namespace smelt;

namespace {

constexpr const char* kGood = R"({"title": "two", "shape": "pack:2 l3:1 core:2 pu:2", "note": "made up", "costs": {
  "same core": {"transfer_ns": 5, "source": "a"},
  "same last-level cache": {"transfer_ns": 20.5, "source": "b"},
  "other package": {"transfer_ns": 100, "source": "c"}}})";

ClassFile parse(const std::string& text) {
  const JsonChecks checks("m.json");
  return class_file_from_json(checks.parse(text), checks);
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

void expect_refused(const std::string& text, const std::string& expected) {
  try {
    parse(text);
    ADD_FAILURE() << "accepted: " << text;
  } catch (const UserError& error) {
    const std::string what = error.what();
    EXPECT_TRUE(what.starts_with("m.json: ")) << what;
    EXPECT_NE(what.find(expected), what.npos) << "expected \"" << expected << "\" in: " << what;
    EXPECT_EQ(what.find('\n'), what.npos) << what;
  }
}

TEST(ClassFile, FourCostsFollowFromOneTransfer) {
  const ClassFile file = parse(kGood);
  EXPECT_EQ(file.title, "two");
  ASSERT_EQ(file.costs.size(), 3u);
  EXPECT_EQ(file.costs[1].distance, Distance::kSameLlc);
  EXPECT_EQ(file.costs[1].transfer_ns, 20.5);
  EXPECT_EQ(file.costs[2].source, "c");
  const ProfileImage image = class_image(file);
  ASSERT_EQ(image.n(), 8u);
  EXPECT_FALSE(image.measured());
  EXPECT_EQ(image.hop[0], 0);
  EXPECT_EQ(image.hop[1], 10) << "a hop is two transfers";
  EXPECT_EQ(image.hop[2], 41);
  EXPECT_EQ(image.hop[7], 200);
  EXPECT_FLOAT_EQ(image.ready_read[2], 20.5f) << "a read is one";
  EXPECT_GT(image.send_busy[7], image.send_busy[2]);
  EXPECT_GT(image.recv_busy[7], image.recv_busy[2]);
  EXPECT_LT(image.send_busy[7], image.ready_read[7]);
  EXPECT_GT(image.header.poller, 0);
}

TEST(ClassFile, IsAMachineLikeEveryOther) {
  const test::Folder folder;
  const MachineFile file = read_machine_file(folder.write("m.json", kGood));
  EXPECT_EQ(file.kind, "classes");
  EXPECT_EQ(file.name, "two");
  EXPECT_EQ(file.overlap.n, 8u);
  EXPECT_EQ(file.overlap.hop[7], 200);
  EXPECT_EQ(file.sources, (std::vector<std::string>{"same core, 5 ns per transfer: a",
                                                    "same last-level cache, 20.5 ns per transfer: b",
                                                    "other package, 100 ns per transfer: c", "made up"}));
}

TEST(ClassFile, WrongOnesAreRefused) {
  expect_refused(with("\"title\"", "\"name\""), "\"title\" is missing");
  expect_refused(with("\"shape\"", "\"form\""), "\"shape\" is missing");
  expect_refused(with("pack:2", "pack:x"), "\"shape\": synthetic:pack:x l3:1");
  expect_refused(with("core:2", "core:600"), "up to 1024");
  expect_refused(with("\"made up\"", "1"), "\"note\" is not a text");
  expect_refused(with("\"costs\"", "\"cost\""), "\"costs\" is missing");
  expect_refused(R"({"title": "t", "shape": "pu:2", "costs": []})", "\"costs\" is not a JSON object");
  expect_refused(with("\"other package\"", "\"same node\""), "lacks \"other package\"");
  expect_refused(with("\"same core\": {", "\"self\": {\"transfer_ns\": 1, \"source\": \"s\"}, \"same core\": {"),
                 "\"costs\" has \"self\"");
  expect_refused(with("pu:2", "pu:1"), "\"costs\" has \"same core\", which no two CPUs of the shape are");
  expect_refused(with("\"transfer_ns\": 5", "\"transfer_ns\": 0"), "of \"same core\" is 0, not more than 0");
  expect_refused(with("\"transfer_ns\": 5", "\"transfer_ns\": -5"), "\"transfer_ns\" is -5");
  expect_refused(with("\"transfer_ns\": 5", "\"transfer_ns\": \"5\""), "\"transfer_ns\" is not a number");
  expect_refused(with("\"transfer_ns\": 5, ", ""), "\"transfer_ns\" is missing");
  expect_refused(with("\"source\": \"a\"", "\"source\": \"\""), "\"source\" of \"same core\" is empty");
  expect_refused(with("{\"transfer_ns\": 5, \"source\": \"a\"}", "5"), "a JSON object is expected");
}

}  // namespace
