// A client: asks the nearest replica, and the next where that does not answer. For one thread at a time.
#ifndef KVSTORE_CLIENT_H
#define KVSTORE_CLIENT_H

#include <chrono>
#include <cstdint>
#include <vector>

#include "kvstore/members.h"
#include "kvstore/message.h"
#include "kvstore/server.h"

namespace kvstore {

enum class Reply { kYes, kAbsent, kNone };  // kNone: nobody has answered; a set may have happened, or happen yet

class Client {
 public:
  using Clock = std::chrono::steady_clock;

  struct Links {
    const Members& members;
    std::vector<Queue> replicas;        // its end of the queue to each
    std::vector<unsigned> order;        // of the replicas, the nearest first
    std::chrono::nanoseconds patience;  // a replica that has not answered for so long is left
    std::chrono::nanoseconds limit;     // of an operation: then it is kNone
  };
  explicit Client(Links links) : links_(std::move(links)) {}

  // The value is written to *value.
  Reply get(uint64_t key, std::vector<uint8_t>* value);
  Reply set(uint64_t key, Bytes value);  // kYes, kNone

  unsigned replica() const { return links_.order[at_]; }  // which it asks
  uint64_t moves() const { return moves_; }

 private:
  // Sends message_ and receives the answer to `number` into it.
  bool ask(uint64_t number);
  bool ask_here(uint64_t number, Clock::time_point until);

  Links links_;
  size_t at_ = 0;  // in the order
  uint64_t number_ = 0, sequence_ = 1, moves_ = 0;
  std::vector<uint8_t> message_, answer_;
};

}  // namespace kvstore

#endif
