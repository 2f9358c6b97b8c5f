#include "rails/verbs/open_mpi_parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "model/curves.h"
#include "profile/text/error.h"
#include "rails/verbs/rails.h"

namespace smelt {
namespace {

// The limit from which Open MPI asks first, as it comes, and the most that it is raised to: an eager message that
// nobody expects yet waits in the receiver's memory.
constexpr uint64_t kOwnEager = 64 << 10, kMostEager = 1 << 20;
// An announcement, its answer and the message: asking first is so many times the way, if the bytes cost nothing.
constexpr double kAskedWays = 3;
// A rail with less of the sum than this only adds latency to the messages it takes part in.
constexpr double kLeastShare = 0.02;
// Open MPI deals short messages to its interfaces in turn. One on which they take so many times longer must be worth
// that: carry more than all the others.
constexpr double kFar = 10;

// An eager message takes one interface, whichever comes next. One that is asked for first is dealt to all. The samples
// do not tell for certain which is there earlier: they come one after the other, and many networks (tbf, the token
// buckets of clouds) let a while's worth of bytes through at once. So the limit is never lowered: 4 KiB that were asked
// for took three times as long as stock's. It is raised as far as an eager message on any of the rails is there, as
// sampled, before one that was asked for could be if its bytes cost nothing.
Parameter eager_limit(const std::vector<const NetworkRail*>& used, const RailCurve& copy) {
  double ways_us = INFINITY;
  for (const NetworkRail* rail : used) ways_us = std::min(ways_us, kAskedWays * rail_latency_us(*rail));
  uint64_t wanted = UINT64_MAX;
  for (const NetworkRail* rail : used)
    wanted = std::min({wanted, rail_bytes_within(rail->rail.method[kRailEager], kWorthwhile * ways_us),
                       limits_of(rail->rail, copy).rendezvous});
  const uint64_t limit = std::clamp(wanted, kOwnEager, kMostEager);
  return {"btl_tcp_eager_limit", fmt::format("{}", limit),
          limit == kOwnEager
              ? "Open MPI's own: no sample tells what the networks let through at once"
              : fmt::format("up to here one rail takes less than asking first, which is three ways of {:.4g} µs",
                            ways_us / kAskedWays)};
}

}  // namespace

std::vector<Parameter> open_mpi_parameters(const NetworkProfile& profile) {
  double sum = 0;
  for (const NetworkRail& rail : profile.rails) sum += rail_mbits(rail);
  const auto carries = [&](const NetworkRail& rail) {
    return rail_mbits(rail) >= 1 && rail_mbits(rail) >= kLeastShare * sum;
  };
  const NetworkRail* quickest = nullptr;
  for (const NetworkRail& rail : profile.rails)
    if (carries(rail) && (!quickest || rail_latency_us(rail) < rail_latency_us(*quickest))) quickest = &rail;
  if (!quickest) throw UserError("no rail of the network profile carries 1 Mbit/s; sample again");

  std::vector<const NetworkRail*> used;
  std::vector<std::string> names;
  std::string left_out;
  for (const NetworkRail& rail : profile.rails) {
    if (!carries(rail)) {
      left_out +=
          fmt::format("; without {}, which carries nearly nothing ({:.3g} Mbit/s)", rail.interface, rail_mbits(rail));
    } else if (rail_latency_us(rail) > kFar * rail_latency_us(*quickest) && rail_mbits(rail) < sum / 2) {
      left_out += fmt::format("; without {}, on which short messages, dealt in turn, take {:.4g} µs", rail.interface,
                              rail_latency_us(rail));
    } else {
      used.push_back(&rail);
      names.push_back(rail.interface);
    }
  }
  std::vector<Parameter> out;
  out.push_back({"btl_tcp_if_include", fmt::format("{}", fmt::join(names, ",")), "they reach the peer" + left_out});
  sum = 0;
  for (const NetworkRail* rail : used) sum += rail_mbits(*rail);
  for (const NetworkRail* rail : used)
    out.push_back({"btl_tcp_bandwidth_" + rail->interface, fmt::format("{:.0f}", rail_mbits(*rail)),
                   fmt::format("Mbit/s of long messages, measured: {:.0f} % of all", 100 * rail_mbits(*rail) / sum)});

  out.push_back(eager_limit(used, profile.copy));
  return out;
}

}  // namespace smelt
