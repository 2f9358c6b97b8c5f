// What a group of replicas is worth: clients in threads of their own submit commands as fast as they are answered.
#ifndef SMELT_EXAMPLES_ONEPAXOS_LOAD_H
#define SMELT_EXAMPLES_ONEPAXOS_LOAD_H

#include <cstdint>
#include <vector>

#include "replica.h"

namespace onepaxos {

struct Load {
  unsigned replicas = 3, clients = 1;
  unsigned outstanding = 8;    // commands that one client has under way, 1 .. kOutstanding
  double seconds = 1;          // how long clients submit, or ...
  uint64_t commands = 0;       // ... how many each of them, where not 0
  Options options;             // `clients` and `cpus` are taken from here
  std::vector<unsigned> cpus;  // of the replicas, then of the clients; empty: threads are not pinned
};

struct Figures {
  uint64_t commands = 0;  // answered
  double per_second = 0;
  double median_us = 0, p99_us = 0;  // from submitting to the answer
  uint64_t configurations = 0;       // that followed the first: somebody was suspected
};

// Throws std::runtime_error where a thread cannot be pinned, or replicas did not apply the same.
Figures measure(const Load& load);

}  // namespace onepaxos

#endif
