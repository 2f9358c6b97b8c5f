// The barrier between threads: executes a schedule over flags.
//
// Every participant owns the flags it signals with; a step `signal` is a store, a step `wait` polls the flags of
// others. Two participants share one line with a flag each: the line that brings the news also takes the answer back,
// which makes a tight loop cheaper than one hop per episode (measured: 0.6-0.7 of the paired one-way hop).
// A crowd (more threads than CPUs) uses a counter instead, and only the last one to come wakes the others. With fewer
// CPUs than threads the order of arrival is the scheduler's, and every message that must be passed on in a fixed order
// costs a time slice.
//
// Episodes are numbered 1, 2, 3 ... by the caller; all participants pass the same numbers in the same order, gaps are
// allowed. Memory ordering: everything any participant did before it arrived at e happens before everything any
// participant does after it left e (release stores, acquire loads, transitively along the schedule).
#pragma once

#include <cstddef>
#include <cstdint>

#include "policy/wait.h"
#include "schedule/schedule.h"

namespace smelt {

class Barrier {
 public:
  // Bytes that `create` needs: for a schedule, or for a crowd of n. `node`: that of each participant. If one is
  // not on its neighbour's, its lines begin a page, and its own first store decides where the page lies.
  static size_t bytes(const Schedule& schedule, const uint16_t* node = nullptr);
  static size_t crowd_bytes(uint32_t n);

  // Builds a barrier in zeroed `memory` aligned to kLineBytes, to a page if nodes are given. The schedule is compiled
  // in and not needed afterwards; it must be a valid barrier (validate.h). Never fails when memory has the bytes asked
  // for.
  static Barrier* create(const Schedule& schedule, const WaitPolicy& policy, void* memory,
                         const uint16_t* node = nullptr);
  static Barrier* create_crowd(uint32_t n, const WaitPolicy& policy, void* memory);

  // Arrives at `epoch` and waits for all. True when everybody has arrived. False when *stop == epoch was seen first:
  // the episode is abandoned, by all participants or by none (the caller's protocol sees to that); nothing needs
  // repair.
  bool arrive_and_wait(uint32_t me, uint64_t epoch, const std::atomic<uint64_t>* stop = nullptr) {
    if (kind_ == Kind::kPair) [[likely]] {
      post({pair_.epoch[me].epoch, pair_.bell[me].bell}, epoch, policy_.order);
      if (wait_briefly(pair_.epoch[1 - me].epoch, epoch, policy_, stop)) [[likely]]
        return true;
      return wait_long({pair_.epoch[1 - me].epoch, pair_.bell[1 - me].bell}, me, epoch, stop);
    }
    return arrive_and_wait_many(me, epoch, stop);
  }

  // A word of one participant's to all others, as the first half of a construct whose second half is the arrival at
  // `epoch`: the teller waits for nobody, and a hearer for the teller alone. Each epoch has one teller at most. Where
  // *stop == epoch is seen first, all participants turn back or none: once a hear() has said false, it is false for all
  // hearers that come later or still wait, and tell() is, too. The teller then knows what the hearers knew of *stop.
  bool tell(uint32_t me, uint64_t epoch, void* word);
  bool hear(uint32_t me, uint64_t epoch, const std::atomic<uint64_t>& stop, void** word);

  // Says where `me` runs, so that nobody on the same CPU spins on it. A participant that does so before others wait for
  // it is the first to touch its lines: their page is then on its node.
  void publish_cpu(uint32_t me);

  // Wakes all sleepers so that they look at their stop word again.
  void wake_all();

  uint32_t participants() const { return n_; }
  bool is_crowd() const { return kind_ == Kind::kCrowd; }

 private:
  enum class Kind : uint32_t { kAlone, kPair, kSchedule, kCrowd };

  struct Pair {  // both epochs in one 64-byte line
    struct {
      alignas(32) Epoch epoch;
    } epoch[2];
    struct {
      alignas(64) Bell bell;
    } bell[2];
  };
  struct Told {
    alignas(kLineBytes) Epoch epoch;
    std::atomic<uint64_t> settled;  // twice the epoch that has been decided; + 1: told, else turned back
    std::atomic<void*> word;
    alignas(64) Bell bell;
  };
  struct Action {
    StepKind kind;
    uint32_t count;
    Line** flags;  // [count]
  };
  struct Program {
    const Action* actions;
    uint32_t count;
  };

  static size_t lines_begin(const Schedule& schedule);  // in the memory, behind all else
  // create() calls these: the first lays the programs out, with lines of their own for the signal steps; the second
  // points every wait at the line that carries its message: the k-th wait of q for p is the k-th signal of p to q.
  void lay_out(const Schedule& schedule, const uint16_t* node, Action* actions);
  void connect(const Schedule& schedule, const Action* actions);

  // The burst was not enough.
  bool wait_long(Flag flag, uint32_t me, uint64_t epoch, const std::atomic<uint64_t>* stop);
  template <typename Visit>
  void visit_bells(uint32_t p, Visit visit);  // of p's lines
  bool arrive_and_wait_many(uint32_t me, uint64_t epoch, const std::atomic<uint64_t>* stop);
  bool arrive_and_wait_crowd(uint32_t me, uint64_t epoch, const std::atomic<uint64_t>* stop);
  // True: the epoch's word is told; by whichever of the two came first.
  bool settle(uint64_t epoch, bool told);
  // Where hearers sleep: of two on the teller's bell, which also says where it runs.
  Bell& bell_of_teller(uint32_t teller) { return kind_ == Kind::kPair ? pair_.bell[teller].bell : told_.bell; }

  // Read-only after creation.
  Kind kind_;
  uint32_t n_;
  WaitPolicy policy_;
  Program* programs_;  // [n]
  alignas(kLineBytes) Pair pair_;
  // Crowd: (epoch << 16) | arrivals in that epoch. An abandoned episode needs no reset: the next epoch starts afresh.
  alignas(kLineBytes) std::atomic<uint64_t> arrivals_;
  Line release_;
  Told told_;
};

}  // namespace smelt
