// Waiting, fans and copies, measured for real in small; and which CPUs, on machines that only exist here.
#include "measure/other_figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "discover/machine.h"
#include "here.h"
#include "measure/copy_race.h"
#include "profile/text/error.h"

using namespace smelt;

namespace {

constexpr double kSecond = 1e9;

OtherEffort small_effort() {
  OtherEffort effort;
  effort.wait = {3, 512, 64, 16, 50'000'000};
  effort.fans = {4, 8, 20'000'000};
  effort.copies = {4, 1 << 16, 12, 30};
  return effort;
}

bool is_time(double ns) { return std::isfinite(ns) && ns > 0 && ns < kSecond; }

class Parameters : public testing::Test {
 protected:
  const std::vector<uint32_t> cpus = discover_machine().allowed_cpus();
  int first() const { return static_cast<int>(cpus[0]); }
  int second() const { return static_cast<int>(cpus[1]); }
};

TEST_F(Parameters, OfWaitingOnOneCpuKnowNoSleep) {
  const WaitFigures wait = measure_waiting(first(), -1, 0, small_effort().wait);
  EXPECT_TRUE(is_time(wait.poll)) << wait.poll;
  EXPECT_LT(wait.poll, 20'000);
  EXPECT_TRUE(is_time(wait.yield)) << wait.yield;
  EXPECT_EQ(wait.futex_wake, 0);
  EXPECT_EQ(wait.futex_return, 0);
}

TEST_F(Parameters, OfWaitingTellPollingFromSleeping) {
  if (cpus.size() < 2) GTEST_SKIP() << "this process may use one CPU only";
  const WaitFigures wait = measure_waiting(first(), second(), 0, small_effort().wait);
  for (const float figure : {wait.poll, wait.yield, wait.futex_wake, wait.futex_return})
    EXPECT_TRUE(is_time(figure)) << figure;
  EXPECT_GT(wait.futex_wake, wait.poll) << "a system call against a look";
  EXPECT_GT(wait.futex_return, wait.poll);
}

// Four CPUs on one cache, two on another package; a fan of four children on the near ones.
TEST(Fans, RaiseWhatThePairsAloneShowedTooCheap) {
  Machine machine;
  for (uint32_t i = 0; i < 8; ++i) {
    Pu pu;
    pu.os_index = pu.core = pu.l1 = pu.l2 = static_cast<uint16_t>(i);
    pu.llc = pu.node = pu.package = i < 6 ? 0 : 1;
    machine.pus.push_back(pu);
  }
  const ProfileImage before = [&] {
    ProfileImage image = guess_image(machine);
    image.header.poller = 2;
    ClassFigures near{};
    near.distance = static_cast<uint32_t>(Distance::kSameLlc);
    near.send_busy = near.recv_busy = 10;
    image.classes.push_back(near);
    std::fill(image.send_busy.begin(), image.send_busy.end(), 10.0f);
    std::fill(image.recv_busy.begin(), image.recv_busy.end(), 10.0f);
    return image;
  }();
  const auto raised = [&](std::vector<float> gather, std::vector<float> scatter) {
    ProfileImage image = before;
    FanCurves fan{};
    fan.distance = static_cast<uint32_t>(Distance::kSameLlc);
    std::copy(gather.begin(), gather.end(), fan.gather);
    std::copy(scatter.begin(), scatter.end(), fan.scatter);
    image.fans.push_back(fan);
    raise_by_fans(image);
    return image;
  };
  const size_t near = 0 * 8 + 5, far = 0 * 8 + 6;
  // A further child takes 14 in a gather, of which 2 are the poller's, and 20 in a scatter.
  const ProfileImage dearer = raised({100, 110, 142}, {100, 105, 160});
  EXPECT_FLOAT_EQ(dearer.recv_busy[near], 12);
  EXPECT_FLOAT_EQ(dearer.send_busy[near], 20);
  EXPECT_FLOAT_EQ(dearer.classes[0].recv_busy, 12);
  EXPECT_FLOAT_EQ(dearer.classes[0].send_busy, 20);
  EXPECT_EQ(dearer.send_busy[far], 10) << "another distance";
  // No dearer than the pairs by more than noise; and two children are too few to tell.
  for (const ProfileImage& same : {raised({100, 110, 133}, {100, 110, 132}), raised({100, 200}, {100, 200})}) {
    EXPECT_EQ(same.recv_busy, before.recv_busy);
    EXPECT_EQ(same.send_busy, before.send_busy);
  }
}

TEST_F(Parameters, OfFansAreThereForAsManyChildrenAsThereAre) {
  if (cpus.size() < 2) GTEST_SKIP() << "this process may use one CPU only";
  Fan fan{Distance::kSameLlc, cpus[0], {cpus.begin() + 1, cpus.end()}};
  const FanCurves curves = measure_fan(fan, small_effort().fans);
  EXPECT_EQ(curves.distance, static_cast<uint32_t>(Distance::kSameLlc));
  for (uint32_t i = 0; i < kFanSizes; ++i) {
    const bool there = kFanChildren[i] <= fan.children.size();
    EXPECT_EQ(is_time(curves.gather[i]), there) << curves.gather[i];
    EXPECT_EQ(is_time(curves.scatter[i]), there) << curves.scatter[i];
  }
}

TEST_F(Parameters, OfCopyingGrowWithTheSize) {
  std::vector<CopyPair> pairs{{Distance::kSelf, cpus[0], cpus[0]}};
  if (cpus.size() > 1) pairs.push_back({Distance::kOther, cpus[0], cpus[1]});
  for (const CopyPair& pair : pairs) {
    CopyEffort effort = small_effort().copies;
    effort.sizes = 6;  // 64 KiB
    DistanceCurves curves;
    ASSERT_EQ(measure_copies(pair, effort, &curves), "");
    EXPECT_EQ(curves.distance, static_cast<uint32_t>(pair.distance));
    for (uint32_t s = 0; s < kCurveSizes; ++s) {
      EXPECT_EQ(is_time(curves.copy[s]), s < effort.sizes) << s;
      EXPECT_EQ(is_time(curves.reduce[s]), s < effort.sizes) << s;
      // Where the kernel forbids it, at all sizes.
      EXPECT_EQ(is_time(curves.single_copy[s]), s < effort.sizes && curves.single_copy[0] > 0) << s;
    }
    EXPECT_GT(curves.copy[5], curves.copy[0]) << "a thousand times as much";
    EXPECT_GT(curves.reduce[5], curves.reduce[0]);
  }
}

TEST(CopyRace, IsWonByWhatGainsWithTheLongestPiecesAndAllFromThereOn) {
  constexpr auto kLibc = static_cast<uint32_t>(CopyWay::kLibc), kMovsb = static_cast<uint32_t>(CopyWay::kMovsb),
                 kAhead = static_cast<uint32_t>(CopyWay::kAhead);
  CopyTimes times{};
  const auto set = [&times](uint32_t way, std::vector<double> ns) { std::copy(ns.begin(), ns.end(), times.ns[way]); };
  const auto won = [&times] { return std::string(kCopyChoiceNames[copy_choice_of(times)]); };
  set(kLibc, {100, 100, 100, 100, 100});
  EXPECT_EQ(won(), "libc") << "nothing else is possible";
  set(kAhead, {90, 90, 90, 90, 90});
  EXPECT_EQ(won(), "ahead from 1 KiB");
  set(kAhead, {90, 98, 90, 90, 90});
  EXPECT_EQ(won(), "ahead from 4 KiB") << "less than 3 % is noise";
  set(kMovsb, {120, 103, 102, 80, 70});
  EXPECT_EQ(won(), "movsb from 4 KiB") << "as fast is enough: another C library's memcpy is another";
  set(kMovsb, {60, 110, 60, 60, 60});
  EXPECT_EQ(won(), "movsb from 4 KiB") << "with all longer ones";
  set(kMovsb, {10, 10, 10, 10, 103});
  set(kAhead, {10, 10, 10, 10, 98});
  EXPECT_EQ(won(), "libc");
  set(kMovsb, {120, 120, 120, 120, 50});
  EXPECT_EQ(won(), "movsb from 16 KiB");
  for (uint32_t choice = 2; choice < kCopyChoices; ++choice) {
    const LongCopy copy = long_copy_of(choice);
    const auto* raced = std::find(std::begin(kRacedBytes), std::end(kRacedBytes), copy.from);
    ASSERT_NE(raced, std::end(kRacedBytes));
    EXPECT_EQ(copy_choice(copy.way, static_cast<uint32_t>(raced - std::begin(kRacedBytes))), choice);
    EXPECT_EQ(std::string(kCopyChoiceNames[choice]).find(kCopyWayNames[static_cast<uint32_t>(copy.way)]), 0u);
    EXPECT_NE(std::string(kCopyChoiceNames[choice]).find(std::to_string(copy.from >> 10) + " KiB"), std::string::npos);
  }
}

TEST_F(Parameters, OfTheWaysToCopyAreOneChoice) {
  if (cpus.size() < 2) GTEST_SKIP() << "this process may use one CPU only";
  uint32_t choice = 0;
  ASSERT_EQ(race_copies({Distance::kOther, cpus[0], cpus[1]}, 30, &choice), "");
  EXPECT_GT(choice, 0u);
  EXPECT_LT(choice, kCopyChoices);
}

TEST_F(Parameters, GoIntoTheProfile) {
  ProfileImage image = test::guess_here();
  std::vector<uint32_t> seen;
  uint32_t parts = 0;
  const std::string remark = measure_other_figures(
      image, [&](uint32_t done, uint32_t total) { seen.push_back(done), parts = total; }, small_effort());
  EXPECT_EQ(seen.size(), parts);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_TRUE(remark.empty() || remark.find("single copy") == 0) << remark;
  EXPECT_TRUE(is_time(image.wait.poll));
  EXPECT_EQ(image.fans.size(), fan_cpus(image).size());
  EXPECT_EQ(image.distances.size(), copy_cpus(image).size());
  EXPECT_EQ(parts, 1 + image.fans.size() + image.distances.size());
  for (const DistanceCurves& curves : image.distances)
    EXPECT_EQ(curves.copied_by != 0, curves.distance != static_cast<uint32_t>(Distance::kSelf));
  // Both forms of the file carry them.
  const ProfileImage again = profile_from_json(profile_to_json(image), "image");
  EXPECT_EQ(again.pack(), image.pack());
}

TEST_F(Parameters, ThatCannotBeMeasuredLeaveALine) {
  ProfileImage image = guess_image(machine_from_synthetic("core:2 pu:1"));
  image.os_cpu = {4000, 4001};
  std::string remark;
  EXPECT_NO_THROW(remark = measure_other_figures(image, {}, small_effort()));
  EXPECT_NE(remark.find("could not be measured"), std::string::npos) << remark;
  EXPECT_NE(remark.find("4000"), std::string::npos) << remark;
  EXPECT_EQ(remark.find('\n'), std::string::npos);
  EXPECT_EQ(image.wait.poll, 0);
  EXPECT_TRUE(image.fans.empty());
  EXPECT_TRUE(image.distances.empty());
}

// --- which CPUs ---

TEST(FanCpus, AreOnePerCoreAndOfOneDistanceEach) {
  const ProfileImage image = guess_image(machine_from_synthetic("pack:2 numa:2 l3:2 core:40 pu:2"));
  const std::vector<Fan> fans = fan_cpus(image);
  ASSERT_EQ(fans.size(), 4u);
  static_assert(kMaxFanCurves == 4);
  std::set<Distance> distances;
  for (const Fan& fan : fans) {
    EXPECT_TRUE(distances.insert(fan.distance).second);
    EXPECT_EQ(fan.children.size(), 32u);
    std::set<uint16_t> cores;
    for (const uint32_t child : fan.children) {
      EXPECT_TRUE(cores.insert(image.core[child]).second);
      EXPECT_EQ(distance_in(image, 0, child), fan.distance);
    }
  }
  EXPECT_TRUE(fan_cpus(guess_image(machine_from_synthetic("core:1 pu:2"))).empty()) << "siblings are no children";
}

TEST(CopyCpus, AreTheMedianPairOfEveryDistance) {
  ProfileImage image = guess_image(machine_from_synthetic("pack:2 core:2 pu:1"));
  const auto set = [&](uint32_t a, uint32_t b, float hop) { image.hop[a * 4 + b] = image.hop[b * 4 + a] = hop; };
  set(0, 2, 100), set(0, 3, 300), set(1, 2, 200), set(1, 3, 400);  // packages apart
  const std::vector<CopyPair> pairs = copy_cpus(image);
  ASSERT_EQ(pairs.size(), 3u);
  EXPECT_EQ(pairs[0].distance, Distance::kSelf);
  EXPECT_EQ(pairs[0].reader, pairs[0].writer);
  EXPECT_EQ(pairs[1].distance, Distance::kSameLlc);
  EXPECT_EQ(pairs[2].distance, Distance::kOther);
  EXPECT_EQ(pairs[2].reader, 0u);
  EXPECT_EQ(pairs[2].writer, 3u) << "the upper median";
  EXPECT_LE(copy_cpus(guess_image(machine_from_synthetic("pack:2 numa:2 l3:2 core:2 pu:2"))).size(),
            kMaxDistanceCurves);
  EXPECT_EQ(copy_cpus(guess_image(machine_from_synthetic("core:1 pu:1"))).size(), 1u);
}

}  // namespace
