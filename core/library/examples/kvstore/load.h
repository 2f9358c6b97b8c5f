// A load for the store: each client asks one thing after the other, gets and sets at random, and keeps how long each
// took. Where it is to be checked, each keeps its history too.
#ifndef KVSTORE_LOAD_H
#define KVSTORE_LOAD_H

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "kvstore/history.h"
#include "kvstore/store.h"

namespace kvstore {

struct Load {
  unsigned gets = 80;  // of 100 operations
  uint64_t keys = 1024;
  size_t value_bytes = 16;  // a set's; with `varied`, any length up to it
  bool varied = false;
  uint64_t operations = 0;             // of each client; 0: no limit
  std::chrono::nanoseconds time = 1s;  // 0: no limit
  bool record = false;
  uint64_t seed = 1;
};

// Times in ns, with a relative error of 1/16 at most.
class Histogram {
 public:
  void add(int64_t ns) { ++counts_[bucket(ns < 0 ? 0 : static_cast<uint64_t>(ns))], ++total_; }
  void add(const Histogram& other) {
    for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    total_ += other.total_;
  }
  uint64_t total() const { return total_; }
  // The least bound that so large a part, 0 .. 1, does not exceed; 0 of nothing.
  uint64_t quantile(double part) const;

 private:
  // Up to 15 each for itself, then 16 to each power of two.
  static size_t bucket(uint64_t ns) {
    const unsigned high = ns < 16 ? 0 : static_cast<unsigned>(std::bit_width(ns)) - 5;
    return 16 * high + (ns >> high);
  }
  std::array<uint64_t, 16 * 62> counts_{};
  uint64_t total_ = 0;
};

struct Loaded {
  Histogram gets, sets;
  uint64_t unanswered = 0;  // operations; their clients have stopped at them
  uint64_t moves = 0;       // times that a client went to another replica
  std::chrono::nanoseconds time{};
  std::vector<Event> history;
};

// The value of a client's n-th set: `bytes` that no other set has, from 8 bytes on.
void make_value(unsigned client, uint64_t n, size_t bytes, std::vector<uint8_t>* value);

// Runs all clients of a store that was started, until the last has ended.
Loaded run(Store& store, const StoreOptions& options, const Load& load);

}  // namespace kvstore

#endif
