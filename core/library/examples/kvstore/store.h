// The store: replicas on threads of their own, and clients, each with a queue to every replica.
//
//   Store store({.replicas = 3, .clients = 4});
//   store.start();
//   store.client(c).set(key, value);               // by thread c
//   store.stop();
#ifndef KVSTORE_STORE_H
#define KVSTORE_STORE_H

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "kvstore/client.h"
#include "kvstore/server.h"
#include "onepaxos/replica.h"

namespace kvstore {

using namespace std::chrono_literals;

struct StoreOptions {
  unsigned replicas = 3, clients = 4;
  size_t keys = 1024, value_bytes = 16;  // room in the tables at first; the longest value
  // Of the replicas' and the clients' threads; empty: not pinned, and clients take turns with the replicas.
  std::vector<unsigned> replica_cpus, client_cpus;
  onepaxos::Options agreement;                        // its clients and CPUs are set here
  std::chrono::nanoseconds replica_patience = 500ms;  // who is so long behind while answers wait is excluded
  std::chrono::nanoseconds client_patience = 1s;      // who has not answered for so long is left
  std::chrono::nanoseconds client_limit = 60s;        // an operation that takes so long is given up
};

class Store {
 public:
  using MakeServer = std::function<std::unique_ptr<Server>(Server::Links)>;

  // Throws std::runtime_error where Smelt refuses, std::invalid_argument for options that cannot be.
  explicit Store(const StoreOptions& options, const MakeServer& make = std::make_unique<Server, Server::Links>);
  ~Store() { stop(); }
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  void start();  // once
  void stop();

  unsigned replicas() const { return static_cast<unsigned>(servers_.size()); }
  unsigned clients() const { return static_cast<unsigned>(clients_.size()); }
  Client& client(unsigned i) { return *clients_[i]; }
  Members& members() { return members_; }
  // A replica may be asked before start() and after stop(); its counters are for after stop().
  onepaxos::Replica& agreement(unsigned i) { return group_[i]; }
  const Server& server(unsigned i) const { return *servers_[i]; }

 private:
  const StoreOptions options_;
  onepaxos::Replicas group_;
  Members members_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::atomic<bool> over_{false};
  std::vector<std::thread> threads_;
};

// The calling thread runs on this CPU from now on, where that is allowed.
void pin(unsigned cpu);

// Which replica is nearest to each client's CPU by this machine's profile; replicas that are equally near take turns.
std::vector<std::vector<unsigned>> nearest(const StoreOptions& options);

}  // namespace kvstore

#endif
