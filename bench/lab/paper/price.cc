#include "bench/lab/paper/price.h"

#include <fmt/format.h>

#include <algorithm>

#include "generate/patterns.h"
#include "generate/registry.h"
#include "profile/profile.h"
#include "profile/text/error.h"
#include "schedule/choose.h"
#include "schedule/predict.h"
#include "schedule/validate.h"

namespace smelt::paper {
namespace {

void check(int error, const char* what) {
  if (error) throw UserError(fmt::format("{}: errno {}", what, -error));
}

// Every participant's program of `a`, then its program of `b`.
Schedule one_after_the_other(const Schedule& a, const Schedule& b, Arena& arena) {
  const uint32_t steps = a.begin[a.n] + b.begin[b.n];
  const auto peers_of = [](const Schedule& s) {
    const uint32_t count = s.begin[s.n];
    return count ? s.steps[count - 1].first + s.steps[count - 1].count : 0;
  };
  Schedule out;
  out.n = a.n;
  out.op = Operation::kBarrier;
  out.root = a.root;
  out.begin = arena.make<uint32_t>(a.n + 1);
  out.steps = arena.make<Step>(steps);
  out.peers = arena.make<uint16_t>(peers_of(a) + peers_of(b));
  if (!out.begin || !out.steps || !out.peers) check(-ENOMEM, "a schedule");
  uint32_t step = 0, peer = 0;
  for (uint32_t i = 0; i < a.n; ++i) {
    out.begin[i] = step;
    for (const Schedule* each : {&a, &b})
      for (uint32_t k = each->begin[i]; k < each->begin[i + 1]; ++k) {
        out.steps[step] = each->steps[k];
        out.steps[step++].first = peer;
        for (uint32_t p = 0; p < each->steps[k].count; ++p) out.peers[peer++] = each->peers[each->steps[k].first + p];
      }
  }
  out.begin[a.n] = step;
  return out;
}

}  // namespace

const char* work_name(Work work) {
  constexpr const char* kNames[] = {"broadcast", "reduction", "barrier", "two-phase commit"};
  return kNames[static_cast<int>(work)];
}

Pricing::Pricing(const MachineFile& file, const std::vector<uint16_t>& members, size_t schedules)
    : n_(static_cast<uint32_t>(members.size())), arena_((schedules + 2) * generation_bytes(n_)) {
  if (!arena_.ok()) check(-ENOMEM, "costs");
  check(subset_costs(file.overlap, members, arena_, &costs_), "costs");
}

void Pricing::lengthen(uint32_t lines) {
  const size_t pairs = size_t{n_} * n_;
  float* const hop = arena_.make<float>(pairs);
  float* const recv_busy = arena_.make<float>(pairs);
  float* const ready_read = arena_.make<float>(pairs);
  if (!hop || !recv_busy || !ready_read) check(-ENOMEM, "costs");
  for (size_t k = 0; k < pairs; ++k) {
    const float more = static_cast<float>(lines - 1) * costs_.recv_busy[k];
    hop[k] = costs_.hop[k] + more;
    recv_busy[k] = costs_.recv_busy[k] + more;
    ready_read[k] = costs_.ready_read[k] + more;
  }
  costs_.hop = hop, costs_.recv_busy = recv_busy, costs_.ready_read = ready_read;
}

Choice Pricing::choice(Operation op, const std::string& pattern, int root) {
  Choice out;
  if (pattern == "best") {
    check(choose_best(op, root, costs_, arena_, &out, kStartEffort), "the cheapest pattern");
    return out;
  }
  Pattern named;
  check(find_pattern(pattern.c_str(), &named), pattern.c_str());
  check(build(named, op, root, costs_, arena_, &out, kStartEffort), pattern.c_str());
  return out;
}

Schedule Pricing::schedule_of(Work work, const std::string& pattern, int root) {
  switch (work) {
    case Work::kBroadcast: return choice(Operation::kBroadcast, pattern, root).schedule;
    case Work::kReduction: return choice(Operation::kReduce, pattern, root).schedule;
    case Work::kBarrier: return choice(Operation::kBarrier, pattern, root).schedule;
    case Work::kTwoPhaseCommit: break;
  }
  const Choice down = choice(Operation::kBroadcast, pattern, root);
  Schedule up;
  check(reduce_schedule(down.tree, arena_, &up), "a reduction");
  return one_after_the_other(one_after_the_other(down.schedule, up, arena_), down.schedule, arena_);
}

double Pricing::makespan(Work work, const std::string& pattern, int root) {
  char* const mark = arena_.mark();
  double out = 0;
  check(price_schedule(schedule_of(work, pattern, root), costs_, arena_, &out), "a price");
  arena_.rewind(mark);
  return out;
}

double Pricing::in_a_loop(const std::string& pattern) {
  char* const mark = arena_.mark();
  double out = 0;
  check(steady_price(schedule_of(Work::kBarrier, pattern, -1), costs_, arena_, &out), "a price");
  arena_.rewind(mark);
  return out;
}

double Pricing::busiest(Work work, const std::string& pattern, int root) {
  char* const mark = arena_.mark();
  const Schedule schedule = schedule_of(work, pattern, root);
  double most = 0;
  for (uint32_t i = 0; i < n_; ++i) {
    double busy = 0;
    for (uint32_t k = schedule.begin[i]; k < schedule.begin[i + 1]; ++k) {
      const Step& step = schedule.steps[k];
      for (uint32_t p = step.first; p < step.first + step.count; ++p) {
        const uint32_t peer = schedule.peers[p];
        busy += step.kind == StepKind::kSignal ? costs_.send_busy[costs_.at(i, peer)]
                                               : costs_.recv_busy[costs_.at(peer, i)];
      }
    }
    most = std::max(most, busy);
  }
  arena_.rewind(mark);
  return most;
}

std::vector<double> Pricing::done(Work work, const std::string& pattern, int root) {
  char* const mark = arena_.mark();
  Prediction prediction;
  check(predict(schedule_of(work, pattern, root), costs_, arena_, &prediction), "a price");
  const std::vector<double> out(prediction.done, prediction.done + n_);
  arena_.rewind(mark);
  return out;
}

Schedule Pricing::closed(Work work, const std::string& pattern) {
  Schedule out;
  if (work == Work::kBarrier || work == Work::kTwoPhaseCommit) {
    out = schedule_of(work, pattern, -1);
  } else {
    const Choice chosen = choice(work == Work::kBroadcast ? Operation::kBroadcast : Operation::kReduce, pattern, -1);
    Tree star;
    check(sequential_tree(costs_, 0, chosen.tree.root, arena_, &star), "a star");
    check(work == Work::kBroadcast ? answered_broadcast(chosen, costs_, arena_, &out)
                                   : lined_barrier_schedule(chosen.tree, star, costs_, arena_, &out),
          "a closed loop");
  }
  check(check_schedule(out, arena_), pattern.c_str());  // a wrong one would hang
  return out;
}

}  // namespace smelt::paper
