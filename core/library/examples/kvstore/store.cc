#include "kvstore/store.h"

#include <smelt/model.h>
#include <smelt/queue.h>

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

namespace kvstore {
namespace {

constexpr int64_t kGlanceNs = 2'000'000;  // how long a client waits before it looks around

onepaxos::Options agreement_of(const StoreOptions& options) {
  if (options.clients == 0 || options.clients > onepaxos::kMaxClients)
    throw std::invalid_argument("clients: 1 .. " + std::to_string(onepaxos::kMaxClients));
  if (options.value_bytes > kMaxValueBytes)
    throw std::invalid_argument("a value has " + std::to_string(kMaxValueBytes) + " bytes at most");
  if (!options.replica_cpus.empty() && options.replica_cpus.size() != options.replicas)
    throw std::invalid_argument("as many CPUs as replicas are needed");
  if (!options.client_cpus.empty() && options.client_cpus.size() != options.clients)
    throw std::invalid_argument("as many CPUs as clients are needed");
  onepaxos::Options agreement = options.agreement;
  agreement.clients = options.clients;
  agreement.cpus = options.replica_cpus;
  return agreement;
}

// End 0 is the client's, end 1 the replica's, which never waits.
void connect(size_t value_bytes, Queue* client, Queue* replica) {
  const size_t longest = sizeof(Request) + value_bytes;
  const unsigned slots = static_cast<unsigned>(longest / SMELT_QUEUE_SLOT + 1);
  smelt_queue* ends[2];
  const int error = smelt_queue_create("ump", 4 * slots, 2, kGlanceNs, ends);
  if (error != 0) throw std::runtime_error(std::string("smelt_queue_create: ") + std::strerror(-error));
  client->reset(ends[0]);
  replica->reset(ends[1]);
}

}  // namespace

void pin(unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

std::vector<std::vector<unsigned>> nearest(const StoreOptions& options) {
  smelt_model* model = nullptr;
  if (!options.replica_cpus.empty() && !options.client_cpus.empty()) smelt_model_load(nullptr, &model);
  std::vector<std::vector<unsigned>> orders;
  for (unsigned client = 0; client < options.clients; ++client) {
    std::vector<double> far(options.replicas, 0);
    for (unsigned replica = 0; model && replica < options.replicas; ++replica)
      if (smelt_model_cost(model, SMELT_COST_HOP, options.client_cpus[client], options.replica_cpus[replica],
                           &far[replica]) != 0)
        far[replica] = std::numeric_limits<double>::max();
    std::vector<unsigned> order(options.replicas);
    for (unsigned i = 0; i < options.replicas; ++i) order[i] = (client + i) % options.replicas;
    std::ranges::stable_sort(order, [&](unsigned a, unsigned b) { return far[a] < far[b]; });
    orders.push_back(std::move(order));
  }
  if (model) smelt_model_free(model);
  return orders;
}

Store::Store(const StoreOptions& options, const MakeServer& make)
    : options_(options), group_(options.replicas, agreement_of(options)), members_(options.replicas) {
  std::vector<std::vector<Queue>> of_replica(options.replicas), of_client(options.clients);
  for (auto& client : of_client)
    for (auto& replica : of_replica) connect(options.value_bytes, &client.emplace_back(), &replica.emplace_back());
  for (unsigned i = 0; i < options.replicas; ++i)
    servers_.push_back(make({group_[i], members_, std::move(of_replica[i]), options.replica_patience, options.keys}));
  std::vector<std::vector<unsigned>> orders = nearest(options);
  for (unsigned i = 0; i < options.clients; ++i)
    clients_.push_back(std::make_unique<Client>(Client::Links{members_, std::move(of_client[i]), std::move(orders[i]),
                                                              options.client_patience, options.client_limit}));
}

void Store::start() {
  for (unsigned i = 0; i < replicas(); ++i)
    threads_.emplace_back([this, i] {
      if (!options_.replica_cpus.empty()) pin(options_.replica_cpus[i]);
      // relaxed: nothing else is told by it, and join() orders the rest. An idle replica gives its CPU away.
      while (!over_.load(std::memory_order_relaxed) && !servers_[i]->stopped())
        if (!servers_[i]->step()) std::this_thread::yield();
    });
}

void Store::stop() {
  over_.store(true, std::memory_order_relaxed);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace kvstore
