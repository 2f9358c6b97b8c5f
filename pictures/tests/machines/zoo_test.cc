// Every machine of the zoo: complete, as large as its name says, and with costs that make sense.
#include "pictures/machines/zoo.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "folder.h"
#include "pictures/machines/class_file.h"
#include "pictures/machines/machine_file.h"

using namespace smelt;

namespace {

ClassFile class_file(const ZooEntry& entry) {
  const JsonChecks checks(entry.name);
  return class_file_from_json(checks.parse(entry.text), checks);
}

MachineFile machine(const std::string& name) { return read_machine_file("zoo:" + name); }

std::string refusal(const std::string& name) {
  try {
    machine(name);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

// The end of a name: packages x cores of each [x threads of each core].
std::vector<size_t> shape_in(const std::string& name) {
  std::istringstream text(name.substr(name.rfind('-') + 1));
  std::vector<size_t> out;
  for (std::string part; std::getline(text, part, 'x');) out.push_back(std::stoul(part));
  if (out.size() == 2) out.push_back(1);
  return out;
}

size_t distinct(const std::vector<Pu>& pus, uint16_t Pu::*member) {
  std::set<uint16_t> ids;
  for (const Pu& pu : pus) ids.insert(pu.*member);
  return ids.size();
}

TEST(Zoo, HoldsEveryFileOfItsFolder) {
  const char* const folder = std::getenv("SMELT_TEST_ZOO");
  if (!folder) GTEST_SKIP() << "SMELT_TEST_ZOO does not name pictures/machines/zoo";
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    EXPECT_EQ(entry.path().extension(), ".json") << entry.path();
    files[entry.path().stem()] = text.str();
  }
  EXPECT_EQ(files.size(), zoo().size()) << "pictures/machines/meson.build lists others";
  for (const ZooEntry& entry : zoo()) EXPECT_EQ(files[entry.name], entry.text) << entry.name;
}

TEST(Zoo, NamesAscend) {
  ASSERT_GE(zoo().size(), 15u);
  for (size_t i = 1; i < zoo().size(); ++i) EXPECT_LT(std::string(zoo()[i - 1].name), zoo()[i].name);
  for (const ZooEntry& entry : zoo()) EXPECT_EQ(find_in_zoo(entry.name), &entry);
  EXPECT_EQ(find_in_zoo(""), nullptr);
  EXPECT_EQ(find_in_zoo("list"), nullptr);
}

TEST(Zoo, ReachesFromTheDesktopToTwoTimes128Cores) {
  std::set<std::string> vendors;
  size_t smallest = SIZE_MAX, largest = 0;
  for (const ZooEntry& entry : zoo()) {
    const std::string name = entry.name;
    vendors.insert(name.substr(0, name.find('-')));
    const size_t cores = distinct(class_file(entry).machine.pus, &Pu::core);
    smallest = std::min(smallest, cores);
    largest = std::max(largest, cores);
  }
  EXPECT_LE(smallest, 8u);
  EXPECT_EQ(largest, 256u);
  for (const char* vendor : {"amd", "ampere", "apple", "aws", "intel"}) EXPECT_TRUE(vendors.contains(vendor)) << vendor;
}

TEST(Zoo, SizesAreAsNamed) {
  for (const ZooEntry& entry : zoo()) {
    SCOPED_TRACE(entry.name);
    const std::vector<size_t> shape = shape_in(entry.name);
    ASSERT_EQ(shape.size(), 3u);
    const std::vector<Pu> pus = class_file(entry).machine.pus;
    EXPECT_EQ(distinct(pus, &Pu::package), shape[0]);
    EXPECT_EQ(distinct(pus, &Pu::core), shape[0] * shape[1]);
    EXPECT_EQ(pus.size(), shape[0] * shape[1] * shape[2]);
    EXPECT_EQ(machine(entry.name).overlap.n, pus.size());
  }
}

TEST(Zoo, EveryFigureHasASource) {
  for (const ZooEntry& entry : zoo()) {
    SCOPED_TRACE(entry.name);
    const ClassFile file = class_file(entry);
    EXPECT_FALSE(file.title.empty());
    for (const ClassCost& cost : file.costs) {
      // Where it can be read, or what it was estimated from.
      EXPECT_TRUE(cost.source.find('/') != std::string::npos || cost.source.find("estimated") != std::string::npos)
          << cost.source;
    }
    const MachineFile read = machine(entry.name);
    EXPECT_EQ(read.kind, "classes");
    EXPECT_EQ(read.unit, CostUnit::kNanoseconds);
    EXPECT_EQ(read.name, file.title);
    EXPECT_EQ(read.sources.size(), file.costs.size() + !file.note.empty());
  }
}

// Pair by pair, what is read back: one cost per class, and further is dearer, in all four.
TEST(Zoo, CostsGrowWithDistance) {
  for (const ZooEntry& entry : zoo()) {
    SCOPED_TRACE(entry.name);
    const ClassFile file = class_file(entry);
    const MachineFile read = machine(entry.name);
    const Costs& costs = read.overlap;
    EXPECT_TRUE(costs_are_sane(costs));
    EXPECT_TRUE(costs_are_sane(read.paper));
    EXPECT_GT(costs.poller, 0);
    for (const float* matrix : {costs.hop, costs.send_busy, costs.recv_busy, costs.ready_read}) {
      std::map<Distance, std::set<float>> seen;
      for (uint32_t i = 0; i < costs.n; ++i)
        for (uint32_t j = 0; j < costs.n; ++j) {
          const Pu &a = file.machine.pus[i], &b = file.machine.pus[j];
          if (i != j) seen[distance_between(a, b)].insert(matrix[costs.at(i, j)]);
        }
      EXPECT_EQ(seen.size(), file.costs.size());
      float before = 0;
      for (const auto& [distance, values] : seen) {
        EXPECT_EQ(values.size(), 1u) << distance_name(distance);
        EXPECT_TRUE(std::isfinite(*values.begin()));
        EXPECT_GT(*values.begin(), before) << distance_name(distance);
        before = *values.begin();
      }
    }
  }
}

TEST(Zoo, NearestIsWhatWasMeant) {
  EXPECT_STREQ(nearest_in_zoo("epyc-7742")->name, "amd-epyc-7742-2x64x2");
  EXPECT_STREQ(nearest_in_zoo("7742")->name, "amd-epyc-7742-2x64x2");
  // Every number of a model leads to it, however many shorter names there are.
  EXPECT_STREQ(nearest_in_zoo("8275cl")->name, "intel-xeon-8275cl-2x24x2");
  EXPECT_STREQ(nearest_in_zoo("aws-gravitron3-1x64")->name, "aws-graviton3-1x64");
  const std::string unknown = refusal("epyc-7742");
  EXPECT_TRUE(unknown.starts_with("zoo:epyc-7742: ")) << unknown;
  EXPECT_NE(unknown.find("did you mean 'zoo:amd-epyc-7742-2x64x2'?"), std::string::npos) << unknown;
  EXPECT_EQ(unknown.find('\n'), std::string::npos);
  for (const std::string& name : {std::string(""), std::string("nosuch"), std::string(300, 'x')})
    EXPECT_EQ(nearest_in_zoo(name), nullptr) << name;
  EXPECT_EQ(refusal("nosuch").find("did you mean"), std::string::npos) << refusal("nosuch");
}

// What the zoo holds, people can write themselves: the same text as a file is the same machine.
TEST(Zoo, AFileOfTheSameTextIsTheSameMachine) {
  const test::Folder folder;
  const ZooEntry& entry = zoo().front();
  const MachineFile here = machine(entry.name), there = read_machine_file(folder.write("mine.json", entry.text));
  ASSERT_EQ(here.overlap.n, there.overlap.n);
  const size_t pairs = size_t{here.overlap.n} * here.overlap.n;
  for (size_t i = 0; i < pairs; ++i) EXPECT_EQ(here.overlap.hop[i], there.overlap.hop[i]);
  EXPECT_EQ(here.sources, there.sources);
}

}  // namespace
