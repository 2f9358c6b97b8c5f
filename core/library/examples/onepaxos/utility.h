// The utility consensus: single-decree Paxos among all replicas, once for each epoch, says what the next configuration
// is. It is slow and always safe, and 1Paxos needs it only when somebody is suspected (David et al.: PaxosUtility).
//
// Source: Lamport, "Paxos Made Simple", 2001.
//   1. A candidate takes a ballot that is higher than all it has seen, and asks all for a promise to vote for nothing
//      lower. A replica that promises tells what it has voted for.
//   2. With the promises of a majority, the candidate offers the configuration of the highest ballot that it was told
//      of, or, where there was none, its own. A replica that has promised nothing higher votes for it.
//   3. With the votes of a majority it is agreed, and the candidate tells all.
// A lost vote or a duel of candidates ends in another ballot after a random wait.
#ifndef SMELT_EXAMPLES_ONEPAXOS_UTILITY_H
#define SMELT_EXAMPLES_ONEPAXOS_UTILITY_H

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>

#include "message.h"

namespace onepaxos {

using Time = std::chrono::steady_clock::time_point;

class Utility {
 public:
  // What a replica does for its utility.
  class Host {
   public:
    virtual void tell(unsigned to, const Message& message, const Configuration* behind) = 0;
    virtual bool at(Step step) = 0;                               // true: has stopped
    virtual void agreed(const Configuration& configuration) = 0;  // calls begin()

   protected:
    ~Host() = default;
  };

  Utility(Host* host, unsigned me, unsigned replicas, std::chrono::nanoseconds patience)
      : host_(host), me_(me), replicas_(replicas), patience_(patience), random_(me + 1) {}

  void begin(uint32_t epoch);  // the instance that is open is this epoch's

  // Calls for this configuration, whose epoch is the open one. Another may be agreed in its place.
  void propose(const Configuration& configuration, Time now);
  bool proposing() const { return wanted_.has_value(); }
  void give_up() { wanted_.reset(); }  // what was offered may be agreed all the same
  void tick(Time now);                 // the next ballot, where the last has failed

  // A message of the open instance.
  void receive(unsigned from, const Message& message, const Configuration* behind, Time now);

 private:
  void start_ballot(Time now);
  void offer();
  void decide();
  bool majority(uint64_t voters) const;

  Host* host_;
  const unsigned me_, replicas_;
  const std::chrono::nanoseconds patience_;
  std::minstd_rand random_;
  uint32_t epoch_ = 1;
  // As a voter
  uint64_t promised_ = 0, voted_ballot_ = 0;
  Configuration voted_;
  // As a candidate
  enum class Phase { kIdle, kAsking, kOffering } phase_ = Phase::kIdle;
  std::optional<Configuration> wanted_;
  Configuration offered_;
  uint64_t ballot_ = 0, highest_seen_ = 0, told_ballot_ = 0, voters_ = 0;  // ballot: round * kMaxReplicas + candidate
  Time retry_at_{};
};

}  // namespace onepaxos

#endif
