// Waiting in a group. A process that waits must keep its host's other communication going, or a rank that is in the
// middle of a long message to us never gets here; so nobody sleeps, and between bursts of polls `progress` is called.
//
//   every process has a CPU   a burst, then progress every microsecond or so
//   a crowd                   a few polls, then alternately yield and progress: the waiter must make room for the
//                             participant that it waits for
//   two on one CPU            each has the CPU on which it last waited in its status line; then as in a crowd
//
// All plan a group alike when it is made, as a crowd or not (plan.cc). Affinities change later: a program binds its
// ranks, a resource manager moves them, a CPU is taken away. So if waits make room, or last, the kernel is asked for
// everybody's CPUs again (recount_cpus). The methods stay as planned; how it waits, each participant decides for
// itself. Participants that disagree for a while are still right: nobody sleeps, so no message needs a wake-up, and all
// of them poll, let the host progress, and yield to a participant that they know on their own CPU.
//
// A process that tests a started operation does not wait here. It mostly waits elsewhere: in the host, which need not
// know of the crowd. After a few tests in vain it makes room as well (measured, two ranks on one CPU, a started
// barrier: 12 ms without).
//
// A waiter looks now and then at the call that the awaited participant is in: participants that call a collective with
// different lengths would wait for each other for ever.
//
// So the settings of threads' waits (SMELT_WAIT and SMELT_TUNE) are not the ranks': there is no sleep
// whose beginning they could set, and no bell that Open MPI's other communication would ring. If a user wants ranks to
// give way although there are CPUs enough, Open MPI's mpi_yield_when_idle makes a crowd of the group
// (smelt_host::crowded). SMELT_CPUS=1 does the same.
#include "base/log.h"
#include "base/options.h"
#include "base/os/os.h"
#include "base/seat.h"
#include "group/group.h"
#include "policy/thresholds.h"

namespace smelt {

bool Group::should_make_room(uint32_t peer) {
  const uint32_t here = place::note_cpu(desk().status.cpu, 1);
  const bool same_cpu = peer != me && desks[peer].status.cpu.load(std::memory_order_relaxed) == here;
  return crowded || same_cpu;
}

void Group::wait_as(bool crowd) {
  const auto polls = [&](ThresholdId id) { return static_cast<int>(find_threshold(id, plan.profile).value); };
  crowded = crowd;
  burst_polls = crowd ? 0 : polls(ThresholdId::kBurst);
  turn_polls = polls(crowd ? ThresholdId::kCrowdTurn : ThresholdId::kTurn);
  known_until = recount.after(os::now_ns(), true);
}

void Group::recount_cpus() {
  if (!plan.by_bindings) return;
  const int64_t now = os::now_ns();
  if (now < known_until) return;
  const bool crowd = !has_cpus_now(*this);
  if (crowd == crowded) {
    known_until = recount.after(now, false);
    return;
  }
  wait_as(crowd);
  if (options().verbose >= 2)
    log_line("a group of %u %s, by the CPUs that its participants may run on now", n,
             crowd ? "is crowded" : "is not crowded any more");
}

void Group::idle(uint32_t peer, uint32_t turn) {
  constexpr uint32_t kLong = 256;  // turns, of a microsecond or so each
  // An oversubscribed host yields in its progress function, too, so each side yields every second turn.
  if (should_make_room(peer) && turn % 2 == 0) {
    recount_cpus();
    os::yield_cpu();
    return;
  }
  if (turn % kLong == kLong - 1) recount_cpus();
  if (host.progress) host.progress(host.context);
}

void Group::tested_in_vain() {
  constexpr uint32_t kTests = 8;  // a yield is a system call, too much for every test
  if (++in_vain < kTests) return;
  in_vain = 0;
  if (!should_make_room(awaited)) return;
  recount_cpus();
  os::yield_cpu();
}

namespace {

constexpr uint64_t kGaveUp = ~uint64_t{0}, kLeft = kGaveUp - 1;  // as the number of a call

// Is it in this very call, with operands of another length?
bool is_at_odds(const Status& other, uint64_t call, uint64_t operand_bytes) {
  if (other.call.load(std::memory_order_acquire) != call) return false;
  const uint64_t theirs = other.operand_bytes.load(std::memory_order_acquire);
  // acquire above: if that was of a later call, this has been withdrawn.
  if (other.call.load(std::memory_order_relaxed) != call) return false;
  return theirs != operand_bytes && theirs != 0 && operand_bytes != 0;
}

void tell(Status& mine, uint64_t call, uint64_t operand_bytes) {
  if (mine.call.load(std::memory_order_relaxed) == call) return;  // on change only: the line is read by others
  mine.call.store(0, std::memory_order_relaxed);
  mine.operand_bytes.store(operand_bytes, std::memory_order_release);
  mine.call.store(call, std::memory_order_release);
}

}  // namespace

bool Group::give_up() {
  broken = true;
  tell(desk().status, kGaveUp, 0);
  return false;
}

void Group::leave() {
  if (!broken) tell(desk().status, kLeft, 0);
}

void Group::rest() { tell(desk().status, calls + kCallsBetween - 1, 0); }

bool Group::is_ahead(uint32_t peer) const {
  const Desk& desk = desks[peer];
  if (desk.status.call.load(std::memory_order_acquire) > calls) return true;
  // A participant that only contributes to a reduction, or is a scatter's root, may be gone without ever having waited.
  // It has gone about this call otherwise than we if ours is inline and it has left a piece, or the other way round.
  if (operand_bytes == 0) return false;
  for (const auto& [channel, filled] : {std::pair{desk.up, &desk.filled_up}, std::pair{desk.down, &desk.filled_down}}) {
    if (operand_bytes <= kInlineBytes) {
      if (filled->value.load(std::memory_order_acquire) > pieces) return true;
      continue;
    }
    const uint64_t flag = channel[(episode + 1) % kRing].line->flag.load(std::memory_order_acquire);
    if ((flag ^ (episode + 1)) << (64 - kEpisodeBits) == 0) return true;
  }
  return false;
}

// It cannot if the peer
//   is in this very call, and waits there with operands of another length
//   is past it, or gave up on somebody, in this call or a later one: the awaited message would have come before
// It may have come since we looked, so these count only when they are found a second time.
bool Group::may_come(uint32_t peer) {
  if (broken) return false;
  const Status& theirs = desks[peer].status;
  tell(desk().status, calls, operand_bytes);
  if (!is_at_odds(theirs, calls, operand_bytes) && !is_ahead(peer)) return true;
  const bool found_before = ahead_call == calls && ahead_peer == peer;
  ahead_call = calls, ahead_peer = peer;
  return found_before ? give_up() : true;
}

}  // namespace smelt
