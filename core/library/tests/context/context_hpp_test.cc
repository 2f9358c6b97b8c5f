// smelt/context.hpp: rows, elements, operations with and without a state, and what is refused before anything is sent.
#include <smelt/context.hpp>

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <numeric>
#include <string>
#include <thread>

namespace smelt::test {
namespace {

static_assert(Element<double> && Element<std::array<int, 3>>);
static_assert(!Element<bool> && !Element<const bool> && !Element<std::string>);
static_assert(std::is_nothrow_move_constructible_v<Seat> && !std::is_copy_constructible_v<Seat>);

constexpr int64_t kPatience = 60'000'000'000;  // ns

struct Both {
  uint32_t least, most;
};

void in_threads(std::vector<Seat>& seats, const std::function<void(Seat&)>& body) {
  std::vector<std::thread> threads;
  for (Seat& seat : seats) threads.emplace_back([&] { body(seat); });
  for (std::thread& thread : threads) thread.join();
}

std::vector<Seat> four() {
  const int parents[] = {-1, 0, 0, 1};
  Context context;
  EXPECT_EQ(Context::from_parents(parents, context), 0);
  EXPECT_EQ(context.size(), 4u);
  EXPECT_EQ(context.parent(3), 1);
  std::vector<Seat> seats;
  EXPECT_EQ(context.seats(seats, kPatience), 0);
  return seats;
}

TEST(ContextHpp, RowsOfAnyKind) {
  std::vector<Seat> seats = four();
  in_threads(seats, [](Seat& seat) {
    const unsigned me = seat.participant();
    ASSERT_EQ(seat.size(), 4u);
    std::array<short, 3> sent{};
    if (me == 2) sent = {1, 2, 3};
    EXPECT_EQ(seat.broadcast(sent, 2), 0);
    EXPECT_EQ(sent, (std::array<short, 3>{1, 2, 3}));

    const double mine[] = {1.0 * me, 2.0 * me};
    std::vector<double> all(2);
    EXPECT_EQ(seat.allreduce(mine, all, std::plus<>()), 0);
    EXPECT_EQ(all, (std::vector<double>{6, 12}));
    EXPECT_EQ(seat.reduce(mine, all, std::multiplies<>(), 3, Sync::strict), 0);
    if (me == 3) {
      EXPECT_EQ(all[0], 0);
    }

    std::vector<double> row(me == 1 ? 8 : 0);
    EXPECT_EQ(seat.gather(mine, row, 1), 0);
    if (me == 1) {
      EXPECT_EQ(row, (std::vector<double>{0, 0, 1, 2, 2, 4, 3, 6}));
    }
    EXPECT_EQ(seat.scatter(row, std::span(all), 1), 0);
    EXPECT_EQ(all[1], 2.0 * me);

    std::vector<uint32_t> in(4), out(4);
    std::iota(in.begin(), in.end(), 10 * me);
    EXPECT_EQ(seat.exchange(in, out), 0);
    for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(out[i], 10 * i + me);
    EXPECT_EQ(seat.barrier(), 0);
  });
}

TEST(ContextHpp, OperationsOnStructsWithAndWithoutAState) {
  std::vector<Seat> seats = four();
  in_threads(seats, [](Seat& seat) {
    const unsigned me = seat.participant();
    const Both mine[] = {{me + 5, me + 5}};
    Both all[1];
    const auto widen = [](const Both& a, const Both& b) {
      return Both{std::min(a.least, b.least), std::max(a.most, b.most)};
    };
    EXPECT_EQ(seat.start_allreduce(mine, all, decltype(widen)()), 0);
    EXPECT_EQ(seat.wait(), 0);
    EXPECT_EQ(all[0].least, 5u);
    EXPECT_EQ(all[0].most, 8u);

    const uint32_t modulus = 5, number[] = {me + 3};
    uint32_t product[1] = {0};
    const auto times = [modulus](uint32_t a, uint32_t b) { return a * b % modulus; };
    EXPECT_EQ(seat.start_allreduce(number, product, times), 0);
    for (bool done = false; !done;) ASSERT_EQ(seat.test(done), 0);
    EXPECT_EQ(product[0], 3u * 4 * 5 * 6 % 5);
  });
}

TEST(ContextHpp, RowsThatDoNotFitAreRefused) {
  Context context;
  EXPECT_EQ(Context::create(2, context, "no such pattern"), -ENOENT);
  EXPECT_FALSE(context);
  std::vector<Seat> seats = four();
  Seat& seat = seats[0];
  std::vector<int> three(3), two(2), none;
  EXPECT_EQ(seat.allreduce(three, two, std::plus<>()), -EINVAL);
  EXPECT_EQ(seat.reduce(three, none, std::plus<>(), 0), -EINVAL);
  EXPECT_EQ(seat.gather(three, two, 0), -EINVAL);
  EXPECT_EQ(seat.scatter(three, two, 0), -EINVAL);
  EXPECT_EQ(seat.exchange(three, three), -EINVAL);
  EXPECT_EQ(seat.exchange(three, two), -EINVAL);
}

TEST(ContextHpp, SubsetsAndMemoryOfTheCallers) {
  Context whole, some;
  ASSERT_EQ(Context::create(3, whole), 0);
  ASSERT_EQ(whole.subset(std::array{2u, 0u}, some), 0);
  alignas(SMELT_QUEUE_ALIGNMENT) static std::byte memory[1 << 19];
  ASSERT_LE(some.seats_size(), sizeof memory);
  ASSERT_EQ(some.init_seats(memory), 0);
  std::vector<Seat> seats(2);
  for (unsigned i = 0; i < 2; ++i) ASSERT_EQ(Seat::open(memory, i, seats[i], kPatience), 0);
  in_threads(seats, [](Seat& seat) {
    const int mine[] = {static_cast<int>(seat.participant()) + 1};
    int all[1];
    EXPECT_EQ(seat.allreduce(mine, all, std::plus<>()), 0);
    EXPECT_EQ(all[0], 3);
  });
}

TEST(ContextHpp, ByTicket) {
  Context context;
  ASSERT_EQ(Context::create(2, context), 0);
  smelt_seat_ticket ticket;
  std::vector<Seat> seats(2);
  ASSERT_EQ(context.share(ticket, seats[0], kPatience), 0);
  ASSERT_EQ(Seat::attach(ticket, 1, seats[1], kPatience), 0);
  in_threads(seats, [](Seat& seat) {
    std::vector<int> row(40'000, seat.participant() == 1 ? 7 : 0);  // in pieces
    EXPECT_EQ(seat.broadcast(row, 1), 0);
    EXPECT_EQ(std::accumulate(row.begin(), row.end(), 0), 280'000);
  });
}

}  // namespace
}  // namespace smelt::test
