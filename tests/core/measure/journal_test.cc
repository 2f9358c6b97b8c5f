// What an interrupted calibration leaves, and who may go on from it.
#include "measure/journal.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <ctime>
#include <filesystem>

#include "folder.h"
#include "profile/text/error.h"

using namespace smelt;
using smelt::test::Folder;

namespace {

constexpr uint64_t kMachine = 0xfedcba9876543210;

class JournalTest : public testing::Test {
 protected:
  const Folder folder;
  const std::string profile = folder.path("m.profile");
  const std::string path = folder.path("m.partial");

  static MeasuredPair pair(uint32_t a, uint32_t b, double hop = 57.25) {
    PairCost cost;
    cost.hops = {hop, hop + 1, hop + 2};
    cost.drift = 0.0625;
    cost.forth = {1.5, 2.25, 28};
    cost.back = {1.75, 2, 29.5};
    return {a, b, cost};
  }

  void measured(uint32_t pairs) const {
    Journal journal(profile, kMachine, false);
    for (uint32_t i = 0; i < pairs; ++i) journal.add(pair(i, i + 1, 50 + i));
  }

  size_t known(bool fresh = false, uint64_t machine = kMachine) const {
    return Journal(profile, machine, fresh).known().size();
  }

  void expect_refused(const char* says) const {
    try {
      Journal(profile, kMachine, false);
      ADD_FAILURE() << "taken";
    } catch (const UserError& error) {
      const std::string what = error.what();
      EXPECT_NE(what.find(path), what.npos) << what;
      EXPECT_NE(what.find(says), what.npos) << what;
      EXPECT_EQ(what.find('\n'), what.npos) << what;
    }
  }
};

TEST_F(JournalTest, WhatWasMeasuredIsKnownAgain) {
  measured(3);
  {
    Journal journal(profile, kMachine, false);
    ASSERT_EQ(journal.known().size(), 3u);
    const MeasuredPair& first = journal.known()[0];
    EXPECT_EQ(first.os_cpu_a, 0u);
    EXPECT_EQ(first.os_cpu_b, 1u);
    EXPECT_EQ(first.cost.hops, (std::vector<double>{50, 51, 52}));
    EXPECT_EQ(first.cost.drift, 0.0625);
    EXPECT_EQ(first.cost.forth.send_busy, 1.5);
    EXPECT_EQ(first.cost.forth.recv_busy, 2.25);
    EXPECT_EQ(first.cost.back.ready_read, 29.5);
    journal.add(pair(7, 9));
    EXPECT_EQ(journal.pairs(), 4u);
  }
  EXPECT_EQ(known(), 4u) << "the first journal goes on";
}

TEST_F(JournalTest, APairThatIsMeasuredAgainCountsOnce) {
  measured(2);
  Journal(profile, kMachine, false).add(pair(0, 1, 999));
  Journal journal(profile, kMachine, false);
  ASSERT_EQ(journal.known().size(), 2u);
  EXPECT_EQ(journal.known()[0].cost.hops[0], 999);
}

TEST_F(JournalTest, NothingIsLeftOfAFinishedOrAnEmptyOne) {
  measured(0);
  EXPECT_FALSE(std::filesystem::exists(path));
  {
    Journal journal(profile, kMachine, false);
    EXPECT_TRUE(std::filesystem::exists(path));
    journal.add(pair(0, 1));
    journal.remove();
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(JournalTest, OldForeignAndUnwantedPairsAreDropped) {
  measured(3);
  EXPECT_EQ(known(true), 0u);
  measured(3);
  EXPECT_EQ(known(false, kMachine + 1), 0u);
  measured(3);
  EXPECT_EQ(known(), 3u);
  const std::time_t now = std::time(nullptr), limit = std::time_t{kJournalMinutes} * 60;
  for (const std::time_t age : {limit - 30, limit + 5, std::time_t{-3600}}) {
    measured(3);
    const timespec times[2] = {{now - age, 0}, {now - age, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    EXPECT_EQ(known(), age > 0 && age < limit ? 3u : 0u) << age;
  }
  // Another version of this file.
  measured(3);
  std::string text = folder.read("m.partial");
  text.replace(text.find(" 1 "), 3, " 2 ");
  folder.write("m.partial", text);
  EXPECT_EQ(known(), 0u);
}

TEST_F(JournalTest, EveryTruncationKeepsTheWholeLines) {
  measured(3);
  const std::string whole = folder.read("m.partial");
  for (size_t length = 0; length <= whole.size(); ++length) {
    const std::string cut = whole.substr(0, length);
    folder.write("m.partial", cut);
    const auto lines = static_cast<size_t>(std::count(cut.begin(), cut.end(), '\n'));
    Journal journal(profile, kMachine, false);
    ASSERT_EQ(journal.known().size(), lines ? lines - 1 : 0) << length;
    journal.add(pair(8, 9));
    ASSERT_EQ(folder.read("m.partial").back(), '\n') << "the torn line must not take the next one with it";
    journal.remove();
  }
}

TEST_F(JournalTest, EveryDamagedByteIsNoticed) {
  measured(3);
  const std::string whole = folder.read("m.partial");
  const size_t header = whole.find('\n');
  for (size_t at = 0; at < whole.size(); ++at)
    for (const int change : {0x01, 0x10, 0x80}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      folder.write("m.partial", damaged);
      const auto before =
          static_cast<size_t>(std::count(whole.begin() + static_cast<ptrdiff_t>(header) + 1,
                                         whole.begin() + static_cast<ptrdiff_t>(std::max(at, header + 1)), '\n'));
      const Journal journal(profile, kMachine, false);
      ASSERT_EQ(journal.known().size(), at <= header ? 0 : before) << "byte " << at;
    }
}

TEST_F(JournalTest, HostileOnesAreRefusedWithoutBlocking) {
  ASSERT_EQ(::symlink("/etc/passwd", path.c_str()), 0);
  expect_refused("not a regular file");
  ::unlink(path.c_str());
  ASSERT_EQ(::symlink(folder.path("elsewhere").c_str(), path.c_str()), 0);
  expect_refused("not a regular file");
  EXPECT_FALSE(std::filesystem::exists(folder.path("elsewhere")));
  ::unlink(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  expect_refused("not a regular file");
  ::unlink(path.c_str());
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  expect_refused("not a regular file");
  ::rmdir(path.c_str());
  measured(1);
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  expect_refused("others can write");
  ::chmod(path.c_str(), 0600);
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  expect_refused("others can write");
}

TEST_F(JournalTest, TwoCalibrationsAtOnceAreOneTooMany) {
  int ready[2], done[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(done), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    Journal journal(profile, kMachine, false);
    journal.add(pair(0, 1));
    char byte = 'x';
    if (::write(ready[1], &byte, 1) != 1 || ::read(done[0], &byte, 1) != 1) ::_exit(1);
    ::_exit(0);  // as if it had been interrupted
  }
  char byte = 'x';
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  expect_refused("another 'smelt calibrate' is measuring");
  ASSERT_EQ(::write(done[1], &byte, 1), 1);
  int status = -1;
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(known(), 1u) << "what it left can be taken over";
  for (const int fd : {ready[0], ready[1], done[0], done[1]}) ::close(fd);
}

TEST_F(JournalTest, AChildThatOutlivesItsCalibrationHoldsNothing) {
  int end[2];
  ASSERT_EQ(::pipe(end), 0);
  pid_t child = -1;
  {
    Journal journal(profile, kMachine, false);
    journal.add(pair(0, 1));
    child = ::fork();
    if (child == 0) {
      char byte;
      ::close(end[1]);
      [[maybe_unused]] const ssize_t got = ::read(end[0], &byte, 1);
      ::_exit(0);
    }
  }
  const pid_t next = ::fork();
  if (next == 0) {
    try {
      Journal journal(profile, kMachine, false);
      ::_exit(journal.known().size() == 1 ? 0 : 2);
    } catch (const UserError&) {
      ::_exit(1);
    }
  }
  int status = -1;
  ASSERT_EQ(::waitpid(next, &status, 0), next);
  EXPECT_EQ(status, 0);
  ::close(end[1]);
  ::waitpid(child, &status, 0);
  ::close(end[0]);
}

}  // namespace
