#include "utility.h"

#include <algorithm>
#include <bit>

namespace onepaxos {

bool Utility::majority(uint64_t voters) const { return static_cast<unsigned>(std::popcount(voters)) > replicas_ / 2; }

void Utility::begin(uint32_t epoch) {
  epoch_ = epoch;
  promised_ = voted_ballot_ = ballot_ = highest_seen_ = told_ballot_ = voters_ = 0;
  phase_ = Phase::kIdle;
  wanted_.reset();
}

void Utility::propose(const Configuration& configuration, Time now) {
  wanted_ = configuration;
  if (host_->at(Step::kCandidateBefore)) return;
  start_ballot(now);
}

void Utility::tick(Time now) {
  if (wanted_ && now >= retry_at_) start_ballot(now);
}

// 1. of the head comment
void Utility::start_ballot(Time now) {
  const auto unit = patience_.count() / 4 + 1;
  retry_at_ = now + std::chrono::nanoseconds(unit + static_cast<int64_t>(random_()) % (3 * unit));
  highest_seen_ = std::max(highest_seen_, promised_);
  ballot_ = (highest_seen_ / kMaxReplicas + 1) * kMaxReplicas + me_;
  highest_seen_ = ballot_;
  phase_ = Phase::kAsking;
  // Its own promise
  promised_ = ballot_;
  voters_ = uint64_t{1} << me_;
  told_ballot_ = voted_ballot_;
  offered_ = voted_ballot_ != 0 ? voted_ : *wanted_;
  for (unsigned r = 0; r < replicas_; ++r)
    if (r != me_) host_->tell(r, about(Kind::kVotePrepare, epoch_, ballot_), nullptr);
}

// 2.
void Utility::offer() {
  if (host_->at(Step::kCandidatePromised)) return;
  phase_ = Phase::kOffering;
  voters_ = 0;
  if (promised_ == ballot_) {  // else it has promised another, meanwhile, not to vote for this
    voted_ballot_ = ballot_;
    voted_ = offered_;
    voters_ = uint64_t{1} << me_;
  }
  for (unsigned r = 0; r < replicas_; ++r) {
    if (r == me_) continue;
    host_->tell(r, about(Kind::kVoteAccept, epoch_, ballot_), &offered_);
    if (host_->at(Step::kCandidateOfferedOne)) return;
  }
}

// 3.
void Utility::decide() {
  if (host_->at(Step::kCandidateDecided)) return;
  const Configuration decided = offered_;
  const Message message = about(Kind::kConfiguration, decided.epoch);
  for (unsigned r = 0; r < replicas_; ++r) {
    if (r == me_) continue;
    host_->tell(r, message, &decided);
    if (host_->at(Step::kCandidateToldOne)) return;
  }
  host_->agreed(decided);
}

void Utility::receive(unsigned from, const Message& message, const Configuration* behind, Time now) {
  const uint64_t ballot = message.index;
  switch (message.kind) {
    case Kind::kVotePrepare:
      if (ballot <= promised_) {
        host_->tell(from, about(Kind::kVoteRefused, epoch_, ballot, promised_), nullptr);
        return;
      }
      promised_ = ballot;
      host_->tell(from, about(Kind::kVotePromise, epoch_, ballot, voted_ballot_),
                  voted_ballot_ != 0 ? &voted_ : nullptr);
      host_->at(Step::kVoterPromised);
      return;
    case Kind::kVotePromise:
      if (phase_ != Phase::kAsking || ballot != ballot_ || !wanted_) return;
      voters_ |= uint64_t{1} << from;
      if (message.sequence > told_ballot_ && behind) {
        told_ballot_ = message.sequence;
        offered_ = *behind;
      }
      if (majority(voters_)) offer();
      return;
    case Kind::kVoteAccept:
      if (ballot < promised_ || !behind) {
        host_->tell(from, about(Kind::kVoteRefused, epoch_, ballot, promised_), nullptr);
        return;
      }
      promised_ = voted_ballot_ = ballot;
      voted_ = *behind;
      host_->tell(from, about(Kind::kVoteAccepted, epoch_, ballot), nullptr);
      host_->at(Step::kVoterAccepted);
      return;
    case Kind::kVoteAccepted:
      if (phase_ != Phase::kOffering || ballot != ballot_) return;
      voters_ |= uint64_t{1} << from;
      if (majority(voters_)) {
        phase_ = Phase::kIdle;
        decide();
      }
      return;
    case Kind::kVoteRefused:
      highest_seen_ = std::max(highest_seen_, message.sequence);
      if (ballot == ballot_ && phase_ != Phase::kIdle) {
        phase_ = Phase::kIdle;
        retry_at_ = std::max(retry_at_, now);
      }
      return;
    default: return;
  }
}

}  // namespace onepaxos
