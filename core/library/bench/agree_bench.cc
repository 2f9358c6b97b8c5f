// The cost of agreement between two threads, each row paired with a ping-pong over one line.
//
//   queue to the peer         one message of a queue pair: the floor of what follows
//   broadcast to the peer     the root of an atomic broadcast sends, the other member delivers
//   broadcast to the root     the other member sends, the root delivers
//   two-phase commit          propose until decide has returned: there and back, and both members' bookkeeping
//
// One round: the measuring thread does the operation, the peer completes it and answers through a line, which the
// measuring thread polls; the answer takes one hop, which is subtracted (of two-phase commit nothing is: its decide is
// the answer). The time of a row above its hops is bookkeeping: headers, numbers, the copy into the member's own
// memory, looks at the children's queues; and the delivery of one's own message, which the round contains.
//
// ns: median of the batches of a row. hop: one way of the ping-pong, mean of one right before and one right after. The
// figure to quote is the quotient.
#include <fmt/format.h>
#include <sched.h>
#include <smelt/smelt.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/arch/cpu.h"
#include "measure/pair.h"
#include "profile/text/statistics.h"
#include "transport/line.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kBytes = 8;
constexpr uint32_t kWarmUp = 200;  // rounds before a batch's clock starts

std::vector<int> cpus;  // of the process, ascending

void pin_self(size_t thread) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(cpus[thread]), &one);
  sched_setaffinity(0, sizeof one, &one);
}

// The two threads' parts of a round; false: an error.
struct Round {
  std::function<bool()> here, there;
  bool answered;  // `there` ends with an answer through the line
};

// Nanoseconds per round of one batch; negative: an error.
double batch(const Round& round, uint32_t rounds) {
  smelt::Line line;
  bool failed = false;
  const uint32_t all = kWarmUp + rounds;
  std::thread peer([&] {
    pin_self(1);
    for (uint32_t i = 1; i <= all && round.there(); ++i)
      if (round.answered) line.epoch.store(i, std::memory_order_release);
    line.epoch.store(all, std::memory_order_release);  // after an error, too: nobody waits for ever
  });
  double ns = -1;
  std::thread measuring([&] {
    pin_self(0);
    Clock::time_point start;
    for (uint32_t i = 1; i <= all && !failed; ++i) {
      if (i == kWarmUp + 1) start = Clock::now();
      failed = !round.here();
      while (round.answered && !smelt::poll(line.epoch, i)) smelt::cpu_pause();
    }
    ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count() / rounds;
  });
  measuring.join();
  peer.join();
  return failed ? -1 : ns;
}

double hop_ns() { return smelt::median(smelt::measure_hops(cpus[0], cpus[1])); }

bool print_row(const char* name, const Round& round, uint32_t batches, uint32_t rounds) {
  std::vector<double> ns;
  double hop = hop_ns();
  for (uint32_t i = 0; i < batches; ++i) {
    ns.push_back(batch(round, rounds));
    if (ns.back() < 0) {
      fmt::print(stderr, "agree_bench: {}: an operation failed\n", name);
      return false;
    }
  }
  hop = (hop + hop_ns()) / 2;
  const double cost = smelt::median(ns) - (round.answered ? hop : 0);
  fmt::print("{:<22} {:9.1f} ns {:9.1f} ns {:7.2f} hops\n", name, cost, hop, cost / hop);
  return true;
}

struct Broadcast {
  smelt_atomic_broadcast* member[2] = {};
  ~Broadcast() {
    for (smelt_atomic_broadcast* one : member) smelt_atomic_broadcast_free(one);
  }
  bool send(int i) {
    const uint64_t data = 1;
    return smelt_atomic_broadcast_send(member[i], &data, kBytes) == 0;
  }
  bool deliver(int i) {
    uint64_t data;
    smelt_atomic_broadcast_message message;
    return smelt_atomic_broadcast_deliver(member[i], &data, sizeof data, &message) == 0;
  }
};

bool rows(uint32_t batches, uint32_t rounds) {
  constexpr int64_t kMinute = 60'000'000'000;
  uint64_t data = 1;
  uint64_t came;
  size_t bytes;

  smelt_queue* queue[2];
  if (smelt_queue_create("ump", 16, 2, kMinute, queue) != 0) return false;
  const Round over_queue{[&] { return smelt_queue_send(queue[0], &data, kBytes) == 0; },
                         [&] { return smelt_queue_receive(queue[1], &came, sizeof came, &bytes) == 0; }, true};
  bool went = print_row("queue to the peer", over_queue, batches, rounds);
  for (smelt_queue* end : queue) smelt_queue_free(end);

  Broadcast broadcast;
  if (smelt_atomic_broadcast_create(2, nullptr, 16, kMinute, broadcast.member) != 0) return false;
  const Round down{[&] { return broadcast.send(0) && broadcast.deliver(0); }, [&] { return broadcast.deliver(1); },
                   true};
  went = went && print_row("broadcast to the peer", down, batches, rounds);
  // Member 1 measures now. Its own message of the round before has come down by then, and is delivered before the next.
  bool first = true;
  const Round up{[&] {
                   const bool delivered = first || broadcast.deliver(1);
                   first = false;
                   return delivered && broadcast.send(1);
                 },
                 [&] { return broadcast.deliver(0); }, true};
  went = went && print_row("broadcast to the root", up, batches, rounds);

  smelt_two_phase_commit* member[2];
  if (smelt_two_phase_commit_create(2, nullptr, kBytes, kMinute, member) != 0) return false;
  int decided, learned;
  const Round commit{[&] {
                       return smelt_two_phase_commit_propose(member[0], &data, kBytes) == 0 &&
                              smelt_two_phase_commit_decide(member[0], &decided) == 0 && decided == SMELT_COMMIT;
                     },
                     [&] {
                       return smelt_two_phase_commit_begin(member[1], &came, sizeof came, &bytes) == 0 &&
                              smelt_two_phase_commit_vote(member[1], 1) == 0 &&
                              smelt_two_phase_commit_outcome(member[1], &learned) == 0 && learned == SMELT_COMMIT;
                     },
                     false};
  went = went && print_row("two-phase commit", commit, batches, rounds);
  for (smelt_two_phase_commit* one : member) smelt_two_phase_commit_free(one);
  return went;
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc == 2 && std::string_view(argv[1]) == "--quick";
  if (argc > 1 && !quick) {
    fmt::print(stderr, "usage: agree_bench [--quick]\n");
    return 2;
  }
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
      if (CPU_ISSET(static_cast<size_t>(cpu), &allowed)) cpus.push_back(cpu);
  if (cpus.size() < 2) {
    fmt::print(stderr, "agree_bench: needs two CPUs\n");
    return 77;
  }
  fmt::print("{:<22} {:>12} {:>12}\n", fmt::format("{} bytes, {} and {}", kBytes, cpus[0], cpus[1]), "cost", "hop");
  try {
    return rows(quick ? 3 : 31, quick ? 500 : 20'000) ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "agree_bench: {}\n", error.what());
    return 1;
  }
}
