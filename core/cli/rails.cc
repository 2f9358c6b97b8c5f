#include "cli/rails.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <ctime>

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
  std::vector<RailCurve> curves;
  for (const NetworkRail& rail : profile.rails) curves.push_back(transfer_curve(rail.rail));
  std::vector<RailNow> now;
  for (const RailCurve& curve : curves) now.push_back({&curve, 0});
  std::vector<Planned> all;
  for (uint64_t bytes : kShownSizes) {
    Planned one{.bytes = bytes, .alone_us = {}, .split = {}};
    for (const RailCurve& curve : curves) one.alone_us.push_back(rail_time(curve, bytes));
    choose_split(now.data(), static_cast<uint32_t>(now.size()), bytes, &one.split);
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

// The two samples of each curve between which the limit lies: its reason.
std::string reason(const RailCurve& a, const char* a_name, const RailCurve& b, const char* b_name, uint64_t limit) {
  if (limit == UINT64_MAX)
    return fmt::format("{} never gains 3 % for good: at {} {:.4g} µs against {:.4g}", b_name,
                       bytes_text(b.bytes[b.count - 1]), b.us[b.count - 1], rail_time(a, b.bytes[b.count - 1]));
  if (limit == 0) return fmt::format("{} gains at every sampled size", b_name);
  return fmt::format("there {} takes {:.4g} µs, {} {:.4g}; at twice as much {:.4g} and {:.4g}", a_name,
                     rail_time(a, limit), b_name, rail_time(b, limit), rail_time(a, 2 * limit),
                     rail_time(b, 2 * limit));
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
  std::vector<const NetworkRail*> rails;
  for (const NetworkRail& rail : profile.rails) rails.push_back(&rail);
  if (const uint64_t bytes = split_from(rails, 0); bytes != UINT64_MAX)
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

uint64_t split_from(const std::vector<const NetworkRail*>& rails, double ask_us) {
  std::vector<RailCurve> curves;
  std::vector<RailNow> now;
  for (const NetworkRail* rail : rails) curves.push_back(transfer_curve(rail->rail));
  for (const RailCurve& curve : curves) now.push_back({&curve, 0});
  for (uint64_t bytes = 2; bytes <= kLongestRailSample; bytes += 1 + bytes / 64) {
    RailSplit split;
    if (choose_split(now.data(), static_cast<uint32_t>(now.size()), bytes, &split) != 0 || split.used < 2) continue;
    double alone = INFINITY;
    for (const RailCurve& curve : curves) alone = std::min(alone, rail_time(curve, bytes));
    if (split.finish_us + ask_us <= kWorthwhile * alone) return bytes;
  }
  return UINT64_MAX;
}

double rail_mbits(const NetworkRail& rail) { return 8 * rail_bandwidth(transfer_curve(rail.rail)); }

double rail_latency_us(const NetworkRail& rail) { return rail_time(transfer_curve(rail.rail), 1); }

std::string rails_text(const NetworkProfile& profile) {
  std::string out = fmt::format("networks       {} to {}, sampled {:%Y-%m-%dT%H:%M:%SZ} over {}\n", profile.node,
                                profile.peer, fmt::gmtime(static_cast<std::time_t>(profile.created)), profile.library);
  for (const NetworkRail& rail : profile.rails) {
    const RailLimits limits = limits_of(rail.rail, profile.copy);
    const auto& method = rail.rail.method;
    out += fmt::format("\n{:<14} {} to {}{}{}, {}\n", rail.interface, rail.local, rail.remote,
                       rail.driver.empty() ? "" : ", " + rail.driver, rail.mtu ? fmt::format(", MTU {}", rail.mtu) : "",
                       rail.provider);
    const double mbits = rail_mbits(rail), spread = spread_of(rail);
    out += fmt::format("  latency      {:.4g} µs\n  bandwidth    {}\n", rail_latency_us(rail),
                       mbits > 0 ? fmt::format("{:.4g} Mbit/s", mbits) : "not known: all samples took the same");
    out += fmt::format("  spread       {:.0f} %{}\n", 100 * spread,
                       spread > kBusySpread ? ": the nodes were busy; sample again when they are idle" : "");
    out += fmt::format("  rendezvous   {}: {}\n", limit_text(limits.rendezvous),
                       reason(method[kRailEager], "eager", method[kRailRendezvous], "rendezvous", limits.rendezvous));
    out += fmt::format("  two pieces   {}\n", ways(limits.gathered, "copied into one", "gathered by the rail"));
    out += fmt::format("  two packets  {}\n", ways(limits.apart, "leave as one", "leave one by one"));
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
