#include "rails/verbs/rails.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "cli/methods.h"
#include "model/curves.h"
#include "profile/text/rows.h"
#include "profile/text/statistics.h"

namespace smelt {
namespace {

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

// Of a document: null where the other way never takes over.
std::string limit_text(const Document& limit) {
  return limit.is_null() ? "never" : limit == 0 ? "always" : "from " + bytes_text(limit);
}

std::string ways(const Document& limit, const char* below, const char* above) {
  if (limit.is_null()) return fmt::format("always {}", below);
  return limit == 0 ? fmt::format("always {}", above)
                    : fmt::format("{}, from {} on {}", below, bytes_text(limit), above);
}

Document limit_json(uint64_t limit) { return limit == UINT64_MAX ? Document(nullptr) : Document(limit); }

double spread_of(const NetworkRail& rail) {
  const RailCurve& eager = rail.rail.method[kRailEager];
  return median({eager.spread, eager.spread + eager.count});
}

// A way to send: its name, and its time by size as far as it was sampled.
struct SendPath {
  const char* name;
  std::function<double(uint64_t)> us;
  uint64_t longest;
};

// The times of both ways around the limit between them: its reason.
std::string reason(const SendPath& below, const SendPath& above, uint64_t limit) {
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
    return SendPath{name, [&curve](uint64_t n) { return rail_time(curve, n); }, curve.bytes[curve.count - 1]};
  };
  const SendPath eager = way("eager", kRailEager);
  const auto copied = [&](uint64_t n) { return eager.us(n) + rail_time(copy, n); };
  return {reason(eager, way("rendezvous", kRailRendezvous), limits.rendezvous),
          reason({"a copy", copied, eager.longest}, way("gathering", kRailGathered), limits.gathered),
          reason({"one packet of both", [&](uint64_t n) { return copied(2 * n); }, eager.longest / 2},
                 way("two", kRailPair), limits.apart)};
}

Document plot_curve(const RailCurve& curve, const std::string& name) {
  return {{"name", name},
          {"x", std::vector<uint64_t>(curve.bytes, curve.bytes + curve.count)},
          {"y", std::vector<double>(curve.us, curve.us + curve.count)}};
}

Document plot_of(const std::string& title) {
  return {{"title", title}, {"x", "bytes"}, {"y", "µs"}, {"curves", Document::array()}, {"places", Document::array()}};
}

Document place_of(uint64_t limit, const char* words) {
  return {{"x", limit}, {"words", fmt::format("{}: {}", bytes_text(limit), words)}};
}

}  // namespace

Document rails_plots(const NetworkProfile& profile) {
  Document plots = Document::array(), all = plot_of("All rails: what a message costs");
  for (const NetworkRail& rail : profile.rails) {
    Document plot = plot_of(fmt::format("{}, {} to {}", rail.interface, rail.local, rail.remote));
    for (uint32_t method = 0; method < kRailMethods; ++method)
      plot["curves"].push_back(plot_curve(rail.rail.method[method], kRailMethodNames[method]));
    const RailLimits limits = limits_of(rail.rail, profile.copy);
    const auto place = [&](uint64_t limit, const char* words) {
      if (limit > 0 && limit != UINT64_MAX) plot["places"].push_back(place_of(limit, words));
    };
    place(limits.gathered, "from here two pieces are gathered by the rail");
    place(limits.apart, "from here two packets leave one by one");
    place(limits.rendezvous, "from here messages are announced first");
    plots.push_back(plot);
    all["curves"].push_back(plot_curve(transfer_curve(rail.rail), rail.interface));
  }
  const IdleRails idle(profile);
  if (const uint64_t bytes = split_from(idle.now.data(), idle.count()); bytes != UINT64_MAX)
    all["places"].push_back(place_of(bytes, "from here on a message is split"));
  plots.insert(plots.begin(), all);
  return plots;
}

double rail_mbits(const NetworkRail& rail) { return 8 * rail_bandwidth(transfer_curve(rail.rail)); }

double rail_latency_us(const NetworkRail& rail) { return rail_time(transfer_curve(rail.rail), 1); }

Document rails_document(const NetworkProfile& profile) {
  Document rails = Document::array(), splits = Document::array();
  for (const NetworkRail& rail : profile.rails) {
    const RailLimits limits = limits_of(rail.rail, profile.copy);
    const Reasons reasons = reasons_of(rail.rail, profile.copy);
    rails.push_back({{"interface", rail.interface},
                     {"driver", rail.driver},
                     {"local", rail.local},
                     {"remote", rail.remote},
                     {"mtu", rail.mtu},
                     {"provider", rail.provider},
                     {"latency_us", rail_latency_us(rail)},
                     {"mbit_per_s", rail_mbits(rail)},
                     {"spread", spread_of(rail)},
                     {"rendezvous_from", limit_json(limits.rendezvous)},
                     {"gathered_from", limit_json(limits.gathered)},
                     {"apart_from", limit_json(limits.apart)},
                     {"rendezvous_reason", reasons.rendezvous},
                     {"gathered_reason", reasons.gathered},
                     {"apart_reason", reasons.apart}});
  }
  for (const Planned& one : plan(profile))
    splits.push_back({{"bytes", one.bytes},
                      {"alone_us", one.alone_us},
                      {"split_us", one.split.finish_us},
                      {"shares", std::vector<uint64_t>(one.split.bytes, one.split.bytes + profile.rails.size())}});
  return {{"node", profile.node},       {"peer", profile.peer}, {"library", profile.library},
          {"created", profile.created}, {"rails", rails},       {"splits", splits}};
}

std::string rails_text(const Document& document) {
  static constexpr int kAbout = 14;  // columns: interfaces' names are at most 15 characters, and mostly short
  const auto line = [](const std::string& about, const std::string& text) {
    return fmt::format("{:<{}} {}\n", about, kAbout, text);
  };
  std::string out =
      line("networks", fmt::format("{} to {}, sampled {} over {}", shown(document, "node"), shown(document, "peer"),
                                   date_text(document["created"]), shown(document, "library")));
  for (const Document& rail : document["rails"]) {
    const std::string driver = shown(rail, "driver"), mtu = shown(rail, "mtu");
    const double mbits = rail["mbit_per_s"], spread = rail["spread"];
    out +=
        "\n" + line(shown(rail, "interface"), fmt::format("{} to {}{}{}, {}", shown(rail, "local"),
                                                          shown(rail, "remote"), driver.empty() ? "" : ", " + driver,
                                                          mtu == "0" ? "" : ", MTU " + mtu, shown(rail, "provider")));
    out += line("  latency", fmt::format("{:.4g} µs", rail["latency_us"].get<double>()));
    out +=
        line("  bandwidth", mbits > 0 ? fmt::format("{:.4g} Mbit/s", mbits) : "not known: all samples took the same");
    out += line("  spread", shown(rail, "spread", As::kPercent) +
                                (spread > kBusySpread ? ": the nodes were busy; sample again when they are idle" : ""));
    out += line("  rendezvous", limit_text(rail["rendezvous_from"]) + ": " + shown(rail, "rendezvous_reason"));
    out += line("  two pieces", ways(rail["gathered_from"], "copied into one", "gathered by the rail") + ": " +
                                    shown(rail, "gathered_reason"));
    out += line("  two packets",
                ways(rail["apart_from"], "leave as one", "leave one by one") + ": " + shown(rail, "apart_reason"));
  }
  return out + "\nA message alone on each rail, in µs, and split so that all rails end together:\n" +
         table_text(splits_table(document));
}

Table splits_table(const Document& document) {
  Table table{"size", columns("size"), Document::array()};
  for (const Document& rail : document["rails"])
    table.columns.push_back({shown(rail, "interface"), shown(rail, "interface"), As::kTenths});
  table.columns.push_back({"split", "split_us", As::kTenths});
  table.columns.push_back({"shares", "percent"});
  for (Document row : document["splits"]) {
    row["size"] = bytes_text(row["bytes"]);
    std::vector<std::string> shares;
    for (size_t r = 0; r < row["shares"].size(); ++r) {
      row[shown(document["rails"][r], "interface")] = row["alone_us"][r];
      shares.push_back(fmt::format("{:.0f}", 100 * row["shares"][r].get<double>() / row["bytes"].get<double>()));
    }
    row["percent"] = fmt::format("{} %", fmt::join(shares, " : "));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace smelt
