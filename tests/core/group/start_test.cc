// Operations that are started, tested and waited for: the same results as the blocking ones', whatever else is under
// way, and no function but a blocking one and wait waits for others.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <numeric>

#include "../sanitized.h"
#include "address_space.h"
#include "group/group.h"
#include "in_group.h"

namespace smelt::test {
namespace {

// An associative, non-commutative operation on 8 bytes: composition of the maps x -> a x + b (mod 2^32).
struct Map {
  uint32_t a, b;
};
Map compose(Map f, Map g) { return {f.a * g.a, f.a * g.b + f.b}; }
bool operator==(Map f, Map g) { return f.a == g.a && f.b == g.b; }

void fold_maps(void*, const void* left, void* right, size_t elements) {
  const auto* l = static_cast<const Map*>(left);
  auto* r = static_cast<Map*>(right);
  for (size_t i = 0; i < elements; ++i) r[i] = compose(l[i], r[i]);
}

Map operand(unsigned rank, size_t i, uint32_t round) {
  return {static_cast<uint32_t>(2 * (rank * 7 + i) + 1), static_cast<uint32_t>(rank * 1000003 + i * 17 + round)};
}

enum class Kind {
  kBarrier,
  kBroadcast,
  kReduce,
  kAllreduce,
  kAllgather,
  kReduceScatterBlock,
  kReduceScatter,
  kScan,
  kExscan,
  kAlltoall,
  kExchange,
  kGather,
  kScatter,
  kAllgatherv,
  kScatterv,
  kGatherv
};
constexpr uint32_t kKinds = 16;

// An exchange's message from one to another: of any length up to `count`, and none to every third.
size_t between(unsigned from, unsigned to, size_t count, uint32_t round) {
  return (from + 2 * to + round) % 3 == 0 ? 0 : count - count * ((3 * from + to + round) % 5) / 5;
}
constexpr size_t kApart = 100000;  // its elements are told from those to others

// One operation of a test: its data, its request, and what must come of it.
struct Operation {
  Kind kind;
  size_t count;
  unsigned root;
  uint32_t round;
  bool apart;
  unsigned me;
  bool in_place = false;            // of a row our block, of a scan all: not apart, but where the result goes
  std::vector<size_t> blocks;       // of a reduce_scatter
  std::vector<smelt_place> places;  // of a row's blocks
  size_t row_elements = 0;
  std::vector<Map> in, out;
  std::vector<smelt_block> outgoing, incoming;
  smelt_request request{};

  Operation(Kind kind, size_t most, unsigned root, uint32_t round, bool apart, const Seat& seat)
      : kind(kind),
        count(most),
        root(root),
        round(round),
        apart(apart && kind != Kind::kAlltoall && kind != Kind::kExchange && kind != Kind::kGatherv),
        me(seat.me),
        blocks(blocks_of(kind, most, round, seat.n)) {
    if (has_row()) make_places(most, seat.n);
    in_place = round % 2 && (scans() || (has_row() && !this->apart && (is_for_all() || me == root)));
    in.assign(operands(seat), Map{5, 5});
    out.assign(std::max(results(seat), size_t{1}), Map{9, 9});
    for (unsigned r = 0; r < seat.n && scatters() && me == root; ++r)
      for (size_t i = 0; i < count_of(r); ++i) in[place_of(r) + i] = operand(r, i, round);
    for (size_t i = 0; i < in.size() / width() && !scatters(); ++i) in[i * width()] = operand(me, i, round);
    if (in_place && gathers()) std::copy(in.begin(), in.end(), out.begin() + static_cast<ptrdiff_t>(place_of(me)));
    if ((in_place && scans()) || (kind == Kind::kBroadcast && me == root)) out = in;
    if (kind == Kind::kExchange) list_blocks(seat);
  }
  // In rows of different blocks every third is empty and every third half as long, they lie in descending order, and
  // before each lies an element that is nobody's.
  void make_places(size_t most, unsigned n) {
    places.resize(n);
    for (unsigned r = n; r-- > 0;) {
      const size_t own = is_various() ? (r + round) % 3 * most / 2 : most;
      row_elements += is_various();
      places[is_various() ? r : n - 1 - r] = {static_cast<ptrdiff_t>(row_elements * sizeof(Map)), own * sizeof(Map)};
      row_elements += own;
    }
    count = count_of(me);
  }
  // Messages in one or two blocks, which sender and receiver cut elsewhere.
  void list_blocks(const Seat& seat) {
    size_t sent = 0, received = 0;
    for (unsigned r = 0; r < seat.n; ++r)
      sent += between(seat.me, r, count, round), received += between(r, seat.me, count, round);
    in.assign(sent, Map{5, 5}), out.assign(received, Map{9, 9});
    Map *from = in.data(), *to = out.data();
    for (unsigned r = 0; r < seat.n; ++r) {
      const size_t there = between(seat.me, r, count, round), here = between(r, seat.me, count, round);
      for (size_t i = 0; i < there; ++i) from[i] = operand(seat.me, r * kApart + i, round);
      const size_t cut = there / (1 + r % 3), other_cut = here / (2 + r % 2);
      outgoing.push_back({r, from, cut * sizeof(Map)});
      if (cut < there) outgoing.push_back({r, from + cut, (there - cut) * sizeof(Map)});
      if (here > 0) incoming.push_back({r, to, other_cut * sizeof(Map)});
      if (here > 0) incoming.push_back({r, to + other_cut, (here - other_cut) * sizeof(Map)});
      from += there, to += here;
    }
  }
  // All alike, or one of nothing among others that differ.
  static std::vector<size_t> blocks_of(Kind kind, size_t count, uint32_t round, unsigned n) {
    std::vector<size_t> blocks(n, count);
    for (unsigned i = 0; i < n && kind == Kind::kReduceScatter && n > 1 && count > 0; ++i)
      blocks[i] = i == round % n ? 0 : count + i;
    return blocks;
  }
  size_t operands(const Seat& seat) const {
    if (scatters()) return row_elements;
    if (combines_rows()) return before(seat.n);
    return (kind == Kind::kAlltoall ? count * seat.n : count) * width();
  }
  size_t results(const Seat& seat) const {
    if (gathers()) return row_elements;
    if (combines_rows()) return blocks[me] + 1;
    return (kind == Kind::kAlltoall ? count * seat.n : count) * width();
  }
  bool gathers() const { return is_for_all() || kind == Kind::kGather || kind == Kind::kGatherv; }
  bool scatters() const { return kind == Kind::kScatter || kind == Kind::kScatterv; }
  bool has_row() const { return gathers() || scatters(); }
  bool is_various() const { return kind >= Kind::kAllgatherv; }
  bool is_for_all() const { return kind == Kind::kAllgather || kind == Kind::kAllgatherv; }
  bool combines_rows() const { return kind == Kind::kReduceScatterBlock || kind == Kind::kReduceScatter; }
  bool scans() const { return kind == Kind::kScan || kind == Kind::kExscan; }
  bool does_nothing() const {
    if (!has_row()) return count == 0 && kind != Kind::kBarrier;
    return std::all_of(places.begin(), places.end(), [](const smelt_place& p) { return p.bytes == 0; });
  }
  size_t count_of(unsigned r) const { return places[r].bytes / sizeof(Map); }
  size_t place_of(unsigned r) const { return static_cast<size_t>(places[r].offset) / sizeof(Map); }
  size_t before(unsigned i) const { return std::accumulate(blocks.begin(), blocks.begin() + i, size_t{0}); }
  size_t width() const { return apart && !combines_rows() ? 2 : 1; }
  smelt_data data(std::vector<Map>& memory) const {
    if (apart) return {nullptr, Apart::pack, Apart::unpack, memory.data()};
    return {memory.data(), nullptr, nullptr, nullptr};
  }
  smelt_data block_of(std::vector<Map>& row) const { return {row.data() + place_of(me), nullptr, nullptr, nullptr}; }
  smelt_data from() { return in_place && gathers() ? block_of(out) : data(in_place && scans() ? out : in); }
  smelt_data to() { return in_place && scatters() ? block_of(in) : data(out); }
  // What only the root has, or everybody.
  void* row(std::vector<Map>& memory) {
    if (!is_for_all() && me != root) return nullptr;
    return memory.empty() ? static_cast<void*>(this) : memory.data();
  }

  // The structs are gone when these return: only what they describe may still be looked at.
  int start(smelt_group* group) {
    const smelt_data from = this->from(), to = this->to();
    const size_t bytes = count * sizeof(Map);
    const smelt_fold fold{sizeof(Map), fold_maps, nullptr, nullptr, 0};
    switch (kind) {
      case Kind::kBarrier: return smelt_group_start_barrier(group, &request);
      case Kind::kBroadcast: return smelt_group_start_broadcast(group, &to, bytes, root, &request);
      case Kind::kReduce: return smelt_group_start_reduce(group, &from, &to, count, &fold, root, &request);
      case Kind::kAllreduce: return smelt_group_start_allreduce(group, &from, &to, count, &fold, &request);
      case Kind::kAllgather: return smelt_group_start_allgather(group, &from, row(out), bytes, &request);
      case Kind::kReduceScatterBlock:
        return smelt_group_start_reduce_scatter_block(group, in.data(), out.data(), count, &fold, &request);
      case Kind::kReduceScatter:
        return smelt_group_start_reduce_scatter(group, in.data(), out.data(), blocks.data(), &fold, &request);
      case Kind::kScan: return smelt_group_start_scan(group, &from, &to, count, &fold, &request);
      case Kind::kExscan: return smelt_group_start_exscan(group, &from, &to, count, &fold, &request);
      case Kind::kAlltoall: return smelt_group_start_alltoall(group, in.data(), out.data(), bytes, &request);
      case Kind::kExchange:
        return smelt_group_start_exchange(group, outgoing.data(), outgoing.size(), incoming.data(), incoming.size(),
                                          &request);
      case Kind::kGather: return smelt_group_start_gather(group, &from, row(out), bytes, root, &request);
      case Kind::kScatter: return smelt_group_start_scatter(group, row(in), &to, bytes, root, &request);
      case Kind::kAllgatherv: return smelt_group_start_allgatherv(group, &from, row(out), places.data(), &request);
      case Kind::kGatherv:
        return smelt_group_start_gatherv(group, from.base, bytes, row(out), me == root ? places.data() : nullptr, root,
                                         &request);
      case Kind::kScatterv:
        return smelt_group_start_scatterv(group, row(in), me == root ? places.data() : nullptr, &to, bytes, root,
                                          &request);
    }
    return -1;
  }
  int block(smelt_group* group) {
    const smelt_data from = this->from(), to = this->to();
    const size_t bytes = count * sizeof(Map);
    const smelt_fold fold{sizeof(Map), fold_maps, nullptr, nullptr, 0};
    switch (kind) {
      case Kind::kBarrier: return smelt_group_barrier(group);
      case Kind::kBroadcast: return smelt_group_broadcast(group, &to, bytes, root);
      case Kind::kReduce: return smelt_group_reduce(group, &from, &to, count, &fold, root);
      case Kind::kAllreduce: return smelt_group_allreduce(group, &from, &to, count, &fold);
      case Kind::kAllgather: return smelt_group_allgather(group, &from, row(out), bytes);
      case Kind::kReduceScatterBlock:
        return smelt_group_reduce_scatter_block(group, in.data(), out.data(), count, &fold);
      case Kind::kReduceScatter: return smelt_group_reduce_scatter(group, in.data(), out.data(), blocks.data(), &fold);
      case Kind::kScan: return smelt_group_scan(group, &from, &to, count, &fold);
      case Kind::kExscan: return smelt_group_exscan(group, &from, &to, count, &fold);
      case Kind::kAlltoall: return smelt_group_alltoall(group, in.data(), out.data(), bytes);
      case Kind::kExchange:
        return smelt_group_exchange(group, outgoing.data(), outgoing.size(), incoming.data(), incoming.size());
      case Kind::kGather: return smelt_group_gather(group, &from, row(out), bytes, root);
      case Kind::kScatter: return smelt_group_scatter(group, row(in), &to, bytes, root);
      case Kind::kAllgatherv: return smelt_group_allgatherv(group, &from, row(out), places.data());
      case Kind::kGatherv:
        return smelt_group_gatherv(group, from.base, bytes, row(out), me == root ? places.data() : nullptr, root);
      case Kind::kScatterv:
        return smelt_group_scatterv(group, row(in), me == root ? places.data() : nullptr, &to, bytes, root);
    }
    return -1;
  }

  int check(const Seat& seat) const {
    if (kind == Kind::kExchange) {
      const Map* at = out.data();
      for (unsigned r = 0; r < seat.n; ++r)
        for (size_t i = 0; i < between(r, seat.me, count, round); ++i, ++at)
          EXPECT_HERE(*at == operand(r, seat.me * kApart + i, round),
                      "rank %u of %u: round %u, exchange: up to %zu elements, of %u: %zu", seat.me, seat.n, round,
                      count, r, i);
      return 0;
    }
    if (kind == Kind::kAlltoall) {
      for (unsigned r = 0; r < seat.n; ++r)
        for (size_t i = 0; i < count; ++i)
          EXPECT_HERE(out[r * count + i] == operand(r, seat.me * count + i, round),
                      "rank %u of %u: round %u, alltoall: %zu elements of %u: %zu", seat.me, seat.n, round, count, r,
                      i);
      return 0;
    }
    if (combines_rows()) {
      for (size_t i = 0; i < blocks[seat.me]; ++i)
        EXPECT_HERE(out[i] == combined(seat.n, before(seat.me) + i),
                    "rank %u of %u: round %u: block of %zu elements, from %zu on: %zu", seat.me, seat.n, round,
                    blocks[seat.me], before(seat.me), i);
      EXPECT_HERE(out.back() == (Map{9, 9}), "rank %u: round %u: after the block", seat.me, round);
      return 0;
    }
    if (has_row() && check_row(gathers() ? out : in)) return -1;
    if (gathers() || (scatters() && in_place)) return 0;
    for (size_t i = 0; i < count; ++i) {
      Map expected = scans() && in_place ? operand(seat.me, i, round) : Map{9, 9};
      if (scatters()) expected = operand(seat.me, i, round);
      if (kind == Kind::kBroadcast) expected = operand(root, i, round);
      if (kind == Kind::kAllreduce || (kind == Kind::kReduce && seat.me == root)) expected = combined(seat.n, i);
      if (kind == Kind::kScan) expected = combined(seat.me + 1, i);
      if (kind == Kind::kExscan && seat.me > 0) expected = combined(seat.me, i);
      EXPECT_HERE(out[i * width()] == expected, "rank %u of %u: round %u, kind %d, %zu elements, root %u: element %zu",
                  seat.me, seat.n, round, static_cast<int>(kind), count, root, i);
      const bool was_in = (kind == Kind::kBroadcast && seat.me == root) || (scans() && in_place);
      EXPECT_HERE(!apart || out[i * 2 + 1] == (was_in ? Map{5, 5} : Map{9, 9}),
                  "rank %u: round %u: between the elements, %zu", seat.me, round, i);
    }
    return 0;
  }
  // The row, with what is between the blocks.
  int check_row(const std::vector<Map>& row) const {
    std::vector<Map> expected(row_elements, gathers() ? Map{9, 9} : Map{5, 5});
    for (unsigned r = 0; r < places.size() && (is_for_all() || me == root); ++r)
      for (size_t i = 0; i < count_of(r); ++i) expected[place_of(r) + i] = operand(r, i, round);
    for (size_t i = 0; i < row_elements; ++i)
      EXPECT_HERE(row[i] == expected[i], "rank %u of %zu: round %u, kind %d, root %u: element %zu of the row", me,
                  places.size(), round, static_cast<int>(kind), root, i);
    return 0;
  }

 private:
  // Element i of the first `ranks`.
  Map combined(unsigned ranks, size_t i) const {
    Map result = operand(0, i, round);
    for (unsigned r = 1; r < ranks; ++r) result = compose(result, operand(r, i, round));
    return result;
  }
};

int test_until_done(smelt_request* request) {
  for (int done = 0;;) {
    const int error = smelt_group_test(request, &done);
    if (done) return error;
    sched_yield();  // what wait does in a crowd
  }
}

// The same series on all participants: several outstanding, blocking ones in between, tested and waited for in another
// order than they were started, each participant in its own.
int mixed(smelt_group* group, const Seat& seat) {
  const size_t kCounts[] = {0, 1, 3, 4, 28, 29, 300, 2000, 5000};
  uint32_t series = 12345;  // the same everywhere
  uint32_t mine = 99 + seat.me;
  const auto next = [](uint32_t& state) { return (state = state * 1664525u + 1013904223u) >> 8; };
  uint32_t round = 0;
  for (int turn = 0; turn < 12; ++turn) {
    std::vector<std::unique_ptr<Operation>> outstanding;
    const unsigned how_many = 1 + next(series) % 9;
    for (unsigned k = 0; k < how_many; ++k) {
      const auto kind = static_cast<Kind>(next(series) % kKinds);
      const size_t count = kind == Kind::kBarrier ? 0 : kCounts[next(series) % std::size(kCounts)];
      const unsigned root = next(series) % seat.n;
      const bool blocking = next(series) % 5 == 0, apart = next(series) % 4 == 0;
      auto operation = std::make_unique<Operation>(kind, count, root, ++round, apart, seat);
      const int error = blocking ? operation->block(group) : operation->start(group);
      EXPECT_HERE(error == 0, "round %u: %d", round, error);
      if (blocking) {
        if (const int wrong = operation->check(seat)) return wrong;
        for (const auto& before : outstanding)
          EXPECT_HERE(!before->request.group || operation->does_nothing(),
                      "a blocking one came back before what was started");
      }
      outstanding.push_back(std::move(operation));
      int done;
      if (next(mine) % 3 == 0) smelt_group_test(&outstanding[next(mine) % outstanding.size()]->request, &done);
    }
    while (!outstanding.empty()) {
      const size_t at = next(mine) % outstanding.size();
      smelt_request* const request = &outstanding[at]->request;
      const int error = next(mine) % 2 ? smelt_group_wait(request) : test_until_done(request);
      EXPECT_HERE(error == 0, "round %u: %d", outstanding[at]->round, error);
      if (const int wrong = outstanding[at]->check(seat)) return wrong;
      outstanding.erase(outstanding.begin() + static_cast<ptrdiff_t>(at));
    }
  }
  return 0;
}

int failures(unsigned n, const std::vector<Setting>& settings) { return in_group(n, settings, mixed); }

class Started : public testing::TestWithParam<unsigned> {};

TEST_P(Started, MixedWithBlockingOnes) { EXPECT_EQ(failures(GetParam(), {}), 0); }
TEST_P(Started, Sliced) {
  EXPECT_EQ(failures(GetParam(), {{"SMELT_TUNE=flat_limit", "0"}, {"SMELT_TUNE=chunk", "512"}}), 0);
}
TEST_P(Started, Flat) {
  EXPECT_EQ(failures(GetParam(), {{"SMELT_TUNE=flat_limit", "1000000000"}, {"SMELT_TUNE=chunk", "512"}}), 0);
}
TEST_P(Started, SingleCopy) { EXPECT_EQ(failures(GetParam(), {{"SMELT_TUNE=copy_limit", "0"}}), 0); }
TEST_P(Started, Chain) {
  EXPECT_EQ(failures(GetParam(), {{"SMELT_TUNE=pattern", "knomial:1"}, {"SMELT_TUNE=chunk", "256"}}), 0);
}
INSTANTIATE_TEST_SUITE_P(Processes, Started, testing::Values(1u, 2u, 3u, 5u, 8u), testing::PrintToStringParamName());

// Every size about the borders of the methods, from memory in one piece, in place and with gaps.
int every_size(smelt_group* group, const Seat& seat, Kind kind, size_t most) {
  uint32_t round = 0;
  for (const size_t count : {1, 3, 4, 7, 8, 9, 14, 15, 27, 28, 29, 34, 35, 36, 255, 256, 257, 3000, 20000, 50000})
    for (const bool apart : {false, false, true, true}) {
      if (count > most) continue;
      ++round;
      Operation operation(kind, count, round / 4 % seat.n, round, apart, seat);
      EXPECT_HERE(operation.block(group) == 0, "round %u", round);
      if (const int wrong = operation.check(seat)) return wrong;
    }
  return 0;
}
auto up_to(size_t most, Kind kind) {
  return [=](smelt_group* group, const Seat& seat) { return every_size(group, seat, kind, most); };
}
void expect_every_size(unsigned n, Kind kind) {
  const size_t most = n <= 2 ? 50000 : 20000;  // of two: more than single copy reads at a time
  EXPECT_EQ(in_group(n, {}, up_to(most, kind)), 0);
  EXPECT_EQ(in_group(n, {{"SMELT_TUNE=copy_limit", "0"}}, up_to(most, kind)), 0) << "single copy";
  EXPECT_EQ(in_group(n, {{"SMELT_TUNE=copy_limit", "1000000000"}}, up_to(most, kind)), 0) << "pieces";
  EXPECT_EQ(in_group(n, {{"SMELT_TUNE=chunk", "64"}}, up_to(300, kind)), 0) << "many pieces";
  EXPECT_EQ(in_group(n, {{"SMELT_TUNE=chunk", "192"}}, up_to(300, kind)), 0) << "many pieces, ends within blocks";
}
TEST_P(Started, GatheredByAll) { expect_every_size(GetParam(), Kind::kAllgather); }
TEST_P(Started, ScatteredInBlocks) { expect_every_size(GetParam(), Kind::kReduceScatterBlock); }
TEST_P(Started, ScatteredUnevenly) { expect_every_size(GetParam(), Kind::kReduceScatter); }
TEST_P(Started, Scanned) { expect_every_size(GetParam(), Kind::kScan); }
TEST_P(Started, ScannedWithoutOneself) { expect_every_size(GetParam(), Kind::kExscan); }
TEST_P(Started, Gathered) { expect_every_size(GetParam(), Kind::kGather); }
TEST_P(Started, Scattered) { expect_every_size(GetParam(), Kind::kScatter); }
TEST_P(Started, GatheredByAllUnevenly) { expect_every_size(GetParam(), Kind::kAllgatherv); }
TEST_P(Started, HandedOutUnevenly) { expect_every_size(GetParam(), Kind::kScatterv); }
TEST_P(Started, GatheredUnevenly) { expect_every_size(GetParam(), Kind::kGatherv); }

// The same for rows of blocks; a block that begins or ends within a line, and a piece with several blocks among them.
int exchanges(smelt_group* group, const Seat& seat) {
  uint32_t round = 0;
  for (const size_t count :
       {1, 2, 3, 4, 5, 7, 8, 9, 13, 14, 15, 28, 29, 34, 35, 36, 85, 128, 255, 256, 257, 3000, 15000})
    for (int again = 0; again < (count < 3000 ? 3 : 1); ++again)
      for (const Kind kind : {Kind::kAlltoall, Kind::kExchange}) {
        Operation operation(kind, count, 0, ++round, false, seat);
        EXPECT_HERE(operation.block(group) == 0, "round %u", round);
        if (const int wrong = operation.check(seat)) return wrong;
      }
  return 0;
}
TEST_P(Started, ExchangedByAll) {
  EXPECT_EQ(in_group(GetParam(), {}, exchanges), 0);
  EXPECT_EQ(in_group(GetParam(), {{"SMELT_TUNE=copy_limit", "0"}}, exchanges), 0) << "single copy";
  EXPECT_EQ(in_group(GetParam(), {{"SMELT_TUNE=chunk", "512"}}, exchanges), 0) << "many pieces";
}

// The largest group that takes single copy: the heading of its streams fills a slot.
TEST(StartedOf, ExchangedByAsManyAsTakeSingleCopy) {
  for (const unsigned n : {15u, 16u}) EXPECT_EQ(in_group(n, {{"SMELT_TUNE=copy_limit", "0"}}, exchanges), 0) << n;
}

// Who has an empty block combines nothing, and who is first in a scan hears nobody; they must not run ahead of those
// who still have to read what they put.
int without_results(smelt_group* group, const Seat& seat) {
  const smelt_fold fold{sizeof(Map), fold_maps, nullptr, nullptr, 0};
  std::vector<size_t> blocks(seat.n, 2);
  blocks[0] = 0;
  const size_t row = 2 * size_t{seat.n} - 2;
  std::vector<Map> in(row), out(2);
  const smelt_data from{in.data(), nullptr, nullptr, nullptr}, to{out.data(), nullptr, nullptr, nullptr};
  for (uint32_t round = 0; round < 600; ++round) {
    for (size_t i = 0; i < row; ++i) in[i] = operand(seat.me, i, round);
    const bool scans = round / 200 == 1;
    const int error = scans ? smelt_group_scan(group, &from, &to, 2, &fold)
                            : smelt_group_reduce_scatter(group, in.data(), out.data(), blocks.data(), &fold);
    EXPECT_HERE(error == 0, "round %u: %d", round, error);
    if (!scans && seat.me == 0) continue;
    const size_t first = scans ? 0 : 2 * size_t{seat.me} - 2;
    for (size_t i = 0; i < 2; ++i) {
      Map expected = operand(0, first + i, round);
      for (unsigned r = 1; r < (scans ? seat.me + 1 : seat.n); ++r)
        expected = compose(expected, operand(r, first + i, round));
      EXPECT_HERE(out[i] == expected, "rank %u of %u: round %u: %zu", seat.me, seat.n, round, i);
    }
  }
  return 0;
}
TEST_P(Started, WhoGetsNothingDoesNotRunAhead) {
  if (GetParam() == 1) GTEST_SKIP() << "nobody to run ahead of";
  EXPECT_EQ(in_group(GetParam(), {}, without_results), 0);
}

TEST(StartedOf, MoreThanABlock) {
  for (const unsigned n : {17u, 18u}) {
    EXPECT_EQ(failures(n, {}), 0);
    for (const Kind kind : {Kind::kAllgather, Kind::kReduceScatterBlock, Kind::kReduceScatter, Kind::kScan})
      EXPECT_EQ(in_group(n, {}, up_to(300, kind)), 0);
    for (const Kind kind : {Kind::kGather, Kind::kScatter, Kind::kAllgatherv, Kind::kScatterv, Kind::kGatherv})
      EXPECT_EQ(in_group(n, {}, up_to(20000, kind)), 0);
    EXPECT_EQ(in_group(n, {}, exchanges), 0);
  }
}

// Participant 1 comes only when 0 has started, and tested, everything: who waited anywhere would wait for ever. Long
// messages among them, so that the first use of memory for them does not wait either.
int alone(smelt_group* group, Seat& seat) {
  std::vector<std::unique_ptr<Operation>> all;
  for (const Kind kind :
       {Kind::kAllreduce, Kind::kBarrier, Kind::kReduce, Kind::kBroadcast, Kind::kAllgather, Kind::kReduceScatterBlock,
        Kind::kReduceScatter, Kind::kAlltoall, Kind::kExchange, Kind::kGather, Kind::kScatter})
    for (const size_t count : {size_t{1}, size_t{20}, size_t{1000}, size_t{50000}})
      all.push_back(std::make_unique<Operation>(kind, kind == Kind::kBarrier ? 0 : count, 1,
                                                static_cast<uint32_t>(all.size()), false, seat));
  int64_t turn = 0;
  if (seat.me == 0) {
    for (const auto& operation : all) EXPECT_HERE(operation->start(group) == 0, "start");
    for (int i = 0; i < 1000; ++i) {
      for (const auto& operation : all) {
        int done = 1;
        EXPECT_HERE(smelt_group_test(&operation->request, &done) == 0 && !done, "complete without the other");
      }
    }
    const uint64_t progress = seat.progress_calls;
    EXPECT_HERE(progress == 0, "start or test waited: %llu calls of progress",
                static_cast<unsigned long long>(progress));
  }
  const smelt_host host = host_of(&seat);  // its own collectives: where 1 waits for 0
  EXPECT_HERE(host.minimum(host.context, &turn, 1) == 0, "minimum");
  if (seat.me == 1)
    for (const auto& operation : all) EXPECT_HERE(operation->start(group) == 0, "start");
  for (auto operation = all.rbegin(); operation != all.rend(); ++operation) {
    EXPECT_HERE(smelt_group_wait(&(*operation)->request) == 0, "wait");
    if (const int wrong = (*operation)->check(seat)) return wrong;
  }
  return 0;
}
TEST(StartedOf, NobodyWaitsForWhoIsNotThere) {
  EXPECT_EQ(in_group(2, {}, alone), 0);
  EXPECT_EQ(in_group(2, {{"SMELT_TUNE=copy_limit", "0"}}, alone), 0);
  EXPECT_EQ(in_group(2, {{"SMELT_TUNE=flat_limit", "0"}}, alone), 0);
}

// More than a group has room for: start completes the first, and nothing is lost.
int many(smelt_group* group, Seat& seat) {
  std::vector<std::unique_ptr<Operation>> all;
  for (uint32_t i = 0; i < 5 * kOutstanding; ++i) {
    all.push_back(std::make_unique<Operation>(i % 7 ? Kind::kAllreduce : Kind::kBroadcast, 1 + i % 40, i % seat.n, i,
                                              false, seat));
    EXPECT_HERE(all.back()->start(group) == 0, "start");
  }
  EXPECT_HERE(smelt_group_barrier(group) == 0, "barrier");
  for (const auto& operation : all) {
    int done = 0;
    EXPECT_HERE(smelt_group_test(&operation->request, &done) == 0 && done, "not complete after a blocking one");
    if (const int wrong = operation->check(seat)) return wrong;
  }
  return 0;
}
TEST(StartedOf, MoreThanThereIsRoomFor) { EXPECT_EQ(in_group(3, {}, many), 0); }

// An operation may test requests of its own group, and is not entered again.
struct Curious {
  smelt_request* request;
  int calls = 0, complete = 0;
};
void fold_and_test(void* context, const void* left, void* right, size_t elements) {
  auto* curious = static_cast<Curious*>(context);
  int done = 0;
  smelt_group_test(curious->request, &done);
  ++curious->calls;
  curious->complete += done;
  fold_maps(nullptr, left, right, elements);
}
TEST(StartedOf, TestedFromWithinAnOperation) {
  const auto body = [](smelt_group* group, Seat& seat) {
    smelt_request request{}, later{};
    Curious curious{&later};
    const smelt_fold fold{sizeof(Map), fold_and_test, nullptr, &curious, 0};
    Map in = operand(seat.me, 0, 0), out{9, 9};
    const smelt_data from{&in, nullptr, nullptr, nullptr}, to{&out, nullptr, nullptr, nullptr};
    EXPECT_HERE(smelt_group_start_allreduce(group, &from, &to, 1, &fold, &request) == 0, "start");
    // Not started yet it counts as complete, and the operation may have run already: only then.
    const int before = curious.calls;
    EXPECT_HERE(smelt_group_start_barrier(group, &later) == 0, "start");
    EXPECT_HERE(smelt_group_wait(&later) == 0 && !request.group, "the order of completion");
    EXPECT_HERE(curious.calls == static_cast<int>(seat.n) - 1 && curious.complete == before, "%d calls, %d complete",
                curious.calls, curious.complete);
    EXPECT_HERE(out == compose(operand(0, 0, 0), operand(1, 0, 0)), "result");
    return 0;
  };
  EXPECT_EQ(in_group(2, {}, body), 0);
}

TEST(StartedOf, RefusesAsTheBlockingOnes) {
  const auto body = [](smelt_group* group, Seat& seat) {
    smelt_request request{};
    int done = 0;
    EXPECT_HERE(smelt_group_test(&request, &done) == 0 && done && smelt_group_wait(&request) == 0, "zeros");
    EXPECT_HERE(smelt_group_start_barrier(nullptr, &request) == -EINVAL, "no group");
    EXPECT_HERE(smelt_group_wait(&request) == -EINVAL, "what failed to start is complete");
    EXPECT_HERE(smelt_group_start_barrier(group, nullptr) == -EINVAL, "no request");
    EXPECT_HERE(smelt_group_start_broadcast(group, nullptr, 8, 0, &request) == -EINVAL, "no data");
    EXPECT_HERE(smelt_group_start_allgather(group, nullptr, &done, 8, &request) == -EINVAL &&
                    smelt_group_allgather(group, nullptr, &done, 8) == -EINVAL,
                "nothing to gather");
    EXPECT_HERE(smelt_group_start_reduce_scatter(group, &done, &done, nullptr, nullptr, &request) == -EINVAL &&
                    smelt_group_reduce_scatter(group, &done, &done, nullptr, nullptr) == -EINVAL,
                "no counts to scatter by");
    EXPECT_HERE(smelt_group_start_alltoall(group, nullptr, &done, 8, &request) == -EINVAL &&
                    smelt_group_alltoall(group, &done, nullptr, 8) == -EINVAL,
                "nothing to exchange");
    const smelt_block wrong[] = {{1, &done, 4}, {0, &done, 4}}, nobody{2, &done, 4};
    EXPECT_HERE(smelt_group_exchange(group, wrong, 2, nullptr, 0) == -EINVAL &&
                    smelt_group_exchange(group, nullptr, 0, &nobody, 1) == -EINVAL &&
                    smelt_group_start_exchange(group, nullptr, 1, nullptr, 0, &request) == -EINVAL,
                "lists that descend, of nobody, of nothing");
    const smelt_data word{&done, nullptr, nullptr, nullptr};
    EXPECT_HERE(smelt_group_start_gather(group, &word, &done, 4, 2, &request) == -EINVAL &&
                    smelt_group_gather(group, nullptr, &done, 4, 0) == -EINVAL &&
                    smelt_group_gather(group, &word, nullptr, 4, seat.me) == -EINVAL,
                "a gather to nobody, of nothing, to nowhere");
    EXPECT_HERE(smelt_group_start_scatter(group, &done, &word, 4, 2, &request) == -EINVAL &&
                    smelt_group_scatter(group, &done, nullptr, 4, 0) == -EINVAL &&
                    smelt_group_scatter(group, nullptr, &word, 4, seat.me) == -EINVAL,
                "a scatter from nobody, to nowhere, of nothing");
    EXPECT_HERE(smelt_group_test(nullptr, &done) == -EINVAL && smelt_group_test(&request, nullptr) == -EINVAL &&
                    smelt_group_wait(nullptr) == -EINVAL,
                "test and wait of nothing");
    const size_t huge = smelt_group_element_limit(group) + 1;
    std::vector<char> in(huge), out(huge);
    const smelt_data from{in.data(), nullptr, nullptr, nullptr}, to{out.data(), nullptr, nullptr, nullptr};
    const smelt_fold fold{huge, fold_maps, nullptr, nullptr, 0};
    EXPECT_HERE(smelt_group_start_allreduce(group, &from, &to, 1, &fold, &request) == -ENOTSUP, "a huge element");
    EXPECT_HERE(smelt_group_scan(group, &from, &to, 1, &fold) == -ENOTSUP &&
                    smelt_group_start_exscan(group, &from, &to, 1, &fold, &request) == -ENOTSUP,
                "a scan of it");
    EXPECT_HERE(smelt_group_start_barrier(group, &request) == 0 && smelt_group_wait(&request) == 0, "barrier");
    (void)seat;
    return 0;
  };
  EXPECT_EQ(in_group(2, {}, body), 0);
}

// What a start could be refused too late, it need not be: the memory is asked for beforehand, and there or not for all.
int ask_for_memory(smelt_group* group, Seat& seat, int expected) {
  constexpr size_t kWords = 1000;
  EXPECT_HERE(smelt_group_start_limit(group) == kInlineBytes, "before: %zu", smelt_group_start_limit(group));
  Operation earlier(Kind::kAllreduce, 4, 0, 1, false, seat), later(Kind::kAllreduce, kWords, 0, 2, false, seat);
  EXPECT_HERE(earlier.start(group) == 0, "start");
  rlimit before{}, none{};
  getrlimit(RLIMIT_AS, &before);
  none = before;
  none.rlim_cur = 1;
  if (expected != 0 && seat.me == 1) setrlimit(RLIMIT_AS, &none);
  const int error = smelt_group_prepare(group);
  if (expected != 0 && seat.me == 1) setrlimit(RLIMIT_AS, &before);
  EXPECT_HERE(error == expected && smelt_group_prepare(group) == expected, "prepare: %d", error);
  EXPECT_HERE(!earlier.request.group && earlier.check(seat) == 0, "what was started before is complete");
  EXPECT_HERE(smelt_group_start_limit(group) == (expected ? kInlineBytes : SIZE_MAX), "after: %zu",
              smelt_group_start_limit(group));
  EXPECT_HERE(later.start(group) == 0 && smelt_group_wait(&later.request) == expected, "a long one");
  return expected ? 0 : later.check(seat);
}

TEST(StartedOf, MemoryIsAskedForBeforehand) {
  for (const unsigned n : {2u, 3u, 5u})
    EXPECT_EQ(in_group(n, {}, [](smelt_group* group, Seat& seat) { return ask_for_memory(group, seat, 0); }), 0);
}

TEST(StartedOf, MemoryIsRefusedBeforehand) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's shadow takes more address space than that";
  if (!address_space_can_be_limited()) GTEST_SKIP() << "RLIMIT_AS has no effect here, as under qemu-user";
  for (const unsigned n : {2u, 3u})
    EXPECT_EQ(in_group(n, {}, [](smelt_group* group, Seat& seat) { return ask_for_memory(group, seat, -ENOTSUP); }), 0);
}

}  // namespace
}  // namespace smelt::test
