#include "cli/open_mpi_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/methods.h"
#include "cli/rails.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

// An eager message that nobody expects yet waits in the receiver's memory: however slow the network is to ask, longer
// ones are announced. As much as the samples ask for, from what every Open MPI sends at once to this.
constexpr uint64_t kLeastEager = 1 << 10, kMostEager = 1 << 20;
// A rail with less of the sum than this only adds latency to the messages it takes part in.
constexpr double kLeastShare = 0.02;
// Open MPI deals short messages to its interfaces in turn. One on which they take so many times longer must be worth
// that: carry more than all the others.
constexpr double kFar = 10;

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

  // Eager messages take one interface. Asking first costs a round trip.
  const uint64_t asked = limits_of(quickest->rail, profile.copy).rendezvous;
  const uint64_t split = split_from(used, 2 * rail_latency_us(*quickest));
  const uint64_t wanted = std::min(asked, split), limit = std::clamp(wanted, kLeastEager, kMostEager);
  std::string why = wanted == UINT64_MAX ? fmt::format("asking first never pays on {}", quickest->interface)
                    : split < asked
                        ? fmt::format("from {} on a message over all of them is there earlier; shorter ones take one",
                                      bytes_text(split))
                        : fmt::format("asking first pays from {} on {}", bytes_text(asked), quickest->interface);
  if (split >= asked) why += ", the rail of the least latency";
  if (limit != wanted) why += fmt::format("; kept at {}", bytes_text(limit));
  out.push_back({"btl_tcp_eager_limit", fmt::format("{}", limit), why});
  out.push_back(
      {"btl_tcp_rndv_eager_limit", fmt::format("{}", limit), "what goes with the announcement: no more than eager"});
  return out;
}

}  // namespace smelt
