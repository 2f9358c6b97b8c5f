#include "cli/rails.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>

#include "cli/methods.h"
#include "draw/plot.h"
#include "model/curves.h"
#include "profile/text/statistics.h"

namespace smelt {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kShownSizes[] = {64, 1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};

constexpr double kBusySpread = 0.25;  // of the median, between the quartiles

struct Planned {
  uint64_t bytes;
  std::vector<double> alone_us;  // by rail
  RailSplit split;
};

std::vector<Planned> plan(const NetworkProfile& profile) {
  const IdleRails idle(profile);
  std::vector<Planned> all;
  for (uint64_t bytes : kShownSizes) {
    Planned one{.bytes = bytes, .alone_us = {}, .split = {}};
    for (const RailCurve& curve : idle.curves) one.alone_us.push_back(rail_time(curve, bytes));
    choose_split(idle.now.data(), idle.count(), bytes, &one.split);
    all.push_back(one);
  }
  return all;
}

std::string limit_text(uint64_t limit) {
  return limit == 0 ? "always" : limit == UINT64_MAX ? "never" : fmt::format("from {}", bytes_text(limit));
}

std::string ways(uint64_t limit, const char* below, const char* above) {
  if (limit == 0) return fmt::format("always {}", above);
  return limit == UINT64_MAX ? fmt::format("always {}", below)
                             : fmt::format("{}, from {} on {}", below, bytes_text(limit), above);
}

Json limit_json(uint64_t limit) { return limit == UINT64_MAX ? Json(nullptr) : Json(limit); }

double spread_of(const NetworkRail& rail) {
  const RailCurve& eager = rail.rail.method[kRailEager];
  return median({eager.spread, eager.spread + eager.count});
}

// A way to send: its name, and its time by size as far as it was sampled.
struct Way {
  const char* name;
  std::function<double(uint64_t)> us;
  uint64_t longest;
};

// What both ways take around the limit between them: its reason.
std::string reason(const Way& below, const Way& above, uint64_t limit) {
  const uint64_t longest = std::min(below.longest, above.longest);
  if (limit == UINT64_MAX)
    return fmt::format("{} never gains 3 % for good: at {} {:.4g} µs against {:.4g}", above.name, bytes_text(longest),
                       above.us(longest), below.us(longest));
  if (limit == 0) return fmt::format("{} gains at every sampled size", above.name);
  return fmt::format("there {} takes {:.4g} µs, {} {:.4g}; at twice as much {:.4g} and {:.4g}", below.name,
                     below.us(limit), above.name, above.us(limit), below.us(2 * limit), above.us(2 * limit));
}

struct Reasons {
  std::string rendezvous, gathered, apart;
};

Reasons reasons_of(const Rail& rail, const RailCurve& copy) {
  const RailLimits limits = limits_of(rail, copy);
  const auto way = [&](const char* name, RailMethod method) {
    const RailCurve& curve = rail.method[method];
    return Way{name, [&curve](uint64_t n) { return rail_time(curve, n); }, curve.bytes[curve.count - 1]};
  };
  const Way eager = way("eager", kRailEager);
  const auto copied = [&](uint64_t n) { return eager.us(n) + rail_time(copy, n); };
  return {reason(eager, way("rendezvous", kRailRendezvous), limits.rendezvous),
          reason({"a copy", copied, eager.longest}, way("gathering", kRailGathered), limits.gathered),
          reason({"one packet of both", [&](uint64_t n) { return copied(2 * n); }, eager.longest / 2},
                 way("two", kRailPair), limits.apart)};
}

PlotCurve plot_curve(const RailCurve& curve, const std::string& name, char mark) {
  return {name, mark, {curve.bytes, curve.bytes + curve.count}, {curve.us, curve.us + curve.count}};
}

}  // namespace

std::vector<Plot> rails_plots(const NetworkProfile& profile) {
  std::vector<Plot> plots;
  Plot all{.title = "All rails: what a message costs", .x_name = "bytes", .y_name = "µs", .curves = {}, .places = {}};
  constexpr char kMarks[] = "erg2";
  for (const NetworkRail& rail : profile.rails) {
    Plot plot{.title = fmt::format("{}, {} to {}", rail.interface, rail.local, rail.remote),
              .x_name = "bytes",
              .y_name = "µs",
              .curves = {},
              .places = {}};
    for (uint32_t method = 0; method < kRailMethods; ++method)
      plot.curves.push_back(plot_curve(rail.rail.method[method], kRailMethodNames[method], kMarks[method]));
    const RailLimits limits = limits_of(rail.rail, profile.copy);
    const auto place = [&](uint64_t limit, const char* words) {
      if (limit > 0 && limit != UINT64_MAX)
        plot.places.push_back({limit, fmt::format("{}: {}", bytes_text(limit), words)});
    };
    place(limits.gathered, "from here two pieces are gathered by the rail");
    place(limits.apart, "from here two packets leave one by one");
    place(limits.rendezvous, "from here messages are announced first");
    plots.push_back(plot);
    all.curves.push_back(
        plot_curve(transfer_curve(rail.rail), rail.interface, static_cast<char>('0' + all.curves.size() % 10)));
  }
  const IdleRails idle(profile);
  if (const uint64_t bytes = split_from(idle.now.data(), idle.count()); bytes != UINT64_MAX)
    all.places.push_back({bytes, fmt::format("{}: from here on a message is split", bytes_text(bytes))});
  plots.insert(plots.begin(), all);
  return plots;
}

std::string rails_plot_text(const NetworkProfile& profile) {
  std::string out;
  for (const Plot& plot : rails_plots(profile)) out += "\n" + plot_text(plot);
  return out;
}

std::string rails_plot_svg(const NetworkProfile& profile) { return plots_svg(rails_plots(profile)); }

double rail_mbits(const NetworkRail& rail) { return 8 * rail_bandwidth(transfer_curve(rail.rail)); }

double rail_latency_us(const NetworkRail& rail) { return rail_time(transfer_curve(rail.rail), 1); }

std::string rails_text(const NetworkProfile& profile) {
  std::string out = fmt::format("networks       {} to {}, sampled {:%Y-%m-%dT%H:%M:%SZ} over {}\n", profile.node,
                                profile.peer, fmt::gmtime(static_cast<std::time_t>(profile.created)), profile.library);
  for (const NetworkRail& rail : profile.rails) {
    const RailLimits limits = limits_of(rail.rail, profile.copy);
    const Reasons reasons = reasons_of(rail.rail, profile.copy);
    out += fmt::format("\n{:<14} {} to {}{}{}, {}\n", rail.interface, rail.local, rail.remote,
                       rail.driver.empty() ? "" : ", " + rail.driver, rail.mtu ? fmt::format(", MTU {}", rail.mtu) : "",
                       rail.provider);
    const double mbits = rail_mbits(rail), spread = spread_of(rail);
    out += fmt::format("  latency      {:.4g} µs\n  bandwidth    {}\n", rail_latency_us(rail),
                       mbits > 0 ? fmt::format("{:.4g} Mbit/s", mbits) : "not known: all samples took the same");
    out += fmt::format("  spread       {:.0f} %{}\n", 100 * spread,
                       spread > kBusySpread ? ": the nodes were busy; sample again when they are idle" : "");
    out += fmt::format("  rendezvous   {}: {}\n", limit_text(limits.rendezvous), reasons.rendezvous);
    out += fmt::format("  two pieces   {}: {}\n", ways(limits.gathered, "copied into one", "gathered by the rail"),
                       reasons.gathered);
    out +=
        fmt::format("  two packets  {}: {}\n", ways(limits.apart, "leave as one", "leave one by one"), reasons.apart);
  }
  out += "\nA message alone on each rail, in µs, and split so that all rails end together:\n";
  out += fmt::format("  {:>8}", "size");
  for (const NetworkRail& rail : profile.rails) out += fmt::format(" {:>12}", rail.interface);
  out += fmt::format(" {:>12}  shares\n", "split");
  for (const Planned& one : plan(profile)) {
    out += fmt::format("  {:>8}", bytes_text(one.bytes));
    for (double us : one.alone_us) out += fmt::format(" {:>12.5g}", us);
    out += fmt::format(" {:>12.5g}  ", one.split.finish_us);
    std::vector<std::string> shares;
    for (size_t r = 0; r < profile.rails.size(); ++r)
      shares.push_back(
          fmt::format("{:.0f}", 100 * static_cast<double>(one.split.bytes[r]) / static_cast<double>(one.bytes)));
    out += fmt::format("{} %\n", fmt::join(shares, " : "));
  }
  return out;
}

std::string rails_json(const NetworkProfile& profile) {
  Json rails = Json::array(), splits = Json::array();
  for (const NetworkRail& rail : profile.rails) {
    const RailLimits limits = limits_of(rail.rail, profile.copy);
    rails.push_back({{"interface", rail.interface},
                     {"driver", rail.driver},
                     {"local", rail.local},
                     {"remote", rail.remote},
                     {"provider", rail.provider},
                     {"latency_us", rail_latency_us(rail)},
                     {"mbit_per_s", rail_mbits(rail)},
                     {"spread", spread_of(rail)},
                     {"rendezvous_from", limit_json(limits.rendezvous)},
                     {"gathered_from", limit_json(limits.gathered)},
                     {"apart_from", limit_json(limits.apart)}});
  }
  for (const Planned& one : plan(profile))
    splits.push_back({{"bytes", one.bytes},
                      {"alone_us", one.alone_us},
                      {"split_us", one.split.finish_us},
                      {"shares", std::vector<uint64_t>(one.split.bytes, one.split.bytes + profile.rails.size())}});
  const Json out = {{"node", profile.node},       {"peer", profile.peer}, {"library", profile.library},
                    {"created", profile.created}, {"rails", rails},       {"splits", splits}};
  return out.dump(2) + "\n";
}

}  // namespace smelt
