// The simulation of predict.h. A message's time depends on its sender's program alone, and a wait is served when all
// its messages have a time, so the programs are simply run (programs.h) and every step is priced once. Where messages
// queue, it also depends on earlier senders: then the signals are run in the order of time. Nobody can come to a signal
// earlier than a message that has not left yet allows, so each is met once here too.
#include "schedule/predict.h"

#include <algorithm>
#include <cerrno>
#include <numeric>

#include "schedule/programs.h"

namespace smelt {

struct Arrival {
  double start;  // when the receiver can begin with it
  double visible;
  uint16_t from;
  uint32_t slot;
};

namespace {

// Nodes that are told apart; on a machine of more the 33rd has the links of the first.
constexpr uint32_t kLinkEnds = 32;

// Numbers the groups of equal ids by first appearance; returns how many there are. `known` is scratch, [n].
uint32_t number_groups(const uint16_t* ids, uint32_t n, uint16_t* known, uint16_t* group) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < n; ++i) {
    const auto* const at = std::find(known, known + count, ids[i]);
    if (at == known + count) known[count++] = ids[i];
    group[i] = static_cast<uint16_t>(at - known);
  }
  return count;
}

}  // namespace

// The resources that messages queue for (Costs::service), and when each is free. It is kept for all prices under the
// same costs.
struct Queues {
  uint16_t *core, *llc, *node;  // [n] which one is the participant's, numbered by first appearance
  double* core_free;            // [n]
  double* llc_free;             // [n]
  double* llc_out_free;         // [n]
  double* link_free;            // [kLinkEnds * kLinkEnds] from one node to another
  bool any;                     // is there anything that messages could queue for?

  int make(const Costs& costs, Arena& arena) {
    const uint32_t n = costs.n;
    for (uint16_t** groups : {&core, &llc, &node}) *groups = arena.make<uint16_t>(n);
    for (double** free : {&core_free, &llc_free, &llc_out_free}) *free = arena.make<double>(n);
    link_free = arena.make<double>(size_t{kLinkEnds} * kLinkEnds);
    char* const scratch = arena.mark();
    auto* known = arena.make<uint16_t>(n);
    if (!core || !llc || !node || !core_free || !llc_free || !llc_out_free || !link_free || !known) return -ENOMEM;
    const auto takes_time = [&](Distance d) { return costs.service[static_cast<uint32_t>(d)] > 0; };
    any = takes_time(Distance::kSameCore) || takes_time(Distance::kSameLlc);
    if (takes_time(Distance::kSameCore)) number_groups(costs.core, n, known, core);
    const uint32_t nodes = number_groups(costs.node, n, known, node);
    any |= nodes > 1 && (takes_time(Distance::kSamePackage) || takes_time(Distance::kOther));
    if (takes_time(Distance::kSameLlc) || takes_time(Distance::kSameNode))
      any |= number_groups(costs.llc, n, known, llc) > 1 && takes_time(Distance::kSameNode);
    arena.rewind(scratch);
    return 0;
  }

  void begin(uint32_t n) {
    for (double* free : {core_free, llc_free, llc_out_free}) std::fill_n(free, n, 0.0);
    std::fill_n(link_free, size_t{kLinkEnds} * kLinkEnds, 0.0);
  }

  // When a message that is ready at `leaves` is through the last of its queues.
  double pass(const Costs& costs, uint32_t from, uint32_t to, double leaves) {
    const auto through = [&](double& free, Distance d) {
      leaves = std::max(leaves, free);
      free = leaves + double{costs.service[static_cast<uint32_t>(d)]};
    };
    const Distance distance = distance_in(costs, from, to);
    if (distance == Distance::kSelf || distance == Distance::kSameCore) return leaves;
    if (costs.service[static_cast<uint32_t>(Distance::kSameCore)] > 0)
      through(core_free[core[from]], Distance::kSameCore);
    if (costs.service[static_cast<uint32_t>(distance)] <= 0) return leaves;
    if (distance == Distance::kSameLlc)
      through(llc_free[llc[from]], distance);
    else if (distance == Distance::kSameNode)
      through(llc_out_free[llc[from]], distance);
    else if (node[from] != node[to])
      through(link_free[node[from] % kLinkEnds * kLinkEnds + node[to] % kLinkEnds], distance);
    return leaves;
  }
};

namespace {

struct Clock {
  const Schedule& schedule;
  const Costs& costs;
  const uint16_t* place;  // [n]
  const Programs& programs;
  double* now;               // [n]
  double* visible;           // [slots] of waits
  Arrival* arrivals;         // [n] scratch
  Trace* trace;              // nullptr: nobody wants to know
  bool exchange = false;     // everybody sends at once
  Queues* queues = nullptr;  // nullptr: no message waits for another

  size_t pair(uint16_t from, uint16_t to) const { return costs.at(place[from], place[to]); }

  void note(uint32_t slot, double begin, double end) {
    if (!trace || !trace->begin) return;
    trace->begin[slot] = begin;
    trace->end[slot] = end;
    trace->partner[slot] = programs.partner[slot];
  }

  // The readers of a line by their distances: how long a store to it takes to all of them.
  struct Reach {
    double hop = 0, crossing = 0;
  };
  Reach reach(uint16_t i, const Step& step) const {
    Reach out;
    const uint16_t first = place[schedule.peers[step.first]];
    auto widest = Distance::kSelf;
    for (uint32_t slot = step.first; slot < step.first + step.count; ++slot) {
      const uint16_t reader = schedule.peers[slot];
      out.hop = std::max<double>(out.hop, costs.hop[pair(i, reader)]);
      // From the first one: distances are such that no two others are farther apart than the farther of them from it.
      widest = std::max(widest, distance_in(costs, first, place[reader]));
    }
    out.crossing = double{costs.crossing[static_cast<uint32_t>(widest)]};
    return out;
  }

  void signal(uint16_t i, const Step& step) {
    double busy = 0;
    const Reach to_all = step.shared_line ? reach(i, step) : Reach{};
    for (uint32_t slot = step.first; slot < step.first + step.count; ++slot) {
      const size_t message = pair(i, schedule.peers[slot]);
      double leaves = step.shared_line ? now[i] + (step.count - 1) * double{costs.poller} : now[i] + busy;
      if (queues) leaves = queues->pass(costs, place[i], place[schedule.peers[slot]], leaves);
      // A line that crosses is as far from its near readers as from the far ones: those take it from them.
      const double hop = to_all.crossing > 0 ? to_all.hop + to_all.crossing : double{costs.hop[message]};
      if (programs.partner[slot] != kNoSlot) visible[programs.partner[slot]] = leaves + hop;
      const double before = busy;
      busy = step.shared_line ? std::max<double>(busy, costs.send_busy[message]) : busy + costs.send_busy[message];
      note(slot, now[i] + (step.shared_line ? 0 : before), now[i] + busy);
    }
    now[i] += busy;
  }

  void wait(uint16_t i, const Step& step) {
    for (uint32_t k = 0; k < step.count; ++k) {
      const uint16_t from = schedule.peers[step.first + k];
      const double seen = visible[step.first + k];
      arrivals[k] = Arrival{seen - costs.recv_busy[pair(from, i)], seen, from, step.first + k};
    }
    if (!step.in_order && !exchange)
      std::sort(arrivals, arrivals + step.count, [](const Arrival& a, const Arrival& b) {
        return a.start != b.start ? a.start < b.start : a.from < b.from;
      });
    bool alone = true;  // no other read has begun before this one
    for (uint32_t k = 0; k < step.count; ++k) {
      const double before = now[i], kept = (alone ? costs.ready_read : costs.recv_busy)[pair(arrivals[k].from, i)];
      now[i] = std::max(before + kept, arrivals[k].visible);
      alone = exchange && k == 0 && now[i] > before + kept;
      if (trace && trace->order) trace->order[step.first + k] = arrivals[k].from;
      note(arrivals[k].slot, std::max(before, now[i] - kept), now[i]);
    }
  }
};

}  // namespace

int Pricer::make(const Schedule& schedule, const Costs& costs, Arena& arena) {
  if (schedule.n != costs.n) return -EINVAL;
  char* const start = arena.mark();
  uint16_t who = kNobody;
  int error = programs_.match(schedule, arena, &who);
  schedule_ = schedule;
  costs_ = costs;
  if (error == 0) {
    visible_ = arena.make<double>(programs_.slots);
    arrivals_ = arena.make<Arrival>(schedule.n);
    if (!visible_ || !arrivals_) error = -ENOMEM;
    if (is_exchange()) {
      queues_ = arena.make<Queues>(1);
      queue_ = arena.make<Turn>(schedule.n);
      error = queues_ && queue_ ? queues_->make(costs, arena) : -ENOMEM;
    }
  }
  if (error != 0) arena.rewind(start);
  return error;
}

int Pricer::price(const uint16_t* place, double* done, double* makespan, Trace* trace) {
  std::fill_n(done, schedule_.n, 0.0);
  return price_next(place, done, makespan, trace);
}

int Pricer::price_next(const uint16_t* place, double* done, double* makespan, Trace* trace) {
  std::fill_n(programs_.sent, programs_.slots, false);
  Clock clock{schedule_, costs_, place, programs_, done, visible_, arrivals_, trace, is_exchange()};
  const auto signal = [&](uint16_t i, uint32_t step) { clock.signal(i, schedule_.steps[step]); };
  const auto wait = [&](uint16_t i, uint32_t step) { clock.wait(i, schedule_.steps[step]); };
  if (is_exchange() && queues_->any) {
    queues_->begin(schedule_.n);
    clock.queues = queues_;
    programs_.run_in_time(
        queue_, [done](uint16_t i) { return done[i]; }, [place](uint16_t i) { return place[i]; }, signal, wait);
  } else {
    programs_.run(signal, wait);
  }
  for (uint16_t i = 0; i < schedule_.n; ++i)
    if (!programs_.finished(i)) return -EDEADLK;
  *makespan = *std::max_element(done, done + schedule_.n);
  return 0;
}

int predict(const Schedule& schedule, const Costs& costs, Arena& arena, Prediction* out, Trace* trace) {
  if (schedule.n != costs.n) return -EINVAL;
  char* const start = arena.mark();
  double* const done = arena.make<double>(costs.n);
  char* const scratch = arena.mark();
  auto* place = arena.make<uint16_t>(costs.n);
  Pricer pricer;
  double makespan = 0;
  int error = done && place ? pricer.make(schedule, costs, arena) : -ENOMEM;
  if (error == 0) {
    for (uint16_t i = 0; i < costs.n; ++i) place[i] = i;
    error = pricer.price(place, done, &makespan, trace);
  }
  if (error != 0) {
    arena.rewind(start);
    return error;
  }
  arena.rewind(scratch);
  *out = Prediction{makespan, static_cast<uint16_t>(std::max_element(done, done + costs.n) - done), done};
  return 0;
}

int price_schedule(const Schedule& schedule, const Costs& costs, Arena& arena, double* makespan, Trace* trace) {
  char* const scratch = arena.mark();
  Prediction prediction;
  const int error = predict(schedule, costs, arena, &prediction, trace);
  arena.rewind(scratch);
  *makespan = prediction.makespan;
  return error;
}

namespace {

// Does everybody tell all whom it ever tells, by one line or several, and then wait once?
bool has_one_round(const Schedule& schedule) {
  for (uint32_t i = 0; i < schedule.n; ++i) {
    const uint32_t first = schedule.begin[i], end = schedule.begin[i + 1];
    if (end < first + 2 || schedule.steps[end - 1].kind != StepKind::kWait) return false;
    for (uint32_t s = first; s + 1 < end; ++s)
      if (schedule.steps[s].kind != StepKind::kSignal) return false;
  }
  return true;
}

// A share of a read for each of a participant's messages. Rounds of 3, 7 and 15 took 105, 186 and 470 ns more where a
// read took 83 (results/2026-11-27-model-shared-lines.txt): .42, .32 and .38 of a read a message.
double mean_collisions(const Costs& costs) {
  constexpr double kShare = 0.375;
  const double reads = std::accumulate(costs.ready_read, costs.ready_read + size_t{costs.n} * costs.n, 0.0);
  return kShare * reads / costs.n;
}

}  // namespace

int steady_price(const Schedule& barrier, const Costs& costs, Arena& arena, double* per_episode) {
  constexpr uint32_t kSettled = 8, kCounted = 8;  // episodes; the order of leaving repeats itself after one or two
  if (barrier.n != costs.n || barrier.op != Operation::kBarrier) return -EINVAL;
  const uint32_t n = barrier.n;
  *per_episode = 0;
  if (n == 1) return 0;
  if (n == 2 && barrier.begin[2] == 4 && barrier.steps[0].kind == StepKind::kSignal &&
      barrier.steps[2].kind == StepKind::kSignal) {
    *per_episode = (costs.hop[1] + costs.hop[2] + costs.ready_read[1] + costs.ready_read[2]) / 4;
    return 0;
  }
  char* const start = arena.mark();
  auto* place = arena.make<uint16_t>(n);
  auto* done = arena.make<double>(n);
  Pricer pricer;
  int error = place && done ? pricer.make(barrier, costs, arena) : -ENOMEM;
  double now = 0, settled = 0;
  if (!error) {
    for (uint16_t i = 0; i < n; ++i) place[i] = i;
    error = pricer.price(place, done, &now);
  }
  for (uint32_t k = 1; k < kSettled + kCounted && !error; ++k) {
    if (k == kSettled) settled = now;
    error = pricer.price_next(place, done, &now);
  }
  arena.rewind(start);
  if (error) return error;
  *per_episode = (now - settled) / kCounted;
  if (has_one_round(barrier)) *per_episode += mean_collisions(costs);
  return 0;
}

}  // namespace smelt
