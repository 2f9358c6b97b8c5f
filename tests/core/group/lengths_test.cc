// Participants that disagree about a length. Of a broadcast the root's counts: who takes more keeps the rest, who takes
// less gets what fits and is told. Anything else is an error that is told, never a wait that does not end nor a byte
// written where nobody said so.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>

#include "group/group.h"
#include "in_group.h"

namespace smelt::test {
namespace {

constexpr size_t kGuard = 64;
constexpr unsigned kLimit = 60;  // seconds: who waits for ever is ended

unsigned char byte_of(uint32_t round, size_t i) { return static_cast<unsigned char>(round * 31 + i * 7 + (i >> 8)); }

int finish(smelt_request* request, bool wait) {
  if (wait) return smelt_group_wait(request);
  for (int done = 0;;) {
    const int error = smelt_group_test(request, &done);
    if (done) return error;
    sched_yield();
  }
}

enum class Form { kBlocking, kWaited, kTested };

// One broadcast of `sent` bytes, of which this participant takes `taken`.
int broadcast(smelt_group* group, const Seat& seat, uint32_t round, unsigned root, size_t sent, size_t taken,
              bool apart, Form form) {
  const size_t width = apart ? 2 : 1, own = seat.me == root ? sent : taken;
  std::vector<unsigned char> memory(own * width + 16 + 2 * kGuard, 0xA5);
  unsigned char* const at = memory.data() + kGuard;
  const auto place = [&](size_t i) { return apart ? i / 8 * 16 + i % 8 : i; };
  if (seat.me == root)
    for (size_t i = 0; i < sent; ++i) at[place(i)] = byte_of(round, i);
  std::vector<unsigned char> wanted = memory;
  for (size_t i = 0; i < std::min(sent, own); ++i) wanted[kGuard + place(i)] = byte_of(round, i);
  const smelt_data data =
      apart ? smelt_data{nullptr, Apart::pack, Apart::unpack, at} : smelt_data{at, nullptr, nullptr, nullptr};
  int error = 0;
  smelt_request request{};
  if (form == Form::kBlocking)
    error = smelt_group_broadcast(group, &data, own, root);
  else if ((error = smelt_group_start_broadcast(group, &data, own, root, &request)) == 0)
    error = finish(&request, form == Form::kWaited);
  EXPECT_HERE(error == (sent > own ? -EMSGSIZE : 0), "rank %u: round %u: %zu of %zu bytes: %d", seat.me, round, taken,
              sent, error);
  for (size_t i = 0; i < memory.size(); ++i)
    EXPECT_HERE(memory[i] == wanted[i], "rank %u: round %u: %zu of %zu bytes: byte %td is %u instead of %u", seat.me,
                round, taken, sent, static_cast<ptrdiff_t>(i - kGuard), memory[i], wanted[i]);
  return 0;
}

// Nobody has lost step: everybody's number, and who is last.
int still_in_step(smelt_group* group, const Seat& seat, uint32_t round) {
  const smelt_fold fold{sizeof(uint64_t),
                        [](void*, const void* left, void* right, size_t) {
                          *static_cast<uint64_t*>(right) += *static_cast<const uint64_t*>(left);
                        },
                        nullptr, nullptr, 0};
  uint64_t in = seat.me + round, out = 0;
  const smelt_data from{&in, nullptr, nullptr, nullptr}, to{&out, nullptr, nullptr, nullptr};
  EXPECT_HERE(smelt_group_allreduce(group, &from, &to, 1, &fold) == 0, "round %u", round);
  EXPECT_HERE(out == uint64_t{seat.n} * round + seat.n * (seat.n - 1) / 2, "round %u: sum", round);
  return 0;
}

// Every way to send against every way to expect, each participant another.
int broadcasts(smelt_group* group, const Seat& seat) {
  static const size_t kLengths[] = {1, 8, 56, 57, 280, 281, 2048, 2049, 5000, 40000, 200000};
  constexpr size_t kMany = std::size(kLengths);
  uint32_t round = 0;
  for (size_t sent = 0; sent < kMany; ++sent)
    for (size_t shift = 0; shift < kMany; ++shift) {
      ++round;
      const unsigned root = round % seat.n;
      const size_t taken = kLengths[(sent + shift + seat.me * 3) % kMany];
      const bool apart = (round + seat.me) % 4 == 0;
      const auto form = static_cast<Form>((round / 3 + seat.me) % 3);
      if (const int error = broadcast(group, seat, round, root, kLengths[sent], taken, apart, form)) return error;
      if (round % 5 == 0)
        if (const int error = still_in_step(group, seat, round)) return error;
    }
  // The root runs ahead of those who wait for something else.
  for (uint32_t i = 0; i < 200; ++i) {
    const size_t sent = kLengths[i % 8], taken = kLengths[(i * 5 + seat.me) % 8];
    if (const int error = broadcast(group, seat, 1000 + i, 0, sent, taken, false, Form::kBlocking)) return error;
  }
  return still_in_step(group, seat, 1);
}

class Lengths : public testing::TestWithParam<unsigned> {};

TEST_P(Lengths, OfABroadcast) { EXPECT_EQ(in_group(GetParam(), {}, broadcasts, kLimit), 0); }
TEST_P(Lengths, OfABroadcastInManyPieces) {
  EXPECT_EQ(
      in_group(GetParam(), {{"SMELT_TUNE=chunk", "256"}, {"SMELT_TUNE=copy_limit", "1000000000"}}, broadcasts, kLimit),
      0);
}
TEST_P(Lengths, OfABroadcastAlongAChain) {
  EXPECT_EQ(in_group(GetParam(), {{"SMELT_TUNE=pattern", "knomial:1"}, {"SMELT_CPUS", "64"}}, broadcasts, kLimit), 0);
}
TEST_P(Lengths, OfABroadcastBySingleCopy) {
  EXPECT_EQ(in_group(GetParam(), {{"SMELT_TUNE=copy_limit", "0"}}, broadcasts, kLimit), 0);
}

// Everybody takes part with its own length, in a group that is made for this one call: only the program's end and the
// guards can be relied on afterwards. `who_must_know`: a bit for each participant that has to be told. Where there is a
// root it is participant 0.
enum class Kind {
  kReduce,  // of and to one length
  kAllreduce,
  kScan,
  kAllgather,  // to a row
  kAllgatherv,
  kGather,
  kGatherv,
  kReduceScatter,  // of a row
  kScatter,
  kScatterv,
  kAlltoall,  // of a row to a row
  kExchange
};
bool of_row(Kind kind) { return kind >= Kind::kReduceScatter; }
bool to_row(Kind kind) { return kind >= Kind::kAlltoall || (kind >= Kind::kAllgather && kind < Kind::kReduceScatter); }
// Wrong lengths are no more than wrong lengths: the group goes on.
bool stays_in_step(Kind kind) { return kind == Kind::kExchange || kind == Kind::kGatherv || kind == Kind::kScatterv; }

int disagree(smelt_group* group, const Seat& seat, Kind kind, const size_t* lengths, Form form, bool must_know) {
  const size_t own = lengths[seat.me], operands = of_row(kind) ? seat.n * own : own;
  const size_t results = to_row(kind) ? seat.n * own : own, bytes = own * 8;
  std::vector<uint64_t> in(operands, seat.me + 1), memory(results + 2 * kGuard, 0xA5A5);
  const smelt_fold fold{sizeof(uint64_t),
                        [](void*, const void* left, void* right, size_t elements) {
                          for (size_t i = 0; i < elements; ++i)
                            static_cast<uint64_t*>(right)[i] += static_cast<const uint64_t*>(left)[i];
                        },
                        nullptr, nullptr, 0};
  const smelt_data from{in.data(), nullptr, nullptr, nullptr}, to{memory.data() + kGuard, nullptr, nullptr, nullptr};
  std::vector<smelt_block> sent, received;
  std::vector<smelt_place> places;
  for (unsigned r = 0; r < seat.n; ++r) {
    places.push_back({static_cast<ptrdiff_t>(r * bytes), bytes});
    if (kind != Kind::kExchange) continue;
    const size_t cut = r % 2 ? own / 2 : own;  // to every second in two parts
    sent.push_back({r, in.data() + r * own, cut * 8});
    if (cut < own) sent.push_back({r, in.data() + r * own + cut, (own - cut) * 8});
    received.push_back({r, memory.data() + kGuard + r * own, bytes});
  }
  int error = 0;
  smelt_request request{};
  if (form == Form::kBlocking) {
    if (kind == Kind::kExchange) error = smelt_group_exchange(group, sent.data(), sent.size(), received.data(), seat.n);
    if (kind == Kind::kReduce) error = smelt_group_reduce(group, &from, &to, own, &fold, 0);
    if (kind == Kind::kAllreduce) error = smelt_group_allreduce(group, &from, &to, own, &fold);
    if (kind == Kind::kAllgather) error = smelt_group_allgather(group, &from, to.base, bytes);
    if (kind == Kind::kAllgatherv) error = smelt_group_allgatherv(group, &from, to.base, places.data());
    if (kind == Kind::kGather) error = smelt_group_gather(group, &from, to.base, bytes, 0);
    if (kind == Kind::kGatherv) error = smelt_group_gatherv(group, from.base, bytes, to.base, places.data(), 0);
    if (kind == Kind::kScatter) error = smelt_group_scatter(group, from.base, &to, bytes, 0);
    if (kind == Kind::kScatterv) error = smelt_group_scatterv(group, from.base, places.data(), &to, bytes, 0);
    if (kind == Kind::kAlltoall) error = smelt_group_alltoall(group, in.data(), to.base, bytes);
    if (kind == Kind::kReduceScatter) error = smelt_group_reduce_scatter_block(group, from.base, to.base, own, &fold);
    if (kind == Kind::kScan) error = smelt_group_scan(group, &from, &to, own, &fold);
  } else {
    if (kind == Kind::kExchange)
      error = smelt_group_start_exchange(group, sent.data(), sent.size(), received.data(), seat.n, &request);
    if (kind == Kind::kReduce) error = smelt_group_start_reduce(group, &from, &to, own, &fold, 0, &request);
    if (kind == Kind::kAllreduce) error = smelt_group_start_allreduce(group, &from, &to, own, &fold, &request);
    if (kind == Kind::kAllgather) error = smelt_group_start_allgather(group, &from, to.base, bytes, &request);
    if (kind == Kind::kAllgatherv) error = smelt_group_start_allgatherv(group, &from, to.base, places.data(), &request);
    if (kind == Kind::kGather) error = smelt_group_start_gather(group, &from, to.base, bytes, 0, &request);
    if (kind == Kind::kGatherv)
      error = smelt_group_start_gatherv(group, from.base, bytes, to.base, places.data(), 0, &request);
    if (kind == Kind::kScatter) error = smelt_group_start_scatter(group, from.base, &to, bytes, 0, &request);
    if (kind == Kind::kScatterv)
      error = smelt_group_start_scatterv(group, from.base, places.data(), &to, bytes, 0, &request);
    if (kind == Kind::kAlltoall) error = smelt_group_start_alltoall(group, in.data(), to.base, bytes, &request);
    if (kind == Kind::kReduceScatter)
      error = smelt_group_start_reduce_scatter_block(group, from.base, to.base, own, &fold, &request);
    if (kind == Kind::kScan) error = smelt_group_start_scan(group, &from, &to, own, &fold, &request);
    if (error == 0) error = finish(&request, form == Form::kWaited);
  }
  EXPECT_HERE(error == -EMSGSIZE || (error == 0 && !must_know), "rank %u: %zu elements: %d", seat.me, own, error);
  for (size_t i = 0; i < kGuard; ++i)
    EXPECT_HERE(memory[i] == 0xA5A5 && memory[memory.size() - 1 - i] == 0xA5A5, "rank %u: outside of the result",
                seat.me);
  for (size_t i = 0; i < operands; ++i)
    EXPECT_HERE(in[i] == seat.me + 1, "rank %u: the operands were written to", seat.me);
  return 0;
}

// Does this one hear of somebody whose length is another one? `odd` is the one who differs from all others.
bool is_told(Kind kind, unsigned me, unsigned odd, const size_t* lengths) {
  switch (kind) {
    case Kind::kReduce:
    case Kind::kGather:
    case Kind::kGatherv: return me == 0;
    case Kind::kScatter: return me != 0 && (odd == 0 || odd == me);
    case Kind::kScatterv: return lengths[me] > lengths[0];  // who takes less need not see that there was more
    case Kind::kScan: return me > odd || (me == odd && odd > 0);
    default: return true;
  }
}

constexpr size_t kElements[] = {1, 3, 5, 35, 36, 300, 5000, 60000};

int disagreements(unsigned n, Kind kind, const std::vector<Setting>& settings) {
  int failures = 0;
  unsigned round = 0;
  for (const size_t usual : kElements)
    for (const size_t other : kElements) {
      if (usual == other) continue;
      const unsigned odd = ++round % n;
      const auto form = static_cast<Form>(round % 3);
      failures += in_group(
          n, settings,
          [&](smelt_group* group, Seat& seat) {
            size_t lengths[8];
            std::fill(lengths, lengths + n, usual);
            lengths[odd] = other;
            if (round % 2)  // what long messages need is there already
              if (const int error = still_in_step(group, seat, round)) return error;
            const bool must_know = is_told(kind, seat.me, odd, lengths);
            if (const int error = disagree(group, seat, kind, lengths, form, must_know)) return error;
            return stays_in_step(kind) ? still_in_step(group, seat, round) : 0;
          },
          kLimit);
    }
  return failures;
}

TEST(LengthsOf, AnAllreduce) {
  EXPECT_EQ(disagreements(2, Kind::kAllreduce, {}), 0);
  EXPECT_EQ(disagreements(3, Kind::kAllreduce, {}), 0);
  EXPECT_EQ(
      disagreements(3, Kind::kAllreduce, {{"SMELT_TUNE=flat_limit", "0"}, {"SMELT_TUNE=copy_limit", "1000000000"}}), 0);
  EXPECT_EQ(disagreements(3, Kind::kAllreduce, {{"SMELT_TUNE=copy_limit", "0"}}), 0);
}
TEST(LengthsOf, AReduce) {
  EXPECT_EQ(disagreements(2, Kind::kReduce, {}), 0);
  EXPECT_EQ(disagreements(3, Kind::kReduce, {{"SMELT_TUNE=flat_limit", "1000000000"}}), 0);
  EXPECT_EQ(disagreements(3, Kind::kReduce, {{"SMELT_TUNE=copy_limit", "0"}}), 0);
}
TEST(LengthsOf, AnAllgather) {
  EXPECT_EQ(disagreements(2, Kind::kAllgather, {}), 0);
  EXPECT_EQ(disagreements(3, Kind::kAllgather, {{"SMELT_TUNE=copy_limit", "0"}}), 0);
}
TEST(LengthsOf, AnAllgatherv) {
  EXPECT_EQ(disagreements(2, Kind::kAllgatherv, {}), 0);
  EXPECT_EQ(disagreements(3, Kind::kAllgatherv, {{"SMELT_TUNE=copy_limit", "1000000000"}}), 0);
  EXPECT_EQ(disagreements(3, Kind::kAllgatherv, {{"SMELT_TUNE=copy_limit", "0"}}), 0);
}
TEST(LengthsOf, AGather) {
  EXPECT_EQ(disagreements(2, Kind::kGather, {}), 0);
  EXPECT_EQ(disagreements(3, Kind::kGather, {{"SMELT_TUNE=copy_limit", "1000000000"}}), 0);
  EXPECT_EQ(disagreements(3, Kind::kGather, {{"SMELT_TUNE=copy_limit", "0"}}), 0);
}
TEST(LengthsOf, AScatter) {
  EXPECT_EQ(disagreements(2, Kind::kScatter, {}), 0);
  EXPECT_EQ(disagreements(3, Kind::kScatter, {{"SMELT_TUNE=copy_limit", "1000000000"}}), 0);
  EXPECT_EQ(disagreements(3, Kind::kScatter, {{"SMELT_TUNE=copy_limit", "0"}}), 0);
}
TEST(LengthsOf, AnAlltoall) {
  EXPECT_EQ(disagreements(2, Kind::kAlltoall, {}), 0);
  EXPECT_EQ(disagreements(3, Kind::kAlltoall, {}), 0);
  EXPECT_EQ(disagreements(3, Kind::kAlltoall, {{"SMELT_TUNE=copy_limit", "0"}}), 0);
}
// Wrong ones are told, of any length, and the group goes on.
TEST(LengthsOf, AnExchange) {
  EXPECT_EQ(disagreements(2, Kind::kExchange, {}), 0);
  EXPECT_EQ(disagreements(3, Kind::kExchange, {{"SMELT_TUNE=chunk", "256"}}), 0);
  EXPECT_EQ(disagreements(3, Kind::kExchange, {{"SMELT_TUNE=copy_limit", "0"}}), 0);
}
TEST(LengthsOf, AGatherv) {
  EXPECT_EQ(disagreements(2, Kind::kGatherv, {}), 0);
  EXPECT_EQ(disagreements(3, Kind::kGatherv, {{"SMELT_TUNE=copy_limit", "1000000000"}, {"SMELT_TUNE=chunk", "256"}}),
            0);
  EXPECT_EQ(disagreements(3, Kind::kGatherv, {{"SMELT_TUNE=copy_limit", "0"}}), 0);
}
TEST(LengthsOf, AScatterv) {
  EXPECT_EQ(disagreements(2, Kind::kScatterv, {}), 0);
  EXPECT_EQ(disagreements(3, Kind::kScatterv, {{"SMELT_TUNE=copy_limit", "1000000000"}, {"SMELT_TUNE=chunk", "256"}}),
            0);
  EXPECT_EQ(disagreements(3, Kind::kScatterv, {{"SMELT_TUNE=copy_limit", "0"}}), 0);
}

// An allgatherv of which all give the same lengths, but one of them in another order: as many bytes in all.
int other_order(smelt_group* group, const Seat& seat, size_t unit, unsigned odd, Form form) {
  std::vector<smelt_place> places;
  size_t sum = 0;
  for (unsigned i = 0; i < seat.n; ++i) {
    const size_t length = unit * (1 + (seat.me == odd ? (i + 1) % seat.n : i));
    places.push_back({static_cast<ptrdiff_t>(sum * 8), length * 8});
    sum += length;
  }
  std::vector<uint64_t> in(places[seat.me].bytes / 8 + 1, seat.me), memory(sum + 2 * kGuard, 0xA5A5);
  const smelt_data from{in.data(), nullptr, nullptr, nullptr};
  int error = 0;
  smelt_request request{};
  if (form == Form::kBlocking)
    error = smelt_group_allgatherv(group, &from, memory.data() + kGuard, places.data());
  else if ((error = smelt_group_start_allgatherv(group, &from, memory.data() + kGuard, places.data(), &request)) == 0)
    error = finish(&request, form == Form::kWaited);
  EXPECT_HERE(error == -EMSGSIZE || (error == 0 && seat.me != odd), "rank %u: units of %zu: %d", seat.me, unit, error);
  for (size_t i = 0; i < kGuard; ++i)
    EXPECT_HERE(memory[i] == 0xA5A5 && memory[memory.size() - 1 - i] == 0xA5A5, "rank %u: outside", seat.me);
  return 0;
}

TEST(LengthsOf, AnAllgathervInAnotherOrder) {
  unsigned round = 0;
  for (const char* limit : {"1000000000", "0"})
    for (const unsigned n : {2u, 3u})
      for (const size_t unit : kElements) {
        ++round;
        const auto body = [&](smelt_group* group, Seat& seat) {
          if (round % 2)
            if (const int error = still_in_step(group, seat, round)) return error;
          return other_order(group, seat, unit, round % n, static_cast<Form>(round % 3));
        };
        EXPECT_EQ(in_group(n, {{"SMELT_TUNE=copy_limit", limit}, {"SMELT_TUNE=chunk", "1024"}}, body, kLimit), 0)
            << n << " of " << unit;
      }
}

TEST(LengthsOf, AReduceScatter) {
  EXPECT_EQ(disagreements(2, Kind::kReduceScatter, {}), 0);
  EXPECT_EQ(disagreements(3, Kind::kReduceScatter, {{"SMELT_TUNE=copy_limit", "1000000000"}}), 0);
  EXPECT_EQ(disagreements(3, Kind::kReduceScatter, {{"SMELT_TUNE=copy_limit", "0"}}), 0);
}
TEST(LengthsOf, AScan) {
  EXPECT_EQ(disagreements(2, Kind::kScan, {}), 0);
  EXPECT_EQ(disagreements(3, Kind::kScan, {{"SMELT_TUNE=chunk", "512"}}), 0);
}

// Short ones are told and forgotten: the group goes on.
TEST(LengthsOf, AShortAllreduceAreForgiven) {
  const auto body = [](smelt_group* group, Seat& seat) {
    for (uint32_t round = 1; round < 100; ++round) {
      size_t lengths[3] = {3, 3, 3};
      lengths[round % seat.n] = 1 + round % 28;
      const bool differ = lengths[round % seat.n] != 3;
      if (differ)
        if (const int error = disagree(group, seat, Kind::kAllreduce, lengths, static_cast<Form>(round % 3), true))
          return error;
      if (const int error = still_in_step(group, seat, round)) return error;
    }
    return 0;
  };
  EXPECT_EQ(in_group(2, {}, body, kLimit), 0);
  EXPECT_EQ(in_group(3, {}, body, kLimit), 0);
}

// Who leaves a call out is a call behind all others, who wait for it while it waits for them. Once that has come to
// light, nobody is served any more.
TEST(LengthsOf, ACallThatSomebodyLeavesOut) {
  const auto body = [](smelt_group* group, Seat& seat) {
    uint64_t word = 1;
    const smelt_data data{&word, nullptr, nullptr, nullptr};
    if (seat.me != 1) EXPECT_HERE(smelt_group_broadcast(group, &data, sizeof word, 0) == 0, "broadcast");
    const int error = still_in_step(group, seat, 1);
    EXPECT_HERE(error != 0, "nobody noticed");
    EXPECT_HERE(smelt_group_barrier(group) == -EMSGSIZE, "a barrier afterwards");
    smelt_request request{};
    EXPECT_HERE(smelt_group_start_barrier(group, &request) == -EMSGSIZE, "a started one afterwards");
    return 0;
  };
  EXPECT_EQ(in_group(2, {}, body, kLimit), 0);
}

INSTANTIATE_TEST_SUITE_P(Processes, Lengths, testing::Values(2u, 3u, 5u), testing::PrintToStringParamName());

}  // namespace
}  // namespace smelt::test
