// Endpoints against what MPI says: posts, messages, wildcards, cancels in any order.
//
//   from one thread   every answer is that of two lists, walked from the front
//   from many         which message each receive got is looked at afterwards:
//                       a  of two messages of one sender that fit a receive it does not get the later one while nobody
//                          who was there before it has the earlier one
//                       b  of two receives that a message fits the later one does not get it while the earlier one has
//                          none, or a later one of that sender
//
// MESSAGE_FUZZ: so many seeds each, instead of a few.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <random>
#include <thread>
#include <vector>

#include <sys/resource.h>

#include "processes.h"

namespace smelt::test {
namespace {

using message::Endpoint;
using message::Request;
using message::Seen;
using message::Shape;
using Bytes = std::vector<unsigned char>;

uint64_t seeds(uint64_t few) {
  const char* set = std::getenv("MESSAGE_FUZZ");
  return set ? std::strtoull(set, nullptr, 10) : few;
}

constexpr size_t kMost = 50'000;
// Short ones mostly; in pieces, by single copy, in packets, inline.
size_t random_length(std::mt19937_64& random) {
  const uint64_t kind = random() % 32;
  return random() % (kind == 0 ? kMost : kind < 4 ? 9000 : kind < 8 ? 300 : 20);
}
unsigned char byte_of(uint64_t id, size_t i) { return static_cast<unsigned char>(id * 37 + i * 3 + i / 251); }

struct Sent : Request {
  uint64_t id = 0;
  Bytes bytes;
  uint16_t from = 0;
};
void pack(Request* send, uint64_t at, void* data, uint64_t bytes) {
  std::memcpy(data, static_cast<Sent*>(send)->bytes.data() + at, bytes);
}
struct Asked : Request {
  Bytes bytes;
  MatchNode pattern;
  uint64_t unpacked = 0;
  bool in_order = true;
  int32_t source = 0;
  Sent* expected = nullptr;
};
void unpack(Request* receive, uint64_t at, const void* data, uint64_t bytes) {
  auto* asked = static_cast<Asked*>(receive);
  asked->in_order &= at == asked->unpacked;
  asked->unpacked += bytes;
  std::memcpy(asked->bytes.data() + at, data, bytes);
}

MatchNode pattern_of(int32_t source, uint16_t context, int32_t tag, bool any_tag) {
  MatchNode pattern;
  pattern.mask = (source < 0 ? kAnySource : kExact) & (any_tag ? kAnyTag : kExact);
  pattern.key = match_key(context, source < 0 ? 0 : static_cast<uint16_t>(source), any_tag ? 0 : tag);
  return pattern;
}

// Three members in one thread. Whoever makes progress does so until there is nothing left, so all that was sent to it
// has come.
class OneThread {
 public:
  OneThread(uint64_t seed, bool single_copy)
      : random_(seed), members_(Shape{3, 1024, 512}, single_copy), wildcards_(seed % 3 == 0 ? 0 : 30) {
    for (uint16_t member = 0; member < 3; ++member) members_[member].set_alone(seed >> member & 1);
  }

  void run() {
    for (int step = 0; step < 1500 && !testing::Test::HasFatalFailure(); ++step) {
      const bool many_receives = step / 300 % 2;
      const uint64_t what = random_() % 100;
      if (what < 20)
        progress(static_cast<uint16_t>(random_() % 3));
      else if (what < 23)
        cancel();
      else if (what < 28)
        probe();
      else if (what < (many_receives ? 75 : 50))
        receive();
      else
        send();
    }
    for (int i = 0; i < 20; ++i)
      for (uint16_t member = 0; member < 3; ++member) progress(member);
    for (Asked& asked : asked_) check(asked);
    for (Sent& sent : sent_) {
      EXPECT_EQ(sent.error, 0);
    }
  }

 private:
  uint64_t below(uint64_t limit) { return random_() % limit; }

  void send() {
    Sent& sent = sent_.emplace_back();
    sent.id = sent_.size();
    sent.from = static_cast<uint16_t>(below(3));
    sent.bytes.resize(random_length(random_));
    for (size_t i = 0; i < sent.bytes.size(); ++i) sent.bytes[i] = byte_of(sent.id, i);
    sent.pack = pack;
    const auto to = static_cast<uint16_t>(below(3));
    const auto context = static_cast<uint16_t>(below(2));
    const auto tag = static_cast<int32_t>(below(4)) - (below(10) == 0);
    Endpoint& from = members_[sent.from];
    if (below(3) != 0 || !from.send_now(to, context, tag, sent.bytes.data(), sent.bytes.size())) {
      const void* const data = below(3) == 0 ? nullptr : sent.bytes.data();
      ASSERT_EQ(from.send(&sent, to, context, tag, data, sent.bytes.size(), below(4) == 0), 0);
    }
    under_way_[to].push_back({match_key(context, sent.from, tag), &sent});
  }

  void receive() {
    Asked& asked = asked_.emplace_back();
    const auto member = static_cast<uint16_t>(below(3));
    const auto context = static_cast<uint16_t>(below(2));
    auto tag = static_cast<int32_t>(below(4));
    asked.source = static_cast<int32_t>(below(3));
    bool any_tag = false;
    if (below(100) < wildcards_) {
      const uint64_t which = below(3);
      if (which != 0) asked.source = -1;
      any_tag = which != 1;
    } else if (below(10) == 0) {
      tag -= 1;
    }
    asked.bytes.resize(kMost);
    if (below(3) == 0) asked.unpack = unpack;
    asked.pattern = pattern_of(asked.source, context, tag, any_tag);
    asked.peer = member;
    auto& messages = messages_[member];
    auto at = messages.begin();
    while (at != messages.end() && !fits(at->first, asked.pattern)) ++at;
    const bool expected = at != messages.end();
    if (expected) {
      asked.expected = at->second;
      messages.erase(at);
    } else {
      receives_[member].push_back(&asked);
    }
    bool done = false;
    if (below(8) == 0) {  // in two steps
      Asked& holder = asked;
      holder.holds = true;
      ASSERT_EQ(members_[member].receive(&holder, asked.source, context, tag, any_tag, nullptr, 0, &done), 0);
      ASSERT_EQ(done, expected);
      if (done) {
        Asked& held = asked_.emplace_back();
        held.bytes.resize(kMost);
        held.expected = asked.expected;
        held.peer = member;
        if (below(3) == 0) held.unpack = unpack;
        asked.expected = nullptr;
        members_[member].receive_held(&held, &holder, held.bytes.data(), held.bytes.size());
      } else {
        ASSERT_TRUE(members_[member].cancel(&holder));
        receives_[member].pop_back();
      }
      return;
    }
    ASSERT_EQ(members_[member].receive(&asked, asked.source, context, tag, any_tag, asked.bytes.data(), kMost, &done),
              0);
    if (done) {
      ASSERT_TRUE(expected);
      check(asked);
    }
  }

  void cancel() {
    const auto member = static_cast<uint16_t>(below(3));
    auto& receives = receives_[member];
    if (receives.empty()) return;
    auto victim = receives.begin();
    std::advance(victim, below(receives.size()));
    ASSERT_EQ(members_[member].test(*victim), false);
    // What is under way to it does not know.
    ASSERT_TRUE(members_[member].cancel(*victim));
    ASSERT_EQ((*victim)->error, -ECANCELED);
    receives.erase(victim);
  }

  void probe() {
    const auto member = static_cast<uint16_t>(below(3));
    const auto context = static_cast<uint16_t>(below(2));
    const auto tag = static_cast<int32_t>(below(4));
    const bool any_tag = below(100) < wildcards_, any_source = below(100) < wildcards_;
    const int32_t source = any_source ? -1 : static_cast<int32_t>(below(3));
    const MatchNode pattern = pattern_of(source, context, tag, any_tag);
    Sent* expected = nullptr;
    for (const auto& [key, sent] : messages_[member])
      if (!expected && fits(key, pattern)) expected = sent;
    Seen seen{};
    ASSERT_EQ(members_[member].probe(source, context, tag, any_tag, &seen), expected != nullptr);
    if (!expected) return;
    ASSERT_EQ(seen.sender, expected->from);
    ASSERT_EQ(seen.length, expected->bytes.size());
  }

  void progress(uint16_t member) {
    while (members_[member].progress()) {
    }
    for (const auto& [key, sent] : under_way_[member]) {
      auto& receives = receives_[member];
      auto at = receives.begin();
      while (at != receives.end() && !fits(key, (*at)->pattern)) ++at;
      if (at != receives.end()) {
        (*at)->expected = sent;
        receives.erase(at);
      } else {
        messages_[member].push_back({key, sent});
      }
    }
    under_way_[member].clear();
  }

  // If it is complete, it has what it should.
  void check(Asked& asked) {
    if (!asked.expected || !members_[0].test(&asked)) return;
    const Sent& sent = *asked.expected;
    ASSERT_EQ(asked.error, 0);
    ASSERT_EQ(asked.peer, sent.from);
    ASSERT_EQ(asked.length, sent.bytes.size());
    ASSERT_TRUE(std::equal(sent.bytes.begin(), sent.bytes.end(), asked.bytes.begin())) << "message " << sent.id;
    ASSERT_TRUE(!asked.unpack || (asked.in_order && asked.unpacked == asked.length));
    ++checked_;
  }

  std::mt19937_64 random_;
  Members members_;
  const uint64_t wildcards_;
  std::deque<Sent> sent_;
  std::deque<Asked> asked_;
  struct Entry {
    uint64_t first;
    Sent* second;
  };
  std::list<Entry> under_way_[3], messages_[3];
  std::list<Asked*> receives_[3];

 public:
  int checked_ = 0;
};

TEST(MessageFuzz, OneThreadGetsWhatTwoListsWouldGive) {
  int checked = 0;
  for (uint64_t seed = 1; seed <= seeds(40) && !HasFailure(); ++seed)
    for (const bool single_copy : {true, false}) {
      SCOPED_TRACE(seed);
      OneThread one(seed, single_copy);
      one.run();
      checked += one.checked_;
    }
  EXPECT_GT(checked, 1000);
}

// --- many threads, in one process or in several ---

struct Told {  // what a message begins with
  uint64_t number;
  int32_t tag;
  uint32_t length;
};
constexpr int kTags = 3;

// The messages that `from` sends to `to` in a lane (a context): the same for whoever asks.
Told told(uint64_t seed, uint16_t from, uint16_t to, uint16_t lane, uint64_t number) {
  std::mt19937_64 random((((seed * 64 + from) * 64 + to) * 64 + lane) * 100'003 + number);
  const size_t length = sizeof(Told) + random_length(random);
  return {number, static_cast<int32_t>(random() % kTags), static_cast<uint32_t>(std::min(length, kMost))};
}

int send_lane(Endpoint& end, uint64_t seed, uint16_t me, uint16_t to, uint16_t lane, uint64_t messages) {
  std::mt19937_64 random(seed * 7 + me * 5 + lane);
  std::deque<Sent> sends;
  int wrong = 0;
  for (uint64_t k = 0; k < messages; ++k) {
    const Told head = told(seed, me, to, lane, k);
    Sent& send = sends.emplace_back();
    send.bytes.resize(head.length);
    for (size_t i = 0; i < head.length; ++i) send.bytes[i] = byte_of(k, i);
    std::memcpy(send.bytes.data(), &head, sizeof head);
    send.pack = pack;
    wrong += end.send(&send, to, lane, head.tag, random() % 3 ? send.bytes.data() : nullptr, head.length,
                      random() % 8 == 0) != 0;
    if (random() % 4 == 0) end.progress();
    while (sends.size() > 1 + random() % 12) {
      wrong += end.wait(&sends.front()) != 0;
      sends.pop_front();
    }
  }
  for (Sent& send : sends) wrong += end.wait(&send) != 0;
  return wrong;
}

// All messages of all others in a lane. What each receive got, as (receive, sender, number), and was it right?
struct Got {
  MatchNode pattern;
  uint16_t sender;
  uint64_t number;  // of the sender's messages; ~0: cancelled
};
int check_order(const std::vector<Got>& got, uint64_t seed, uint16_t me, uint16_t lane, uint16_t members,
                uint64_t messages) {
  int wrong = 0;
  std::vector<std::vector<size_t>> by(members, std::vector<size_t>(messages, ~size_t{0}));  // which receive has it
  for (size_t r = 0; r < got.size(); ++r)
    if (got[r].number != ~uint64_t{0}) {
      wrong += by[got[r].sender][got[r].number] != ~size_t{0};
      by[got[r].sender][got[r].number] = r;
    }
  for (uint16_t s = 0; s < members; ++s) {
    if (s == me) continue;
    for (uint64_t k = 0; k < messages; ++k) {
      const size_t has = by[s][k];
      if (has == ~size_t{0}) {
        ++wrong;
        continue;
      }
      const uint64_t key = match_key(lane, s, told(seed, s, me, lane, k).tag);
      // a, among the nearest
      for (uint64_t j = k; j-- > 0 && k - j < 40;) {
        const uint64_t earlier = match_key(lane, s, told(seed, s, me, lane, j).tag);
        if (fits(earlier, got[has].pattern)) wrong += by[s][j] > has;
      }
      // b
      for (size_t r = has; r-- > 0 && has - r < 40;)
        if (got[r].number != ~uint64_t{0} && fits(key, got[r].pattern) && got[r].sender == s)
          wrong += got[r].number > k;
    }
  }
  return wrong;
}

int receive_lane(Endpoint& end, uint64_t seed, uint16_t me, uint16_t lane, uint16_t members, uint64_t messages,
                 uint64_t wildcards) {
  std::mt19937_64 random(seed * 11 + me * 3 + lane);
  struct Pending : Asked {
    size_t index = 0;
  };
  std::list<Pending> pending;
  std::vector<Got> got;
  int wrong = 0;
  const uint64_t all = (members - 1) * messages;
  for (uint64_t complete = 0; complete < all && wrong == 0;) {
    if (pending.size() < 1 + random() % 20) {
      Pending& receive = pending.emplace_back();
      receive.index = got.size();
      receive.bytes.resize(kMost);
      if (random() % 4 == 0) receive.unpack = unpack;
      auto source = static_cast<int32_t>(random() % members);
      const auto tag = static_cast<int32_t>(random() % kTags);
      if (source == me) source = (me + 1) % members;
      bool any_tag = false;
      if (random() % 100 < wildcards) {
        const uint64_t which = random() % 3;
        if (which != 0) source = -1;
        any_tag = which != 1;
      }
      got.push_back({pattern_of(source, lane, tag, any_tag), 0, ~uint64_t{0}});
      wrong += end.receive(&receive, source, lane, any_tag ? 0 : tag, any_tag, receive.bytes.data(), kMost) != 0;
    }
    auto one = pending.begin();
    std::advance(one, random() % pending.size());
    if (!end.test(&*one)) {
      if (!end.progress()) std::this_thread::yield();
      // Nobody may be going to send what it asks for.
      if (random() % 16 == 0 && !end.cancel(&*one)) wrong += end.wait(&*one) != 0;
      if (!end.test(&*one)) continue;
    }
    if (one->error == 0) {
      ++complete;
      Told head;
      std::memcpy(&head, one->bytes.data(), sizeof head);
      const Told right = told(seed, one->peer, me, lane, head.number);
      bool same = head.number < messages && one->length == right.length && one->tag == right.tag;
      for (size_t i = sizeof head; i < right.length; ++i) same &= one->bytes[i] == byte_of(head.number, i);
      if (one->unpack) same &= one->in_order && one->unpacked == one->length;
      wrong += !same;
      if (same) got[one->index].sender = one->peer, got[one->index].number = head.number;
    } else {
      wrong += one->error != -ECANCELED;
    }
    pending.erase(one);
  }
  for (Pending& receive : pending) wrong += !end.cancel(&receive);
  return wrong + check_order(got, seed, me, lane, members, messages);
}

// A member's threads: in every lane one that receives, and one per other member that sends.
int run_member(Endpoint& end, uint64_t seed, uint16_t me, uint16_t members, uint16_t lanes, uint64_t messages) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (uint16_t lane = 0; lane < lanes; ++lane) {
    const uint64_t wildcards = lane == 0 ? 0 : lane == 1 ? 2 : 60;
    threads.emplace_back(
        [&, lane, wildcards] { wrong += receive_lane(end, seed, me, lane, members, messages, wildcards); });
    for (uint16_t to = 0; to < members; ++to)
      if (to != me) threads.emplace_back([&, lane, to] { wrong += send_lane(end, seed, me, to, lane, messages); });
  }
  for (std::thread& thread : threads) thread.join();
  return wrong;
}

// Little room, so that everything has to wait now and then. (But no message needs hundreds of turns of both sides: on a
// busy machine each takes as long as the machine pleases.)
Shape random_shape(uint64_t seed, uint16_t members) {
  std::mt19937_64 random(seed);
  return {members,
          2u << random() % 6,
          static_cast<uint32_t>(1 + random() % 12),
          8192,
          static_cast<uint32_t>(1 + random() % 4),
          static_cast<uint32_t>(1024 << random() % 5)};
}

TEST(MessageFuzz, ManyThreadsKeepTheOrder) {
  constexpr uint16_t kMembers = 3;
  for (uint64_t seed = 1; seed <= seeds(3); ++seed) {
    const Members members(random_shape(seed, kMembers), seed % 2);
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    Through through(kMembers);
    for (uint16_t me = 0; me < kMembers; ++me)
      threads.emplace_back([&, me] {
        wrong += run_member(members[me], seed, me, kMembers, 3, 50);
        through.wait(members[me]);
      });
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(wrong, 0) << "seed " << seed;
  }
}

// One is killed while all send to all: the others' messages come, what has to do with the dead ends, and says so.
TEST(MessageFuzz, OneIsKilledTheOthersGoOn) {
  NEEDS_PROCESSES();
  constexpr uint16_t kMembers = 4, kVictim = 3;
  for (uint64_t seed = 1; seed <= seeds(6); ++seed) {
    Processes processes(Shape{kMembers, 32, 16, 8192, 8, 16384}, seed % 2);
    const auto body = [&](uint16_t me, Endpoint& end) {
      end.set_trials(seed % 4 == 1);
      std::atomic<int> wrong{0};
      std::vector<std::thread> threads;
      for (uint16_t other = 1; other < kMembers; ++other) {
        if (other == me) continue;
        const bool dies = other == kVictim || me == kVictim;
        threads.emplace_back([&, other, dies] {
          for (uint64_t k = 0; k < 400; ++k) {
            const Bytes bytes(told(seed, me, other, 0, k).length, static_cast<unsigned char>(k));
            Request send;
            wrong += end.send(&send, other, 0, 0, bytes.data(), bytes.size(), k % 5 == 0) != 0;
            const int error = end.wait(&send);
            if (dies && error == -EPIPE) return;
            wrong += error != 0;
          }
        });
        threads.emplace_back([&, other, dies] {
          Bytes bytes(kMost);
          for (uint64_t k = 0; k < 400; ++k) {
            Request receive;
            end.receive(&receive, other, 0, 0, false, bytes.data(), kMost);
            const int error = end.wait(&receive);
            if (dies && error == -EPIPE) return;
            const uint32_t length = told(seed, other, me, 0, k).length;
            wrong += error != 0 || receive.length != length;
            for (uint32_t i = 0; i < length && error == 0; ++i) wrong += bytes[i] != static_cast<unsigned char>(k);
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
      return me == kVictim ? 0 : wrong.load();
    };
    std::vector<pid_t> children;
    for (uint16_t i = 1; i < kMembers; ++i)
      children.push_back(processes.member(i, [&body, i](Endpoint& end) { return body(i, end); }));
    ASSERT_TRUE(processes.meet());
    std::mt19937_64 random(seed);
    ::usleep(static_cast<useconds_t>(random() % 20'000));
    ::kill(children[kVictim - 1], SIGKILL);
    for (uint16_t i = 1; i < kMembers; ++i) {
      const int how = processes.ended(children[i - 1]);
      if (i != kVictim) {
        ASSERT_EQ(how, 0) << "seed " << seed << " member " << i;
      }
    }
  }
}

// A machine that has no memory left: messages stay where they are until there is some, and nothing is lost.
TEST(MessageFuzz, WithoutMemoryMessagesWaitInTheInbox) {
  NEEDS_PROCESSES();
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer needs memory itself";
#endif
  constexpr int kMessages = 3000;
  Processes processes(Shape{2, 64, 8, 8192});
  const pid_t child = processes.member(1, [](Endpoint& end) {
    std::deque<Request> sends;
    const Bytes bytes(4000, 7);
    int wrong = 0;
    for (int i = 0; i < kMessages; ++i)
      wrong += end.send(&sends.emplace_back(), 0, 0, i, bytes.data(), static_cast<size_t>(i % 4000)) != 0;
    for (Request& send : sends) wrong += end.wait(&send) != 0;
    return wrong;
  });
  ASSERT_TRUE(processes.meet());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const rlimit none{1 << 20, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &none), 0);
  for (int i = 0; i < 200'000; ++i) processes.own->progress();
  const uint64_t came = processes.own->counters().unexpected;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_LT(came, 100u);
  Bytes got(4000);
  for (int i = kMessages; i-- > 0;) {
    Request receive;
    ASSERT_EQ(processes.own->receive(&receive, 1, 0, i, false, got.data(), got.size()), 0);
    ASSERT_EQ(processes.own->wait(&receive), 0);
    ASSERT_EQ(receive.length, static_cast<uint64_t>(i % 4000));
    ASSERT_EQ(std::count(got.begin(), got.begin() + i % 4000, 7), i % 4000);
  }
  EXPECT_EQ(processes.ended(child), 0);
}

}  // namespace
}  // namespace smelt::test
