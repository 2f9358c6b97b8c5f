// One replica of the store: its table, its clients, its place among the members.
//
//   1. A set is cut into fragments, which the replicas agree on (onepaxos/replica.h), each a command.
//   2. Every replica gathers the fragments of a set as they are applied. The last one puts the value into the table, as
//      a whole, at the position of that command.
//   3. A get takes what the table has; a key that was never set has position 0.
//   4. Answers wait until their position is committed (members.h), a set's like a get's. A client has one request under
//      way, so one place for each client holds them.
//   5. Who does not come along while answers wait is excluded, and comes back by itself.
//
// A client may leave for another replica at any time, and ask the same again there: commands have sequence numbers of
// the client, so each is applied once.
#ifndef KVSTORE_SERVER_H
#define KVSTORE_SERVER_H

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "kvstore/members.h"
#include "kvstore/message.h"
#include "kvstore/table.h"

namespace kvstore {

struct FreeQueue {
  void operator()(smelt_queue* queue) const { smelt_queue_free(queue); }
};
using Queue = std::unique_ptr<smelt_queue, FreeQueue>;

// What a replica has done, for reports and tests.
struct Served {
  uint64_t gets = 0, sets = 0;  // answered
  uint64_t waited = 0;          // answers to gets that could not leave at once
  uint64_t excluded = 0;        // others that it excluded
  uint64_t returned = 0;        // times that it was excluded itself and came back
};

class Server {
 public:
  using Clock = std::chrono::steady_clock;

  // clients[c]: its end of the queue to client c.
  struct Links {
    onepaxos::Replica& agreement;
    Members& members;
    std::vector<Queue> clients;
    std::chrono::nanoseconds patience;
    size_t keys;  // room in the table at first
  };
  explicit Server(Links links);
  virtual ~Server() = default;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // By the replica's own thread: what there is to do, without waiting. True: there was something.
  bool step();

  bool stopped() const { return links_.agreement.stopped(); }
  const Served& served() const { return served_; }
  const Table& table() const { return table_; }

 protected:
  // The places where a replica may lag, or go wrong and still seem to work. Tests override them.
  virtual bool learn();          // what was agreed meanwhile is applied; true: there was something
  virtual uint64_t come_back();  // after an exclusion; how much must be applied before this replica answers again
  virtual bool may_leave(Operation operation,
                         uint64_t position);  // is the answer's position committed, and known here?
  virtual void gather(unsigned client, uint64_t first, const Fragment& fragment, uint64_t position);
  virtual void take_effect(uint64_t key, Bytes value, uint64_t position);

  unsigned id() const { return me_; }

  Table table_;

 private:
  // A set of which not all fragments have come, the same at all replicas.
  struct Gathering {
    uint64_t first = 0;  // 0: none
    uint32_t missing = 0;
    std::vector<uint8_t> value;
    std::vector<bool> have;
  };

  struct Client {
    enum class Phase : uint8_t { kIdle, kAgreeing, kReady };  // Ready: answered as soon as it may leave
    Phase phase = Phase::kIdle;
    bool waited = false;
    Request request{};
    uint64_t position = 0;        // of the answer
    uint64_t next = 0, base = 0;  // fragments: submitted below next, applied below base
    std::vector<uint8_t> value;   // to be set
    std::vector<uint8_t> answer;  // Answer and value

    Gathering gathering;
    uint64_t done_first = 0, done_position = 0;  // the last set that took effect
  };

  void apply(uint64_t index, const onepaxos::Command& command);
  bool receive(unsigned client);
  void look_up(Client& client);
  bool has_fragment(const Client& client, uint64_t fragment) const;
  bool submit(unsigned client);
  bool send(unsigned client);
  void watch();

  Links links_;
  const unsigned me_;
  std::vector<Client> clients_;
  std::vector<uint8_t> message_;  // room for the longest request
  uint64_t published_ = 0;
  uint64_t committed_ = 0;    // at least so much is
  uint64_t serves_from_ = 0;  // a replica that was excluded answers when it has applied so much
  unsigned ready_ = 0;        // answers that wait to leave
  bool returning_ = false;

  bool watching_ = false;
  struct Seen {
    uint64_t applied;
    Clock::time_point since;
  };
  std::vector<Seen> seen_;
  Served served_;
};

}  // namespace kvstore

#endif
