// Every way to copy gives the bytes of memcpy and touches nothing else, at all short lengths, around every length that
// a way treats apart, and at all alignments of both ends to each other.
#include "transport/copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace smelt {
namespace {

// Memory that ends, or begins, where a page lies that nobody may touch.
class GuardedPages {
 public:
  explicit GuardedPages(size_t bytes) : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))), bytes_(bytes) {
    bytes_ = (bytes + page_ - 1) / page_ * page_;
    base_ =
        static_cast<unsigned char*>(mmap(nullptr, bytes_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED || mprotect(begin(), bytes_, PROT_READ | PROT_WRITE) != 0) std::abort();
  }
  ~GuardedPages() { munmap(base_, bytes_ + 2 * page_); }
  GuardedPages(const GuardedPages&) = delete;
  GuardedPages& operator=(const GuardedPages&) = delete;
  unsigned char* begin() const { return base_ + page_; }
  unsigned char* end() const { return begin() + bytes_; }

 private:
  const size_t page_;
  size_t bytes_;
  unsigned char* base_;
};

constexpr size_t kLongest = 40 << 10;
constexpr unsigned char kUntouched = 0xa5;

std::vector<size_t> lengths() {
  std::vector<size_t> out;
  for (size_t bytes = 0; bytes <= 300; ++bytes) out.push_back(bytes);
  for (const size_t around : {512, 1024, 2048, 3072, 4096, 8192, 16384, 32768})
    for (const size_t bytes : {around - 65, around - 64, around - 1, around, around + 1, around + 63, around + 64})
      out.push_back(bytes);
  return out;
}

class Ways : public testing::TestWithParam<CopyWay> {
 protected:
  Ways() : from_(kLongest), to_(kLongest) {
    unsigned state = 1;
    for (unsigned char* p = from_.begin(); p < from_.end(); ++p)
      *p = static_cast<unsigned char>((state = state * 1103515245 + 12345) >> 16);
  }
  void SetUp() override {
    if (!can_copy_by(GetParam())) GTEST_SKIP() << "not on this CPU, or a sanitizer would not see it";
  }
  // Copies, and looks at the copy and at `apron` bytes on both sides of it.
  void expect_copy(size_t to, size_t from, size_t bytes) {
    constexpr size_t kApron = 130;
    unsigned char* const at = to_.begin() + to;
    unsigned char* const first = std::max(to_.begin(), at - std::min(kApron, to));
    unsigned char* const last = std::min(to_.end(), at + bytes + kApron);
    std::fill(first, last, kUntouched);
    copy_by(GetParam(), at, from_.begin() + from, bytes);
    ASSERT_TRUE(std::all_of(first, at, is_untouched)) << bytes << " bytes, to " << to << " from " << from;
    ASSERT_TRUE(std::all_of(at + bytes, last, is_untouched)) << bytes << " bytes, to " << to << " from " << from;
    ASSERT_TRUE(std::equal(at, at + bytes, from_.begin() + from)) << bytes << " bytes, to " << to << " from " << from;
  }
  static bool is_untouched(unsigned char byte) { return byte == kUntouched; }

  const GuardedPages from_, to_;
};

TEST_P(Ways, CopyEveryLength) {
  for (const size_t bytes : lengths()) {
    expect_copy(0, 0, bytes);
    expect_copy(kLongest - bytes, kLongest - bytes, bytes);  // up to the guards behind both
    expect_copy(0, kLongest - bytes, bytes);
    expect_copy(kLongest - bytes, 0, bytes);
    if (HasFatalFailure()) return;
  }
}

TEST_P(Ways, CopyAtEveryAlignment) {
  constexpr size_t kStep = 7;  // with both ends' offsets in a line: all differences, in a few seconds
  for (size_t to = 0; to < 128; to += 1)
    for (size_t from = to % kStep; from < 128; from += kStep)
      for (const size_t bytes : {1, 63, 64, 65, 1000, 1024, 2047, 2048, 4100}) {
        expect_copy(to, from, bytes);
        if (HasFatalFailure()) return;
      }
}

// Where one end lies a few bytes ahead of the other within a page.
TEST_P(Ways, CopyAtEveryPlaceInAPage) {
  for (size_t ahead = 0; ahead < 4096; ahead += 61) {
    expect_copy(ahead, 0, 9000);
    expect_copy(0, ahead, 9000);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Ways, testing::Values(CopyWay::kLibc, CopyWay::kMovsb, CopyWay::kAhead),
                         [](const auto& info) {
                           return std::string(kCopyWayNames[static_cast<uint32_t>(info.param)]);
                         });

TEST(Pieces, GoTheChosenWayFromItsLengthOn) {
  std::vector<char> from(4096), to(4096);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 7);
  for (const CopyWay way : {CopyWay::kLibc, CopyWay::kMovsb, CopyWay::kAhead}) {
    if (!can_copy_by(way)) continue;
    use_long_copy({way, 100});
    for (const size_t bytes : {0, 1, 99, 100, 101, 4096}) {
      std::fill(to.begin(), to.end(), 0);
      copy_piece(to.data(), from.data(), bytes);
      EXPECT_TRUE(std::equal(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(bytes), from.begin())) << bytes;
      EXPECT_TRUE(
          std::all_of(to.begin() + static_cast<std::ptrdiff_t>(bytes), to.end(), [](char c) { return c == 0; }));
    }
  }
  use_long_copy({});
}

}  // namespace
}  // namespace smelt
