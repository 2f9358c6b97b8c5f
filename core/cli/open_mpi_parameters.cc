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

}  // namespace

std::vector<Parameter> open_mpi_parameters(const NetworkProfile& profile) {
  double sum = 0;
  const NetworkRail* quickest = nullptr;
  std::vector<const NetworkRail*> used;
  std::vector<std::string> names, left_out;
  for (const NetworkRail& rail : profile.rails) sum += rail_mbits(rail);
  for (const NetworkRail& rail : profile.rails) {
    if (!(rail_mbits(rail) >= 1) || rail_mbits(rail) < kLeastShare * sum) {
      left_out.push_back(fmt::format("{} ({:.3g} Mbit/s)", rail.interface, rail_mbits(rail)));
      continue;
    }
    used.push_back(&rail);
    names.push_back(rail.interface);
    if (!quickest || rail_latency_us(rail) < rail_latency_us(*quickest)) quickest = &rail;
  }
  if (used.empty()) throw UserError("no rail of the network profile carries 1 Mbit/s; sample again");

  std::vector<Parameter> out;
  out.push_back({"btl_tcp_if_include", fmt::format("{}", fmt::join(names, ",")),
                 left_out.empty() ? "they reach the peer"
                                  : fmt::format("they reach the peer; left out, as they carry nearly nothing: {}",
                                                fmt::join(left_out, ", "))});
  for (const NetworkRail* rail : used) {
    out.push_back({"btl_tcp_bandwidth_" + rail->interface, fmt::format("{:.0f}", rail_mbits(*rail)),
                   fmt::format("Mbit/s of long messages, measured: {:.0f} % of all", 100 * rail_mbits(*rail) / sum)});
    out.push_back({"btl_tcp_latency_" + rail->interface,
                   fmt::format("{:.0f}", std::max(1.0, std::round(rail_latency_us(*rail)))),
                   "µs of the shortest message, measured"});
  }
  const uint64_t asked = limits_of(quickest->rail, profile.copy).rendezvous;
  const uint64_t limit = std::clamp(asked, kLeastEager, kMostEager);
  std::string why = asked == UINT64_MAX
                        ? fmt::format("asking first never pays on {}", quickest->interface)
                        : fmt::format("asking first pays from {} on {}", bytes_text(asked), quickest->interface);
  why += ", the rail of the least latency";
  if (limit != asked) why += fmt::format("; kept at {}", bytes_text(limit));
  out.push_back({"btl_tcp_eager_limit", fmt::format("{}", limit), why});
  out.push_back(
      {"btl_tcp_rndv_eager_limit", fmt::format("{}", limit), "what goes with the announcement: no more than eager"});
  return out;
}

}  // namespace smelt
