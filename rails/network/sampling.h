// Samples the networks between two nodes, a process on each.
//
// One of them listens and obeys; the other tells, measures, and keeps the profile. Every way to send is timed as a
// ping-pong: both directions alike, half of it is one way, and no clocks need agree. Each time is the lower quartile of
// many short samples: with medians, a loaded machine was seen to make a rail of 200 Mbit/s look slower than one of 80
// at some sizes, and a split that believed it was worse than none.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rails/network/control.h"
#include "rails/network/profile.h"

namespace smelt {

// The curves of an interrupted sampling, by their subject.
struct CurveStore {
  std::function<bool(const std::string& key, RailCurve*)> find = [](const std::string&, RailCurve*) { return false; };
  std::function<void(const std::string& key, const RailCurve&)> keep = [](const std::string&, const RailCurve&) {};
};

struct SamplingOptions {
  double seconds = 8;  // per rail, about; the longest sizes may be left out for it, and follow the line of the last two
  // Done and total, in sizes.
  std::function<void(uint32_t, uint32_t)> progress = [](uint32_t, uint32_t) {};
  CurveStore store = {};
};

// Throws UserError: a rail cannot be sampled, the peer is gone, silent, or of another version.
NetworkProfile sample_networks(Control& control, const SamplingOptions& options);
// A few sizes of each rail of a profile, as they are now. A rail whose interface, driver or provider is no longer the
// sampled one has is_us 0. Throws UserError as above.
struct RailCheck {
  std::string interface;
  uint64_t bytes;
  double was_us, is_us;
};
std::vector<RailCheck> check_networks(Control& control, const NetworkProfile& profile);
// Ways to send at sizes of one's own choice, for a caller that wants to know more than a profile says: the lower
// quartile of `rounds` of each, in µs. They take turns, so that a disturbance of one disturbs its neighbours. Throws
// UserError.
struct TimedWay {
  RailMethod method;
  uint64_t bytes;  // 1, gathered 2, to kLongestRailSample
};
std::vector<double> time_ways(Control& control, const NetworkRail& rail, const std::vector<TimedWay>& ways,
                              uint32_t rounds);
// Serves one sampler until it is done. Returns its profile as seen from here; nothing: it only looked. Throws
// UserError.
std::optional<NetworkProfile> serve_sampling(Control& control);

}  // namespace smelt
