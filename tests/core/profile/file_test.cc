// load_profile_file against files that are good, broken, foreign, hostile or in the wrong place.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <functional>
#include <limits>

#include "folder.h"
#include "model/distance.h"
#include "packed.h"

using namespace smelt;
using namespace smelt::test;

namespace {

class ProfileFile : public testing::Test {
 protected:
  Folder folder;
  Packed packed;
  Profile profile;
  Refusal why;
  ~ProfileFile() override { unload_profile(&profile); }

  int load(const std::string& path, uint64_t fingerprint = 0) {
    unload_profile(&profile);
    return load_profile_file(path.c_str(), fingerprint, &profile, &why);
  }
  // Over what is there: a file that is cut to nothing and written again is flushed by some file systems, ten thousand
  // times.
  int load_bytes(std::string_view bytes, mode_t mode = 0600) {
    const std::string path = folder.path("p.profile");
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT, 0600);
    EXPECT_EQ(::pwrite(file, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    EXPECT_EQ(::ftruncate(file, static_cast<off_t>(bytes.size())), 0);
    EXPECT_EQ(::fchmod(file, mode), 0);
    ::close(file);
    return load(path);
  }

  void expect_refused(int result, int expected, const char* text) {
    EXPECT_EQ(result, expected) << why.text;
    EXPECT_NE(std::strstr(why.text, text), nullptr) << "expected \"" << text << "\" in: " << why.text;
    EXPECT_EQ(std::strchr(why.text, '\n'), nullptr) << "one line only: " << why.text;
    EXPECT_EQ(profile.mapping, nullptr);
    EXPECT_EQ(profile.costs.n, 0u);
  }
};

TEST_F(ProfileFile, GoodOneIsLoadedWhole) {
  ASSERT_EQ(load(folder.write("p.profile", packed.bytes), 0x1234), 0) << why.text;
  EXPECT_STREQ(why.text, "");
  EXPECT_STREQ(profile.path, folder.path("p.profile").c_str());
  EXPECT_STREQ(profile.header.machine, "Test CPU");
  EXPECT_EQ(profile.costs.n, 3u);
  EXPECT_TRUE(costs_are_sane(profile.costs));
  EXPECT_EQ(profile.costs.hop[profile.costs.at(2, 1)], 22);
  EXPECT_EQ(profile.costs.ready_read[profile.costs.at(0, 2)], 3);
  EXPECT_EQ(profile.costs.poller, 0.5f);
  EXPECT_EQ(profile.core[2], 2);
  ASSERT_EQ(profile.header.curve_sets, 2u);
  EXPECT_EQ(profile.curves[1].participants, 16u);
  EXPECT_EQ(profile.curves[1].ns[kAllreduceSingle][8], 1708);
  EXPECT_EQ(profile_index(profile, 4), 2);
  EXPECT_EQ(profile_index(profile, 3), kNobody);
  EXPECT_EQ(profile_index(profile, 5), kNobody);
}

TEST_F(ProfileFile, EverySizeIsLoaded) {
  for (uint32_t n : {1u, 2u, 5u, 64u, kMaxProfileCpus}) {
    EXPECT_EQ(load_bytes(Packed(n).bytes), 0) << why.text;
    EXPECT_EQ(profile.costs.n, n);
  }
}

TEST_F(ProfileFile, EveryNumberOfCurvesIsLoaded) {
  for (uint32_t sets = 0; sets <= kMaxCurveSets; ++sets) {
    EXPECT_EQ(load_bytes(Packed(3, sets).bytes), 0) << why.text;
    EXPECT_EQ(profile.header.curve_sets, sets);
    EXPECT_EQ(profile.curves != nullptr, sets > 0);
  }
  EXPECT_EQ(load_bytes(Packed(kMaxProfileCpus, kMaxCurveSets).bytes), 0) << why.text;
}

TEST_F(ProfileFile, WhatIsMeasuredBesideTheMatricesIsLoaded) {
  ASSERT_EQ(load_bytes(Packed(3, 1, true).bytes), 0) << why.text;
  ASSERT_EQ(profile.header.classes, 2u);
  EXPECT_EQ(profile.classes[0].hop, 16.5f);
  EXPECT_EQ(profile.classes[1].marks, kMarkUnsteady | kMarkWide);
  EXPECT_EQ(profile.wait->futex_wake, 1900);
  ASSERT_EQ(profile.header.fans, 1u);
  EXPECT_EQ(profile.fans[0].scatter[5], 205);
  ASSERT_EQ(profile.header.queues, 1u);
  EXPECT_EQ(profile.queues[0].line[4], 248);
  EXPECT_EQ(profile.costs.service[4], 2) << "by distance";
  EXPECT_EQ(profile.costs.crossing[5], 15);
  EXPECT_EQ(profile.costs.core, profile.core);
  EXPECT_EQ(profile.costs.package, profile.package);
  ASSERT_EQ(profile.header.distances, 2u);
  EXPECT_EQ(profile.distances[1].reduce[8], 241);
  ASSERT_EQ(profile.header.winners, 2u);
  EXPECT_STREQ(profile.winners[1].pattern, "sequential");
  EXPECT_EQ(profile.winner_words[profile.winners[1].first_word], 1u);
  ASSERT_EQ(load_bytes(packed.bytes), 0) << why.text;
  EXPECT_EQ(profile.classes, nullptr);
  EXPECT_EQ(profile.winners, nullptr);
  ASSERT_NE(profile.wait, nullptr);
  EXPECT_EQ(profile.wait->poll, 0);
}

TEST_F(ProfileFile, SurvivesTruncationAfterItWasLoaded) {
  Packed large(64);
  ASSERT_EQ(load_bytes(large.bytes), 0);
  ASSERT_EQ(::truncate(folder.path("p.profile").c_str(), 0), 0);
  EXPECT_TRUE(costs_are_sane(profile.costs)) << "a mapped file would have raised SIGBUS";
}

TEST_F(ProfileFile, MissingOneIsNoRefusal) {
  EXPECT_EQ(load(folder.path("none.profile")), -ENOENT);
  EXPECT_EQ(load(folder.path("no/where/none.profile")), -ENOENT);
  EXPECT_EQ(load("/dev/null/.cache/smelt/none.profile"), -ENOENT) << "HOME=/dev/null is usual for services";
  EXPECT_STREQ(why.text, "");
}

TEST_F(ProfileFile, EveryTruncationIsRefused) {
  const Packed packed(3, 1, true);
  for (size_t length = 0; length < packed.bytes.size(); ++length) {
    ASSERT_EQ(load_bytes(packed.bytes.substr(0, length)), -EINVAL) << length;
    ASSERT_NE(std::strstr(why.text, length < 8 ? "not a Smelt profile" : "truncated"), nullptr) << length << why.text;
  }
  expect_refused(load_bytes(packed.bytes + "x"), -EINVAL, "of the wrong size");
}

TEST_F(ProfileFile, EverySingleDamagedByteIsRefused) {
  Packed packed(3, 1, true);
  for (size_t at = 0; at < packed.bytes.size(); ++at) {
    std::string damaged = packed.bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    ASSERT_EQ(load_bytes(damaged), -EINVAL) << "byte " << at;
    ASSERT_STRNE(why.text, "");
  }
  packed.header().checksum ^= 1;
  expect_refused(load_bytes(packed.bytes), -EINVAL, "damaged (wrong checksum)");
}

// Found by tests/fuzz: such a profile was believed, and its JSON form could not be read back.
TEST_F(ProfileFile, HeadersThatNoCalibrationWritesAreRefused) {
  for (const int64_t date : {int64_t{-1}, int64_t{253402300800}, INT64_MAX, INT64_MIN}) {
    Packed forged;
    forged.header().created = date;
    forged.seal();
    expect_refused(load_bytes(forged.bytes), -EINVAL, "its date is of no time");
  }
  Packed forged;
  forged.header().pairs_measured = 7;  // of three CPUs
  forged.seal();
  expect_refused(load_bytes(forged.bytes), -EINVAL, "more measured pairs than pairs");
}

// Hostile: the checksum is right whatever was changed. What gets through is a profile with other numbers, but a sane
// one.
TEST_F(ProfileFile, EverySingleForgedByteIsRefusedOrHarmless) {
  const Packed good(3, 1, true);
  uint32_t refused = 0;
  for (size_t at = 0; at < good.bytes.size(); ++at)
    for (const int change : {0x01, 0x10, 0x80, 0xff}) {
      Packed forged = good;
      forged.bytes[at] = static_cast<char>(forged.bytes[at] ^ change);
      forged.seal();
      const int result = load_bytes(forged.bytes);
      ASSERT_TRUE(result == 0 || result == -EINVAL) << "byte " << at;
      refused += result != 0;
      if (result != 0) continue;
      ASSERT_TRUE(costs_are_sane(profile.costs)) << "byte " << at;
      for (uint32_t i = 0; i < profile.header.winners; ++i) {
        const Winner& winner = profile.winners[i];
        ASSERT_LE(uint64_t{winner.first_word} + winner.words, profile.header.winner_words) << "byte " << at;
        for (uint32_t p = 0; p < winner.participants; ++p)
          ASSERT_LT(profile.winner_words[winner.first_word + p], profile.costs.n) << "byte " << at;
      }
    }
  EXPECT_GT(refused, 1000u);
}

TEST_F(ProfileFile, OfAnotherMachineIsRefused) {
  expect_refused(load(folder.write("p.profile", packed.bytes), 0x1235), -ESTALE, "another machine");
}

// Where the user has named a file, calibrating does not help: it makes another. Where nobody has, it does.
TEST_F(ProfileFile, ARefusalSaysToCalibrateWhereNoFileWasNamed) {
  const std::string path = folder.write("p.profile", "root:x:0:0:root:/root:/bin/sh\n");
  expect_refused(load(path), -EINVAL, "is not a Smelt profile");
  EXPECT_EQ(std::strstr(why.text, "calibrate"), nullptr) << why.text;
  unload_profile(&profile);
  expect_refused(load_own_profile_file(path.c_str(), &profile, &why), -EINVAL,
                 "is not a Smelt profile; run 'smelt calibrate'");
  // Where another remedy is named already, that one alone.
  expect_refused(load_own_profile_file(folder.write("json.profile", "{}").c_str(), &profile, &why), -EINVAL,
                 "name the .profile file beside it");
  EXPECT_EQ(std::strstr(why.text, "calibrate"), nullptr) << why.text;
  EXPECT_EQ(load_own_profile_file(folder.path("none").c_str(), &profile, &why), -ENOENT);
  EXPECT_STREQ(why.text, "");
}

TEST_F(ProfileFile, OfAnotherVersionIsRefused) {
  for (uint32_t version : {1u, 2u, 3u, 4u, 5u, kProfileVersion + 1}) {
    packed.header().version = version;
    expect_refused(load_bytes(packed.bytes), -EINVAL, "format version");
  }
  // Other versions have headers of other sizes.
  packed.header().version = 2;
  expect_refused(load_bytes(packed.bytes.substr(0, sizeof(PackedHeader) - 16)), -EINVAL,
                 "format version 2, this Smelt reads 6");
}

TEST_F(ProfileFile, OfAnotherByteOrderIsRefused) {
  packed.header().byte_order = __builtin_bswap32(packed.header().byte_order);
  expect_refused(load_bytes(packed.bytes), -EINVAL, "another byte order");
  // As that machine would have written it: every number the other way round, the checksum right in its eyes.
  for (size_t at = offsetof(PackedHeader, byte_order); at + 4 <= packed.bytes.size(); at += 4)
    std::reverse(packed.bytes.begin() + static_cast<ptrdiff_t>(at),
                 packed.bytes.begin() + static_cast<ptrdiff_t>(at) + 4);
  packed.header().byte_order = 0x04030201;
  expect_refused(load_bytes(packed.bytes), -EINVAL, "another byte order");
}

TEST_F(ProfileFile, ImpossibleSizesAreRefused) {
  for (uint32_t cpus : {0u, kMaxProfileCpus + 1, 0x80000000u, UINT32_MAX}) {
    packed.header().cpus = cpus;
    packed.seal();
    expect_refused(load_bytes(packed.bytes), -EINVAL, "CPUs, 1 to 1024 are possible");
  }
  packed.header().cpus = 3;
  for (uint32_t sets : {kMaxCurveSets + 1, UINT32_MAX}) {
    packed.header().curve_sets = sets;
    packed.seal();
    expect_refused(load_bytes(packed.bytes), -EINVAL, "sets of curves, at most 4 are possible");
  }
  using Count = uint32_t PackedHeader::*;
  const struct {
    Count count;
    uint32_t most;
    const char* text;
  } parts[] = {{&PackedHeader::classes, kMaxClasses, "classes of distance, at most 64 are possible"},
               {&PackedHeader::fans, kMaxFanCurves, "fans, at most 4 are possible"},
               {&PackedHeader::distances, kMaxDistanceCurves, "curves by distance, at most 6 are possible"},
               {&PackedHeader::winners, kMaxWinners, "winners, at most 32 are possible"},
               {&PackedHeader::winner_words, kMaxWinnerWords, "words of winners, at most 1048576 are possible"}};
  for (const auto& part : parts) {
    Packed spoilt(3, 1, true);
    for (uint32_t count : {part.most + 1, UINT32_MAX}) {
      spoilt.header().*part.count = count;
      spoilt.seal();
      expect_refused(load_bytes(spoilt.bytes), -EINVAL, part.text);
    }
    for (uint32_t count : {0u, part.most}) {
      spoilt.header().*part.count = count;
      spoilt.seal();
      expect_refused(load_bytes(spoilt.bytes), -EINVAL, "of the wrong size");
    }
  }
  for (uint32_t sets : {1u, 3u}) {
    packed.header().curve_sets = sets;
    packed.seal();
    expect_refused(load_bytes(packed.bytes), -EINVAL, "of the wrong size");
  }
  packed.header().cpus = 1000;
  packed.seal();
  expect_refused(load_bytes(packed.bytes), -EINVAL, "of the wrong size");
  const std::string path = folder.write("p.profile", packed.bytes);
  ASSERT_EQ(::truncate(path.c_str(), off_t{1} << 40), 0);
  expect_refused(load(path), -EINVAL, "too large");
}

// Well-formed, rightly sealed, and wrong in one number.
TEST_F(ProfileFile, UnbelievableContentIsRefused) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const struct {
    const char* text;
    std::function<void(Packed&)> spoil;
  } cases[] = {
      {"unit", [](Packed& p) { p.header().unit = 2; }},
      {"ascending", [](Packed& p) { p.os_cpu()[1] = p.os_cpu()[0]; }},
      {"ascending", [](Packed& p) { p.os_cpu()[2] = 1; }},
      {"itself is not 0", [](Packed& p) { p.array<float>(p.at.hop)[4] = 1; }},
      {"itself is not 0", [](Packed& p) { p.array<float>(p.at.ready_read)[8] = 1; }},
      {"plain text", [](Packed& p) { p.header().machine[2] = '\x1b'; }},
      {"plain text", [](Packed& p) { std::memset(p.header().method, 'x', sizeof p.header().method); }},
      {"header", [](Packed& p) { p.header().poller = -1; }},
      {"header", [](Packed& p) { p.header().one_way_hop = std::nanf(""); }},
      {"header", [](Packed& p) { p.header().spread = kInfinity; }},
  };
  for (const auto& [text, spoil] : cases) {
    Packed spoilt;
    spoil(spoilt);
    spoilt.seal();
    expect_refused(load_bytes(spoilt.bytes), -EINVAL, text);
  }
  for (uint64_t matrix : {packed.at.hop, packed.at.send_busy, packed.at.recv_busy, packed.at.ready_read})
    for (float bad : {std::nanf(""), kInfinity, -kInfinity, -1.0f, 1e9f}) {
      Packed spoilt;
      spoilt.array<float>(matrix)[5] = bad;
      spoilt.seal();
      expect_refused(load_bytes(spoilt.bytes), -EINVAL, "matrices is not a cost");
    }
}

TEST_F(ProfileFile, UnbelievableCurvesAreRefused) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (uint32_t participants : {0u, 1u, kMaxParticipants + 1, UINT32_MAX}) {
    Packed spoilt;
    spoilt.curves()[1].participants = participants;
    spoilt.seal();
    expect_refused(load_bytes(spoilt.bytes), -EINVAL, "curves are of an impossible group");
  }
  for (uint32_t sync : {kSyncs, UINT32_MAX}) {
    Packed spoilt;
    spoilt.curves()[0].sync = sync;
    spoilt.seal();
    expect_refused(load_bytes(spoilt.bytes), -EINVAL, "curves are of an unknown synchronisation");
  }
  for (float bad : {std::nanf(""), kInfinity, -kInfinity, -1.0f, 1e9f}) {
    Packed spoilt;
    spoilt.curves()[1].ns[kReduceSingle][3] = bad;
    spoilt.seal();
    expect_refused(load_bytes(spoilt.bytes), -EINVAL, "curves is not a cost");
  }
}

TEST_F(ProfileFile, UnbelievableMeasurementsAreRefused) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const struct {
    const char* text;
    std::function<void(Packed&)> spoil;
  } cases[] = {
      {"class is of an unknown distance", [](Packed& p) { p.classes()[1].distance = kDistances; }},
      {"unknown marks", [](Packed& p) { p.classes()[0].marks = 4; }},
      {"more pairs than there are", [](Packed& p) { p.classes()[0].pairs = 4; }},
      {"more pairs than there are", [](Packed& p) { p.classes()[0].samples = 2; }},
      {"more pairs than there are", [](Packed& p) { p.classes()[0].part = kMaxClasses; }},
      {"classes is not a cost", [](Packed& p) { p.classes()[0].spread = -1; }},
      {"classes is not a cost", [](Packed& p) { p.classes()[1].hop = std::nanf(""); }},
      {"waiting is not a cost", [](Packed& p) { p.wait().yield = kInfinity; }},
      {"fan is of an unknown distance", [](Packed& p) { p.fans()[0].distance = UINT32_MAX; }},
      {"fan is of an unknown distance", [](Packed& p) { p.fans()[0].reserved = 1; }},
      {"queue is of an unknown distance", [](Packed& p) { p.queues()[0].distance = kDistances; }},
      {"queue was reached more than once", [](Packed& p) { p.queues()[0].reached = 2; }},
      {"queues is not a cost", [](Packed& p) { p.queues()[0].line[8] = -1; }},
      {"queues is not a cost", [](Packed& p) { p.queues()[0].service = kInfinity; }},
      {"header is not a cost", [](Packed& p) { p.header().service[5] = -1; }},
      {"header is not a cost", [](Packed& p) { p.header().crossing[5] = kInfinity; }},
      {"fans is not a cost", [](Packed& p) { p.fans()[0].gather[5] = 1e9f; }},
      {"fans is not a cost", [](Packed& p) { p.fans()[0].scatter[0] = -kInfinity; }},
      {"curve is of an unknown distance", [](Packed& p) { p.distances()[1].distance = kDistances; }},
      {"copied in an unknown way", [](Packed& p) { p.distances()[1].copied_by = kCopyChoices; }},
      {"by distance is not a cost", [](Packed& p) { p.distances()[1].copy[8] = -1; }},
      {"by distance is not a cost", [](Packed& p) { p.distances()[0].single_copy[0] = std::nanf(""); }},
      {"by distance is not a cost", [](Packed& p) { p.distances()[0].reduce[3] = kInfinity; }},
      {"unknown operation", [](Packed& p) { p.winners()[0].operation = kWinnerOperations; }},
      {"impossible group", [](Packed& p) { p.winners()[0].participants = 1; }},
      {"impossible group", [](Packed& p) { p.winners()[0].participants = 8; }},
      {"impossible group", [](Packed& p) { p.winners()[0].participants = UINT32_MAX; }},
      {"not where they belong", [](Packed& p) { p.winners()[0].first_word = 1; }},
      {"not where they belong", [](Packed& p) { p.winners()[1].first_word = 0; }},
      {"not where they belong", [](Packed& p) { p.winners()[1].words = 5; }},
      {"not where they belong", [](Packed& p) { p.winners()[1].words = UINT32_MAX; }},
      {"words of no winner", [](Packed& p) { p.winners()[1].words = 3; }},
      {"CPU that the profile has not", [](Packed& p) { p.winner_words()[0] = 3; }},
      {"a CPU twice", [](Packed& p) { p.winner_words()[1] = 2; }},
      {"plain text", [](Packed& p) { p.winners()[1].pattern[0] = '\n'; }},
      {"plain text", [](Packed& p) { std::memset(p.winners()[1].pattern, 'x', sizeof Winner::pattern); }},
      {"winner is not a cost", [](Packed& p) { p.winners()[1].predicted = -1; }},
      {"winner is not a cost", [](Packed& p) { p.winners()[1].hop = std::nanf(""); }},
  };
  for (const auto& [text, spoil] : cases) {
    Packed spoilt(3, 1, true);
    spoil(spoilt);
    spoilt.seal();
    expect_refused(load_bytes(spoilt.bytes), -EINVAL, text);
  }
}

TEST_F(ProfileFile, WritableByOthersIsRefused) {
  for (mode_t mode : {0620u, 0602u, 0666u}) {
    expect_refused(load_bytes(packed.bytes, mode), -EPERM, "chmod go-w");
  }
  EXPECT_EQ(load_bytes(packed.bytes, 0644), 0) << why.text;
}

TEST_F(ProfileFile, InADirectoryThatEverybodyCanWriteIsRefused) {
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  expect_refused(load_bytes(packed.bytes), -EPERM, "directory that everybody can write");
  ASSERT_EQ(::chmod(folder.path().c_str(), 01777), 0);
  EXPECT_EQ(load_bytes(packed.bytes), 0) << "sticky, like /tmp: nobody can replace it. " << why.text;
}

TEST_F(ProfileFile, OfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const std::string path = folder.write("p.profile", packed.bytes);
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  expect_refused(load(path), -EPERM, "belongs to user 12345");
}

TEST_F(ProfileFile, WhatIsNoRegularFileIsRefusedWithoutBlocking) {
  const std::string target = folder.write("p.profile", packed.bytes);
  ASSERT_EQ(::symlink(target.c_str(), folder.path("link.profile").c_str()), 0);
  expect_refused(load(folder.path("link.profile")), -ELOOP, "symbolic link");
  ASSERT_EQ(::mkdir(folder.path("dir.profile").c_str(), 0700), 0);
  expect_refused(load(folder.path("dir.profile")), -EINVAL, "not a regular file");
  ASSERT_EQ(::mkfifo(folder.path("fifo.profile").c_str(), 0600), 0);
  expect_refused(load(folder.path("fifo.profile")), -EINVAL, "not a regular file");
  expect_refused(load("/dev/zero"), -EINVAL, "not a regular file");
}

TEST_F(ProfileFile, OtherFilesAreNamedForWhatTheyAre) {
  expect_refused(load_bytes("{\"format\": \"smelt machine profile\"}"), -EINVAL, "JSON form");
  expect_refused(load_bytes("something else altogether"), -EINVAL, "not a Smelt profile");
  expect_refused(load(folder.path(std::string(600, 'x'))), -ENAMETOOLONG, "too long a name");
}

TEST_F(ProfileFile, UnreadableOneIsRefused) {
  const std::string path = folder.write("p.profile", packed.bytes, 0000);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  if (::geteuid() != 0) {
    expect_refused(load(path), -EACCES, "Permission denied");
    return;
  }
  // Root reads everything: become somebody else, in a child.
  EXPECT_EXIT(
      {
        if (::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
        const int result = load_profile_file(path.c_str(), 0, &profile, &why);
        ::_exit(result == -EACCES && std::strstr(why.text, "Permission denied") ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
