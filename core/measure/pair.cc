// The costs of a message between two CPUs, timed on the lines that the transport uses.
//
// Two pinned threads, a and b, go through one script in lockstep:
//   1. warm up     until the cores have left their low-power states
//   2. ping-pong   a posts, b sees it and posts back, a sees that: two hops, one after the other, so a batch of round
//                  trips may be divided by its length. Directions cannot be told apart without synchronised clocks.
//   3. send        a posts 1 or 8 lines that b polls, then a full fence; a's clock around it. The time of 8 less that
//                  of 1 is the cost of further messages for the sender. 8 posts overlap, so 8 divided by 8 would not
//                  be the latency of one: that mistake comes out several times too small.
//   4. receive     a posts 1 or 8 lines that nobody looks at; b, told later, reads them, b's clock around it. One line
//                  is the ready read; the additional time of 8 is the cost of further messages for the receiver.
//   5. 3 and 4 the other way round
//   6. ping-pong again: if it differs from the first, the (virtual) machine has moved meanwhile
// Every figure comes from the clock of one core. Episodes with 1 and 8 lines alternate: both see the same moment.
#include "measure/pair.h"

#include <utility>

#include "measure/bench_lines.h"
#include "measure/pair_samples.h"
#include "measure/pinned.h"
#include "profile/text/error.h"
#include "profile/text/statistics.h"

namespace smelt {
namespace {

// --- ping-pong ---

struct Table {
  const OwnLines lines{2, 1};
  Line &a = *lines.of(0), &b = *lines.of(1);
};

// `epoch` is the last one used and moves on equally on both sides.
void serve(Table& table, uint64_t& epoch, int trips, std::vector<double>* hops) {
  const uint64_t start = ticks();
  for (int i = 0; i < trips; ++i) {
    post(table.a, ++epoch);
    await(table.b.epoch, epoch);
  }
  if (hops) hops->push_back(ns_between(start, ticks()) / (2.0 * trips));
}

void ping(Table& table, uint64_t& epoch, std::vector<double>& hops) {
  serve(table, epoch, kRoundTrips, nullptr);
  for (int batch = 0; batch < kBatches; ++batch) serve(table, epoch, kRoundTrips, &hops);
}

void pong(Table& table, uint64_t& epoch, int trips = (1 + kBatches) * kRoundTrips) {
  for (int i = 0; i < trips; ++i) {
    await(table.a.epoch, ++epoch);
    post(table.b, epoch);
  }
}

// --- one direction ---

struct Channel {
  const OwnLines lines{2, kMany + 1};
  Line* const data = lines.of(0);  // [kMany] sender's
  Line& go = data[kMany];          // sender's: "data is ready, look now"
  Line& ack = *lines.of(1);        // receiver's: "episode done"
};

template <typename Episode>
void for_each_episode(uint64_t& epoch, Episode episode) {
  for (int sample = -kWarmUpSamples; sample < kSamples; ++sample)
    for (int lines : {1, kMany}) {
      ++epoch;
      episode(lines, sample >= 0);
    }
}

// 3., sender: how long until it can go on.
void send_polled(Channel& channel, uint64_t& epoch, DirectionSamples& samples) {
  for_each_episode(epoch, [&](int lines, bool keep) {
    await(channel.ack.epoch, epoch - 1);
    settle();
    const uint64_t start = ticks();
    for (int i = 0; i < lines; ++i) post(channel.data[i], epoch);
    full_fence();
    const uint64_t end = ticks();
    if (keep) (lines == 1 ? samples.send_one : samples.send_many).push_back(ns_between(start, end));
  });
}

void receive_polling(Channel& channel, uint64_t& epoch) {
  for_each_episode(epoch, [&](int lines, bool) {
    // All lines in every turn, as a reader of several does: so all of them are in its cache when they are written.
    for (bool all = false; !all; cpu_pause()) {
      all = true;
      for (int i = 0; i < lines; ++i) all &= poll(channel.data[i].epoch, epoch);
    }
    post(channel.ack, epoch);
  });
}

// 4.
void send_unpolled(Channel& channel, uint64_t& epoch) {
  for_each_episode(epoch, [&](int lines, bool) {
    await(channel.ack.epoch, epoch - 1);
    for (int i = 0; i < lines; ++i) post(channel.data[i], epoch);
    full_fence();
    settle();
    post(channel.go, epoch);
  });
}

// 4., receiver: how long it takes to have read the line there.
void receive_ready(Channel& channel, uint64_t& epoch, DirectionSamples& samples) {
  for_each_episode(epoch, [&](int lines, bool keep) {
    await(channel.go.epoch, epoch);
    const uint64_t start = ticks();
    bool all = true;
    for (int i = 0; i < lines; ++i) all &= poll(channel.data[i].epoch, epoch);
    // The clock must wait for the values: ticks() begins with a fence that loads do not pass, and the compiler must not
    // move the use of `all` behind it.
    asm volatile("" : "+r"(all));
    const uint64_t end = ticks();
    const uint64_t nothing = ticks();
    if (keep && all) {
      (lines == 1 ? samples.read_one : samples.read_many).push_back(ns_between(start, end));
      samples.clock.push_back(ns_between(end, nothing));
    }
    post(channel.ack, epoch);
  });
}

// The sender and the receiver fill different members of the same samples.
void send_all(Channel& channel, DirectionSamples& samples) {
  uint64_t epoch = 0;
  send_polled(channel, epoch, samples);
  send_unpolled(channel, epoch);
}

void receive_all(Channel& channel, DirectionSamples& samples) {
  uint64_t epoch = 0;
  receive_polling(channel, epoch);
  receive_ready(channel, epoch, samples);
}

void require_two(int os_cpu_a, int os_cpu_b) {
  if (os_cpu_a == os_cpu_b) throw UserError("a message needs two different CPUs to be measured");
  ns_per_tick();  // once, before any thread measures
}

}  // namespace

PairCost measure_pair(int os_cpu_a, int os_cpu_b) {
  require_two(os_cpu_a, os_cpu_b);
  std::vector<double> before, after;
  DirectionSamples there, back_again;
  Table table;
  Channel forth, back;
  const auto run_a = [&] {
    uint64_t epoch = 0;
    serve(table, epoch, kWarmUpTrips, nullptr);
    ping(table, epoch, before);
    send_all(forth, there);
    receive_all(back, back_again);
    ping(table, epoch, after);
  };
  const auto run_b = [&] {
    uint64_t epoch = 0;
    pong(table, epoch, kWarmUpTrips);
    pong(table, epoch);
    receive_all(forth, there);
    send_all(back, back_again);
    pong(table, epoch);
  };
  run_pinned({{os_cpu_a, run_a}, {os_cpu_b, run_b}});
  return pair_cost(std::move(before), after, there, back_again);
}

std::vector<double> measure_hops(int os_cpu_a, int os_cpu_b) {
  require_two(os_cpu_a, os_cpu_b);
  std::vector<double> hops;
  Table table;
  const auto run_a = [&] {
    uint64_t epoch = 0;
    serve(table, epoch, kWarmUpTrips, nullptr);
    ping(table, epoch, hops);
  };
  const auto run_b = [&] {
    uint64_t epoch = 0;
    pong(table, epoch, kWarmUpTrips);
    pong(table, epoch);
  };
  run_pinned({{os_cpu_a, run_a}, {os_cpu_b, run_b}});
  return hops;
}

}  // namespace smelt
