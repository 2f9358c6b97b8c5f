// Learning, and the acceptor's broadcast. Everybody sends its log on to its children in the tree, each as far as the
// child's queue has room, so a slow one holds up nobody and gets everything in the end. A replica says where it wants
// to begin; who hears nothing new although others are further asks its next living ancestor instead: so the tree is
// mended where it is broken, and nowhere else.
#include <algorithm>

#include "protocol.h"

namespace onepaxos {
namespace {

// So far may the slowest who is heard of lie behind before the leader waits for it; and so much is kept for those who
// are not heard of. A replica that lies further behind than that has stopped for good.
constexpr uint64_t kMostBehind = 1u << 16, kKept = 1u << 17;

}  // namespace

// The entry goes on to the others first: that is what they wait for.
void Replica::Protocol::learn(const Command& command) {
  if (stopped) return;
  const uint64_t index = log_.length();
  log_.append(command);
  progress_ = now_;
  // The value at this index is decided: nothing else is proposed for it any more.
  if (!flight_.empty()) {
    flight_.pop_front();
    if (sent_ != 0) --sent_;
  }
  if (is_acceptor() ? at(Step::kAcceptorAccepted) : !receivers_.empty() && at(Step::kForwarderToldNobody)) return;
  spread();
  if (stopped) return;
  if (take(command.client, command.sequence)) {
    ++counters.applied;
    if (apply) apply(index, command);
  } else {
    ++counters.duplicates;
  }
  if (pending_of_[command.client] != 0) {
    const auto it = std::find_if(pending_.begin(), pending_.end(), [&](const Pending& pending) {
      return pending.command.client == command.client && pending.command.sequence == command.sequence;
    });
    if (it != pending_.end()) {
      pending_.erase(it);
      --pending_of_[command.client];
    }
  }
  if (!is_acceptor()) at(Step::kLearnerApplied);
  if (is_leader()) at(Step::kLeaderLearned);
}

bool Replica::Protocol::spread() {
  bool sent = false, all = true;
  for (size_t i = 0; i < receivers_.size() && !stopped; ++i) {
    Receiver& receiver = receivers_[i];
    const uint64_t end = std::min(receiver.limit, log_.length());
    const uint64_t before = receiver.next;
    while (receiver.next < end && send(receiver.id, with(Kind::kLearn, epoch(), receiver.next, log_[receiver.next])))
      ++receiver.next;
    all &= receiver.next >= end;
    if (receiver.next == before) continue;
    sent = true;
    if (receiver.ring) ring(receiver.id);
    if (i == 0 && receivers_.size() > 1) at(is_acceptor() ? Step::kAcceptorToldOne : Step::kForwarderToldOne);
  }
  if (sent && all && is_acceptor()) at(Step::kAcceptorToldAll);
  // A receiver that wanted so much and no more has it.
  if (sent) std::erase_if(receivers_, [](const Receiver& receiver) { return receiver.next >= receiver.limit; });
  return sent;
}

void Replica::Protocol::serve(unsigned to, uint64_t from, uint64_t limit) {
  if (from < log_.first()) return tell(to, about(Kind::kGone, epoch(), log_.first()), nullptr);
  const bool child = tree_.parent[to] == static_cast<int>(me_);
  auto it = std::find_if(receivers_.begin(), receivers_.end(), [&](const Receiver& r) { return r.id == to; });
  if (it != receivers_.end()) {
    it->next = from;
    it->limit = std::max(it->limit, limit);
    it->ring |= !child;
    return;
  }
  receivers_.push_back({to, from, limit, !child});
  // Children in the tree's order, then the others.
  const std::vector<unsigned>& order = tree_.children[me_];
  const auto place = [&](const Receiver& r) { return std::find(order.begin(), order.end(), r.id) - order.begin(); };
  std::stable_sort(receivers_.begin(), receivers_.end(),
                   [&](const Receiver& a, const Receiver& b) { return place(a) < place(b); });
}

void Replica::Protocol::ask(unsigned whom, uint64_t limit) {
  tell(whom, about(Kind::kWant, epoch(), log_.length(), limit), nullptr);
}

void Replica::Protocol::new_tree() {
  tree_ = trees_.make(configuration().acceptor, configuration().silent);
  receivers_.clear();
  progress_ = now_;
  if (tree_.parent[me_] >= 0) ask(static_cast<unsigned>(tree_.parent[me_]));
}

void Replica::Protocol::repair() {
  if (now_ - progress_ <= options_.patience) return;
  const auto furthest = std::max_element(lengths_.begin(), lengths_.end());
  if (*furthest <= log_.length()) return;
  progress_ = now_;
  int ancestor = tree_.parent[me_];
  while (ancestor >= 0 &&
         (silent(static_cast<unsigned>(ancestor)) || lengths_[static_cast<size_t>(ancestor)] <= log_.length()))
    ancestor = tree_.parent[static_cast<size_t>(ancestor)];
  ask(ancestor >= 0 ? static_cast<unsigned>(ancestor) : static_cast<unsigned>(furthest - lengths_.begin()));
}

void Replica::Protocol::drop_old() {
  lengths_[me_] = log_.length();
  const uint64_t shortest = *std::min_element(lengths_.begin(), lengths_.end());
  log_.drop_before(std::max(shortest, log_.length() > kKept ? log_.length() - kKept : 0));
  uint64_t slowest = log_.length();
  for (unsigned r = 0; r < replicas_; ++r)
    if (!silent(r)) slowest = std::min(slowest, lengths_[r]);
  proposes_below_ = slowest + kMostBehind;
}

}  // namespace onepaxos
