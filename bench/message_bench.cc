// The cost of messages between two members of one machine.
//
//   posted N       one way of a ping-pong of 8 bytes, while each has N other receives posted
//   unexpected N   the same, while N other messages wait for each, which nobody asks for
//   wildcards N    the same with receives of any source, while each has N others of any source posted
//   unasked N      the same with receives of any source, while N other messages wait for each
//   reverse N      N receives are posted, the messages come in the other order: per message
//   size N         one way of a ping-pong of N bytes, between two processes
//   latency T      one way of T ping-pongs of 8 bytes at a time, a thread each, between two processes
//   rate T         T threads each send windows of 64 messages of 8 bytes to T others, of another process: per message
//
// The first five are of two threads of one process: lists that are walked make them grow with N. Each figure is the
// median of the batches, in ns, and beside it the median of a hop, one way of a ping-pong on a line of memory, played
// by the same two threads in turn with the batches: what the machine did meanwhile.
//   message_bench [--quick] [NAME ...]    --quick: few of everything
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "message/endpoint.h"

namespace {

using Clock = std::chrono::steady_clock;
using smelt::message::Endpoint;
using smelt::message::Request;
using smelt::message::Shape;

constexpr int kMostThreads = 64, kMostBatches = 64;

struct Effort {
  int rounds, batches;
};

// The memory that both share beside the endpoints'.
struct Shared {
  struct alignas(128) Line {
    std::atomic<uint64_t> word{0};
  } ping, pong, ready[2];
  double ns[kMostBatches], hop[kMostBatches];
};

void* shared_pages(uint64_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

struct Pair {
  Pair() : memory(shared_pages(Shape{2}.bytes())), shared(static_cast<Shared*>(shared_pages(sizeof(Shared)))) {
    failed = !memory || !shared;
  }
  ~Pair() {
    for (Endpoint* one : end) Endpoint::close(one);
    munmap(memory, Shape{2}.bytes());
    munmap(shared, sizeof(Shared));
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  void open(uint16_t me) { failed |= Endpoint::open(memory, Shape{2}, me, true, &end[me]) != 0; }

  Endpoint* end[2] = {};
  uint64_t episode[2] = {};
  void* const memory;
  Shared* const shared;
  bool failed = false;
};

double since(Clock::time_point start) { return std::chrono::duration<double, std::nano>(Clock::now() - start).count(); }

double median(const double* values, int count) {
  std::vector<double> sorted(values, values + count);
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

void say(std::string_view name, uint64_t n, const Pair& pair, int batches) {
  fmt::print("{:<10} {:>8} {:>12.1f} ns   hop {:>8.1f} ns\n", name, n, median(pair.shared->ns, batches),
             median(pair.shared->hop, batches));
}

// Until a word that only grows is there, or beyond: its writer may have gone on before we look again.
void wait_for(const std::atomic<uint64_t>& word, uint64_t value) {
  for (int i = 0; word.load(std::memory_order_acquire) < value; ++i)
    if (i >= 2000) std::this_thread::yield();
}

// Both are here.
void meet(Pair& pair, uint16_t me) {
  pair.shared->ready[me].word.store(++pair.episode[me], std::memory_order_release);
  wait_for(pair.shared->ready[1 - me].word, pair.episode[me]);
}

double hop(Shared* shared, uint16_t me, uint64_t* turn) {
  constexpr int kTurns = 200;
  const auto start = Clock::now();
  for (int i = 0; i < kTurns; ++i) {
    ++*turn;
    if (me == 0) {
      shared->ping.word.store(*turn, std::memory_order_release);
      wait_for(shared->pong.word, *turn);
    } else {
      wait_for(shared->ping.word, *turn);
      shared->pong.word.store(*turn, std::memory_order_release);
    }
  }
  return since(start) / (2.0 * kTurns);
}

// One side's batches: `batch` returns ns per message; hops in turn with them. The first batch warms up.
void batches(Pair& pair, uint16_t me, int count, const std::function<double()>& batch) {
  uint64_t turn = 0;
  for (int b = -1; b < count; ++b) {
    meet(pair, me);
    const double line = hop(pair.shared, me, &turn);
    meet(pair, me);
    const double ns = batch();
    if (me != 0 || b < 0) continue;
    pair.shared->ns[b] = ns;
    pair.shared->hop[b] = line;
  }
}

double ping_pong(Endpoint* end, uint16_t me, int32_t tag, std::vector<char>& bytes, int rounds,
                 bool any_source = false) {
  const auto start = Clock::now();
  for (int i = 0; i < rounds; ++i)
    for (const uint16_t sender : {uint16_t{0}, uint16_t{1}}) {
      Request request;
      if (sender == me)
        end->send(&request, 1 - me, 1, tag, bytes.data(), bytes.size());
      else
        end->receive(&request, any_source ? -1 : 1 - me, 1, tag, false, bytes.data(), bytes.size());
      end->wait(&request);
    }
  return since(start) / (2.0 * rounds);
}

// In two threads, with whatever `before` has done.
bool among_threads(std::string_view name, uint64_t n, Effort effort, const std::function<void(Pair&)>& before,
                   bool any_source = false) {
  Pair pair;
  if (!pair.failed) pair.open(0), pair.open(1);
  if (pair.failed) return false;
  before(pair);
  const auto play = [&](uint16_t me) {
    std::vector<char> bytes(8);
    batches(pair, me, effort.batches, [&] { return ping_pong(pair.end[me], me, 0, bytes, effort.rounds, any_source); });
  };
  std::thread other([&] { play(1); });
  play(0);
  other.join();
  say(name, n, pair, effort.batches);
  return true;
}

// Of the peer, or wildcards in the context of the ping-pong, whose own might meet them.
bool posted(bool any_source, uint64_t others, Effort effort) {
  std::deque<Request> receives;
  const uint16_t context = any_source ? 1 : 0;
  const auto post = [&](Pair& pair) {
    for (uint16_t me = 0; me < 2; ++me)
      for (uint64_t i = 0; i < others; ++i)
        pair.end[me]->receive(&receives.emplace_back(), any_source ? -1 : 1 - me, context,
                              static_cast<int32_t>(i) + context, false, nullptr, 0);
  };
  return among_threads(any_source ? "wildcards" : "posted", others, effort, post, any_source);
}

bool unasked(uint64_t others, Effort effort) {
  std::deque<Request> sends;
  return among_threads(
      "unasked", others, effort,
      [&](Pair& pair) {
        for (uint16_t me = 0; me < 2; ++me)
          for (uint64_t i = 0; i < others; ++i) {
            pair.end[me]->send(&sends.emplace_back(), 1 - me, 1, static_cast<int32_t>(i + 1), nullptr, 0);
            pair.end[1 - me]->progress();
          }
      },
      true);
}

bool unexpected(uint64_t others, Effort effort) {
  std::deque<Request> sends;
  return among_threads("unexpected", others, effort, [&](Pair& pair) {
    for (uint16_t me = 0; me < 2; ++me)
      for (uint64_t i = 0; i < others; ++i) {
        pair.end[me]->send(&sends.emplace_back(), 1 - me, 0, static_cast<int32_t>(i), nullptr, 0);
        pair.end[1 - me]->progress();
      }
  });
}

bool reverse(uint64_t messages, Effort effort) {
  Pair pair;
  if (!pair.failed) pair.open(0), pair.open(1);
  if (pair.failed) return false;
  std::thread other([&] { batches(pair, 1, effort.batches, [] { return 0.0; }); });
  batches(pair, 0, effort.batches, [&] {
    std::deque<Request> receives, sends;
    const auto start = Clock::now();
    for (uint64_t i = 0; i < messages; ++i)
      pair.end[1]->receive(&receives.emplace_back(), 0, 0, static_cast<int32_t>(i), false, nullptr, 0);
    for (uint64_t i = messages; i-- > 0;) {
      pair.end[0]->send(&sends.emplace_back(), 1, 0, static_cast<int32_t>(i), nullptr, 0);
      if (i % 64 == 0) pair.end[1]->progress(64);  // or those that find no cell wait for end 0 to send them
    }
    for (Request& receive : receives) pair.end[1]->wait(&receive);
    return since(start) / static_cast<double>(messages);
  });
  other.join();
  say("reverse", messages, pair, effort.batches);
  return true;
}

// Two processes. `play`: the part of each.
bool among_processes(std::string_view name, uint64_t n, Effort effort,
                     const std::function<void(Pair& pair, uint16_t me)>& play) {
  Pair pair;
  if (pair.failed) return false;
  const auto side = [&](uint16_t me) {
    pair.open(me);
    if (pair.failed) return 1;
    meet(pair, me);
    play(pair, me);
    return 0;
  };
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    _exit(side(1));
  }
  const bool failed = child < 0 || side(0) != 0;
  int status = 0;
  waitpid(child, &status, 0);
  if (failed || status != 0) return false;
  say(name, n, pair, effort.batches);
  return true;
}

bool size(uint64_t bytes, Effort effort) {
  return among_processes("size", bytes, effort, [=](Pair& pair, uint16_t me) {
    std::vector<char> data(bytes, 'x');
    batches(pair, me, effort.batches, [&] { return ping_pong(pair.end[me], me, 0, data, effort.rounds); });
  });
}

// All threads of a side, as often as it has batches.
double in_threads(uint64_t threads, const std::function<void(int32_t)>& work) {
  const auto start = Clock::now();
  std::vector<std::thread> others;
  for (uint64_t t = 1; t < threads; ++t) others.emplace_back(work, static_cast<int32_t>(t));
  work(0);
  for (std::thread& other : others) other.join();
  return since(start);
}

bool latency(uint64_t threads, Effort effort) {
  return among_processes("latency", threads, effort, [=](Pair& pair, uint16_t me) {
    batches(pair, me, effort.batches, [&] {
      const double ns = in_threads(threads, [&](int32_t t) {
        std::vector<char> bytes(8);
        ping_pong(pair.end[me], me, t, bytes, effort.rounds);
      });
      return ns / (2.0 * effort.rounds);
    });
  });
}

bool rate(uint64_t threads, Effort effort) {
  constexpr int kWindow = 64;
  const int windows = std::max(effort.rounds / kWindow, 1);
  return among_processes("rate", threads, effort, [=](Pair& pair, uint16_t me) {
    batches(pair, me, effort.batches, [&] {
      const double ns = in_threads(threads, [&](int32_t t) {
        Request requests[kWindow];
        Request* all[kWindow];
        uint64_t words[kWindow] = {};
        for (int i = 0; i < kWindow; ++i) all[i] = &requests[i];
        for (int w = 0; w < windows; ++w) {
          for (int i = 0; i < kWindow; ++i)
            me == 0 ? pair.end[0]->send(all[i], 1, 1, t, &words[i], 8)
                    : pair.end[1]->receive(all[i], 0, 1, t, false, &words[i], 8);
          pair.end[me]->wait_for(all, kWindow, kWindow);
          // The other has them.
          Request answer;
          me == 0 ? pair.end[0]->receive(&answer, 1, 2, t, false, nullptr, 0)
                  : pair.end[1]->send(&answer, 0, 2, t, nullptr, 0);
          pair.end[me]->wait(&answer);
        }
      });
      return ns / (static_cast<double>(windows) * kWindow * static_cast<double>(threads));
    });
  });
}

}  // namespace

int main(int count, char** arguments) {
  bool quick = false;
  std::vector<std::string_view> wanted;
  constexpr std::string_view kNames[] = {"posted",  "unexpected", "wildcards", "unasked",
                                         "reverse", "size",       "latency",   "rate"};
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--quick") {
      quick = true;
    } else if (std::find(std::begin(kNames), std::end(kNames), argument) != std::end(kNames)) {
      wanted.push_back(argument);
    } else {
      fmt::print(stderr,
                 "usage: message_bench [--quick] [posted] [unexpected] [wildcards] [unasked] [reverse] [size] "
                 "[latency] [rate]\n");
      return 2;
    }
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // so that a child has nothing to say again
  const auto is_wanted = [&](std::string_view name) {
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
  };
  const Effort effort = quick ? Effort{20, 3} : Effort{2000, 21};
  bool good = true;
  const uint64_t most = quick ? 2000 : 100'000;
  if (is_wanted("posted"))
    for (const uint64_t n : {uint64_t{0}, uint64_t{1000}, most}) good &= posted(false, n, effort);
  if (is_wanted("unexpected"))
    for (const uint64_t n : {uint64_t{0}, uint64_t{1000}, most}) good &= unexpected(n, effort);
  if (is_wanted("wildcards"))
    for (const uint64_t n : {uint64_t{0}, uint64_t{1000}, most}) good &= posted(true, n, effort);
  if (is_wanted("unasked"))
    for (const uint64_t n : {uint64_t{0}, uint64_t{1000}, most}) good &= unasked(n, effort);
  if (is_wanted("reverse"))
    for (const uint64_t n : {uint64_t{100}, uint64_t{1000}, most}) good &= reverse(n, {1, quick ? 3 : 11});
  if (is_wanted("size"))
    for (uint64_t n = 1; n <= (quick ? 1 << 16 : 4 << 20); n *= quick ? 64 : 2) {
      const auto rounds = static_cast<int>(std::clamp<uint64_t>((32 << 20) / n, 8, 2000));
      good &= size(n, {quick ? 20 : rounds, effort.batches});
    }
  if (is_wanted("latency"))
    for (uint64_t n = 1; n <= (quick ? 4 : kMostThreads); n *= 2)
      good &= latency(n, {quick ? 20 : 1000, quick ? 3 : 11});
  if (is_wanted("rate"))
    for (uint64_t n = 1; n <= (quick ? 4 : kMostThreads); n *= 2) good &= rate(n, {quick ? 64 : 6400, quick ? 3 : 11});
  return good ? 0 : 1;
}
