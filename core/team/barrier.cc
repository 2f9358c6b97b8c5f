#include "team/barrier.h"

#include <new>

#include "base/os/os.h"
#include "base/seat.h"

namespace smelt {
namespace {

// Lines that a participant's signal step needs: one if all its readers poll the same, else one per reader.
uint32_t lines_of(const Step& step) { return step.shared_line && step.count > 0 ? 1 : step.count; }

size_t rounded(size_t bytes, size_t unit = kLineBytes) { return (bytes + unit - 1) / unit * unit; }

// Where pages are larger, some lines lie with those of another node.
constexpr size_t kPageBytes = 4096;

// Do the lines of participant p begin a page?
bool begins_page(const uint16_t* node, uint32_t p) { return node && p > 0 && node[p] != node[p - 1]; }

// All steps have so many peers.
uint32_t peers_of(const Schedule& schedule) {
  const uint32_t steps = schedule.begin[schedule.n];
  return steps == 0 ? 0 : schedule.steps[steps - 1].first + schedule.steps[steps - 1].count;
}

// One peer of a step: whose step, which of its peers.
struct StepPeer {
  uint32_t step, peer;
};

// The k-th signal of p to q; a valid schedule has one for every wait of q for p.
StepPeer signal_of(const Schedule& schedule, uint32_t p, uint32_t q, uint32_t k) {
  for (uint32_t s = schedule.begin[p]; s < schedule.begin[p + 1]; ++s) {
    const Step& step = schedule.steps[s];
    if (step.kind != StepKind::kSignal) continue;
    for (uint32_t i = 0; i < step.count; ++i)
      if (schedule.peers[step.first + i] == q && k-- == 0) return {s, i};
  }
  return {schedule.begin[p], 0};
}

// How many waits of q for the same participant come before this one.
uint32_t waits_before(const Schedule& schedule, uint32_t q, const StepPeer& wait) {
  const uint16_t p = schedule.peers[schedule.steps[wait.step].first + wait.peer];
  uint32_t before = 0;
  for (uint32_t s = schedule.begin[q]; s <= wait.step; ++s) {
    const Step& step = schedule.steps[s];
    if (step.kind != StepKind::kWait) continue;
    const uint32_t upto = s == wait.step ? wait.peer : step.count;
    for (uint32_t i = 0; i < upto; ++i) before += schedule.peers[step.first + i] == p;
  }
  return before;
}

}  // namespace

size_t Barrier::lines_begin(const Schedule& schedule) {
  return rounded(sizeof(Barrier) + schedule.n * sizeof(Program) + schedule.begin[schedule.n] * sizeof(Action) +
                 peers_of(schedule) * sizeof(Line*));
}

size_t Barrier::bytes(const Schedule& schedule, const uint16_t* node) {
  size_t bytes = lines_begin(schedule);
  for (uint32_t p = 0; p < schedule.n; ++p) {
    if (begins_page(node, p)) bytes = rounded(bytes, kPageBytes);
    for (uint32_t s = schedule.begin[p]; s < schedule.begin[p + 1]; ++s)
      if (schedule.steps[s].kind == StepKind::kSignal) bytes += lines_of(schedule.steps[s]) * sizeof(Line);
  }
  return bytes;
}

size_t Barrier::crowd_bytes(uint32_t) { return sizeof(Barrier); }

Barrier* Barrier::create_crowd(uint32_t n, const WaitPolicy& policy, void* memory) {
  auto* barrier = new (memory) Barrier;
  barrier->kind_ = n <= 1 ? Kind::kAlone : Kind::kCrowd;
  barrier->n_ = n;
  barrier->policy_ = policy;
  return barrier;
}

Barrier* Barrier::create(const Schedule& schedule, const WaitPolicy& policy, void* memory, const uint16_t* node) {
  Barrier* barrier = create_crowd(schedule.n, policy, memory);
  if (schedule.n <= 1) return barrier;
  // Two participants, one round: the two-flag line. Any other pattern for two (a tree, say) is executed as asked for.
  const Step* const steps = schedule.steps;
  if (schedule.n == 2 && schedule.begin[2] == 4 && steps[0].kind == StepKind::kSignal &&
      steps[2].kind == StepKind::kSignal) {
    barrier->kind_ = Kind::kPair;
    return barrier;
  }
  barrier->kind_ = Kind::kSchedule;
  barrier->programs_ = reinterpret_cast<Program*>(barrier + 1);
  auto* const actions = reinterpret_cast<Action*>(barrier->programs_ + schedule.n);
  barrier->lay_out(schedule, node, actions);
  barrier->connect(schedule, actions);
  return barrier;
}

void Barrier::lay_out(const Schedule& schedule, const uint16_t* node, Action* actions) {
  char* const start = reinterpret_cast<char*>(this);
  auto* const flags = reinterpret_cast<Line**>(actions + schedule.begin[schedule.n]);
  size_t at = lines_begin(schedule);
  for (uint32_t p = 0; p < schedule.n; ++p) {
    if (begins_page(node, p)) at = rounded(at, kPageBytes);
    const uint32_t first = schedule.begin[p], end = schedule.begin[p + 1];
    programs_[p] = {actions + first, end - first};
    for (uint32_t s = first; s < end; ++s) {
      const Step& step = schedule.steps[s];
      const bool signal = step.kind == StepKind::kSignal;
      actions[s] = {step.kind, signal ? lines_of(step) : step.count, flags + step.first};
      // A line begins as zeros, which the memory has.
      for (uint32_t i = 0; signal && i < actions[s].count; ++i, at += sizeof(Line))
        actions[s].flags[i] = reinterpret_cast<Line*>(start + at);
    }
  }
}

void Barrier::connect(const Schedule& schedule, const Action* actions) {
  for (uint32_t q = 0; q < schedule.n; ++q) {
    for (uint32_t s = schedule.begin[q]; s < schedule.begin[q + 1]; ++s) {
      const Step& step = schedule.steps[s];
      for (uint32_t i = 0; step.kind == StepKind::kWait && i < step.count; ++i) {
        const uint16_t p = schedule.peers[step.first + i];
        const StepPeer signal = signal_of(schedule, p, q, waits_before(schedule, q, {s, i}));
        actions[s].flags[i] = actions[signal.step].flags[schedule.steps[signal.step].shared_line ? 0 : signal.peer];
      }
    }
  }
}

bool Barrier::arrive_and_wait_many(uint32_t me, uint64_t epoch, const std::atomic<uint64_t>* stop) {
  if (kind_ == Kind::kCrowd) return arrive_and_wait_crowd(me, epoch, stop);
  if (kind_ == Kind::kAlone) return true;
  const Program program = programs_[me];
  for (const Action* action = program.actions; action != program.actions + program.count; ++action) {
    if (action->kind == StepKind::kSignal) {
      for (uint32_t i = 0; i < action->count; ++i) post(*action->flags[i], epoch, policy_.order);
    } else {
      // The loads of a step do not depend on each other: the processor overlaps them as long as polls succeed.
      for (uint32_t i = 0; i < action->count; ++i) {
        Line& flag = *action->flags[i];
        if (!wait_briefly(flag.epoch, epoch, policy_, stop) && !wait_long(flag, me, epoch, stop)) return false;
      }
    }
  }
  return true;
}

bool Barrier::arrive_and_wait_crowd(uint32_t, uint64_t epoch, const std::atomic<uint64_t>* stop) {
  uint64_t seen = arrivals_.load(std::memory_order_relaxed);
  uint64_t mine;
  do {
    mine = seen >> 16 == (epoch & (~0ull >> 16)) ? seen + 1 : epoch << 16 | 1;
    // acq_rel: the last arrival must see all that the others did before theirs, and passes it on with the release.
  } while (!arrivals_.compare_exchange_weak(seen, mine, std::memory_order_acq_rel, std::memory_order_relaxed));
  if ((mine & 0xffff) == n_) {
    post(release_, epoch, policy_.order);
    return true;
  }
  return wait_briefly(release_.epoch, epoch, policy_, stop) || wait_slowly(release_, epoch, stop, policy_);
}

bool Barrier::settle(uint64_t epoch, bool told) {
  // acquire, here and below: as the exchange
  uint64_t seen = told_.settled.load(std::memory_order_acquire);
  do {
    if (seen / 2 == epoch) return (seen & 1) != 0;
    // acq_rel: what a hearer knew of the stop word, the teller must; and other hearers
  } while (!told_.settled.compare_exchange_weak(seen, 2 * epoch + told, std::memory_order_acq_rel,
                                                std::memory_order_acquire));
  return told;
}

bool Barrier::tell(uint32_t me, uint64_t epoch, void* word) {
  if (!settle(epoch, true)) return false;
  told_.word.store(word, std::memory_order_relaxed);  // posted next
  post({told_.epoch, bell_of_teller(me)}, epoch, policy_.order);
  return true;
}

bool Barrier::hear(uint32_t me, uint64_t epoch, const std::atomic<uint64_t>& stop, void** word) {
  const Flag flag{told_.epoch, bell_of_teller(1 - me)};
  if (!wait_briefly(told_.epoch, epoch, policy_, &stop) && !wait_long(flag, me, epoch, &stop)) {
    if (!settle(epoch, false)) return false;
    if (!wait_briefly(told_.epoch, epoch, policy_)) wait_long(flag, me, epoch, nullptr);  // it is about to come
  }
  *word = told_.word.load(std::memory_order_relaxed);  // acquired with the epoch
  return true;
}

bool Barrier::wait_long(Flag flag, uint32_t me, uint64_t epoch, const std::atomic<uint64_t>* stop) {
  if (stop && is_stopped(*stop, epoch)) return poll(flag.epoch, epoch);
  publish_cpu(me);
  return wait_slowly(flag, epoch, stop, policy_);
}

template <typename Visit>
void Barrier::visit_bells(uint32_t p, Visit visit) {
  const Program program = programs_[p];
  for (const Action* action = program.actions; action != program.actions + program.count; ++action)
    for (uint32_t i = 0; action->kind == StepKind::kSignal && i < action->count; ++i) visit(action->flags[i]->bell);
}

void Barrier::publish_cpu(uint32_t me) {
  auto publish = [cpu = os::current_cpu() + 1](Bell& bell) { place::note(bell.cpu, cpu); };
  if (kind_ == Kind::kPair) publish(pair_.bell[me].bell);
  if (kind_ == Kind::kSchedule) visit_bells(me, publish);
}

void Barrier::wake_all() {
  auto wake = [](Bell& bell) {
    if (bell.sleepers.load(std::memory_order_relaxed) != 0) wake_sleepers(bell);
  };
  wake(pair_.bell[0].bell);
  wake(pair_.bell[1].bell);
  wake(release_.bell);
  wake(told_.bell);
  for (uint32_t p = 0; kind_ == Kind::kSchedule && p < n_; ++p) visit_bells(p, wake);
}

}  // namespace smelt
