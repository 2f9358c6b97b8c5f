// Long messages without single copy, above all: lengths around the borders of pieces, everything that may happen to a
// request meanwhile, processes that are stopped and go on.
//
// The oracle is what MPI says without wildcards: of a sender, context and tag, the receives that are not cancelled get
// the messages in the order of both. Each message tells its number and is otherwise a function of it.
//
// MESSAGE_FUZZ: so many seeds each, instead of a few.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "processes.h"

namespace smelt::test {
namespace {

using message::Endpoint;
using message::Request;
using message::Shape;

uint64_t seeds(uint64_t few) {
  const char* set = std::getenv("MESSAGE_FUZZ");
  return set ? std::strtoull(set, nullptr, 10) : few;
}

constexpr uint32_t kMost = 140'000, kGuard = 64;
constexpr int kTags = 3;
constexpr unsigned char kUntouched = 0xa5;

struct Head {  // what a message begins with
  uint64_t number;
  uint32_t length;
  int32_t tag;
};

struct Traffic {
  Shape shape;
  uint64_t seed;
  uint16_t lanes;
  uint64_t messages;   // of each to each, in each lane
  uint16_t first = 0;  // members from there on
};

// Of the messages that `from` sends to `to` in a lane (a context).
Head head_of(const Traffic& run, uint16_t from, uint16_t to, uint16_t lane, uint64_t number) {
  std::mt19937_64 random((((run.seed * 64 + from) * 64 + to) * 64 + lane) * 100'003 + number);
  const uint32_t piece = run.shape.piece_bytes;
  uint64_t length = sizeof(Head);
  const uint64_t kind = random() % 16, beside = random() % 3;
  if (kind == 0) length = 131'071 + beside;
  if (kind == 1) length = piece * (random() % 10) + beside - 1;
  if (kind == 2) length = run.shape.packet_bytes + beside - 1;
  if (kind == 3) length = message::kInlineBytes + beside - 1;
  if (kind == 4) length = random() % kMost;
  if (kind == 5) length = message::kInCellBytes + beside - 1;
  if (kind == 6) length = random() % message::kInlineBytes;
  if (kind > 10) length = random() % 10'000;
  return {number, static_cast<uint32_t>(std::clamp<uint64_t>(length, sizeof(Head), kMost)),
          static_cast<int32_t>(random() % kTags)};
}
uint64_t salt_of(uint16_t from, uint16_t lane, uint64_t number) { return from * 101 + lane * 37 + number * 13; }
unsigned char byte_of(uint64_t salt, uint64_t i) { return static_cast<unsigned char>(salt + i * 3 + i / 251); }

using Memory = std::unique_ptr<unsigned char[]>;

struct Sent : Request {
  Memory bytes;
  std::atomic<uint64_t>* left = nullptr;  // of nobody's: counted when it has gone
};
void pack(Request* send, uint64_t at, void* data, uint64_t bytes) {
  std::memcpy(data, static_cast<Sent*>(send)->bytes.get() + at, bytes);
}
// Its program has freed it: it goes with its data.
void sent(Request* send) {
  std::atomic<uint64_t>& left = *static_cast<Sent*>(send)->left;
  delete static_cast<Sent*>(send);
  left.fetch_sub(1);
}

// One that has been used before, as a persistent one is, or a new one.
template <typename T>
std::unique_ptr<T> take_request(std::vector<std::unique_ptr<T>>* used) {
  if (used->empty()) return std::make_unique<T>();
  std::unique_ptr<T> one = std::move(used->back());
  used->pop_back();
  return one;
}

int send_lane(Endpoint& end, const Traffic& run, uint16_t me, uint16_t to, uint16_t lane) {
  std::mt19937_64 random(run.seed * 7 + me * 5 + lane);
  std::list<std::unique_ptr<Sent>> pending;
  std::vector<std::unique_ptr<Sent>> used;
  std::atomic<uint64_t> left{0};
  int wrong = 0;
  for (uint64_t k = 0; k < run.messages; ++k) {
    const Head head = head_of(run, me, to, lane, k);
    auto owned = take_request(&used);
    Sent* send = owned.get();
    send->bytes = std::make_unique_for_overwrite<unsigned char[]>(head.length);
    const uint64_t salt = salt_of(me, lane, k);
    for (uint64_t i = 0; i < head.length; ++i) send->bytes[i] = byte_of(salt, i);
    std::memcpy(send->bytes.get(), &head, sizeof head);
    send->pack = pack;
    const bool is_freed = random() % 3 == 0;
    send->completed = is_freed ? sent : nullptr;
    if (is_freed) {
      send->left = &left;
      left.fetch_add(1);
      owned.release();
    }
    bool done = false;
    wrong += end.send(send, to, lane, head.tag, random() % 3 ? send->bytes.get() : nullptr, head.length,
                      random() % 8 == 0, &done) != 0;
    if (is_freed && done) sent(send);
    if (!is_freed) pending.push_back(std::move(owned));
    if (random() % 4 == 0) end.progress();
    while (pending.size() > 1 + random() % 8) {
      wrong += end.wait(pending.front().get()) != 0;
      used.push_back(std::move(pending.front()));
      pending.pop_front();
    }
  }
  for (const auto& send : pending) wrong += end.wait(send.get()) != 0;
  while (left.load() != 0)
    if (!end.progress()) std::this_thread::yield();
  return wrong;
}

// What a receive has got. Written by whoever completed it, before `left` is counted down.
struct Got {
  uint64_t key;         // index of (source, tag)
  int64_t number = -1;  // -1: nothing yet; -2: something wrong
  bool is_cancelled = false;
};
struct Receiver {
  const Traffic& run;
  uint16_t me, lane;
  std::vector<Got> got;  // as they were posted
  std::atomic<uint64_t> left{0};
};
struct Asked : Request {
  Receiver* receiver = nullptr;
  uint64_t index = 0;
  uint32_t room = 0;
  Memory bytes;
  uint64_t unpacked = 0;
  bool in_order = true;
};
void unpack(Request* receive, uint64_t at, const void* data, uint64_t bytes) {
  auto* asked = static_cast<Asked*>(receive);
  asked->in_order &= at == asked->unpacked;
  asked->unpacked += bytes;
  std::memcpy(asked->bytes.get() + at, data, bytes);
}

void check(const Asked& asked) {
  const Receiver& receiver = *asked.receiver;
  Head head;
  std::memcpy(&head, asked.bytes.get(), sizeof head);
  const Head right = head_of(receiver.run, asked.peer, receiver.me, receiver.lane, head.number);
  const uint32_t came = std::min(right.length, asked.room);
  bool same = head.length == right.length && head.tag == right.tag && asked.length == right.length &&
              asked.tag == right.tag && asked.error == (right.length > asked.room ? -EMSGSIZE : 0);
  const uint64_t salt = salt_of(asked.peer, receiver.lane, head.number);
  for (uint64_t i = sizeof head; i < came && same; ++i) same = asked.bytes[i] == byte_of(salt, i);
  for (uint64_t i = came; i < came + kGuard && same; ++i) same = asked.bytes[i] == kUntouched;
  if (asked.unpack) same = same && asked.in_order && asked.unpacked == came;
  asked.receiver->got[asked.index].number = same ? static_cast<int64_t>(head.number) : -2;
}
// Its program has freed it: it goes, and its memory is somebody else's.
void received(Request* receive) {
  auto* asked = static_cast<Asked*>(receive);
  check(*asked);
  std::atomic<uint64_t>& left = asked->receiver->left;
  delete asked;
  left.fetch_sub(1);
}

// All that the others send to us in a lane.
int receive_lane(Endpoint& end, const Traffic& run, uint16_t me, uint16_t lane) {
  std::mt19937_64 random(run.seed * 11 + me * 3 + lane);
  Receiver receiver{run, me, lane, {}, {}};
  std::vector<std::vector<int64_t>> messages(uint64_t{run.shape.members} * kTags);  // of each key, their numbers
  for (uint16_t from = run.first; from < run.shape.members; ++from)
    for (uint64_t k = 0; k < run.messages && from != me; ++k)
      messages[from * kTags + static_cast<uint32_t>(head_of(run, from, me, lane, k).tag)].push_back(
          static_cast<int64_t>(k));
  // Keys. Of each sender in its order, those that were cancelled first: so whatever we wait for, all that its sender
  // sends before it has a receive.
  std::vector<uint64_t> to_ask;
  {
    std::vector<uint64_t> sent(run.shape.members);
    const uint64_t all = (run.shape.members - run.first - 1u) * run.messages;
    while (to_ask.size() < all) {
      const auto from = static_cast<uint16_t>(run.first + random() % (run.shape.members - run.first));
      if (from == me || sent[from] == run.messages) continue;
      const Head head = head_of(run, from, me, lane, sent[from]++);
      to_ask.push_back(from * kTags + static_cast<uint32_t>(head.tag));
    }
    std::reverse(to_ask.begin(), to_ask.end());
  }
  receiver.got.reserve(4 * to_ask.size());
  std::list<std::unique_ptr<Asked>> pending;
  std::vector<std::unique_ptr<Asked>> used;
  bool one_is_cancelled = false;
  int wrong = 0;
  while (!to_ask.empty() || !pending.empty()) {
    if (!to_ask.empty() && (one_is_cancelled || pending.size() + receiver.left.load() < 1 + random() % 12)) {
      const uint64_t key = to_ask.back();
      to_ask.pop_back();
      one_is_cancelled = false;
      auto owned = take_request(&used);
      Asked* asked = owned.get();
      asked->receiver = &receiver;
      asked->index = receiver.got.size();
      receiver.got.push_back({key});
      asked->room = random() % 8 ? kMost : static_cast<uint32_t>(sizeof(Head) + random() % 60'000);
      asked->bytes = std::make_unique_for_overwrite<unsigned char[]>(kMost + kGuard);
      std::memset(asked->bytes.get(), kUntouched, kMost + kGuard);
      asked->unpack = random() % 4 == 0 ? unpack : nullptr;
      asked->unpacked = 0;
      asked->in_order = true;
      const bool is_freed = random() % 2 == 0;
      asked->completed = is_freed ? received : nullptr;
      if (is_freed) {
        receiver.left.fetch_add(1);
        owned.release();
      }
      bool done = false;
      wrong += end.receive(asked, static_cast<int32_t>(key / kTags), lane, static_cast<int32_t>(key % kTags), false,
                           asked->bytes.get(), asked->room, &done) != 0;
      if (is_freed && done) received(asked);
      if (!is_freed) pending.push_back(std::move(owned));
    }
    if (pending.empty()) {
      if (!end.progress()) std::this_thread::yield();
      continue;
    }
    auto one = pending.begin();
    std::advance(one, random() % pending.size());
    const bool may_cancel = receiver.got.size() < receiver.got.capacity();
    if (!end.test(one->get()) && may_cancel && random() % 8 == 0 && end.cancel(one->get())) {
      wrong += (*one)->error != -ECANCELED;
      receiver.got[(*one)->index].is_cancelled = true;
      to_ask.push_back(receiver.got[(*one)->index].key);
      one_is_cancelled = true;
    } else {
      if (random() % 2 == 0 && !end.test(one->get())) {
        if (!end.progress()) std::this_thread::yield();
        continue;
      }
      end.wait(one->get());
      check(**one);
    }
    used.push_back(std::move(*one));
    pending.erase(one);
  }
  while (receiver.left.load() != 0)
    if (!end.progress()) std::this_thread::yield();
  std::vector<size_t> next(messages.size());
  for (const Got& got : receiver.got)
    if (!got.is_cancelled) wrong += got.number != messages[got.key].at(next[got.key]++);
  for (size_t key = 0; key < messages.size(); ++key) wrong += next[key] != messages[key].size();
  return wrong;
}

int run_member(Endpoint& end, const Traffic& run, uint16_t me) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (uint16_t lane = 0; lane < run.lanes; ++lane) {
    threads.emplace_back([&, lane] { wrong += receive_lane(end, run, me, lane); });
    for (uint16_t to = run.first; to < run.shape.members; ++to)
      if (to != me) threads.emplace_back([&, lane, to] { wrong += send_lane(end, run, me, to, lane); });
  }
  for (std::thread& thread : threads) thread.join();
  return wrong;
}

// Little room, so that everything has to wait now and then. (Not so little that a message needs hundreds of turns of
// both sides: on a busy machine each takes as long as the machine pleases.)
Shape random_shape(uint64_t seed, uint16_t members) {
  std::mt19937_64 random(seed);
  return {members,
          4u << random() % 5,
          static_cast<uint32_t>(1 + random() % 12),
          8192,
          static_cast<uint32_t>(2 + random() % 4),
          static_cast<uint32_t>(2048 << random() % 4)};
}

// Threads of one process: what the sanitizers can see.
TEST(MessageLongFuzz, ManyThreads) {
  constexpr uint16_t kMembers = 3;
  for (uint64_t seed = 1; seed <= seeds(3); ++seed) {
    const Traffic run{random_shape(seed, kMembers), seed, 2, 60};
    const Members members(run.shape, false);
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    Through through(kMembers);
    for (uint16_t me = 0; me < kMembers; ++me)
      threads.emplace_back([&, me] {
        wrong += run_member(members[me], run, me);
        through.wait(members[me]);
      });
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(wrong, 0) << "seed " << seed;
  }
}

// Processes that are stopped and go on, at any moment: whoever holds a cell, a packet, a piece, a lock, does so for
// long now and then. Nobody may wait for ever for what nobody will do. Single copy is refused, or refused from some
// moment on, or allowed, or tried beside pieces.
TEST(MessageLongFuzz, ProcessesThatAreStoppedNowAndThen) {
  NEEDS_PROCESSES();
  constexpr uint16_t kMembers = 4;
  for (uint64_t seed = 1; seed <= seeds(6); ++seed) {
    const Traffic run{random_shape(seed, kMembers), seed, 2, 40, 1};
    Processes processes(run.shape, seed % 3 != 0);
    std::vector<pid_t> children;
    // We are the one who stops the others; nobody talks to us.
    for (uint16_t i = run.first; i < kMembers; ++i)
      children.push_back(processes.member(i, [&](Endpoint& end) {
        end.set_trials(seed % 2 == 0);
        std::thread refuses;
        if (seed % 3 == 1)
          refuses = std::thread([&end] {
            ::usleep(20'000);
            end.set_single_copy(false);
          });
        const int wrong = run_member(end, run, i);
        if (refuses.joinable()) refuses.join();
        return wrong;
      }));
    ASSERT_TRUE(processes.meet());
    std::mt19937_64 random(seed);
    for (int i = 0; i < 60; ++i) {
      const pid_t victim = children[random() % children.size()];
      ::kill(victim, SIGSTOP);
      ::usleep(static_cast<useconds_t>(random() % 2000));
      ::kill(victim, SIGCONT);
      ::usleep(static_cast<useconds_t>(random() % 500));
    }
    for (const pid_t child : children) ASSERT_EQ(processes.ended(child), 0) << "seed " << seed;
  }
}

}  // namespace
}  // namespace smelt::test
