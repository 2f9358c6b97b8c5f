// Histories of a key-value store: what each client asked for, when, and what it was answered; and whether all that can
// have happened one after the other. history.cc tells how that is found out.
//
// A store is linearizable if every operation seems to happen at one moment between its invocation and its response
// (Herlihy and Wing, "Linearizability: A Correctness Condition for Concurrent Objects", ACM TOPLAS 1990). Keys do not
// depend on each other, so a store is linearizable if each key by itself is (locality, theorem 1 there).
#ifndef KVSTORE_HISTORY_H
#define KVSTORE_HISTORY_H

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace kvstore {

enum class Operation : uint8_t { kGet, kSet };

// A value in a history: 64 bits that stand for its bytes (fingerprint()). A key that was never set has kAbsent.
using Value = uint64_t;
constexpr Value kAbsent = 0;
Value fingerprint(const void* data, size_t bytes);  // never kAbsent

constexpr int64_t kPending = std::numeric_limits<int64_t>::max();

struct Event {
  Operation operation;
  unsigned client;
  uint64_t key;
  Value value;        // what was set, or what the get was answered
  int64_t invoked;    // ns
  int64_t responded;  // ns; kPending: never answered. Such a set may have happened at any time since, or not at all
};

// One client's part of a history, written by that client alone: no locks. The clock is the same for all threads and
// never goes back, so A came before B if A's response has an earlier time than B's invocation.
class Recorder {
 public:
  explicit Recorder(unsigned client) : client_(client) {}
  void reserve(size_t events) { events_.reserve(events); }

  void invoke(Operation operation, uint64_t key, Value value) {
    events_.push_back({operation, client_, key, value, 0, kPending});
    events_.back().invoked = now();  // the last thing before the operation
  }
  void respond_set(int64_t at) { events_.back().responded = at; }
  void respond_get(Value value, int64_t at) {
    events_.back().value = value;
    events_.back().responded = at;
  }

  static int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  const std::vector<Event>& events() const { return events_; }

 private:
  const unsigned client_;
  std::vector<Event> events_;
};

enum class Outcome {
  kLinearizable,
  kNotLinearizable,
  kGaveUp  // more steps than `budget` allows; only where a value was set twice
};

struct Verdict {
  Outcome outcome = Outcome::kLinearizable;
  uint64_t key = 0;             // the first key, in ascending order, that is not as it should be
  std::string why;              // in words
  std::vector<Event> culprits;  // events that contradict each other, where that is known
};

// Is the history, of any number of keys and clients, linearizable? Events may come in any order. `budget`: steps of the
// search for each key that needs one.
Verdict check_history(std::vector<Event> history, uint64_t budget = 10'000'000);

// The two ways for the events of one key. check_unique: every set has another value, none kAbsent; the time of a sort.
// search: any values; exponential at worst.
bool has_unique_sets(const std::vector<Event>& events);
Verdict check_unique(const std::vector<Event>& events);
Verdict search(const std::vector<Event>& events, uint64_t budget);

}  // namespace kvstore

#endif
