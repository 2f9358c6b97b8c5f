// The parts of an endpoint that can be had alone: memory for messages, the poll and its sleepers.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "message/store.h"
#include "message/waiters.h"

namespace smelt::test {
namespace {

using message::Message;
using message::Request;
using message::Store;
using message::Waiter;
using message::Waiters;

// Of every size, more than a chunk has: nobody's bytes are another's, and those that come back are used again.
TEST(Store, ParcelsDoNotOverlapAndComeBack) {
  Store store;
  for (uint64_t bytes = 0; bytes <= Store::kMostParcel; bytes = 2 * bytes + 1) {
    const size_t count = 300 * 1024 / (bytes + 512) + 2;
    std::vector<char*> parcels;
    for (size_t i = 0; i < count; ++i) {
      parcels.push_back(static_cast<char*>(store.new_parcel(bytes)));
      ASSERT_NE(parcels[i], nullptr);
      std::memset(parcels[i], static_cast<int>(i), bytes);
    }
    for (size_t i = 0; i < count; ++i)
      for (uint64_t at = 0; at < bytes; ++at) ASSERT_EQ(parcels[i][at], static_cast<char>(i)) << bytes;
    for (char* parcel : parcels) store.free_parcel(parcel, bytes);
    EXPECT_EQ(store.new_parcel(bytes), parcels.back());
    store.free_parcel(parcels.back(), bytes);
  }
  store.close();
}

TEST(Store, MessagesAreDifferentOnesUntilTheyComeBack) {
  Store store;
  std::set<Message*> all;
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(all.insert(store.new_message()).second);
  EXPECT_FALSE(all.contains(nullptr));
  store.free_message(*all.begin());
  EXPECT_EQ(store.new_message(), *all.begin());
  store.close();
}

// Parcels of one size serve each other's bytes, and only those.
TEST(Store, SizesAreTheNextPowerOfTwo) {
  EXPECT_TRUE(Store::is_same_size(0, 512));
  EXPECT_FALSE(Store::is_same_size(512, 513));
  EXPECT_TRUE(Store::is_same_size(513, 1024));
  EXPECT_FALSE(Store::is_same_size(64 * 1024, Store::kMostParcel));
}

// A waiter that leaves early takes itself out of what is not complete, and the next one finds it pending.
TEST(Waiters, AWaiterCountsWhatCompletesAndLeavesTheRest) {
  Request requests[3];
  Request* all[] = {&requests[0], &requests[1], &requests[2]};
  for (Request& one : requests) one.state = Request::kPending;
  finish(&requests[0], false);  // nobody waits for it yet
  Waiter waiter;
  const uint32_t attached = waiter.attach(all, 3, 2);
  EXPECT_EQ(attached, 2u);
  EXPECT_FALSE(waiter.is_done());
  finish(&requests[2], false);
  EXPECT_TRUE(waiter.is_done());
  EXPECT_EQ(waiter.detach(all, 3, 2, attached), 2u);
  EXPECT_EQ(requests[1].state.load(), Request::kPending);
}

// One polls; a thread that comes sleeps until the poller leaves, which calls it, or until its request is complete.
TEST(Waiters, ASleeperIsCalledByTheLeavingPollerAndWokenByItsCompleter) {
  for (const bool completes : {false, true}) {
    Waiters waiters;
    waiters.set_sleep(0);  // until somebody wakes it
    Request request;
    Request* const all[] = {&request};
    request.state = Request::kPending;
    ASSERT_TRUE(waiters.try_to_poll());
    std::thread sleeper([&] {
      EXPECT_FALSE(waiters.try_to_poll());
      Waiter waiter;
      const uint32_t attached = waiter.attach(all, 1, 1);
      EXPECT_EQ(waiters.sleep(&waiter), completes ? Waiters::Woken::kDone : Waiters::Woken::kToPoll);
      EXPECT_EQ(waiters.try_to_poll(), !completes);
      if (!completes) waiters.stop_polling();
      EXPECT_EQ(waiter.detach(all, 1, 1, attached), completes ? 1u : 0u);
    });
    while (waiters.sleeps() == 0) std::this_thread::yield();
    if (completes)
      finish(&request, false);
    else
      waiters.stop_polling();
    sleeper.join();
    if (completes) waiters.stop_polling();
  }
}

}  // namespace
}  // namespace smelt::test
