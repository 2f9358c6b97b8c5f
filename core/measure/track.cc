#include "measure/track.h"

#include <algorithm>

#include "base/os/os.h"
#include "measure/bench_lines.h"
#include "measure/pinned.h"
#include "measure/skew.h"
#include "model/cost_model.h"
#include "profile/text/error.h"
#include "team/barrier.h"

namespace smelt {
namespace {

constexpr uint32_t kWarmUpEpisodes = 8;                  // the lines of a barrier that has rested are elsewhere
constexpr int kTrackTrips = 64, kWarmUpTrackTrips = 16;  // of a track; the second do not count

}  // namespace

struct Track::Order {
  enum class What : uint32_t { kLap, kSkewedLap, kHop, kEnd } what = What::kEnd;
  uint32_t barrier = 0;
  uint32_t episodes = 0;
  uint64_t first = 0;                                // episode or trip
  uint32_t sequence = 0, most_ticks = 0, drawn = 0;  // of a skewed lap: its delays, and how many came before
};

struct Track::Lanes {
  Line given;  // the conductor's: the number of the order that lies in `order`
  alignas(kLineBytes) Order order;
  Line done[kMaxParticipants];  // of each: the last order it has carried out
  Line ping, pong;
};

Track::Track(const std::vector<const Schedule*>& schedules) {
  lanes_ = static_cast<Lanes*>(os::map_pages(sizeof(Lanes)));
  if (!lanes_) throw UserError("out of memory for the lines of a measurement");
  schedules_ = schedules;
  for (const Schedule* schedule : schedules) {
    n_ = schedule->n;
    const uint64_t bytes = Barrier::bytes(*schedule);
    void* memory = os::map_pages(bytes);
    if (!memory) throw UserError("out of memory for the barriers of a measurement");
    memory_.push_back(memory);
    bytes_.push_back(bytes);
  }
  episode_.resize(memory_.size());
}

Track::~Track() {
  for (size_t i = 0; i < memory_.size(); ++i) os::unmap_pages(memory_[i], bytes_[i]);
  os::unmap_pages(lanes_, sizeof(Lanes));
}

// By the first participant, as a team's master makes its barrier: then its lines lie on that one's NUMA node here, too.
void Track::create_barriers() {
  // The threads wait like those of a team of its own, but never sleep: a sleep and a wake-up are no property of a
  // pattern.
  for (size_t i = 0; i < schedules_.size(); ++i)
    Barrier::create(*schedules_[i], WaitPolicy{kSpinForever, 0, PostOrder::kUnfenced}, memory_[i]);
  schedules_.clear();
}

void Track::drive(uint32_t me, const Order& order) {
  if (order.what == Order::What::kLap) {
    auto* barrier = static_cast<Barrier*>(memory_[order.barrier]);
    for (uint32_t k = 0; k < order.episodes; ++k) barrier->arrive_and_wait(me, order.first + k);
  } else if (order.what == Order::What::kSkewedLap) {
    auto* barrier = static_cast<Barrier*>(memory_[order.barrier]);
    for (uint32_t k = 0; k < order.episodes; ++k) {
      const uint64_t left = unfenced_ticks();
      const uint32_t delay = skew_delay(order.sequence, order.drawn + k, me, order.most_ticks);
      while (unfenced_ticks() - left < delay) {
      }
      barrier->arrive_and_wait(me, order.first + k);
    }
  } else if (order.what == Order::What::kHop && me < 2) {
    for (uint64_t trip = order.first; trip < order.first + order.episodes; ++trip) {
      if (me == 0) post(lanes_->ping, trip);
      await(me == 0 ? lanes_->pong.epoch : lanes_->ping.epoch, trip);
      if (me == 1) post(lanes_->pong, trip);
    }
  }
}

void Track::serve(uint32_t me, uint64_t number) {
  for (;; ++number) {
    await(lanes_->given.epoch, number);
    const Order order = lanes_->order;
    if (order.what == Order::What::kEnd) return;
    drive(me, order);
    post(lanes_->done[me], number);
  }
}

void Track::give(Order order) {
  lanes_->order = order;
  post(lanes_->given, ++orders_);
}

void Track::await_done() {
  for (uint32_t i = 1; i < n_; ++i) await(lanes_->done[i].epoch, orders_);
}

// Everybody carries the order out, behind a few episodes to warm up; the ticks from these to the end.
uint64_t Track::time_lap(Order order) {
  const uint32_t episodes = order.episodes;
  order.first = episode_[order.barrier] + 1;
  order.episodes = kWarmUpEpisodes + episodes;
  episode_[order.barrier] += order.episodes;
  give(order);
  order.episodes = kWarmUpEpisodes;
  drive(0, order);
  order.episodes = episodes;
  order.first += kWarmUpEpisodes;
  order.drawn = kWarmUpEpisodes;
  const uint64_t start = ticks();
  drive(0, order);
  const uint64_t end = ticks();
  await_done();
  return end - start;
}

double Track::lap(uint32_t barrier, uint32_t episodes) {
  return static_cast<double>(time_lap({Order::What::kLap, barrier, episodes})) * ns_per_tick() / episodes;
}

double Track::skewed_lap(uint32_t barrier, uint32_t episodes, double most_ns, uint32_t sequence) {
  const auto most = static_cast<uint32_t>(std::min(most_ns / ns_per_tick(), double{INT32_MAX}));
  const uint64_t all = time_lap({Order::What::kSkewedLap, barrier, episodes, 0, sequence, most});
  // Nobody leaves an episode before the last one has come, so from the first to leave one episode to the first to leave
  // the next it takes at least the longest delay, no matter whose that was. The two ends of the lap are read when the
  // first participant leaves, which need not be the first to leave: only there could it come out below 0.
  const uint64_t away = longest_delays(sequence, kWarmUpEpisodes, kWarmUpEpisodes + episodes, n_, most);
  return all < away ? 0 : static_cast<double>(all - away) * ns_per_tick() / episodes;
}

double Track::hop() {
  give({Order::What::kHop, 0, kWarmUpTrackTrips + kTrackTrips, trips_ + 1});
  drive(0, {Order::What::kHop, 0, kWarmUpTrackTrips, trips_ + 1});
  const uint64_t start = ticks();
  drive(0, {Order::What::kHop, 0, kTrackTrips, trips_ + 1 + kWarmUpTrackTrips});
  const uint64_t end = ticks();
  trips_ += kWarmUpTrackTrips + kTrackTrips;
  await_done();
  return ns_between(start, end) / (2.0 * kTrackTrips);
}

void Track::run(const std::vector<uint32_t>& cpus, const std::function<void()>& conductor) {
  ns_per_tick();  // once, before any thread measures
  std::vector<PinnedJob> jobs;
  jobs.push_back({static_cast<int>(cpus[0]), [&] {
                    create_barriers();
                    conductor();
                    give({});
                  }});
  // The conductor may give its first order before the others are there.
  for (uint32_t i = 1; i < n_; ++i)
    jobs.push_back({static_cast<int>(cpus[i]), [this, i, first = orders_ + 1] { serve(i, first); }});
  run_pinned(jobs);
}

}  // namespace smelt
