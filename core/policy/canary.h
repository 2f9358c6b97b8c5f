// Does the profile still hold? A few pairs of a team's threads, or of a group's processes, ask their lines, once, when
// they come together.
//
// A stored profile tells where CPUs were when it was measured. A virtual machine's may have been moved since, a kernel
// may limit the frequency now: then the cheapest pattern of the profile is not the cheapest here. So, before the first
// team or group is built:
//
//   master    sees where everybody runs; picks one pair per class of distance, of different participants; says go
//   a pair    plays ping-pong over two lines of the transport, batches of 8 round trips; the median, halved, is the hop
//   master    compares with the profile's hop between these two CPUs, both ways averaged, as a ping-pong cannot tell
//             them apart
//   drift     of more than 30 % either way: the costs of that class of distance are scaled by the measured ratio, for
//             the threads of this process or the processes of the group, and patterns are chosen by the scaled costs
//
// All pairs play at once, on lines of their own. Nobody waits for a pair: at the deadline the master goes on with the
// answers it has, and a late pair finds the deadline past. So a thread that lost its CPU, moved, or never came costs
// the program nothing but the verdict. A class that has no pair, or whose pair did not answer, keeps its costs.
//
// The figure is rougher than a calibration's (a tenth of the batches, cores perhaps just awake), which is why less than
// 30 % is no news.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/distance.h"
#include "policy/wait.h"
#include "profile/profile.h"

namespace smelt {

inline constexpr uint32_t kCanaryPairs = 3;    // classes of distance that are asked for, at most
inline constexpr int64_t kCanaryNs = 150'000;  // from go: nobody waits for a pair that is not in by then
inline constexpr float kCanaryDrift = 1.3f;    // larger over smaller

struct CanaryPair {
  uint16_t thread[2];  // participants
  uint32_t cpu[2];     // the kernel's numbers
  Distance distance;
  float known;  // ns: the profile's hop
  float hop;    // ns, measured; 0: no answer in time, or a thread was not where it was seen
};

struct CanaryReport {
  uint32_t count = 0;  // pairs asked
  CanaryPair pair[kCanaryPairs] = {};
  int64_t took_ns = 0;  // of the master's time
};

// One use. All zero but for its bells, so it may be a static object; or made in memory that processes share, which must
// not sleep on its bells.
class Canary {
 public:
  // The master: asks pairs of the participants, of which i was last seen on cpus[i], and is back after at most
  // kCanaryNs and the scheduler's delays. `profile` must be in nanoseconds.
  CanaryReport lead(const Profile& profile, uint32_t n, const uint32_t* cpus);

  // Every other participant, once, and after the master has seen its CPU. Waits until the master has called lead.
  void follow(uint32_t me, const WaitPolicy& policy);

  // The same for a participant that waits in its own way: play, once asked.
  bool asked() const { return poll(go_.epoch, 1); }
  void play(uint32_t me);

 private:
  struct Table {
    Line ping, pong;
    // Written once: 0 not yet; then a's result in picoseconds, or kNoAnswer.
    alignas(kLineBytes) std::atomic<uint64_t> answer{0};
    std::atomic<uint32_t> partner{0};  // b's: 0 not yet, 1 stayed on its CPU, 2 moved or late
  };
  uint64_t ask(Table& table, uint32_t cpu);
  bool reply(Table& table, uint32_t cpu);
  bool await(const Epoch& flag, uint64_t epoch);

  Line go_;  // 1: the questions are asked
  // Written by the master before `go_`.
  uint32_t count_ = 0;
  CanaryPair pair_[kCanaryPairs] = {};
  int64_t deadline_ = 0;  // ns of the monotonic clock
  Table table_[kCanaryPairs];
};

// The factors for the costs of every class of distance; 1 where nothing is to change. True when any is not 1.
bool canary_factors(const CanaryReport& report, float (&factor)[kDistances]);

// One line: each pair with its hop, the profile's, and the conclusion.
inline constexpr size_t kCanaryText = 640;  // room that suffices
void describe_canary(const CanaryReport& report, bool drifted, char* text, size_t room);

// A copy of a loaded profile with all costs of each class of distance multiplied. Winners that were timed on the
// machine as it was are left out. 0 or -ENOMEM.
int rescale_profile(const Profile& from, const float (&factor)[kDistances], Profile* out);

}  // namespace smelt
