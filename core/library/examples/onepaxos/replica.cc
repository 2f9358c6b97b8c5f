#include "replica.h"

#include <memory>
#include <stdexcept>

#include "protocol.h"

namespace onepaxos {

const char* name(Step step) {
  static const char* const kNames[] = {
      "none",
      "leader-before-proposing",
      "leader-proposed",
      "leader-learned",
      "acceptor-before-accepting",
      "acceptor-accepted",
      "acceptor-told-one",
      "acceptor-told-all",
      "forwarder-told-nobody",
      "forwarder-told-one",
      "learner-applied",
      "candidate-before",
      "candidate-promised",
      "candidate-offered-one",
      "candidate-decided",
      "candidate-told-one",
      "voter-promised",
      "voter-accepted",
      "new-leader-adopted",
      "new-leader-knows",
      "old-leader-syncing",
      "new-acceptor-synced",
      "new-acceptor-adopted",
  };
  static_assert(sizeof kNames / sizeof *kNames == static_cast<size_t>(Step::kCount));
  return kNames[static_cast<size_t>(step)];
}

Replica::Replica(std::unique_ptr<Protocol> protocol) : protocol_(std::move(protocol)) {}
Replica::~Replica() = default;

void Replica::on_apply(Apply apply) { protocol_->apply = std::move(apply); }
bool Replica::submit(const Command& command) { return protocol_->submit(command); }
bool Replica::applied(uint16_t client, uint64_t sequence) const { return protocol_->applied(client, sequence); }
bool Replica::poll() { return protocol_->poll(); }
void Replica::crash() { protocol_->stopped = true; }
bool Replica::stopped() const { return protocol_->stopped; }
void Replica::stop_at(Step step, unsigned times, std::atomic<int>* left) {
  protocol_->stops_left = left;
  protocol_->stop_step = step;
  protocol_->stop_times = times;
}
unsigned Replica::id() const { return protocol_->id(); }
unsigned Replica::leader() const { return protocol_->configuration().leader; }
unsigned Replica::acceptor() const { return protocol_->configuration().acceptor; }
bool Replica::leads() const { return protocol_->leads(); }
uint64_t Replica::length() const { return protocol_->length(); }
const Counters& Replica::counters() const { return protocol_->counters; }

// --- The group: a queue pair between each two, a bell for each.

struct Replicas::Shared {
  Shared(unsigned replicas, const Options& options) : trees(replicas, options), bells(new Bell[replicas]) {}
  ~Shared() {
    for (smelt_queue* queue : queues) smelt_queue_free(queue);
  }
  Trees trees;
  std::unique_ptr<Bell[]> bells;
  std::vector<smelt_queue*> queues;
};

Replicas::Replicas(unsigned replicas, const Options& options) {
  if (replicas < 2 || replicas > kMaxReplicas) throw std::invalid_argument("2 to 64 replicas");
  if (options.leader >= replicas || options.acceptor >= replicas || options.leader == options.acceptor)
    throw std::invalid_argument("leader and acceptor are two of the replicas");
  if (options.clients < 1 || options.clients > kMaxClients) throw std::invalid_argument("1 to 65536 clients");
  if (options.patience <= std::chrono::nanoseconds(0)) throw std::invalid_argument("patience is positive");
  if (!options.cpus.empty() && options.cpus.size() != replicas) throw std::invalid_argument("a CPU for each replica");

  // A configuration fits twice. A message that finds no room is said again.
  constexpr unsigned kCapacity = 64;
  static_assert(kCapacity * SMELT_QUEUE_SLOT >= sizeof(Message) + sizeof(Configuration));
  shared_ = std::make_unique<Shared>(replicas, options);
  std::vector<std::vector<smelt_queue*>> ends(replicas, std::vector<smelt_queue*>(replicas));
  for (unsigned a = 0; a < replicas; ++a) {
    for (unsigned b = a + 1; b < replicas; ++b) {
      smelt_queue* pair[2];
      if (smelt_queue_create("ump", kCapacity, 2, -1, pair) != 0) throw std::runtime_error("no memory for queues");
      shared_->queues.insert(shared_->queues.end(), {pair[0], pair[1]});
      ends[a][b] = pair[0];
      ends[b][a] = pair[1];
    }
  }
  for (unsigned r = 0; r < replicas; ++r)
    replicas_.push_back(std::make_unique<Replica>(std::make_unique<Replica::Protocol>(
        r, replicas, options, shared_->trees, std::move(ends[r]), shared_->bells.get())));
}

Replicas::~Replicas() = default;

unsigned Replicas::size() const { return static_cast<unsigned>(replicas_.size()); }
Replica& Replicas::operator[](unsigned i) { return *replicas_[i]; }

}  // namespace onepaxos
