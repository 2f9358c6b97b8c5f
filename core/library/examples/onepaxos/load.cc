// As in the paper's figure 12a: a client sends its request to the leader, which answers when it has learned that the
// command is decided. A client has a queue pair with every replica. Where the answer does not come it asks the next
// replica; commands are numbered, so that this does no harm.
#include "load.h"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>

#include <smelt/queue.h>

namespace onepaxos {
namespace {

using Clock = std::chrono::steady_clock;

struct FreeQueue {
  void operator()(smelt_queue* queue) const { smelt_queue_free(queue); }
};
using Queue = std::unique_ptr<smelt_queue, FreeQueue>;

// One end of each pair at the client, one at the replica.
struct Connection {
  Queue client, replica;
};

// If there are more threads than CPUs, a thread that finds nothing to do leaves the CPU to others: it yields, and as
// that may be in vain (the scheduler owes it time, and not the others), sleeps for as short as can be.
class Idle {
 public:
  explicit Idle(bool crowded) : crowded_(crowded) {
    if (crowded) prctl(PR_SET_TIMERSLACK, 1);
  }
  void operator()(bool busy) {
    if (busy || !crowded_) {
      in_vain_ = 0;
    } else if (++in_vain_ < kYields) {
      sched_yield();
    } else {
      const timespec shortest = {0, 1000};
      nanosleep(&shortest, nullptr);
    }
  }

 private:
  static constexpr unsigned kYields = 8;
  const bool crowded_;
  unsigned in_vain_ = 0;
};

class Run {
 public:
  explicit Run(const Load& load);
  Figures run();

 private:
  void replica(unsigned r);
  void client(unsigned c);
  void pin(unsigned thread);
  void start_together();
  const Load load_;
  const bool crowded_;
  Replicas group_;
  std::vector<std::vector<Connection>> connections_;  // [client][replica]
  std::vector<std::vector<uint32_t>> times_;          // ns, by client
  std::vector<uint64_t> lengths_, sums_;              // by replica: what it has applied
  std::vector<uint64_t> configurations_;
  std::vector<double> seconds_;  // by client
  std::atomic<unsigned> ready_{0};
  std::atomic<bool> done_{false}, failed_{false};
};

Options options_of(const Load& load) {
  Options options = load.options;
  options.clients = std::max(1u, load.clients);
  options.cpus.clear();
  if (load.cpus.size() >= load.replicas) options.cpus.assign(load.cpus.begin(), load.cpus.begin() + load.replicas);
  return options;
}

unsigned allowed_cpus() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 1;
}

Run::Run(const Load& load)
    : load_(load),
      crowded_(load.replicas + load.clients > allowed_cpus()),
      group_(load.replicas, options_of(load)),
      connections_(load.clients),
      times_(load.clients),
      lengths_(load.replicas),
      sums_(load.replicas),
      configurations_(load.replicas),
      seconds_(load.clients) {
  for (auto& of_client : connections_) {
    for (unsigned r = 0; r < load.replicas; ++r) {
      smelt_queue* ends[2];
      if (smelt_queue_create("ump", kOutstanding, 2, -1, ends) != 0) throw std::runtime_error("no memory for queues");
      of_client.push_back({Queue(ends[0]), Queue(ends[1])});
    }
  }
}

void Run::pin(unsigned thread) {
  if (load_.cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(load_.cpus[thread % load_.cpus.size()], &set);
  if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0) failed_ = true;
}

void Run::start_together() {
  ready_.fetch_add(1);
  while (ready_.load() < load_.replicas + load_.clients) sched_yield();
}

void Run::replica(unsigned r) {
  pin(r);
  Replica& self = group_[r];
  Idle idle(crowded_);
  std::vector<bool> asked(load_.clients);  // who gets its answers here
  const auto answer = [&](unsigned client, uint64_t sequence) {
    // A full queue: the client has been answered all that it has under way, and asks again if it has not.
    smelt_queue_try_send(connections_[client][r].replica.get(), &sequence, sizeof sequence);
  };
  self.on_apply([&](uint64_t index, const Command& command) {
    sums_[r] = (sums_[r] ^ index ^ command.sequence << 20 ^ command.client) * 0x9e3779b97f4a7c15;
    if (asked[command.client]) answer(command.client, command.sequence);
  });
  start_together();
  while (!done_.load(std::memory_order_relaxed)) {
    bool busy = self.poll();
    for (unsigned c = 0; c < load_.clients; ++c) {
      Command command;
      size_t bytes = 0;
      while (smelt_queue_try_receive(connections_[c][r].replica.get(), &command, sizeof command, &bytes) == 0) {
        asked[c] = busy = true;
        self.submit(command);
        if (self.applied(command.client, command.sequence)) answer(c, command.sequence);
      }
    }
    idle(busy);
  }
  // The others may still lack what this one has.
  lengths_[r] = self.counters().applied;
  configurations_[r] = self.counters().configurations;
}

void Run::client(unsigned c) {
  pin(load_.replicas + c);
  struct Sent {
    Command command;
    Clock::time_point at;
    bool answered = true;
  };
  Idle idle(crowded_);
  std::vector<Sent> ring(kOutstanding);
  uint64_t first = 1, next = 1;  // first: the oldest that is not answered
  unsigned target = load_.options.leader;
  // So that nothing is allocated on the way: pages that are not touched cost nothing.
  times_[c].reserve(load_.commands != 0 ? load_.commands : static_cast<size_t>(std::min(load_.seconds, 60.0) * 4e6));
  start_together();
  const auto begin = Clock::now();
  const auto end = begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(load_.seconds));
  auto last_answer = begin;
  for (;;) {
    const auto now = Clock::now();
    const bool over = load_.commands != 0 ? next > load_.commands : now >= end;
    if (over && first == next) break;
    bool busy = false;
    smelt_queue* queue = connections_[c][target].client.get();
    if (!over && next - first < load_.outstanding) {
      Sent& sent = ring[next % kOutstanding];
      sent.command.client = static_cast<uint16_t>(c);
      sent.command.sequence = next;
      sent.command.bytes = sizeof next;
      std::memcpy(sent.command.data, &next, sizeof next);
      if (smelt_queue_try_send(queue, &sent.command, sizeof sent.command) == 0) {
        sent.at = now;
        sent.answered = false;
        ++next;
        busy = true;
      }
    }
    uint64_t sequence = 0;
    size_t bytes = 0;
    while (smelt_queue_try_receive(queue, &sequence, sizeof sequence, &bytes) == 0) {
      busy = true;
      Sent& sent = ring[sequence % kOutstanding];
      if (sequence < first || sequence >= next || sent.answered) continue;
      sent.answered = true;
      last_answer = Clock::now();
      times_[c].push_back(static_cast<uint32_t>(std::min<int64_t>(UINT32_MAX, (last_answer - sent.at).count())));
      while (first < next && ring[first % kOutstanding].answered) ++first;
    }
    if (first < next && now - last_answer > 8 * load_.options.patience) {
      last_answer = now;
      target = (target + 1) % load_.replicas;
      for (uint64_t s = first; s < next; ++s) {
        const Sent& sent = ring[s % kOutstanding];
        if (!sent.answered)
          smelt_queue_try_send(connections_[c][target].client.get(), &sent.command, sizeof sent.command);
      }
    }
    idle(busy);
  }
  seconds_[c] = std::chrono::duration<double>(Clock::now() - begin).count();
}

Figures Run::run() {
  std::vector<std::thread> replicas, clients;
  for (unsigned r = 0; r < load_.replicas; ++r) replicas.emplace_back([this, r] { replica(r); });
  for (unsigned c = 0; c < load_.clients; ++c) clients.emplace_back([this, c] { client(c); });
  for (std::thread& thread : clients) thread.join();
  done_ = true;
  for (std::thread& thread : replicas) thread.join();
  if (failed_) throw std::runtime_error("a thread cannot be pinned to its CPU");

  Figures figures;
  std::vector<uint32_t> all;
  double longest = 0;
  for (unsigned c = 0; c < load_.clients; ++c) {
    all.insert(all.end(), times_[c].begin(), times_[c].end());
    longest = std::max(longest, seconds_[c]);
  }
  figures.commands = all.size();
  figures.configurations = *std::max_element(configurations_.begin(), configurations_.end());
  // Those that have applied equally many have applied the same.
  for (unsigned r = 1; r < load_.replicas; ++r)
    if (lengths_[r] == lengths_[0] && sums_[r] != sums_[0])
      throw std::runtime_error("replicas have applied different commands");
  if (all.empty()) return figures;
  figures.per_second = static_cast<double>(all.size()) / longest;
  const auto at = [&](size_t i) {
    std::nth_element(all.begin(), all.begin() + static_cast<ptrdiff_t>(i), all.end());
    return all[i] / 1000.0;
  };
  figures.median_us = at(all.size() / 2);
  figures.p99_us = at(all.size() * 99 / 100);
  return figures;
}

}  // namespace

Figures measure(const Load& load) { return Run(load).run(); }

}  // namespace onepaxos
