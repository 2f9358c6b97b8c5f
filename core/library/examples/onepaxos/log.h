// The decided commands, in order: a ring that grows. Old ones are dropped when all replicas have them.
#ifndef SMELT_EXAMPLES_ONEPAXOS_LOG_H
#define SMELT_EXAMPLES_ONEPAXOS_LOG_H

#include <cstdint>
#include <utility>
#include <vector>

#include "replica.h"

namespace onepaxos {

class Log {
 public:
  uint64_t first() const { return first_; }    // the oldest index that is still here
  uint64_t length() const { return length_; }  // the index of the next
  const Command& operator[](uint64_t index) const { return ring_[index & (ring_.size() - 1)]; }

  void append(const Command& command) {
    if (length_ - first_ == ring_.size()) {
      std::vector<Command> larger(2 * ring_.size());
      for (uint64_t i = first_; i < length_; ++i) larger[i & (larger.size() - 1)] = (*this)[i];
      ring_ = std::move(larger);
    }
    ring_[length_++ & (ring_.size() - 1)] = command;
  }

  void drop_before(uint64_t index) {
    if (index > first_) first_ = index < length_ ? index : length_;
  }

 private:
  std::vector<Command> ring_ = std::vector<Command>(1024);  // a power of two
  uint64_t first_ = 0, length_ = 0;
};

}  // namespace onepaxos

#endif
