// The leader: proposing, finding out what was accepted before it led, and changing the acceptor (protocol.h says why
// that is right). The acceptor's side of proposing is here, too.
#include <algorithm>

#include "protocol.h"

namespace onepaxos {

// --- The usual way

bool Replica::Protocol::propose() {
  if (leading_ != Leading::kProposing || stopped) return false;
  while (flight_.size() < kWindow && !waiting_.empty() && log_.length() + flight_.size() < proposes_below_) {
    const Command command = waiting_.front();
    waiting_.pop_front();
    if (!applied(command.client, command.sequence)) flight_.push_back(command);
  }
  bool busy = false;
  for (; sent_ < flight_.size() && !stopped; ++sent_, busy = true) {
    if (at(Step::kLeaderBeforeProposing)) return busy;
    if (!send(configuration().acceptor, with(Kind::kAccept, epoch(), log_.length() + sent_, flight_[sent_]))) break;
    at(Step::kLeaderProposed);
  }
  return busy;
}

// The acceptor. A proposal of another epoch is of a leader that has been replaced, or knows nothing of it yet.
void Replica::Protocol::accept(const Message& message) {
  if (message.epoch != epoch() || !is_acceptor() || message.index != log_.length()) return;
  if (at(Step::kAcceptorBeforeAccepting)) return;
  learn(command_of(message));
}

// --- A new leader: what was accepted?

void Replica::Protocol::ask_everybody() {
  for (unsigned r = 0; r < replicas_; ++r)
    if (r != me_) tell(r, about(Kind::kPrepare, epoch()), nullptr);
}

// The replica that answers knows of the new epoch: as acceptor it accepts nothing of an older one, as leader it
// proposes nothing in one.
void Replica::Protocol::answer(unsigned to) {
  Configuration behind;
  behind.count = static_cast<uint16_t>(flight_.size());
  std::copy(flight_.begin(), flight_.end(), behind.proposals);
  tell(to, about(Kind::kAnswer, epoch(), log_.length(), led_), &behind);
}

void Replica::Protocol::find_out() {
  if (leading_ != Leading::kAsking) return;
  const unsigned acceptor = configuration().acceptor;
  const Answer& accepted = answers_[acceptor];
  if (!accepted.here) {
    if (!silent(acceptor) || !find_out_from_leaders()) return;
    // It knows all that may have been accepted, but has nobody to accept more.
    led_ = uint64_t{epoch()} + 1;
    leading_ = Leading::kSyncing;
    may_resume_ = false;
    next_acceptor_ = me_;
    sync();
    return;
  }
  if (log_.length() < accepted.length) return ask(acceptor, accepted.length);
  take_over();
}

void Replica::Protocol::take_over() {
  if (at(Step::kNewLeaderKnows)) return;
  // What was under way and has not been accepted never will be, but for a new proposal.
  waiting_.insert(waiting_.begin(), flight_.begin(), flight_.end());
  flight_.clear();
  sent_ = 0;
  led_ = uint64_t{epoch()} + 1;
  leading_ = Leading::kProposing;
}

// From the last epoch back to the one whose leader did propose; those in between have to say that they did not.
bool Replica::Protocol::find_out_from_leaders() {
  for (uint32_t e = epoch(); e-- != 0;) {
    const unsigned r = history_[e].leader;
    if (r == me_) {
      if (led_ == uint64_t{e} + 1) return true;  // flight_ is its own
      continue;
    }
    const Answer& answer = answers_[r];
    if (!answer.here) return false;
    if (answer.led != uint64_t{e} + 1) continue;
    if (log_.length() < answer.length) {
      ask(r, answer.length);
      return false;
    }
    const uint64_t known = std::min<uint64_t>(log_.length() - answer.length, answer.flight.size());
    flight_.assign(answer.flight.begin() + static_cast<ptrdiff_t>(known), answer.flight.end());
    sent_ = 0;
    return true;
  }
  return false;
}

// --- Another acceptor

void Replica::Protocol::choose_next_acceptor() {
  leading_ = Leading::kSyncing;
  may_resume_ = true;
  next_acceptor_ = me_;
  sync();
}

void Replica::Protocol::sync() {
  const unsigned acceptor = configuration().acceptor;
  if (may_resume_ && !silent(acceptor)) {  // it was slow, and nothing has happened
    leading_ = Leading::kProposing;
    return;
  }
  if (next_acceptor_ == me_ || silent(next_acceptor_)) {
    for (unsigned i = 1; i <= replicas_; ++i) {
      next_acceptor_ = (acceptor + i) % replicas_;
      if (next_acceptor_ != me_ && next_acceptor_ != acceptor && !silent(next_acceptor_)) break;
    }
    if (next_acceptor_ == me_ || next_acceptor_ == acceptor) {
      next_acceptor_ = me_;  // there is nobody: looks again at the next tick
      return;
    }
  }
  if (at(Step::kOldLeaderSyncing)) return;
  tell(next_acceptor_, about(Kind::kSync, epoch(), log_.length()), nullptr);
}

// From here on flight_ must not grow in this epoch: the utility may agree on what it was now at any time later.
void Replica::Protocol::change_acceptor() {
  leading_ = Leading::kChanging;
  Configuration next;
  next.epoch = epoch() + 1;
  next.leader = static_cast<uint8_t>(me_);
  next.acceptor = static_cast<uint8_t>(next_acceptor_);
  next.silent = silent_ones();
  next.base = log_.length();
  next.count = static_cast<uint16_t>(flight_.size());
  std::copy(flight_.begin(), flight_.end(), next.proposals);
  ++counters.suspicions;
  utility_.propose(next, now_);
}

// --- Another leader. The acceptor cannot be it: the two are to stop independently of each other.

void Replica::Protocol::suspect_leader() {
  const unsigned leader = configuration().leader, acceptor = configuration().acceptor;
  if (is_acceptor()) return;
  if (!silent(leader)) return utility_.give_up();
  if (utility_.proposing()) return;
  // The first that is heard of, in the order of numbers from the leader on; each next one waits a patience longer.
  unsigned before = 0;
  for (unsigned r = (leader + 1) % replicas_; r != me_; r = (r + 1) % replicas_)
    if (r != acceptor && !silent(r)) ++before;
  if (now_ - heard_[leader] <= (1 + before) * options_.patience) return;
  Configuration next;
  next.epoch = epoch() + 1;
  next.leader = static_cast<uint8_t>(me_);
  next.acceptor = static_cast<uint8_t>(acceptor);
  next.silent = silent_ones();
  ++counters.suspicions;
  utility_.propose(next, now_);
}

}  // namespace onepaxos
