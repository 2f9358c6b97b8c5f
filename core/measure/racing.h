// Which of several candidates is the fastest, when every timing is noisy and the machine may change meanwhile: see
// racing.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace smelt {

struct RaceSettings {
  uint32_t samples = 8;  // laps of each candidate in the first round, >= 1
  double seconds = 0.5;  // then the race ends, with any number left; at least one lap of everybody is run
  bool halving = true;   // false: nobody is dropped, all run one round of `samples` laps
  int64_t until_ns =
      0;  // as os::now_ns() counts: then it ends after the lap that is being run, even if some had none; 0: never
};

struct Racer {
  double ns = 0;         // median of its laps
  double reference = 0;  // median of the references taken right before them
  double ratio = 0;      // median of lap / reference: the candidates are ranked by it
  double spread = 0;     // inter-quartile range of that ratio, relative to it
  uint32_t laps = 0;
  uint32_t rounds = 0;  // that it took part in
};

struct Race {
  std::vector<Racer> racers;  // in the candidates' order
  uint32_t winner = 0;        // one of those that have run a lap, if anybody has
  bool complete = true;       // false: the time was over before the last two had run their last round
};

// lap(candidate) and reference() each time something once, in ns > 0. reference() is the yardstick of the moment: a
// ping-pong. No candidate: an empty race.
Race race(uint32_t candidates, const std::function<double(uint32_t)>& lap, const std::function<double()>& reference,
          const RaceSettings& settings = {});

}  // namespace smelt
