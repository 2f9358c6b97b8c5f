#include "protocol.h"

#include <algorithm>

namespace onepaxos {
namespace {

constexpr unsigned kMessagesAtOnce = 256;  // of one sender, before the others have their turn
constexpr unsigned kPollsPerClock = 16;
constexpr unsigned kTicksPerPatience = 8;
constexpr uint64_t kReport = 2048;  // commands, after which the others hear how far it is, whatever the time

}  // namespace

Replica::Protocol::Protocol(unsigned me, unsigned replicas, const Options& options, const Trees& trees,
                            std::vector<smelt_queue*> queues, Bell* bells)
    : me_(me),
      replicas_(replicas),
      options_(options),
      trees_(trees),
      queues_(std::move(queues)),
      bells_(bells),
      utility_(this, me, replicas, options.patience),
      room_(sizeof(Message) + sizeof(Configuration)),
      windows_(options.clients),
      lengths_(replicas),
      pending_of_(options.clients),
      answers_(replicas),
      now_(std::chrono::steady_clock::now()),
      next_tick_(now_),
      heard_(replicas, now_ + options.patience) {  // threads start one after the other
  Configuration first;
  first.leader = static_cast<uint8_t>(options.leader);
  first.acceptor = static_cast<uint8_t>(options.acceptor);
  history_.push_back(first);
  new_tree();
  if (is_leader()) {
    leading_ = Leading::kProposing;  // nothing has been accepted before
    led_ = 1;
  }
}

// --- Sending. Nothing leaves a replica that has stopped.

bool Replica::Protocol::send(unsigned to, const Message& message) {
  return !stopped && smelt_queue_try_send(queues_[to], &message, sizeof message) == 0;
}

bool Replica::Protocol::send_large(unsigned to, const Message& message, const Configuration& behind) {
  if (stopped) return false;
  std::memcpy(room_.data(), &message, sizeof message);
  std::memcpy(room_.data() + sizeof message, &behind, size_of(behind));
  return smelt_queue_try_send(queues_[to], room_.data(), sizeof message + size_of(behind)) == 0;
}

// Release: who hears the bell finds the message. (The queue says so by itself, too; the bell must not come first.)
void Replica::Protocol::ring(unsigned to) { bells_[to].from.fetch_or(uint64_t{1} << me_, std::memory_order_release); }

// What does not fit is dropped: all that goes this way is said again while it is needed.
void Replica::Protocol::tell(unsigned to, const Message& message, const Configuration* behind) {
  if (stopped) return;
  behind ? send_large(to, message, *behind) : send(to, message);
  ring(to);  // even then: somebody is to make room
}

bool Replica::Protocol::at(Step step) {
  // Relaxed: the number alone counts.
  if (step == stop_step && stop_times != 0 && --stop_times == 0)
    stopped |= !stops_left || stops_left->fetch_sub(1, std::memory_order_relaxed) > 0;
  return stopped;
}

// --- Receiving

bool Replica::Protocol::poll() {
  if (stopped) return false;
  bool busy = false;
  // Where messages come all the time, it looks each time; elsewhere when the bell has rung.
  const int parent = tree_.parent[me_];
  if (parent >= 0) busy |= receive_from(static_cast<unsigned>(parent));
  if (is_acceptor()) busy |= receive_from(configuration().leader);
  if (bells_[me_].from.load(std::memory_order_relaxed) != 0) {
    uint64_t from = bells_[me_].from.exchange(0, std::memory_order_acquire);
    for (; from != 0; from &= from - 1) busy |= receive_from(static_cast<unsigned>(__builtin_ctzll(from)));
  }
  if (log_.length() - reported_ >= kReport) report();
  busy |= propose();
  busy |= spread();
  if (!busy || ++polls_ % kPollsPerClock == 0) {
    const Time now = std::chrono::steady_clock::now();
    // A replica that did not run itself cannot complain of silence: only a little of such a pause counts.
    if (const auto little = options_.patience / kTicksPerPatience; now - now_ > 2 * little)
      for (Time& heard : heard_) heard += now - now_ - little;
    now_ = now;
    if (now_ >= next_tick_) tick();
  }
  return busy && !stopped;
}

bool Replica::Protocol::receive_from(unsigned from) {
  unsigned received = 0;
  for (; !stopped; ++received) {
    if (received == kMessagesAtOnce) {
      bells_[me_].from.fetch_or(uint64_t{1} << from, std::memory_order_release);
      break;
    }
    const void* payload = nullptr;
    size_t bytes = 0;
    const int result = smelt_queue_peek(queues_[from], &payload, &bytes);
    Message message;
    if (result == 0) {
      std::memcpy(&message, payload, sizeof message);
      smelt_queue_consume(queues_[from]);
      handle(from, message, nullptr);
    } else if (result == -EMSGSIZE && smelt_queue_try_receive(queues_[from], room_.data(), room_.size(), &bytes) == 0) {
      Configuration behind;
      std::memcpy(&message, room_.data(), sizeof message);
      std::memcpy(&behind, room_.data() + sizeof message, bytes - sizeof message);
      handle(from, message, &behind);
    } else {
      break;
    }
  }
  if (received != 0) heard_[from] = std::max(heard_[from], now_);
  return received != 0;
}

void Replica::Protocol::handle(unsigned from, const Message& message, const Configuration* behind) {
  const bool mine = message.epoch == epoch();
  switch (message.kind) {
    case Kind::kAccept: accept(message); return;
    case Kind::kLearn:
      if (message.index == log_.length()) learn(command_of(message));
      return;
    case Kind::kSubmit:
      if (is_leader() && !applied(message.client, message.sequence)) waiting_.push_back(command_of(message));
      return;
    case Kind::kHeartbeat:
      lengths_[from] = std::max(lengths_[from], message.index);
      // A replica that has missed a configuration gets the next: it needs all of them, one after the other.
      if (message.epoch < epoch())
        tell(from, about(Kind::kConfiguration, message.epoch + 1), &history_[message.epoch + 1]);
      else if (message.epoch > epoch())
        tell(from, about(Kind::kHeartbeat, epoch(), log_.length()), nullptr);
      return;
    case Kind::kConfiguration:
      if (behind && behind->epoch == epoch() + 1) {
        adopt(*behind);
        tell(from, about(Kind::kHeartbeat, epoch(), log_.length()), nullptr);  // there may be more
      }
      return;
    case Kind::kWant: serve(from, message.index, message.sequence); return;
    case Kind::kGone:
      if (message.index > log_.length()) stopped = true;  // left behind: nobody has kept what it lacks
      return;
    case Kind::kPrepare:
      if (mine && from == configuration().leader) answer(from);
      break;
    case Kind::kAnswer:
      if (mine && behind && leading_ == Leading::kAsking) {
        answers_[from] = {
            true, message.index, message.sequence, {behind->proposals, behind->proposals + behind->count}};
        find_out();
      }
      return;
    case Kind::kSync:
      if (!mine) break;
      if (log_.length() < message.index) return ask(from, message.index);
      tell(from, about(Kind::kSynced, epoch(), log_.length()), nullptr);
      at(Step::kNewAcceptorSynced);
      return;
    case Kind::kSynced:
      if (mine && leading_ == Leading::kSyncing && from == next_acceptor_ && message.index >= log_.length())
        change_acceptor();
      return;
    case Kind::kVotePrepare:
    case Kind::kVotePromise:
    case Kind::kVoteRefused:
    case Kind::kVoteAccept:
    case Kind::kVoteAccepted:
      if (message.epoch == epoch() + 1) return utility_.receive(from, message, behind, now_);
      break;
  }
  // One of the two is behind: heartbeats bring the missing configurations.
  if (!mine) tell(from, about(Kind::kHeartbeat, epoch(), log_.length()), nullptr);
}

// --- A new configuration

void Replica::Protocol::adopt(const Configuration& next) {
  if (stopped) return;
  const bool was_acceptor = is_acceptor();
  history_.push_back(next);
  ++counters.configurations;
  utility_.begin(next.epoch + 1);
  for (Answer& answer : answers_) answer.here = false;
  leading_ = Leading::kNot;
  waiting_.clear();  // those who submitted do it again
  // Its proposals are decided; where its log is too short for them, it learns them from others.
  if (next.base <= log_.length())
    while (log_.length() < next.base + next.count) learn(next.proposals[log_.length() - next.base]);
  if (stopped) return;
  new_tree();
  if (is_acceptor() && !was_acceptor && at(Step::kNewAcceptorAdopted)) return;
  if (is_leader()) {
    if (at(Step::kNewLeaderAdopted)) return;
    leading_ = Leading::kAsking;
    heard_[next.acceptor] = std::max(heard_[next.acceptor], now_);  // it has its time to answer
    ask_everybody();
  }
  submit_again(true);
}

// --- Time

uint64_t Replica::Protocol::silent_ones() const {
  uint64_t result = 0;
  for (unsigned r = 0; r < replicas_; ++r) result |= uint64_t{silent(r)} << r;
  return result;
}

void Replica::Protocol::report() {
  reported_ = log_.length();
  for (unsigned r = 0; r < replicas_; ++r)
    if (r != me_) tell(r, about(Kind::kHeartbeat, epoch(), log_.length()), nullptr);
  drop_old();
}

void Replica::Protocol::tick() {
  next_tick_ = now_ + options_.patience / kTicksPerPatience;
  report();
  submit_again(false);
  repair();
  switch (leading_) {
    case Leading::kNot: suspect_leader(); break;
    case Leading::kAsking:
      ask_everybody();
      find_out();
      break;
    case Leading::kProposing:
      if (silent(configuration().acceptor)) choose_next_acceptor();
      break;
    case Leading::kSyncing: sync(); break;
    case Leading::kChanging: break;
  }
  utility_.tick(now_);
}

// --- Commands from here

bool Replica::Protocol::applied(uint16_t client, uint64_t sequence) const {
  const Window& window = windows_[client];
  if (sequence > window.highest) return false;
  const uint64_t distance = window.highest - sequence;
  return distance >= kOutstanding || (window.bits >> distance & 1) != 0;
}

bool Replica::Protocol::take(uint16_t client, uint64_t sequence) {
  if (applied(client, sequence)) return false;
  Window& window = windows_[client];
  if (sequence > window.highest) {
    const uint64_t by = sequence - window.highest;
    window.bits = by >= kOutstanding ? 0 : window.bits << by;
    window.highest = sequence;
  }
  window.bits |= uint64_t{1} << (window.highest - sequence);
  return true;
}

bool Replica::Protocol::submit(const Command& command) {
  if (stopped || command.client >= options_.clients || command.sequence == 0 || command.bytes > kCommandBytes)
    return false;
  if (applied(command.client, command.sequence)) return true;
  if (pending_of_[command.client] != 0)
    for (const Pending& pending : pending_)
      if (pending.command.client == command.client && pending.command.sequence == command.sequence) return true;
  pending_.push_back({command, now_});
  ++pending_of_[command.client];
  if (is_leader())
    waiting_.push_back(command);
  else
    tell(configuration().leader, with(Kind::kSubmit, epoch(), 0, command), nullptr);
  return true;
}

// Submits what waits again: all of it after a change of the leader, or what has waited for long, since the queue was
// full or the leader dropped it.
void Replica::Protocol::submit_again(bool all) {
  for (Pending& pending : pending_) {
    if (!all && now_ - pending.since < 2 * options_.patience) continue;
    pending.since = now_;
    if (!is_leader())
      tell(configuration().leader, with(Kind::kSubmit, epoch(), 0, pending.command), nullptr);
    else if (all)
      waiting_.push_back(pending.command);
  }
}

}  // namespace onepaxos
