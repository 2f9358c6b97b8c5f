// Which reductions keep the promised order, and which go along the tree: seen from who combines how often. The pattern
// is set, so the plan is the same on every machine, and for a crowd.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iterator>
#include <string>

#include "group/group.h"
#include "in_group.h"

namespace smelt::test {
namespace {

// An operation on T that counts its calls.
template <typename T>
struct Operator {
  T (*apply)(T, T);
  unsigned calls = 0;

  static void into_right(void* context, const void* left, void* right, size_t elements) {
    auto* self = static_cast<Operator*>(context);
    ++self->calls;
    for (size_t i = 0; i < elements; ++i)
      static_cast<T*>(right)[i] = self->apply(static_cast<const T*>(left)[i], static_cast<T*>(right)[i]);
  }
  static void into_third(void* context, const void* left, const void* right, void* result, size_t elements) {
    auto* self = static_cast<Operator*>(context);
    ++self->calls;
    for (size_t i = 0; i < elements; ++i)
      static_cast<T*>(result)[i] = self->apply(static_cast<const T*>(left)[i], static_cast<const T*>(right)[i]);
  }
  smelt_fold fold(unsigned flags, bool third = false) {
    return {sizeof(T), into_right, third ? into_third : nullptr, this, flags};
  }
};

smelt_data contiguous(void* base) { return {base, nullptr, nullptr, nullptr}; }

// Handed over packed.
smelt_data packed(void* base) {
  return {nullptr,
          [](void* context, size_t offset, size_t bytes, void* to) {
            std::memcpy(to, static_cast<char*>(context) + offset, bytes);
          },
          [](void* context, size_t offset, size_t bytes, const void* from) {
            std::memcpy(static_cast<char*>(context) + offset, from, bytes);
          },
          base};
}

using Word = uint32_t;
constexpr Word (*kIntegers[])(Word, Word) = {
    [](Word a, Word b) { return a + b; },         [](Word a, Word b) { return a * b; },
    [](Word a, Word b) { return a < b ? a : b; }, [](Word a, Word b) { return a < b ? b : a; },
    [](Word a, Word b) { return a & b; },         [](Word a, Word b) { return a | b; },
    [](Word a, Word b) { return a ^ b; },         [](Word a, Word b) { return Word{a && b}; },
    [](Word a, Word b) { return Word{a || b}; },  [](Word a, Word b) { return Word{!a != !b}; },
};

// The chain is 0, 1, 2, ..., but root and 0 change places.
unsigned in_chain(unsigned position, unsigned root) { return position == 0 ? root : position == root ? 0 : position; }

// How often rank `me` combines a message of so many pieces: along the chain all but the last once per piece, in the
// fixed order only the root.
unsigned calls_in_chain(const Seat& seat, unsigned root, unsigned pieces) {
  return seat.me == in_chain(seat.n - 1, root) ? 0 : pieces;
}
unsigned calls_in_order(const Seat& seat, unsigned root, unsigned pieces) {
  return seat.me == root ? (seat.n - 1) * pieces : 0;
}

constexpr unsigned kPiece = 512;
const std::vector<Setting> kChain = {
    {"SMELT_TUNE=pattern", "knomial:1"}, {"SMELT_TUNE=chunk", "512"}, {"SMELT_TUNE=flat_limit", "1000000000"}};
std::vector<Setting> with(std::vector<Setting> settings, const Setting& more) {
  settings.push_back(more);
  return settings;
}

class ReduceOrder : public testing::TestWithParam<unsigned> {};

int check_integers(smelt_group* group, const Seat& seat) {
  uint32_t round = 0;
  for (const size_t count : {0, 1, 7, 56, 57, 500, 3000})
    for (size_t which = 0; which < std::size(kIntegers); ++which)
      for (unsigned root = 0; root < seat.n; ++root)
        for (const int layout : {0, 1, 2}) {  // apart, in place, packed
          if (count > 57 && layout != static_cast<int>(root % 3)) continue;
          ++round;
          const auto apply = kIntegers[which];
          std::vector<Word> in(count + 1), out(count + 1, 77);
          const auto operand = [&](unsigned rank, size_t i) {
            return static_cast<Word>((rank + 3) * 2654435761u * (i + round) % 7 + rank % 2);
          };
          for (size_t i = 0; i < count; ++i) in[i] = operand(seat.me, i);
          if (layout == 1) out = in;
          Operator<Word> op{apply};
          const smelt_fold fold = op.fold(SMELT_FOLD_ANY_ORDER, round % 2);
          const smelt_data from = layout == 2 ? packed(in.data()) : contiguous(layout == 1 ? out.data() : in.data());
          const smelt_data to = layout == 2 ? packed(out.data()) : contiguous(out.data());
          EXPECT_HERE(smelt_group_reduce(group, &from, seat.me == root ? &to : nullptr, count, &fold, root) == 0,
                      "reduce");
          const size_t bytes = count * sizeof(Word);
          const unsigned pieces = bytes == 0              ? 0
                                  : bytes <= kInlineBytes ? 1
                                                          : static_cast<unsigned>((bytes + kPiece - 1) / kPiece);
          EXPECT_HERE(op.calls == calls_in_chain(seat, root, pieces), "rank %u, root %u, %zu words: combined %u times",
                      seat.me, root, count, op.calls);
          for (size_t i = 0; i < count && seat.me == root; ++i) {
            Word wanted = operand(0, i);
            for (unsigned rank = 1; rank < seat.n; ++rank) wanted = apply(wanted, operand(rank, i));
            EXPECT_HERE(out[i] == wanted, "operation %zu, root %u, layout %d, %zu words: word %zu is %u, not %u", which,
                        root, layout, count, i, out[i], wanted);
          }
        }
  return 0;
}
TEST_P(ReduceOrder, IntegersGoAlongTheTree) { EXPECT_EQ(in_group(GetParam(), kChain, check_integers), 0); }
// What the C API says of a reduction, not only of the pattern that was set.
TEST_P(ReduceOrder, TheDescriptionSaysSo) {
  const auto line_of = [](const char* order) {
    return [order](smelt_group* group, Seat&) {
      char line[256];
      smelt_group_describe(group, SMELT_COLLECTIVE_REDUCE, 0, line, sizeof line);
      EXPECT_HERE(std::string(line) == std::string("<= 280 B: inline, flags in the lines, combined by the root, ") +
                                           order + " along knomial:1",
                  "%s", line);
      return 0;
    };
  };
  EXPECT_EQ(in_group(GetParam(), kChain, line_of("order-free operations")), 0);
  EXPECT_EQ(in_group(GetParam(), with(kChain, {"SMELT_REDUCE_ORDER", "tree"}), line_of("what commutes")), 0);
}

// Numbers whose sum has other bits in nearly every other order.
double number(unsigned rank, size_t i) {
  const uint64_t h = (rank * 1000003 + i + 1) * 0x9e3779b97f4a7c15u;
  return (h % 2 ? -1 : 1) * (1 + static_cast<double>(h >> 20 & 0xffffffff) / 4294967296.0) *
         static_cast<double>(uint64_t{1} << (h >> 58));
}
double add(double a, double b) { return a + b; }

int check_sums(smelt_group* group, const Seat& seat, unsigned flags, bool along) {
  for (const size_t count : {1, 35, 36, 600})
    for (unsigned root = 0; root < seat.n; ++root)
      for (const bool third : {false, true}) {
        std::vector<double> in(count), out(count);
        for (size_t i = 0; i < count; ++i) in[i] = number(seat.me, i);
        Operator<double> op{add};
        const smelt_fold fold = op.fold(flags, third);
        const smelt_data from = contiguous(in.data()), to = contiguous(out.data());
        EXPECT_HERE(smelt_group_reduce(group, &from, &to, count, &fold, root) == 0, "reduce");
        const size_t bytes = count * sizeof(double);
        const unsigned pieces = bytes <= kInlineBytes ? 1 : static_cast<unsigned>((bytes + kPiece - 1) / kPiece);
        EXPECT_HERE(op.calls == (along ? calls_in_chain : calls_in_order)(seat, root, pieces),
                    "rank %u, root %u, %zu numbers: combined %u times", seat.me, root, count, op.calls);
        for (size_t i = 0; i < count && seat.me == root; ++i) {
          const auto rank = [&](unsigned position) { return along ? in_chain(position, root) : position; };
          double wanted = number(rank(seat.n - 1), i);
          for (unsigned k = seat.n - 1; k-- > 0;) wanted = number(rank(k), i) + wanted;
          EXPECT_HERE(std::memcmp(&out[i], &wanted, sizeof wanted) == 0, "root %u, %zu numbers: %a, not %a", root,
                      count, out[i], wanted);
        }
      }
  return 0;
}
TEST_P(ReduceOrder, SumsOfFloatingPointKeepTheirBits) {
  for (const unsigned flags : {0u, unsigned{SMELT_FOLD_COMMUTES}})
    EXPECT_EQ(
        in_group(GetParam(), kChain, [flags](smelt_group* g, Seat& seat) { return check_sums(g, seat, flags, false); }),
        0)
        << flags;
}
TEST_P(ReduceOrder, WhoAsksForTheTreeGetsItForWhatCommutes) {
  const auto settings = with(kChain, {"SMELT_REDUCE_ORDER", "tree"});
  EXPECT_EQ(in_group(GetParam(), settings,
                     [](smelt_group* g, Seat& seat) {
                       for (int run = 0; run < 3; ++run)  // the same bits in each
                         if (const int failed = check_sums(g, seat, SMELT_FOLD_COMMUTES, true)) return failed;
                       return check_sums(g, seat, 0, false);
                     }),
            0);
}

INSTANTIATE_TEST_SUITE_P(Processes, ReduceOrder, testing::Values(3u, 4u, 7u, 16u), testing::PrintToStringParamName());

// Two participants have no choice, and a crowd that nobody gave a pattern reads everybody straight.
TEST(ReduceOrderOf, TwoIsFixed) {
  // In pieces, which are counted: two that nobody has measured would also try single copy.
  EXPECT_EQ(in_group(2, with(kChain, {"SMELT_TUNE=copy_limit", "1000000000"}),
                     [](smelt_group* g, Seat& seat) { return check_sums(g, seat, SMELT_FOLD_ANY_ORDER, false); }),
            0);
}
TEST(ReduceOrderOf, CrowdIsFixed) {
  const std::vector<Setting> crowd = {
      {"SMELT_CPUS", "1"}, {"SMELT_TUNE=chunk", "512"}, {"SMELT_TUNE=flat_limit", "1000000000"}};
  EXPECT_EQ(
      in_group(5, crowd, [](smelt_group* g, Seat& seat) { return check_sums(g, seat, SMELT_FOLD_ANY_ORDER, false); }),
      0);
}

// Allreduce beyond a block: to participant 0 and back.
TEST(ReduceOrderOf, AllreduceOfMoreThanABlock) {
  EXPECT_EQ(in_group(18, kChain,
                     [](smelt_group* group, Seat& seat) {
                       for (const unsigned flags : {0u, unsigned{SMELT_FOLD_ANY_ORDER}})
                         for (int round = 0; round < 40; ++round) {  // more than the ring is long
                           Operator<Word> op{kIntegers[0]};
                           const smelt_fold fold = op.fold(flags);
                           Word in[20], out[20] = {};
                           for (Word i = 0; i < 20; ++i) in[i] = seat.me * 100 + i + static_cast<Word>(round);
                           const smelt_data from = contiguous(in), to = contiguous(out);
                           EXPECT_HERE(smelt_group_allreduce(group, &from, &to, 20, &fold) == 0, "allreduce");
                           for (Word i = 0; i < 20; ++i)
                             EXPECT_HERE(out[i] == 153 * 100 + 18 * (i + static_cast<Word>(round)), "word %u: %u", i,
                                         out[i]);
                           const unsigned in_blocks = seat.me == 0 ? 16 : seat.me == 16 ? 1 : 0;
                           EXPECT_HERE(op.calls == (flags ? calls_in_chain(seat, 0, 1) : in_blocks),
                                       "rank %u: combined %u times", seat.me, op.calls);
                         }
                       return 0;
                     }),
            0);
}

// Participants that do not agree on the setting are refused, like on every other.
TEST(ReduceOrderOf, AllMustAgreeOnTheSetting) {
  EXPECT_EQ(run_processes(3,
                          [](Seat& seat) {
                            setenv("SMELT_REDUCE_ORDER", seat.me == 1 ? "tree" : "fixed", 1);
                            const smelt_host host = host_of(&seat);
                            smelt_group* group = nullptr;
                            EXPECT_HERE(smelt_group_create(&host, 3, seat.me, &group) == -EINVAL, "not refused");
                            return 0;
                          }),
            0);
}

}  // namespace
}  // namespace smelt::test
