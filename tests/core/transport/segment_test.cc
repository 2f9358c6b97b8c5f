// Tickets that are not what they say: another process has that number here, or the leader's memory was damaged. Nothing
// may be mapped beyond the segment, and nothing opened but a file of memory.
#include "transport/segment.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smelt::test {
namespace {

constexpr uint64_t kBytes = 3 * kPage, kLimit = 1 << 20;

// What another process makes of a ticket: the bits of its exit status. Its block's memory is touched from end to end.
int attached_by_another(const BlockTicket& ticket, uint64_t bytes) {
  const pid_t child = fork();
  if (child == 0) {
    Block block;
    const int error = attach_block(ticket, bytes, &block);
    if (error) _exit(-error);
    for (uint64_t at = 0; at < bytes; at += kPage) static_cast<volatile char*>(block.address)[at] = 1;
    release_block(&block);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}
int exited(int code) { return code << 8; }

class Segments : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(allocate_block(kBytes, 2, kLimit, &block, &ticket), 0); }
  void TearDown() override {
    abandon_block(&block);
    release_segments();
  }
  Block block;
  BlockTicket ticket;
};

TEST_F(Segments, ABlockIsSharedWithWhoHasItsTicket) {
  ASSERT_EQ(attached_by_another(ticket, kBytes), 0);
  EXPECT_EQ(block.address[2 * kPage], 1);
}

// Also the one that is not the last: a program that comes and goes would use up the segment.
TEST_F(Segments, ABlockThatEverybodyHasLeftIsUsedAgain) {
  const uint64_t first = ticket.offset;
  Block later;
  BlockTicket of_later;
  ASSERT_EQ(allocate_block(kBytes, 1, kLimit, &later, &of_later), 0);
  EXPECT_NE(of_later.offset, first);
  abandon_block(&block);
  ASSERT_EQ(allocate_block(kBytes, 2, kLimit, &block, &ticket), 0);
  EXPECT_EQ(ticket.offset, first);
  release_block(&later);
}

TEST_F(Segments, ABlockBeyondTheSegmentIsRefused) {
  BlockTicket wrong = ticket;
  for (const uint64_t offset : {ticket.bytes, ticket.bytes - kPage, ticket.bytes - kBytes + kPage,
                                ticket.bytes + (uint64_t{1} << 40), UINT64_MAX - kPage + 1, UINT64_MAX - kBytes + 1}) {
    wrong.offset = offset;
    EXPECT_EQ(attached_by_another(wrong, kBytes), exited(ENOTSUP)) << "offset " << offset;
  }
  wrong.offset = ticket.bytes - kBytes;  // the last place that a block of that size has
  EXPECT_EQ(attached_by_another(wrong, kBytes), 0);
  EXPECT_EQ(attached_by_another(ticket, ticket.bytes), exited(ENOTSUP)) << "longer than what follows it";
  EXPECT_EQ(attached_by_another(ticket, UINT64_MAX), exited(ENOTSUP));
}

TEST_F(Segments, ABlockThatBeginsInsideAPageOrOverTheNameIsRefused) {
  BlockTicket wrong = ticket;
  for (const uint64_t offset : {uint64_t{0}, kPage + 8, ticket.offset + kPage / 2, ticket.offset + 1}) {
    wrong.offset = offset;
    EXPECT_EQ(attached_by_another(wrong, kBytes), exited(ENOTSUP)) << "offset " << offset;
  }
}

// A segment that is mapped already is not looked at through its ticket again; its bounds hold all the same.
TEST_F(Segments, BoundsHoldForASegmentThatIsKnown) {
  const pid_t child = fork();
  if (child == 0) {
    Block good, bad;
    BlockTicket wrong = ticket;
    wrong.bytes = uint64_t{1} << 60;
    wrong.offset = ticket.bytes;
    const bool held = attach_block(ticket, kBytes, &good) == 0 && attach_block(wrong, kBytes, &bad) == -ENOTSUP;
    _exit(held ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(Segments, AnotherFileUnderThatNumberIsRefused) {
  BlockTicket wrong = ticket;
  wrong.segment ^= 1;
  EXPECT_EQ(attached_by_another(wrong, kBytes), exited(ENOTSUP)) << "another segment's name";
  wrong = ticket;
  wrong.bytes += kPage;
  EXPECT_EQ(attached_by_another(wrong, kBytes), exited(ENOTSUP)) << "another size";
  // An empty file is as long as a ticket without bytes says; its first page is not there to be read.
  const int empty = memfd_create("empty", MFD_CLOEXEC);
  wrong = ticket;
  wrong.descriptor = empty, wrong.bytes = 0;
  EXPECT_EQ(attached_by_another(wrong, 0), exited(ENOTSUP)) << "an empty file";
  close(empty);
}

BlockTicket ticket_of(int descriptor, uint64_t bytes) { return BlockTicket{1, getpid(), descriptor, bytes, kPage}; }

// A reader of a pipe is told that the last writer has gone (POLLHUP) only if there ever was one: so it sees whether
// somebody opened the pipe for writing in between, however briefly.
TEST(Strangers, APipeUnderThatNumberIsNotOpened) {
  const std::string folder = testing::TempDir() + "smelt_segment_" + std::to_string(getpid());
  ASSERT_TRUE(std::filesystem::create_directory(folder));
  const std::string path = folder + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  Block block;
  EXPECT_EQ(attach_block(ticket_of(reader, kBytes), kPage, &block), -ENOTSUP);
  EXPECT_EQ(attach_block(ticket_of(reader, 0), 0, &block), -ENOTSUP) << "as long as fstat says that it is";
  pollfd look{reader, POLLIN, 0};
  EXPECT_EQ(poll(&look, 1, 0), 0) << "somebody opened the pipe for writing";
  close(open(path.c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_EQ(poll(&look, 1, 0), 1) << "control: then it would have been seen";
  close(reader);
  std::filesystem::remove_all(folder);
}

// The same for a device: the master of a pseudo terminal is told when the last slave closes, if there was one.
TEST(Strangers, ADeviceUnderThatNumberIsNotOpened) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  char path[64];
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0 || ptsname_r(master, path, sizeof path) != 0)
    GTEST_SKIP() << "there are no pseudo terminals here";
  const int slave = open(path, O_PATH | O_CLOEXEC);  // a number for it, without opening it
  ASSERT_GE(slave, 0);
  Block block;
  EXPECT_EQ(attach_block(ticket_of(slave, kBytes), kPage, &block), -ENOTSUP);
  EXPECT_EQ(attach_block(ticket_of(slave, 0), 0, &block), -ENOTSUP);
  pollfd look{master, POLLIN, 0};
  EXPECT_EQ(poll(&look, 1, 0), 0) << "somebody opened the terminal";
  close(open(path, O_RDWR | O_NOCTTY | O_CLOEXEC));
  EXPECT_EQ(poll(&look, 1, 0), 1) << "control: then it would have been seen";
  close(slave);
  close(master);
}

}  // namespace
}  // namespace smelt::test
