// What a message costs between two members that are threads of one process, in 8 bytes.
//
//   posted N       one way of a ping-pong, while each has N other receives posted
//   unexpected N   one way of a ping-pong, while N other messages wait for each, which nobody asks for
//   reverse N      N receives are posted, the messages come in the other order: ns per message
//
// Lists that are walked make all three grow with N. ns: median of the batches. `--quick`: few of everything.
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string_view>
#include <thread>
#include <vector>

#include "message/endpoint.h"

namespace {

using Clock = std::chrono::steady_clock;
using smelt::message::Endpoint;
using smelt::message::Request;
using smelt::message::Shape;

struct Pair {
  Pair() {
    const Shape shape{2};
    memory = mmap(nullptr, shape.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (uint16_t i = 0; i < 2; ++i) failed |= memory == MAP_FAILED || Endpoint::open(memory, shape, i, true, &end[i]);
  }
  ~Pair() {
    for (Endpoint* one : end) Endpoint::close(one);
    munmap(memory, Shape{2}.bytes());
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  Endpoint* end[2] = {};
  void* memory = nullptr;
  bool failed = false;
};

double since(Clock::time_point start) { return std::chrono::duration<double, std::nano>(Clock::now() - start).count(); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// ns of one way; the tag is one that nothing else has.
double ping_pong(Pair& pair, int rounds, int batches) {
  std::vector<double> times;
  const auto play = [&](uint16_t me) {
    uint64_t word = 0;
    for (int b = 0; b < batches; ++b) {
      const auto start = Clock::now();
      for (int i = 0; i < rounds; ++i)
        for (const uint16_t sender : {uint16_t{0}, uint16_t{1}}) {
          Request request;
          if (sender == me)
            pair.end[me]->send(&request, 1 - me, 1, 0, &word, sizeof word);
          else
            pair.end[me]->receive(&request, 1 - me, 1, 0, false, &word, sizeof word);
          pair.end[me]->wait(&request);
        }
      if (me == 0) times.push_back(since(start) / (2.0 * rounds));
    }
  };
  std::thread other([&] { play(1); });
  play(0);
  other.join();
  return median(times);
}

double posted(int others, int rounds, int batches) {
  Pair pair;
  std::deque<Request> receives;
  for (Endpoint* end : pair.end)
    for (int i = 0; i < others; ++i)
      end->receive(&receives.emplace_back(), end == pair.end[0] ? 1 : 0, 0, i, false, nullptr, 0);
  return ping_pong(pair, rounds, batches);
}

double unexpected(int others, int rounds, int batches) {
  Pair pair;
  std::deque<Request> sends;
  for (uint16_t me = 0; me < 2; ++me)
    for (int i = 0; i < others; ++i) {
      pair.end[me]->send(&sends.emplace_back(), 1 - me, 0, i, nullptr, 0);
      pair.end[1 - me]->progress();
    }
  return ping_pong(pair, rounds, batches);
}

double reverse(int messages, int batches) {
  std::vector<double> times;
  Pair pair;
  for (int b = 0; b < batches; ++b) {
    std::deque<Request> receives, sends;
    const auto start = Clock::now();
    for (int i = 0; i < messages; ++i) pair.end[1]->receive(&receives.emplace_back(), 0, 0, i, false, nullptr, 0);
    for (int i = messages; i-- > 0;) {
      pair.end[0]->send(&sends.emplace_back(), 1, 0, i, nullptr, 0);
      if (i % 64 == 0) pair.end[1]->progress();
    }
    for (Request& receive : receives) pair.end[1]->wait(&receive);
    times.push_back(since(start) / messages);
  }
  return median(times);
}

}  // namespace

int main(int count, char** arguments) {
  const bool quick = count == 2 && std::string_view(arguments[1]) == "--quick";
  if (count > 1 && !quick) {
    fmt::print(stderr, "usage: message_bench [--quick]\n");
    return 2;
  }
  if (Pair().failed) return 1;
  const int rounds = quick ? 20 : 2000, batches = quick ? 3 : 21;
  for (const int others : {0, 1000, quick ? 2000 : 100'000})
    fmt::print("posted     {:>7} {:>10.1f} ns\n", others, posted(others, rounds, batches));
  for (const int others : {0, 1000, quick ? 2000 : 100'000})
    fmt::print("unexpected {:>7} {:>10.1f} ns\n", others, unexpected(others, rounds, batches));
  for (const int messages : {100, 1000, quick ? 2000 : 100'000})
    fmt::print("reverse    {:>7} {:>10.1f} ns\n", messages, reverse(messages, quick ? 3 : 11));
}
