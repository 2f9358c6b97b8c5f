// Measurements on this machine. Every lap of every contestant comes right after a ping-pong of the same moment, and
// contestants take turns lap by lap (measure/racing.h): a virtual machine's CPUs may be near now and far in a minute.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/lab/paper/figure.h"
#include "schedule/schedule.h"

namespace smelt::paper {

struct Effort {
  uint32_t laps = 25;        // of each contestant
  uint32_t episodes = 1000;  // of a lap: calls, one after the other
};
Effort effort_of(bool quick);

struct Timed {
  double ns = 0;      // of one call: median of the laps
  double spread = 0;  // inter-quartile range of lap / ping-pong, relative
  double hop_ns = 0;  // median of the ping-pongs: one way
};
Cell cell_of(const Timed& timed);

// Closed loops of these schedules by threads on these CPUs (kernel numbers, all different, at least two).
std::vector<Timed> time_schedules(const std::vector<uint32_t>& cpus, const std::vector<Schedule>& schedules,
                                  const Effort& effort);

// lap(rounds) runs so many calls and returns ns per call. The ping-pong is between the first two CPUs.
using Lap = std::function<double(uint32_t rounds)>;
std::vector<Timed> time_laps(const std::vector<uint32_t>& cpus, const std::vector<Lap>& laps, const Effort& effort);

// A ping-pong between the first two CPUs before and after something that is measured elsewhere: their mean, one way.
double hop_around(const std::vector<uint32_t>& cpus, const std::function<void()>& measure);

// `body(thread)` by `threads` threads, spread over the CPUs in turn: `warm_up` calls, then `rounds` more, whose time
// per call at thread 0 is returned. All must need all of each other in every call, or in the call of `end`, which each
// makes once before thread 0 stops its clock.
double time_threads(const std::vector<uint32_t>& cpus, uint32_t threads, uint32_t rounds,
                    const std::function<void(uint32_t thread)>& body, const std::function<void(uint32_t thread)>& end);

}  // namespace smelt::paper
