// Groups of real processes: every collective, size, root and method against results computed here.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "group/group.h"
#include "in_group.h"

namespace smelt::test {
namespace {

// An associative, non-commutative operation on bytes packed in 64 bits: composition of the maps x -> a x + b (mod
// 2^32).
struct Map {
  uint32_t a, b;
};
Map compose(Map f, Map g) { return {f.a * g.a, f.a * g.b + f.b}; }

void fold_maps(void*, const void* left, void* right, size_t elements) {
  const auto* l = static_cast<const Map*>(left);
  auto* r = static_cast<Map*>(right);
  for (size_t i = 0; i < elements; ++i) r[i] = compose(l[i], r[i]);
}
void fold_maps_third(void*, const void* left, const void* right, void* result, size_t elements) {
  const auto* l = static_cast<const Map*>(left);
  const auto* r = static_cast<const Map*>(right);
  auto* to = static_cast<Map*>(result);
  for (size_t i = 0; i < elements; ++i) to[i] = compose(l[i], r[i]);
}

Map operand(unsigned rank, size_t i, uint32_t round) {
  return {static_cast<uint32_t>(2 * (rank * 7 + i) + 1), static_cast<uint32_t>(rank * 1000003 + i * 17 + round)};
}
Map expected(unsigned n, size_t i, uint32_t round) {
  Map result = operand(0, i, round);
  for (unsigned r = 1; r < n; ++r) result = compose(result, operand(r, i, round));
  return result;
}

smelt_data contiguous(void* base) { return {base, nullptr, nullptr, nullptr}; }

// Elements of 8 bytes, 24 bytes apart: what a derived datatype looks like.
struct Strided {
  std::vector<char> memory;
  explicit Strided(size_t elements) : memory(elements * 24, 0x55) {}
  static void pack(void* context, size_t offset, size_t bytes, void* to) {
    auto& memory = static_cast<Strided*>(context)->memory;
    for (size_t i = 0; i < bytes; ++i) static_cast<char*>(to)[i] = memory[(offset + i) / 8 * 24 + (offset + i) % 8];
  }
  static void unpack(void* context, size_t offset, size_t bytes, const void* from) {
    auto& memory = static_cast<Strided*>(context)->memory;
    for (size_t i = 0; i < bytes; ++i)
      memory[(offset + i) / 8 * 24 + (offset + i) % 8] = static_cast<const char*>(from)[i];
  }
  smelt_data data() { return {nullptr, pack, unpack, this}; }
  Map get(size_t i) const {
    Map map;
    std::memcpy(&map, memory.data() + i * 24, sizeof map);
    return map;
  }
  void set(size_t i, Map map) { std::memcpy(memory.data() + i * 24, &map, sizeof map); }
};

const size_t kCounts[] = {1, 2, 3, 7, 8, 28, 29, 33, 256, 511, 513, 1024, 4096, 4097, 20000};

bool same(Map a, Map b) { return a.a == b.a && a.b == b.b; }

// Of several blocks of 16, the first two ranks and the last of each are tried. With 35 these are nine roots:
// check_all() takes turns, and an odd number lets each of them reduce in all layouts.
bool is_tried(unsigned root, unsigned n, size_t count) {
  if (count > 4097 && root > 1) return false;
  return n <= 16 || root % 16 <= 1 || root % 16 == 15 || root == n - 1;
}

int check_all(smelt_group* group, const Seat& seat, bool third) {
  const smelt_fold fold{sizeof(Map), fold_maps, third ? fold_maps_third : nullptr, nullptr, 0};
  uint32_t round = 0;
  for (const size_t count : kCounts) {
    for (unsigned root = 0; root < seat.n; ++root) {
      if (!is_tried(root, seat.n, count)) continue;
      for (const int layout : {0, 1, 2}) {  // apart, in place, strided
        ++round;
        std::vector<Map> in(count), out(count, Map{9, 9});
        Strided strided_in(count), strided_out(count);
        for (size_t i = 0; i < count; ++i) {
          in[i] = operand(seat.me, i, round);
          strided_in.set(i, in[i]);
        }
        if (layout == 1) out = in;
        const smelt_data from = layout == 2 ? strided_in.data() : contiguous(layout == 1 ? out.data() : in.data());
        const smelt_data to = layout == 2 ? strided_out.data() : contiguous(out.data());
        const bool reduce = round % 2;
        const int error = reduce ? smelt_group_reduce(group, &from, &to, count, &fold, root)
                                 : smelt_group_allreduce(group, &from, &to, count, &fold);
        EXPECT_HERE(error == 0, "%s of %zu: %d", reduce ? "reduce" : "allreduce", count, error);
        for (size_t i = 0; i < count && (!reduce || seat.me == root); ++i) {
          const Map got = layout == 2 ? strided_out.get(i) : out[i];
          EXPECT_HERE(same(got, expected(seat.n, i, round)),
                      "rank %u: %s of %zu elements, layout %d, root %u: element %zu", seat.me,
                      reduce ? "reduce" : "allreduce", count, layout, root, i);
        }
        // The same data from the root to everybody, roots and others in different layouts.
        const bool spread = layout == 2 || (seat.me == root && layout == 1);
        Strided carrier(count);
        std::vector<Map> plain(count, Map{1, 1});
        for (size_t i = 0; i < count && seat.me == root; ++i)
          carrier.set(i, operand(root, i, round)), plain[i] = carrier.get(i);
        const smelt_data data = spread ? carrier.data() : contiguous(plain.data());
        EXPECT_HERE(smelt_group_broadcast(group, &data, count * sizeof(Map), root) == 0, "broadcast of %zu", count);
        for (size_t i = 0; i < count; ++i)
          EXPECT_HERE(same(spread ? carrier.get(i) : plain[i], operand(root, i, round)),
                      "rank %u: broadcast of %zu elements, layout %d, root %u: element %zu", seat.me, count, layout,
                      root, i);
      }
      smelt_group_barrier(group);
    }
  }
  return 0;
}

int failures(unsigned n, const std::vector<Setting>& settings, bool third) {
  return in_group(n, settings, [third](smelt_group* group, Seat& seat) { return check_all(group, seat, third); });
}

class Sizes : public testing::TestWithParam<unsigned> {};

TEST_P(Sizes, EverythingAsComputedHere) { EXPECT_EQ(failures(GetParam(), {}, true), 0); }
TEST_P(Sizes, WithoutThirdOperand) { EXPECT_EQ(failures(GetParam(), {}, false), 0); }
TEST_P(Sizes, Sliced) { EXPECT_EQ(failures(GetParam(), {{"SMELT_TUNE=flat_limit", "0"}}, false), 0); }
TEST_P(Sizes, Flat) {
  EXPECT_EQ(failures(GetParam(), {{"SMELT_TUNE=flat_limit", "1000000000"}, {"SMELT_TUNE=chunk", "512"}}, true), 0);
}
TEST_P(Sizes, SingleCopy) { EXPECT_EQ(failures(GetParam(), {{"SMELT_TUNE=copy_limit", "0"}}, true), 0); }
TEST_P(Sizes, SingleCopyWithoutThirdOperand) {
  EXPECT_EQ(failures(GetParam(), {{"SMELT_TUNE=copy_limit", "0"}}, false), 0);
}
TEST_P(Sizes, TinyPieces) {
  EXPECT_EQ(failures(GetParam(), {{"SMELT_TUNE=flat_limit", "64"}, {"SMELT_TUNE=chunk", "64"}}, true), 0);
}
TEST_P(Sizes, Trees) { EXPECT_EQ(failures(GetParam(), {{"SMELT_TUNE=pattern", "binomial"}}, true), 0); }
TEST_P(Sizes, Chain) { EXPECT_EQ(failures(GetParam(), {{"SMELT_TUNE=pattern", "knomial:1"}}, true), 0); }
TEST_P(Sizes, Dissemination) { EXPECT_EQ(failures(GetParam(), {{"SMELT_TUNE=pattern", "dissemination:2"}}, true), 0); }

INSTANTIATE_TEST_SUITE_P(Processes, Sizes, testing::Values(1u, 2u, 3u, 5u, 8u), testing::PrintToStringParamName());

// group.h's promise of where operands lie: at multiples of the largest power of two, 64 at most, that divides an
// element's length. The callers' own buffers do so here.
struct Alignment {
  size_t element = 0, power = 0;
  bool broken = false;
  void look(const void* at) { broken |= reinterpret_cast<uintptr_t>(at) % power != 0; }
};
void add_bytes(const void* left, const void* right, void* result, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i)
    static_cast<uint8_t*>(result)[i] =
        static_cast<uint8_t>(static_cast<const uint8_t*>(left)[i] + static_cast<const uint8_t*>(right)[i]);
}
void add_aligned(void* context, const void* left, void* right, size_t elements) {
  auto* alignment = static_cast<Alignment*>(context);
  alignment->look(left), alignment->look(right);
  add_bytes(left, right, right, elements * alignment->element);
}
void add_aligned_third(void* context, const void* left, const void* right, void* result, size_t elements) {
  auto* alignment = static_cast<Alignment*>(context);
  alignment->look(left), alignment->look(right), alignment->look(result);
  add_bytes(left, right, result, elements * alignment->element);
}

// Bytes in a row that are handed over packed.
struct Row {
  static void pack(void* context, size_t offset, size_t bytes, void* to) {
    std::memcpy(to, static_cast<char*>(context) + offset, bytes);
  }
  static void unpack(void* context, size_t offset, size_t bytes, const void* from) {
    std::memcpy(static_cast<char*>(context) + offset, from, bytes);
  }
  static smelt_data data(void* row) { return {nullptr, pack, unpack, row}; }
};

// A participant that finds something goes on to the end, or the others would wait for it.
int check_alignment(smelt_group* group, const Seat& seat, bool third, bool packed) {
  constexpr size_t kMost = 128 << 10;
  auto* in = static_cast<uint8_t*>(std::aligned_alloc(64, kMost));
  auto* out = static_cast<uint8_t*>(std::aligned_alloc(64, kMost));
  std::string found;
  for (const size_t element : {8, 12, 24, 64, 128, 192})
    for (const size_t bytes : {24, 128, 192, 280, 4000, 70000}) {
      const size_t count = (bytes + element - 1) / element;
      Alignment alignment{element, element & -element};
      if (alignment.power > 64) alignment.power = 64;
      const smelt_fold fold{element, add_aligned, third ? add_aligned_third : nullptr, &alignment, 0};
      for (const unsigned root : {0u, seat.n - 1, seat.n}) {  // n: allreduce
        for (size_t i = 0; i < count * element; ++i) in[i] = static_cast<uint8_t>(seat.me + i), out[i] = 0;
        const smelt_data from = packed ? Row::data(in) : contiguous(in), to = packed ? Row::data(out) : contiguous(out);
        const int error = root < seat.n ? smelt_group_reduce(group, &from, &to, count, &fold, root)
                                        : smelt_group_allreduce(group, &from, &to, count, &fold);
        bool wrong = error != 0;
        for (size_t i = 0; i < count * element && (root == seat.n || root == seat.me); ++i)
          wrong |= out[i] != static_cast<uint8_t>(seat.n * i + seat.n * (seat.n - 1) / 2);
        if (found.empty() && (wrong || alignment.broken))
          found = std::to_string(count) + " elements of " + std::to_string(element) + " bytes, root " +
                  std::to_string(root) +
                  (wrong ? ": wrong result" : ": not at multiples of " + std::to_string(alignment.power));
      }
    }
  std::free(in);
  std::free(out);
  EXPECT_HERE(found.empty(), "participant %u of %u: %s", seat.me, seat.n, found.c_str());
  return 0;
}

class Operands : public testing::TestWithParam<unsigned> {};

TEST_P(Operands, LieWhereTheHeaderSays) {
  const std::vector<Setting> ways[] = {
      {}, {{"SMELT_TUNE=flat_limit", "0"}}, {{"SMELT_TUNE=copy_limit", "0"}}, {{"SMELT_TUNE=chunk", "320"}}};
  for (const std::vector<Setting>& way : ways)
    for (const bool third : {false, true})
      for (const bool packed : {false, true})
        EXPECT_EQ(in_group(GetParam(), way,
                           [&](smelt_group* group, Seat& seat) { return check_alignment(group, seat, third, packed); }),
                  0)
            << (way.empty() ? "default" : way[0].name) << (third ? ", third operand" : "")
            << (packed ? ", packed" : "");
}

INSTANTIATE_TEST_SUITE_P(Processes, Operands, testing::Values(2u, 3u, 18u), testing::PrintToStringParamName());

// Elsewhere than on the root there need not be a place for the result. (What is undefined about it a sanitizer build
// says.)
TEST(Group, OnlyTheRootNamesAPlaceForTheResult) {
  const std::vector<Setting> ways[] = {{},
                                       {{"SMELT_TUNE=flat_limit", "0"}},
                                       {{"SMELT_TUNE=flat_limit", "1000000000"}},
                                       {{"SMELT_TUNE=copy_limit", "0"}}};
  for (const unsigned n : {1u, 2u, 3u, 18u})
    for (const std::vector<Setting>& way : ways)
      EXPECT_EQ(in_group(n, way,
                         [](smelt_group* group, Seat& seat) {
                           const smelt_fold fold{sizeof(Map), fold_maps, nullptr, nullptr, 0};
                           for (const size_t count : {1, 20, 1000, 20000})
                             for (const unsigned root : {0u, seat.n - 1}) {
                               std::vector<Map> in(count), out(count);
                               for (size_t i = 0; i < count; ++i) in[i] = operand(seat.me, i, 5);
                               const smelt_data from = contiguous(in.data()), to = contiguous(out.data());
                               EXPECT_HERE(smelt_group_reduce(group, &from, seat.me == root ? &to : nullptr, count,
                                                              &fold, root) == 0,
                                           "reduce");
                               for (size_t i = 0; i < count && seat.me == root; ++i)
                                 EXPECT_HERE(same(out[i], expected(seat.n, i, 5)), "%zu elements, root %u: element %zu",
                                             count, root, i);
                             }
                           return 0;
                         }),
                0)
          << n << " participants, " << (way.empty() ? "default" : way[0].name);
}

// More than a block of 16, where the order of combination has its second level.
TEST(Group, MoreThanOneBlock) { EXPECT_EQ(failures(35, {{"SMELT_TUNE=pattern", "binomial"}}, false), 0); }

}  // namespace
}  // namespace smelt::test
