// Every kind of machine file, and every way in which one can be wrong.
#include "pictures/machines/machine_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include <unistd.h>

#include "discover/machine.h"
#include "discover/topology.h"
#include "folder.h"
#include "pictures/machines/xml.h"
#include "profile/text/error.h"
#include "sanitized.h"

using namespace smelt;
using smelt::test::Folder;

namespace {

// The topology that discover_machine sees.
void export_machine_xml(const std::string& path) {
  const Topology topology = new_topology();
  if (hwloc_topology_load(topology.get()) != 0) throw UserError("hwloc cannot read this machine's topology");
  if (hwloc_topology_export_xml(topology.get(), path.c_str(), 0) != 0)
    throw UserError(fmt::format("{}: cannot be written", path));
}

class MachineFileTest : public testing::Test {
 protected:
  Folder folder;

  MachineFile read_text(const std::string& text) { return read_machine_file(folder.write("m.json", text)); }

  void expect_refused(const std::string& text, const std::string& expected) {
    const std::string path = folder.write("m.json", text);
    try {
      read_machine_file(path);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const UserError& error) {
      const std::string what = error.what();
      EXPECT_TRUE(what.starts_with(path + ": ")) << what;
      EXPECT_NE(what.find(expected), what.npos) << "expected \"" << expected << "\" in: " << what;
      EXPECT_EQ(what.find('\n'), what.npos) << what;
    }
  }
};

constexpr const char* kMatrix = R"({"name": "two", "kind": "made up", "unit": "cycles", "cpus": [3, 8],
  "numa_node": [0, 5],
  "t_send": [[0, 10], [20, 0]], "t_receive": [[0, 100.5], [200, 0]]})";

TEST_F(MachineFileTest, MatricesAreThePapersModel) {
  const MachineFile file = read_text(kMatrix);
  EXPECT_EQ(file.name, "two");
  EXPECT_EQ(file.kind, "matrix");
  EXPECT_EQ(file.origin, "derived from t_send and t_receive (made up)");
  EXPECT_EQ(file.paper_origin, "made up");
  EXPECT_EQ(file.unit, CostUnit::kCycles);
  EXPECT_EQ(file.cpus, (std::vector<uint32_t>{3, 8}));
  EXPECT_EQ(file.paper.t_send(0, 1), 10);
  EXPECT_EQ(file.paper.t_receive(0, 1), 100.5f);
  EXPECT_EQ(file.paper.t_send(1, 0), 20) << "row = sender";
  EXPECT_EQ(file.overlap.hop[1], 110.5f);
  EXPECT_NE(file.paper.node[0], file.paper.node[1]);
}

TEST_F(MachineFileTest, OnlyMatricesAndUnitAreNeeded) {
  const MachineFile file = read_text(R"({"unit": "ns", "t_send": [[0, 1], [1, 0]], "t_receive": [[0, 2], [2, 0]]})");
  EXPECT_EQ(file.name, "m");
  EXPECT_EQ(file.cpus, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(file.paper.node[0], file.paper.node[1]);
}

TEST_F(MachineFileTest, BadMatricesAreRefused) {
  expect_refused("", "empty");
  expect_refused("{", "not valid JSON");
  expect_refused("[1, 2]", "neither a Smelt profile nor");
  expect_refused("{}", "neither a Smelt profile nor");
  expect_refused(R"({"unit": "ns", "t_send": 5})", "\"t_send\" is not a square matrix");
  expect_refused(R"({"unit": "ns", "t_send": []})", "\"t_send\" is not a square matrix");
  expect_refused(R"({"unit": "ns", "t_send": [[0, 1], [1, 0]]})", "\"t_receive\" is missing");
  expect_refused(R"({"unit": "ns", "t_send": [[0, 1]], "t_receive": [[0]]})", "row 0 of \"t_send\" has not 1 numbers");
  const auto with = [](const char* send, const char* rest = R"("unit": "ns")") {
    return fmt::format(R"({{{}, "t_receive": [[0, 1], [1, 0]], "t_send": {}}})", rest, send);
  };
  expect_refused(with("[[0, 1], [1]]"), "row 1 of \"t_send\" has not 2 numbers");
  expect_refused(with("[[0, NaN], [1, 0]]"), "not valid JSON");
  expect_refused(with("[[0, 1e999], [1, 0]]"), "not valid JSON");
  expect_refused(with("[[0, 1e12], [1, 0]]"), "\"t_send\"[0][1] is 1000000000000");
  expect_refused(with("[[0, -1], [1, 0]]"), "\"t_send\"[0][1] is -1");
  expect_refused(with("[[0, null], [1, 0]]"), "\"t_send\"[0][1] is not a number");
  expect_refused(with("[[0, \"1\"], [1, 0]]"), "\"t_send\"[0][1] is not a number");
  expect_refused(with("[[0, 1], [1, 3]]"), "the diagonal must be 0");
  expect_refused(with("[[0, 1], [1, 0]]", R"("unit": "miles")"), "\"unit\" is \"miles\"");
  expect_refused(with("[[0, 1], [1, 0]]", R"("unit": 1)"), "\"unit\" is not a text");
  expect_refused(with("[[0, 1], [1, 0]]", R"("name": "no unit")"), "\"unit\" is missing");
  expect_refused(with("[[0, 1], [1, 0]]", R"("unit": "ns", "numa_node": [0])"), "\"numa_node\" is not a list of 2");
  expect_refused(with("[[0, 1], [1, 0]]", R"("unit": "ns", "numa_node": [0, -1])"), "\"numa_node\"[1]");
  expect_refused(with("[[0, 1], [1, 0]]", R"("unit": "ns", "numa_node": [0, 65535])"), "\"numa_node\"[1]");
  expect_refused(with("[[0, 1], [1, 0]]", R"("unit": "ns", "cpus": [0, 0.5])"), "\"cpus\"[1]");
  expect_refused(with("[[0, 1], [1, 0]]", R"("unit": "ns", "name": ["x"])"), "\"name\" is not a text");
  std::string huge = "[";
  for (int i = 0; i < 1025; ++i) huge += i ? ",0" : "0";
  expect_refused(with((huge + "]").c_str()), "1 to 1024 rows");
  expect_refused(std::string(100'000, '['), "not valid JSON");
}

TEST_F(MachineFileTest, WhatIsNoFileIsRefused) {
  for (const std::string& what : {folder.path(), folder.path("none"), std::string("/dev/zero"),
                                  std::string("synthetic:x"), std::string("synthetic:"), std::string("")})
    EXPECT_THROW(read_machine_file(what), UserError) << what;
}

// --- our own profiles ---

ProfileImage sample() {
  ProfileImage image = guess_image(machine_from_synthetic("pack:2 core:2 pu:1"));
  for (size_t i = 0; i < image.hop.size(); ++i)
    if (image.hop[i] > 0) image.hop[i] += static_cast<float>(i) / 7;  // no round numbers
  image.header.fingerprint = 0xfedcba9876543210;
  image.header.created = 1'700'000'001;
  image.header.pairs_measured = 12;
  image.header.one_way_hop = 57.13f;
  image.header.spread = 0.07f;
  for (uint32_t participants : {2u, 4u}) {
    CurveSet& set = image.curves.emplace_back();
    set.participants = participants;
    for (uint32_t m = 0; m < kCurveMethods; ++m)
      for (uint32_t s = 0; s < kCurveSizes; ++s) set.ns[m][s] = static_cast<float>(m * 1000 + s * participants) / 7;
  }
  image.classes = {{1, 0, 2, 2, 0, 16.5f, 0.4f, 0.2f, 8.01f, 0.05f},
                   {5, 1, 4, 3, kMarkUnsteady | kMarkWide, 260.7f, 20, 2.6f, 119, 0.7f}};
  image.wait = {12.5f, 340.1f, 1900, 5100.3f};
  image.fans = {{5, 0, {1, 2, 3, 4, 5, 0}, {6.5f, 7, 8, 9, 10, 0}}};
  image.queues = {{5, 1, {30.5f, 31, 62}, 15.5f, 0.021f}, {2, 0, {1, 1}, 0.25f, 0}};
  image.header.service[5] = 15.5f;
  image.distances = {{0, 0, {1, 2.25f}, {3.1f}, {4}}, {5, 0, {10}, {30}, {40.7f}}};
  Winner winner{2, 3, 0, 0, 150.1f, 155.5f, 0.02f, 161.5f, 57, "knomial:2"};
  image.add_winner(winner, {2, 0, 1, 0xffffffff, 8, 7});
  winner = {0, 2, 0, 0, 50, 51, 0.03f, 52, 58, "sequential"};
  image.add_winner(winner, {3, 1});
  set_text(image.header.machine, sizeof image.header.machine, "A \"quoted\" CPU \\ µ");
  set_text(image.header.method, sizeof image.header.method, "by hand");
  return image;
}

TEST_F(MachineFileTest, BothFormsOfAProfileCarryTheSameNumbers) {
  const ProfileImage image = sample();
  const std::vector<std::byte> packed = image.pack();
  const ProfileImage again = profile_from_json(profile_to_json(image), "x");
  EXPECT_EQ(again.pack(), packed) << "to the bit";
  const std::string path =
      folder.write("p.profile", std::string_view(reinterpret_cast<const char*>(packed.data()), packed.size()));
  const MachineFile from_packed = read_machine_file(path), from_json = read_text(profile_to_json(image));
  EXPECT_EQ(from_packed.kind, "measured");
  EXPECT_EQ(from_json.kind, "measured");
  EXPECT_EQ(from_json.fingerprint, 0xfedcba9876543210);
  EXPECT_EQ(from_json.name, from_packed.name);
  ASSERT_EQ(from_packed.curves.size(), 2u);
  EXPECT_EQ(from_packed.curves[1].participants, 4u);
  EXPECT_EQ(from_packed.curves[1].ns[kReduceFlat][5], image.curves[1].ns[kReduceFlat][5]);
  for (size_t i = 0; i < image.hop.size(); ++i) {
    EXPECT_EQ(from_packed.overlap.hop[i], image.hop[i]);
    EXPECT_EQ(from_json.overlap.hop[i], image.hop[i]);
    EXPECT_EQ(from_json.paper.hop[i], from_packed.paper.hop[i]);
  }
}

TEST_F(MachineFileTest, JsonNamesDateFingerprintAndUnit) {
  const std::string text = profile_to_json(sample());
  for (const char* part :
       {R"({"distance": "other package", "part": 1, "pairs": 4, "samples": 3, "marks": ["unsteady", "wide"])",
        R"("wait": {"poll": 12.5, "yield": 340.1, "futex_wake": 1900, "futex_return": 5100.3})",
        R"({"distance": "other package", "children": [1, 2, 4, 8, 16, 32], "gather": [1, 2, 3, 4, 5, 0])",
        R"({"distance": "self", "sizes": [64, 256,)",
        R"({"operation": "barrier", "pattern": "knomial:2", "predicted": 150.1, "measured": 155.5)",
        R"("cpus": [2, 0, 1], "program": [4294967295, 8, 7]})", R"("cpus": [3, 1], "program": []})"})
    EXPECT_NE(text.find(part), text.npos) << part << text.substr(text.find("\"classes"));
  for (const char* part : {"\"created\": \"2023-11-14T22:13:21Z\"", "\"fingerprint\": \"fedcba9876543210\"",
                           "\"unit\": \"ns\"", "\"kind\": \"measured\"", "row = sender"})
    EXPECT_NE(text.find(part), text.npos) << part;
}

TEST_F(MachineFileTest, BadProfilesAreRefused) {
  const std::string good = profile_to_json(sample());
  const auto with = [&good](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    return text.replace(at, from.size(), to);
  };
  expect_refused(with("smelt machine profile", "other"), "\"format\"");
  expect_refused(with("\"version\": 6", "\"version\": 2"), "format version 2, this Smelt reads 6; export it anew");
  expect_refused(with("\"os\": 1", "\"os\": 0"), "do not ascend");
  expect_refused(with("\"os\": 1", "\"os\": -1"), "\"os\" of CPU 1");
  expect_refused(with("\"package\": 1", "\"package\": 99999"), "\"package\" of CPU 2");
  expect_refused(with("\"unit\": \"ns\"", "\"unit\": \"s\""), "\"unit\"");
  expect_refused(with("2023-11-14T22:13:21Z", "yesterday"), "\"created\"");
  expect_refused(with("fedcba9876543210", "xyz"), "\"fingerprint\"");
  expect_refused(with("fedcba9876543210", "1fedcba9876543210"), "\"fingerprint\"");
  expect_refused(with("\"pairs_measured\": 12", "\"pairs_measured\": 13"), "\"pairs_measured\"");
  expect_refused(with("\"spread\": 0.07", "\"spread\": -0.07"), "\"spread\"");
  expect_refused(with("\"hop\": [", "\"hip\": ["), "\"hop\" is missing");
  expect_refused(with("\"cpus\": [", "\"cpus\": [7,"), "a JSON object is expected");
  expect_refused(with("\"methods\": [", "\"method s\": ["), "\"methods\" is missing");
  expect_refused(with("\"methods\": [", "\"methods\": [1, 2, 3,"), "at most 4 sets of curves");
  expect_refused(with("\"distance\": \"same core\"", "\"distance\": \"next door\""),
                 "not one of \"self\", \"same core\"");
  expect_refused(with("\"distance\": \"same core\"", "\"distance\": 1"), "\"distance\" is 1, not one of");
  expect_refused(with("\"unsteady\"", "\"steady\""), "a mark is \"steady\", not one of \"unsteady\", \"wide\"");
  expect_refused(with("\"samples\": 3", "\"samples\": 5"), "a class has more pairs than there are");
  expect_refused(with("\"classes\"", "\"glasses\""), "\"classes\" is missing");
  expect_refused(with("\"wait\"", "\"weight\""), "\"wait\" is missing");
  expect_refused(with("\"futex_wake\": 1900", "\"futex_wake\": 1e9"), "\"futex_wake\" is 1000000000");
  expect_refused(with("\"children\": [1, 2", "\"children\": [1, 3"), "\"children\" is not [1, 2, 4");
  expect_refused(with("\"gather\": [1,", "\"gather\": ["), "\"gather\" is not a list of 6 numbers");
  expect_refused(with("\"copy\": [1,", "\"copy\": [\"x\","), "\"copy\"[0] is not a number");
  expect_refused(with("\"operation\": \"barrier\"", "\"operation\": \"scan\""),
                 "not one of \"broadcast\", \"reduce\", \"barrier\"");
  expect_refused(with("\"cpus\": [2, 0, 1]", "\"cpus\": [2, 0, 7]"), "a winner has CPU 7");
  expect_refused(with("\"cpus\": [2, 0, 1]", "\"cpus\": [2, 0, 2]"), "a winner has a CPU twice");
  expect_refused(with("\"cpus\": [2, 0, 1]", "\"cpus\": [2]"), "impossible group");
  expect_refused(with("\"program\": [4294967295", "\"program\": [4294967296"), "is not a whole number");
  expect_refused(with("\"program\": [4294967295", "\"program\": [-1"), "is not a whole number");
  expect_refused(with("\"participants\": 2", "\"participants\": 1"), "\"participants\" is 1, not 2 to 1024");
  expect_refused(with("\"participants\": 2", "\"participants\": 1025"), "\"participants\" is not a whole number");
  expect_refused(with("\"sizes\": [64, 256", "\"sizes\": [64, 128"), "\"sizes\" is not [64, 256, 1024");
  expect_refused(with("\"reduce_single\": [", "\"reduce_double\": ["), "\"reduce_single\" is missing");
  expect_refused(with("\"broadcast_shelf\": [0", "\"broadcast_shelf\": [-1"), "\"broadcast_shelf\"[0] is -1");
  expect_refused(with("\"broadcast_shelf\": [0", "\"broadcast_shelf\": [0, 1"),
                 "\"broadcast_shelf\" is not a list of 9");
}

// Whatever is wrong is a UserError; what gets through can be packed, and the loader would take it.
TEST_F(MachineFileTest, EveryDamagedByteOfAProfileIsRefusedOrHarmless) {
  const std::string good = profile_to_json(sample());
  constexpr size_t kStep = test::kSanitized ? 5 : 1;  // the time goes with the square of the length
  uint32_t refused = 0;
  for (size_t at = 0; at < good.size(); at += kStep) {
    const char changes[] = {static_cast<char>(good[at] ^ 1), static_cast<char>(good[at] ^ 0x80), '9', '"'};
    std::string damaged = good;
    damaged[at] = changes[at % 4];
    try {
      const ProfileImage image = profile_from_json(damaged, "x");
      if (at % 16 == 0) {
        const std::vector<std::byte> packed = image.pack();
        Profile profile;
        Refusal why;
        ASSERT_EQ(
            load_profile_file(
                folder.write("p.profile", std::string_view(reinterpret_cast<const char*>(packed.data()), packed.size()))
                    .c_str(),
                0, &profile, &why),
            0)
            << why.text << " at " << at;
        unload_profile(&profile);
      }
    } catch (const UserError& error) {
      ++refused;
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    }
  }
  EXPECT_GT(refused, good.size() / 3 / kStep);
  for (size_t length = 0; length < good.size() - 2; length += kStep)
    EXPECT_THROW(profile_from_json(good.substr(0, length), "x"), UserError) << length;
}

TEST(Xml, OfThisMachineIsThisMachine) {
  const Folder folder;
  export_machine_xml(folder.path("this.xml"));
  const Machine here = discover_machine(), there = machine_from_xml(folder.path("this.xml"));
  EXPECT_FALSE(there.this_machine);
  EXPECT_EQ(there.shape, here.shape);
  ASSERT_EQ(there.pus.size(), here.pus.size());
  for (size_t i = 0; i < here.pus.size(); ++i) {
    EXPECT_EQ(there.pus[i].os_index, here.pus[i].os_index);
    EXPECT_EQ(there.pus[i].core, here.pus[i].core);
    EXPECT_EQ(there.pus[i].llc, here.pus[i].llc);
    EXPECT_EQ(there.pus[i].node, here.pus[i].node);
  }
}

TEST(Xml, BadFilesAreRefused) {
  const Folder folder;
  EXPECT_THROW(machine_from_xml(folder.path("none.xml")), UserError);
  EXPECT_THROW(machine_from_xml(folder.write("empty.xml", "")), UserError);
  EXPECT_THROW(machine_from_xml(folder.write("other.xml", "<html><body/></html>")), UserError);
}

TEST_F(MachineFileTest, XmlAndSyntheticAreGuessed) {
  export_machine_xml(folder.path("this.xml"));
  const MachineFile xml = read_machine_file(folder.path("this.xml"));
  EXPECT_EQ(xml.kind, "guessed");
  EXPECT_EQ(xml.overlap.n, static_cast<uint32_t>(::sysconf(_SC_NPROCESSORS_ONLN)));
  const MachineFile synthetic = read_machine_file("synthetic:pack:2 core:4 pu:2");
  EXPECT_EQ(synthetic.kind, "guessed");
  EXPECT_EQ(synthetic.overlap.n, 16u);
  EXPECT_EQ(synthetic.core[0], synthetic.core[1]);
  EXPECT_NE(synthetic.package[0], synthetic.package[15]);
  expect_refused("<xml", "not an hwloc XML file");
}

TEST_F(MachineFileTest, XmlOfALaterHwlocSaysSo) {
  export_machine_xml(folder.path("this.xml"));
  std::ifstream file(folder.path("this.xml"));
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::string version = "<topology version=\"2.";
  const size_t at = text.find(version);
  ASSERT_NE(at, text.npos) << text.substr(0, 400);
  text.replace(at + version.size() - 2, 1, "9");
  expect_refused(text, "XML of hwloc 9.");
  text.replace(at + version.size() - 2, 1, "x");
  expect_refused(text.substr(0, text.size() / 2), "not an hwloc XML file");
}

TEST_F(MachineFileTest, ThisMachineIsWhatProcessesSee) {
  const MachineFile file = read_machine_file("this");
  EXPECT_TRUE(file.kind == "measured" || file.kind == "guessed") << file.kind;
  EXPECT_GE(file.overlap.n, 1u);
  EXPECT_NE(file.fingerprint, 0u);
}

TEST_F(MachineFileTest, EverySharedMachineIsRead) {
  const char* directory = std::getenv("SMELT_TEST_MACHINES");
  if (!directory) GTEST_SKIP() << "SMELT_TEST_MACHINES names no folder of machine matrices";
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() != ".json") continue;
    const MachineFile file = read_machine_file(entry.path());
    EXPECT_EQ(file.cpus.size(), file.overlap.n) << file.name;
    EXPECT_EQ(file.package.size(), file.overlap.n) << file.name;
    ++count;
  }
  EXPECT_GT(count, 0) << directory;
}

}  // namespace
