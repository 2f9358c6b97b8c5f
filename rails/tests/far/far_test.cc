// Messages to members on other machines, over pretended rails: every way they travel, mixed with those of this
// machine, and what is not believed.
#include "rails/far/far.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/os/os.h"
#include "message/endpoint.h"
#include "tests/core/message/processes.h"

namespace smelt::test {
namespace {

using message::Endpoint;
using message::FarSlots;
using message::kFarEager;
using message::Request;
using message::Seen;
using message::Shape;
using Bytes = std::vector<unsigned char>;

// Both ends of ordered messages between processes that are none: one object per process, with a pipe to each other.
struct Pretended {
  struct Posted {
    smelt_rail_request* request;
    void* buffer;
    size_t capacity;
  };
  struct Sent {
    smelt_rail_request* request;  // nullptr: it was short, and copied
    std::string data;
    const void* from;
    size_t bytes;
  };
  struct Pipe {
    std::deque<Sent> sent;
    bool broken = false;
  };
  // words of a request: 0 state (1 pending, 2 complete), 1 error, 2 bytes
  std::vector<Pretended*> others;
  std::vector<Pipe> to;  // by peer
  std::vector<std::deque<Posted>> posted;
  std::atomic<bool> used{false};
  bool closed = false;
  int delay = 0;  // every so many turns something moves
  int turns = 0;
  static inline std::mutex mutex;

  static Pretended& of(smelt_rails* rails) { return *reinterpret_cast<Pretended*>(rails); }
  size_t number_of(const Pretended* other) const {
    for (size_t i = 0; i < others.size(); ++i)
      if (others[i] == other) return i;
    return others.size();
  }
  static void complete(smelt_rail_request* request, int error, size_t bytes) {
    request->word[1] = static_cast<uint64_t>(error), request->word[2] = bytes;
    reinterpret_cast<std::atomic<uint64_t>*>(&request->word[0])->store(2);
  }
  // One thread at a time.
  struct Use {
    explicit Use(Pretended& one) : one(one) { EXPECT_FALSE(one.used.exchange(true)) << "two threads at a time"; }
    ~Use() { one.used = false; }
    Pretended& one;
    std::lock_guard<std::mutex> guard{mutex};
  };
  static int send(smelt_rails* rails, smelt_rail_request* request, uint32_t peer, const void* data, size_t bytes) {
    const Use use(of(rails));
    Pipe& pipe = use.one.to[peer];
    if (pipe.broken) return -EPIPE;
    request->word[0] = 1;
    constexpr size_t kShort = 16000;
    if (bytes <= kShort) {
      pipe.sent.push_back({nullptr, std::string(static_cast<const char*>(data), bytes), nullptr, bytes});
      complete(request, 0, bytes);
    } else {
      pipe.sent.push_back({request, {}, data, bytes});
    }
    return 0;
  }
  static int receive(smelt_rails* rails, smelt_rail_request* request, uint32_t peer, void* buffer, size_t capacity) {
    const Use use(of(rails));
    request->word[0] = 1;
    if (use.one.to[peer].broken) return -EPIPE;
    use.one.posted[peer].push_back({request, buffer, capacity});
    return 0;
  }
  static int look(const smelt_rail_request* request, size_t* bytes) {
    if (reinterpret_cast<const std::atomic<uint64_t>*>(&request->word[0])->load() != 2) return 0;
    if (bytes) *bytes = request->word[2];
    return request->word[1] ? static_cast<int>(request->word[1]) : 1;
  }
  static int test(smelt_rails* rails, smelt_rail_request* request, size_t* bytes) {
    {
      const Use use(of(rails));
      Pretended& me = use.one;
      if (me.delay == 0 || ++me.turns % me.delay == 0)
        for (size_t i = 0; i < me.others.size(); ++i) {
          auto& sent = me.others[i]->to[me.others[i]->number_of(&me)].sent;
          while (!sent.empty() && !me.posted[i].empty()) {
            const Sent one = sent.front();
            const Posted into = me.posted[i].front();
            sent.pop_front(), me.posted[i].pop_front();
            const size_t room = std::min(one.bytes, into.capacity);
            if (room) std::memcpy(into.buffer, one.request ? one.from : one.data.data(), room);
            complete(into.request, one.bytes > into.capacity ? -EMSGSIZE : 0, one.bytes);
            if (one.request) complete(one.request, 0, one.bytes);
            if (me.delay) break;
          }
        }
    }
    return look(request, bytes);
  }
  static void close(smelt_rails* rails) { of(rails).closed = true; }
  // Nothing comes and goes any more between these two.
  static void cut(Pretended& a, Pretended& b) {
    const std::lock_guard<std::mutex> guard(mutex);
    for (Pretended* one : {&a, &b}) {
      const size_t peer = one->number_of(one == &a ? &b : &a);
      one->to[peer].broken = true;
      for (const Posted& posted : one->posted[peer]) complete(posted.request, -EPIPE, 0);
      for (const Sent& sent : one->to[peer].sent)
        if (sent.request) complete(sent.request, -EPIPE, 0);
      one->posted[peer].clear(), one->to[peer].sent.clear();
    }
  }
  // As rails/far/carrier.cc, over these.
  static message::Carrier* open(void* rails, uint32_t peers, const message::CarrierHost& host, int* error) {
    return message::Far::open({static_cast<smelt_rails*>(rails), peers, send, receive, test, look, close}, host, error);
  }
  int carry(Endpoint& endpoint) {
    static constexpr smelt_carriage kCarriage = {open};
    return endpoint.carry(kCarriage, this, static_cast<uint32_t>(others.size()));
  }
};

// So many machines with so many members each; the far members of one are those of the others, in their order.
struct Machines {
  Machines(size_t machines, uint16_t each, int delay = 0) {
    for (size_t m = 0; m < machines; ++m) {
      near.push_back(std::make_unique<Members>(Shape{each}));
      for (uint16_t i = 0; i < each; ++i) {
        carriers.push_back(std::make_unique<Pretended>());
        machine_of.push_back(m);
      }
    }
    for (size_t i = 0; i < carriers.size(); ++i) {
      for (size_t j = 0; j < carriers.size(); ++j)
        if (machine_of[i] != machine_of[j]) carriers[i]->others.push_back(carriers[j].get());
      carriers[i]->to.resize(carriers[i]->others.size()), carriers[i]->posted.resize(carriers[i]->others.size());
      carriers[i]->delay = delay;
    }
    for (size_t i = 0; i < carriers.size(); ++i) {
      ends.push_back(&(*near[machine_of[i]])[i % each]);
      EXPECT_EQ(carriers[i]->carry(*ends[i]), 0);
    }
  }
  // j's number at i.
  uint16_t number(size_t i, size_t j) const {
    const size_t each = carriers.size() / near.size();
    if (machine_of[i] == machine_of[j]) return static_cast<uint16_t>(j % each);
    return static_cast<uint16_t>(each + carriers[i]->number_of(carriers[j].get()));
  }
  Endpoint& operator[](size_t i) const { return *ends[i]; }
  void progress() const {
    for (Endpoint* end : ends) end->progress();
  }
  void until_done(Request& request) const {
    for (int i = 0; !ends[0]->test(&request); ++i) {
      progress();
      ASSERT_LT(i, 1'000'000);
    }
  }
  std::vector<std::unique_ptr<Pretended>> carriers;  // closed before they go
  std::vector<std::unique_ptr<Members>> near;
  std::vector<size_t> machine_of;
  std::vector<Endpoint*> ends;
};

Bytes content(size_t bytes, size_t seed) {
  Bytes data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(i * 7 + seed + i / 251);
  return data;
}

// Data in every other byte.
struct Spread : Request {
  const unsigned char* whole = nullptr;
  uint64_t next = 0;
};
void pack(Request* send, uint64_t at, void* data, uint64_t bytes) {
  auto* spread = static_cast<Spread*>(send);
  EXPECT_EQ(at, spread->next) << "pieces are consecutive";
  spread->next += bytes;
  for (uint64_t i = 0; i < bytes; ++i) static_cast<unsigned char*>(data)[i] = spread->whole[2 * (at + i)];
}
void unpack(Request* receive, uint64_t at, const void* data, uint64_t bytes) {
  auto* spread = static_cast<Spread*>(receive);
  EXPECT_EQ(at, spread->next) << "pieces are consecutive";
  spread->next += bytes;
  for (uint64_t i = 0; i < bytes; ++i)
    static_cast<unsigned char*>(receive->buffer)[2 * (at + i)] = static_cast<const unsigned char*>(data)[i];
}

TEST(Far, EveryLengthComesInEveryForm) {
  for (int form = 0; form < 32; ++form) {
    const bool posted_first = form & 1, synchronous = form & 2, send_spread = form & 4, receive_spread = form & 8,
               held = form & 16;
    const Machines machines(2, 1, form % 3);
    for (const size_t length : {size_t{0}, size_t{1}, size_t{208}, size_t{209}, size_t{kFarEager},
                                size_t{kFarEager} + 1, size_t{300'000}, size_t{5} << 20}) {
      const Bytes sent = content(length, static_cast<size_t>(form));
      Bytes two(2 * length), in(2 * length);
      for (size_t i = 0; i < length; ++i) two[2 * i] = sent[i];
      Spread send, receive, holder;
      holder.holds = true;
      if (send_spread) send.pack = pack, send.whole = two.data();
      if (receive_spread) receive.unpack = unpack;
      Request& first = held ? holder : static_cast<Request&>(receive);
      const auto post = [&] { ASSERT_EQ(machines[1].receive(&first, 1, 3, 5, false, in.data(), length), 0); };
      if (posted_first) post();
      ASSERT_EQ(machines[0].send(&send, 1, 3, 5, send_spread ? nullptr : sent.data(), length, synchronous), 0);
      if (!posted_first) {
        Seen seen{};
        for (int i = 0; !machines[1].probe(1, 3, 5, false, &seen) && i < 1'000'000; ++i) machines.progress();
        ASSERT_EQ(seen.length, length);
        ASSERT_EQ(seen.sender, 1);
        EXPECT_EQ(machines[0].test(&send), !synchronous && length <= kFarEager);
        post();
      }
      machines.until_done(first);
      if (held) {
        ASSERT_EQ(holder.length, length);
        machines[1].receive_held(&receive, &holder, in.data(), length);
        machines.until_done(receive);
      }
      machines.until_done(send);
      ASSERT_EQ(receive.error, 0);
      ASSERT_EQ(receive.length, length);
      ASSERT_EQ(receive.peer, 1);
      for (size_t i = 0; i < length; ++i) ASSERT_EQ(in[receive_spread ? 2 * i : i], sent[i]) << length << " at " << i;
    }
  }
}

TEST(Far, ALongerMessageIsCutOff) {
  const Machines machines(2, 1);
  for (const size_t length : {size_t{100}, size_t{5000}, size_t{3} << 20})
    for (const size_t room : {size_t{0}, size_t{50}})
      for (const bool posted_first : {false, true}) {
        const Bytes sent = content(length, room);
        Bytes in(length, 0xee);
        Request send, receive;
        if (posted_first) machines[1].receive(&receive, 1, 0, 1, false, in.data(), room);
        machines[0].send(&send, 1, 0, 1, sent.data(), length);
        if (!posted_first) {
          for (int i = 0; i < 100; ++i) machines.progress();
          machines[1].receive(&receive, 1, 0, 1, false, in.data(), room);
        }
        machines.until_done(receive);
        machines.until_done(send);
        EXPECT_EQ(receive.error, -EMSGSIZE);
        EXPECT_EQ(receive.length, length);
        for (size_t i = 0; i < length; ++i) ASSERT_EQ(in[i], i < room ? sent[i] : 0xee) << i;
      }
}

// Members of two machines send to one, which asks for anybody's, any tag's or a certain one.
TEST(Far, NearAndFarComeInOneOrder) {
  constexpr size_t kMembers = 4, kEach = 300;
  const Machines machines(2, 2, 1);
  std::mt19937 random(7);
  std::vector<std::deque<std::unique_ptr<Request>>> sends(kMembers);
  std::vector<std::deque<Bytes>> data(kMembers);
  size_t sent[kMembers] = {}, got[kMembers] = {}, received = 0;
  const auto length_of = [](size_t who, size_t k) {
    return size_t{8} + (k * 37 + who) % 9 * 4000 + (k % 50 == 0 ? 200'000 : 0);
  };
  Bytes in(300'000);
  while (received < (kMembers - 1) * kEach) {
    for (size_t who = 1; who < kMembers; ++who) {
      if (sent[who] == kEach || random() % 3 == 0) continue;
      const size_t k = sent[who]++;
      Bytes bytes(length_of(who, k));
      std::memcpy(bytes.data(), &k, sizeof k);
      data[who].push_back(std::move(bytes));
      sends[who].push_back(std::make_unique<Request>());
      ASSERT_EQ(machines[who].send(sends[who].back().get(), machines.number(who, 0), 1, static_cast<int32_t>(k % 2),
                                   data[who].back().data(), data[who].back().size(), k % 11 == 0),
                0);
    }
    machines.progress();
    Request receive;
    ASSERT_EQ(machines[0].receive(&receive, -1, 1, 0, true, in.data(), in.size()), 0);
    machines.until_done(receive);
    ASSERT_EQ(receive.error, 0);
    size_t who = 1, k;
    while (who < kMembers && machines.number(0, who) != receive.peer) ++who;
    ASSERT_LT(who, kMembers);
    std::memcpy(&k, in.data(), sizeof k);
    ASSERT_EQ(k, got[who]) << "of " << who;
    ASSERT_EQ(receive.tag, static_cast<int32_t>(k % 2));
    ASSERT_EQ(receive.length, length_of(who, k));
    ++got[who], ++received;
  }
  for (size_t who = 1; who < kMembers; ++who)
    for (auto& send : sends[who]) machines.until_done(*send);
  const message::Counters counters = machines[0].counters();
  EXPECT_EQ(counters.far_eager + counters.far_announced, 2 * kEach);
  EXPECT_GT(counters.far_eager, 0u);
  EXPECT_GT(counters.far_announced, 0u);
}

TEST(Far, ManyThreadsSendAndWait) {
  constexpr int kThreads = 4, kRounds = 300;
  const Machines machines(2, 1);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int end = 0; end < 2; ++end)
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, end, t] {
        Endpoint& mine = machines[static_cast<size_t>(end)];
        for (int k = 0; k < kRounds; ++k) {
          const size_t length = k % 10 == 0 ? 60'000 : k % 7 == 0 ? 3000 : 8;
          const Bytes out = content(length, static_cast<size_t>(t + k));
          Bytes in(length);
          Request send, receive;
          mine.receive(&receive, k % 3 == 0 ? -1 : 1, 0, t, false, in.data(), in.size());
          mine.send(&send, 1, 0, t, out.data(), length, k % 5 == 0);
          Request* both[] = {&send, &receive};
          mine.wait_for(both, 2, 2);
          wrong += in != out || receive.error != 0 || send.error != 0;
        }
      });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// A receive that answers from within its completion, by whoever makes progress, to near and far in turn.
struct Answering : Request {
  Endpoint* end = nullptr;
  uint16_t to = 0;
  std::atomic<int>* left = nullptr;
  std::atomic<int>* sent = nullptr;
  std::vector<char> data;
  Request answers[2];
  uint64_t count = 0;
};
void answer(Request* request) {
  auto& self = *static_cast<Answering*>(request);
  if (self.left->fetch_sub(1) <= 0) return;
  Request& send = self.answers[self.count++ % 2];  // the one before the last is done: its answer has come
  bool done = false;
  self.end->receive(&self, self.to, 0, 9, false, self.data.data(), self.data.size(), &done);
  EXPECT_FALSE(done) << "nobody answers before we have sent";
  self.end->send(&send, self.to, 0, 9, self.data.data(), self.data.size(), false, &done);
  self.sent->fetch_add(1);
}

TEST(Far, CompletionsMaySend) {
  for (const size_t length : {size_t{8}, size_t{100'000}}) {
    const Machines machines(2, 2);
    constexpr int kMessages = 2000;
    std::atomic<int> left{kMessages}, sent{0};
    Answering pairs[4];
    // 0 and 2 are far from each other, 1 and 3 as well.
    for (size_t i = 0; i < 4; ++i) {
      pairs[i].end = &machines[i], pairs[i].to = machines.number(i, (i + 2) % 4);
      pairs[i].left = &left, pairs[i].sent = &sent, pairs[i].data.resize(length), pairs[i].completed = answer;
      machines[i].receive(&pairs[i], pairs[i].to, 0, 9, false, pairs[i].data.data(), length);
    }
    Request first[2];
    for (size_t i = 0; i < 2; ++i) machines[i].send(&first[i], pairs[i].to, 0, 9, pairs[i].data.data(), length);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        while (left.load() > -2) {  // each of the two chains has ended
          if (!machines[t % 4].progress()) std::this_thread::yield();
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(sent, kMessages);
  }
}

TEST(Far, WhoIsGoneEndsWhatWaitsForIt) {
  const Machines machines(3, 1);
  const Bytes data = content(100'000, 1);
  Bytes in(100'000);
  Request announced, named, any, half, late;
  machines[0].send(&announced, machines.number(0, 1), 0, 1, data.data(), data.size());
  machines[0].receive(&named, machines.number(0, 1), 0, 2, false, in.data(), in.size());
  machines[0].receive(&any, -1, 0, 3, false, in.data(), in.size());
  Request theirs;
  machines[1].send(&theirs, machines.number(1, 0), 0, 4, data.data(), data.size());  // announced, never to be had
  for (int i = 0; i < 20; ++i) machines.progress();
  Pretended::cut(*machines.carriers[0], *machines.carriers[1]);
  EXPECT_EQ(machines[0].wait(&announced), -EPIPE);
  EXPECT_EQ(machines[0].wait(&named), -EPIPE);
  machines[0].receive(&half, machines.number(0, 1), 0, 4, false, in.data(), in.size());
  EXPECT_EQ(machines[0].wait(&half), -EPIPE);
  EXPECT_EQ(machines[0].send(&late, machines.number(0, 1), 0, 1, data.data(), 8), -EPIPE);
  EXPECT_TRUE(machines[0].is_lost(machines.number(0, 1)));
  EXPECT_FALSE(machines[0].is_lost(-1)) << "another one lives";
  EXPECT_FALSE(machines[0].test(&any));
  Request send;
  machines[2].send(&send, machines.number(2, 0), 0, 3, data.data(), 10);
  machines.until_done(any);
  EXPECT_EQ(any.error, 0);
  EXPECT_EQ(any.peer, machines.number(0, 2));
}

TEST(Far, WhatMakesNoSenseEndsThePeer) {
  using message::FarHeader;
  using message::FarKind;
  const Bytes data = content(100'000, 1);
  const FarHeader lies[] = {
      {FarKind::kEager, 0, 0, 1, 0, 8, 0, 0},        // without its data
      {FarKind::kEager, 0, 0, 1, 0, 1 << 20, 0, 0},  // longer than any
      {FarKind::kGo, 0, 0, 0, 1000, 10, 0x777, 1},   // of no send
      {FarKind::kGo, 0, 0, 0, 1000, 1 << 30, 1, 1},  // more than there is
      {FarKind::kFinish, 0, 0, 0, 0, 0, ~0ull, 0},
      {FarKind::kData, 0, 0, 0, 0, 100, 0, 0x100000000},  // of no receive
      {static_cast<FarKind>(99), 0, 0, 0, 0, 0, 0, 0},
  };
  for (const FarHeader& lie : lies) {
    const Machines machines(2, 1);
    Request announced;
    machines[0].send(&announced, 1, 0, 1, data.data(), data.size());
    smelt_rail_request request;
    ASSERT_EQ(
        Pretended::send(reinterpret_cast<smelt_rails*>(machines.carriers[1].get()), &request, 0, &lie, sizeof lie), 0);
    EXPECT_EQ(machines[0].wait(&announced), -EPIPE) << static_cast<int>(lie.kind);
  }
}

// The last that one has said to the other, who has not heard it yet.
message::FarHeader last_word(const Machines& machines, size_t from, size_t to) {
  const Pretended& one = *machines.carriers[from];
  const auto& sent = one.to[one.number_of(machines.carriers[to].get())].sent;
  message::FarHeader header{};
  if (sent.empty() || sent.back().data.size() < sizeof header)
    ADD_FAILURE() << "nothing was said";
  else
    std::memcpy(&header, sent.back().data.data(), sizeof header);
  return header;
}

void say(const Machines& machines, size_t from, size_t to, const void* what, size_t bytes) {
  Pretended& one = *machines.carriers[from];
  smelt_rail_request request;
  ASSERT_EQ(Pretended::send(reinterpret_cast<smelt_rails*>(&one), &request,
                            static_cast<uint32_t>(one.number_of(machines.carriers[to].get())), what, bytes),
            0);
}
void say(const Machines& machines, size_t from, size_t to, const message::FarHeader& header) {
  say(machines, from, to, &header, sizeof header);
}

// A slot is used again, and who still has its old name means what is over.
TEST(Far, AnOldNameIsNotBelieved) {
  const Machines machines(2, 1);
  Request first, second, receive;
  char in, out = 1;
  machines[0].send(&first, 1, 0, 1, &out, 1, true);
  const uint64_t old = last_word(machines, 0, 1).send;
  machines[1].receive(&receive, 1, 0, 1, false, &in, 1);
  machines.until_done(first);
  machines[0].send(&second, 1, 0, 1, &out, 1, true);
  const uint64_t fresh = last_word(machines, 0, 1).send;
  EXPECT_EQ(static_cast<uint32_t>(fresh), static_cast<uint32_t>(old)) << "the test means one slot";
  EXPECT_NE(fresh, old);
  say(machines, 1, 0, {message::FarKind::kFinish, 0, 0, 0, 0, 0, old, 0});
  EXPECT_EQ(machines[0].wait(&second), -EPIPE);
}

TEST(Far, NobodyAnswersForAnother) {
  const Machines machines(3, 1);
  Request send, receive;
  char in, out = 1;
  machines[0].send(&send, machines.number(0, 1), 0, 1, &out, 1, true);
  say(machines, 2, 0, {message::FarKind::kFinish, 0, 0, 0, 0, 0, last_word(machines, 0, 1).send, 0});
  for (int i = 0; i < 20; ++i) machines[0].progress();
  EXPECT_TRUE(machines[0].is_lost(machines.number(0, 2)));
  EXPECT_FALSE(machines[0].test(&send));
  machines[1].receive(&receive, machines.number(1, 0), 0, 1, false, &in, 1);
  machines.until_done(send);
  EXPECT_EQ(send.error, 0);
}

TEST(Far, BytesThatWereNotAskedForEndThePeer) {
  using message::FarHeader;
  using message::FarKind;
  constexpr uint64_t kAsked = 100'000;
  for (const char* lie : {"more", "more in two parts", "none", "another's", "fewer than said"}) {
    Bytes in(kAsked);
    Request receive;
    const Machines machines(2, 1);
    machines[0].receive(&receive, 1, 0, 1, false, in.data(), in.size());
    say(machines, 1, 0, {FarKind::kAnnounce, 0, 0, 1, 0, kAsked, 7, 0});
    machines[0].progress();
    const FarHeader go = last_word(machines, 0, 1);
    ASSERT_EQ(go.kind, FarKind::kGo);
    ASSERT_EQ(go.length, kAsked);
    FarHeader word{FarKind::kData, 0, 0, 0, 0, 100, 0, go.receive};
    const std::string what = lie;
    if (what == "more") word.length = kAsked + 1;
    if (what == "none") word.length = 0;
    if (what == "another's") ++word.receive;
    say(machines, 1, 0, word);
    if (what == "more in two parts") {
      say(machines, 1, 0, in.data(), 100);
      word.length = kAsked - 99;
      say(machines, 1, 0, word);
    }
    if (what == "fewer than said") say(machines, 1, 0, in.data(), 50);
    for (int i = 0; i < 20; ++i) machines[0].progress();
    EXPECT_TRUE(machines[0].is_lost(1)) << lie;
    EXPECT_TRUE(machines[0].test(&receive)) << lie;
    EXPECT_EQ(receive.error, -EPIPE) << lie;
  }
}

TEST(Far, WhatWasAnsweredIsNotAnsweredAgain) {
  using message::FarKind;
  for (const FarKind again : {FarKind::kGo, FarKind::kFinish}) {
    const Bytes data = content(100'000, 1);
    Request send;
    const Machines machines(2, 1);
    machines[0].send(&send, 1, 0, 1, data.data(), data.size());
    message::FarHeader word{FarKind::kGo, 0, 0, 0, 1 << 20, data.size(), last_word(machines, 0, 1).send, 9};
    say(machines, 1, 0, word);
    machines[0].progress();  // the bytes leave, and nobody takes them
    EXPECT_FALSE(machines[0].is_lost(1));
    word.kind = again;
    say(machines, 1, 0, word);
    for (int i = 0; i < 20; ++i) machines[0].progress();
    EXPECT_TRUE(machines[0].is_lost(1));
    EXPECT_FALSE(machines[0].test(&send)) << "the rails have its bytes";
    Pretended::cut(*machines.carriers[0], *machines.carriers[1]);
    EXPECT_EQ(machines[0].wait(&send), -EPIPE);
  }
}

// It has met its receive, and nobody can be told any more that the bytes are wanted.
TEST(Far, AnAnswerToWhoIsGoneEndsItsReceive) {
  const Bytes data = content(100'000, 1);
  Bytes in(100'000);
  Request send, receive;
  const Machines machines(2, 1);
  machines[0].receive(&receive, 1, 0, 1, false, in.data(), in.size());
  machines[1].send(&send, 1, 0, 1, data.data(), data.size());
  smelt_rail_request none{};
  Pretended::test(reinterpret_cast<smelt_rails*>(machines.carriers[0].get()), &none, nullptr);  // it has come
  Pretended::cut(*machines.carriers[0], *machines.carriers[1]);
  for (int i = 0; i < 20; ++i) machines[0].progress();
  EXPECT_TRUE(machines[0].test(&receive));
  EXPECT_EQ(receive.error, -EPIPE);
}

// The rails still read it: an owner that is told that it is over might free it.
TEST(Far, WhatTheCarrierHasInHandIsNotOver) {
  const Machines machines(2, 1);
  const Bytes data = content(100'000, 1);
  Bytes in(100'000);
  Request send, receive, waiting;
  machines[1].receive(&receive, machines.number(1, 0), 0, 1, false, in.data(), in.size());
  machines[0].send(&send, 1, 0, 1, data.data(), data.size());
  machines[1].progress();  // announced; so much is wanted
  machines[0].progress();  // the bytes leave, and nobody takes them
  machines[0].send(&waiting, 1, 0, 2, data.data(), data.size());
  const message::FarHeader lie{static_cast<message::FarKind>(99), 0, 0, 0, 0, 0, 0, 0};
  smelt_rail_request request;
  ASSERT_EQ(Pretended::send(reinterpret_cast<smelt_rails*>(machines.carriers[1].get()), &request, 0, &lie, sizeof lie),
            0);
  for (int i = 0; i < 100; ++i) machines[0].progress();
  EXPECT_TRUE(machines[0].is_lost(1));
  ASSERT_TRUE(machines[0].test(&waiting));
  EXPECT_EQ(waiting.error, -EPIPE);
  EXPECT_FALSE(machines[0].test(&send));
  Pretended::cut(*machines.carriers[0], *machines.carriers[1]);
  EXPECT_EQ(machines[0].wait(&send), -EPIPE);
}

// ... and writes it still, when it already takes nothing more.
TEST(Far, WhatTheCarrierWritesIsNotOver) {
  const Bytes data = content(100'000, 1);
  Bytes in(100'000);
  Request send, receive, late;
  const Machines machines(2, 1);
  machines[0].receive(&receive, 1, 0, 1, false, in.data(), in.size());
  machines[1].send(&send, 1, 0, 1, data.data(), data.size());
  machines[0].progress();  // so much is wanted
  say(machines, 1, 0, {message::FarKind::kData, 0, 0, 0, 0, data.size(), 0, last_word(machines, 0, 1).receive});
  machines[0].progress();  // and is awaited
  machines.carriers[0]->to[0].broken = true;
  machines[0].send(&late, 1, 0, 2, data.data(), 8);
  for (int i = 0; i < 20; ++i) machines[0].progress();
  EXPECT_TRUE(machines[0].is_lost(1));
  EXPECT_FALSE(machines[0].test(&receive));
  Pretended::cut(*machines.carriers[0], *machines.carriers[1]);
  for (int i = 0; i < 20; ++i) machines[0].progress();
  EXPECT_TRUE(machines[0].test(&receive));
  EXPECT_EQ(receive.error, -EPIPE);
}

// Who closes has no room with the rails for what it owes others until they take what is before it.
TEST(Far, WhoClosesTellsWhoseMessagesItHasReceived) {
  constexpr size_t kMessages = 70, kEach = 20'000;
  const Bytes data = content(kEach, 1);
  Bytes in(kEach);
  std::vector<Request> sends(kMessages);
  Request waits, receive;
  Machines machines(2, 1);
  machines[1].receive(&receive, 1, 0, 1, false, nullptr, 0);
  for (Request& send : sends) machines[1].send(&send, 1, 0, 2, data.data(), kEach);
  machines[0].send(&waits, 1, 0, 1, nullptr, 0, true);
  for (int i = 0; i < 20; ++i) machines[1].progress();
  ASSERT_TRUE(machines[1].test(&receive));
  std::thread closes([&] { machines.near[1].reset(); });
  // The other thread may have to wait for a CPU.
  for (const int64_t until = os::now_ns() + 60'000'000'000; !machines[0].test(&waits) && os::now_ns() < until;)
    machines[0].progress();
  closes.join();
  EXPECT_TRUE(machines[0].test(&waits));
  EXPECT_EQ(waits.error, 0);
}

// Its owner may have freed it.
TEST(Far, WhatIsNotCompleteWhenItIsClosedIsNotTouched) {
  Machines machines(2, 1);
  const Bytes data = content(100'000, 1);
  Bytes in(100'000);
  Request send, announced, receive;
  machines[1].receive(&receive, machines.number(1, 0), 0, 1, false, in.data(), in.size());
  machines[0].send(&send, 1, 0, 1, data.data(), data.size());
  machines[0].send(&announced, 1, 0, 2, data.data(), data.size());
  for (Request* request : {&send, &announced, &receive})
    request->completed = [](Request*) { ADD_FAILURE() << "it is told that it has ended"; };
  machines[1].progress();  // so much is wanted
  machines[0].progress();  // the bytes leave, and nobody takes them
  Pretended::cut(*machines.carriers[0], *machines.carriers[1]);
  machines.near.clear();  // who closes finds the peer gone
  for (const Request* request : {&send, &announced, &receive}) EXPECT_EQ(request->state.load(), Request::kPending);
}

TEST(Far, ClosesItsCarrier) {
  std::vector<std::unique_ptr<Pretended>> kept;
  {
    Machines machines(2, 1);
    Request send;
    const Bytes data = content(1000, 1);
    machines[0].send(&send, 1, 0, 1, data.data(), data.size());
    EXPECT_TRUE(machines[0].test(&send));
    machines.near.clear();
    EXPECT_TRUE(machines.carriers[0]->closed);
    EXPECT_TRUE(machines.carriers[1]->closed);
  }
  Pretended nobody;
  const Members members(Shape{1});
  EXPECT_EQ(nobody.carry(members[0]), -EINVAL);
}

// Beyond the first slots, which move when there are more.
TEST(FarSlots, ANameFindsItsRequestAlone) {
  FarSlots slots;
  std::vector<Request> requests(1000);
  std::vector<uint64_t> names;
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].is_send = i % 2 == 0;
    ASSERT_TRUE(slots.has_free());
    names.push_back(slots.name(&requests[i], static_cast<uint32_t>(i % 3)));
    EXPECT_NE(names[i], 0u);
  }
  for (uint32_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(slots.find(names[i], i % 3, i % 2 == 0), &requests[i]);
    EXPECT_EQ(slots.find(names[i], (i + 1) % 3, i % 2 == 0), nullptr) << "another peer's";
    EXPECT_EQ(slots.find(names[i], i % 3, i % 2 != 0), nullptr) << "of the other kind";
  }
  for (const uint64_t name : names) slots.free(name);
  EXPECT_TRUE(slots.is_empty());
  slots.close();
}

TEST(FarSlots, ANameOfAnEarlierLifeFindsNothing) {
  FarSlots slots;
  Request before, now;
  ASSERT_TRUE(slots.has_free());
  const uint64_t old = slots.name(&before, 0);
  slots.free(old);
  ASSERT_TRUE(slots.has_free());
  const uint64_t name = slots.name(&now, 0);
  EXPECT_EQ(static_cast<uint32_t>(name), static_cast<uint32_t>(old)) << "the same slot, or this shows nothing";
  EXPECT_EQ(slots.find(old, 0, false), nullptr);
  EXPECT_EQ(slots.find(name, 0, false), &now);
  EXPECT_EQ(slots.find(name + 1'000'000, 0, false), nullptr);
  slots.close();
}

TEST(FarSlots, APeersRequestsEndAndAllAreForgotten) {
  FarSlots slots;
  Request requests[4];
  uint64_t names[4];
  for (uint32_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(slots.has_free());
    names[i] = slots.name(&requests[i], i % 2);
  }
  std::set<Request*> ended;
  slots.for_each_of(1, [&](Request* request) {
    ended.insert(request);
    slots.free(names[request - requests]);
  });
  EXPECT_EQ(ended, (std::set<Request*>{&requests[1], &requests[3]}));
  EXPECT_EQ(slots.find(names[2], 0, false), &requests[2]);
  slots.forget_all();
  EXPECT_EQ(slots.find(names[2], 0, false), nullptr);
  slots.close();
}

}  // namespace
}  // namespace smelt::test
