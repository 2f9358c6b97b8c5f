#include "epcc/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace smelt::epcc {
namespace {

using Json = nlohmann::ordered_json;

struct HopSummary {
  double min = 0, median = 0, max = 0;
  std::string name;  // "near", "far", "mixed", "unknown"
};

// Of the whole campaign, by the classes of its pairs: one disturbed reading does not make a machine mixed.
HopSummary summarise_hops(const Results& results, const std::vector<KernelRow>& rows) {
  HopSummary hops;
  hops.name = "unknown";
  if (results.hop_ns.empty()) return hops;
  const auto [min, max] = std::ranges::minmax(results.hop_ns);
  hops = {min, median(results.hop_ns), max, ""};
  for (const KernelRow& row : rows) {
    const std::string name = row.distance == Distance::kMoved ? "mixed" : distance_name(row.distance);
    if (hops.name.empty())
      hops.name = name;
    else if (hops.name != name)
      hops.name = "mixed";
  }
  return hops;
}

std::vector<KernelRow> all_rows(const Results& results) {
  std::vector<KernelRow> rows;
  for (const Construct& construct : results.constructs)
    for (KernelRow& row : summarise(construct)) rows.push_back(std::move(row));
  return rows;
}

std::string method(const Request& request) {
  const std::string programs = request.original_dir.empty()
                                   ? "programs of Smelt after EPCC's method, one process a kernel"
                                   : fmt::format("the original suite's programs in {}", request.original_dir);
  const char* over = request.over == "static" ? "; loops' overheads over schedule(static)" : "";
  return fmt::format("{} interleaved pairs; {} samples of {:g} µs, delay {:g} µs; {}{}", request.pairs,
                     request.outer_repetitions, request.test_time_us, request.delay_time_us, programs, over);
}

std::string team(const Request& request) {
  std::string text = fmt::format("{} thread{}, {}, wait policy {}", request.threads, request.threads == 1 ? "" : "s",
                                 request.bind ? "bound" : "not bound", request.wait_policy);
  if (request.hogs > 0)
    text += fmt::format(", beside {} foreign busy process{}", request.hogs, request.hogs == 1 ? "" : "es");
  return text;
}

const char* third_name(const Request& request) {
  return request.plain ? "plain" : request.libgomp.empty() ? "libomp" : "libgomp";
}

// What the table comes to, of the two constructs that programs meet at. "": it does not have both.
std::string in_a_line(const std::vector<KernelRow>& rows, const HopSummary& hops) {
  const auto of = [&rows](const char* kernel) {
    const KernelRow* found = nullptr;
    // Of the distance that the CPUs had most of the time.
    for (const KernelRow& row : rows)
      if (row.kernel == kernel && (!found || row.pairs > found->pairs)) found = &row;
    return found;
  };
  const KernelRow *region = of("PARALLEL"), *barrier = of("BARRIER");
  if (!region || !barrier) return "";
  return fmt::format("here: a region {} times, a barrier {} times as fast as stock{}\n\n",
                     times_as_fast(region->stock.shown().median), times_as_fast(barrier->stock.shown().median),
                     hops.name == "unknown" ? "" : fmt::format(" (hop {:.0f} ns)", hops.median));
}

Json figures_json(const Figures& run) {
  return {{"time_us", run.time}, {"overhead_us", run.overhead}, {"noise_us", run.noise}};
}

Json ratio_json(const Ratio& ratio) { return {{"median", ratio.median}, {"min", ratio.min}, {"max", ratio.max}}; }

Json against_json(const Against& other) {
  Json json = {{"overhead_us", other.side.overhead}, {"noise_us", other.side.noise},
               {"time_us", other.side.time},         {"ratio_of", other.overhead_is_clear ? "overheads" : "times"},
               {"ratio", ratio_json(other.shown())}, {"time_ratio", ratio_json(other.time)}};
  return json;
}

}  // namespace

std::string report_text(const Request& request, const Results& results, const std::string& machine) {
  const std::vector<KernelRow> rows = all_rows(results);
  const HopSummary hops = summarise_hops(results, rows);
  const bool third = !results.libomp_says.empty();
  std::string text = in_a_line(rows, hops);
  const auto line = [&](const char* title, const std::string& what) {
    if (!what.empty()) text += fmt::format("{:<9}{}\n", title, what);
  };
  line("Machine", machine);
  line("Team", team(request));
  if (request.runtime != "libgomp") line("Runtime", fmt::format("{}, programs built by clang", request.runtime));
  line("Settings", fmt::format("{}", fmt::join(results.settings, " ")));
  line("Smelt", results.smelt_says.empty() ? request.smelt_library : results.smelt_says);
  const std::string name = third_name(request);
  line("with", fmt::format("{}", fmt::join(request.smelt_env, " ")));
  if (third) line(name.c_str(), fmt::format("{}, preloaded under the same programs", results.libomp_says));
  line("Method", method(request));
  if (results.hop_ns.empty())
    line("Hop", "unknown: the process may use one CPU only");
  else
    line("Hop", fmt::format("one-way {:.0f} / {:.0f} / {:.0f} ns (min / median / max) → {}", hops.min, hops.median,
                            hops.max, hops.name));
  for (const std::string& warning : results.warnings) text += warning + "\n";

  const bool mixed = hops.name == "mixed";
  size_t widest = 9;
  bool marked = false;
  for (const KernelRow& row : rows) widest = std::max(widest, row.kernel.size());
  text += fmt::format("\n{:<{}}{} {:>9} {:>9} {:>9}  {:<13}", "construct", widest, mixed ? "  hop  " : "", "stock µs",
                      "Smelt µs", "ratio", "spread");
  text += third ? fmt::format(" {:>10} {:>9}\n", name + " µs", "ratio") : "\n";
  for (const KernelRow& row : rows) {
    const auto ratio = [&](const Against& other) {
      marked |= !other.overhead_is_clear;
      return times_as_fast(other.shown().median) + (other.overhead_is_clear ? " " : "*");
    };
    const Ratio& spread = row.stock.shown();
    text += fmt::format("{:<{}}", row.kernel, widest);
    if (mixed) text += fmt::format("  {:<5}", distance_name(row.distance));
    text += fmt::format(" {:>9} {:>9} {:>9}  {:<13}", micros(row.stock.side.overhead), micros(row.smelt.overhead),
                        ratio(row.stock), times_as_fast(spread.min) + "-" + times_as_fast(spread.max));
    if (row.libomp) text += fmt::format(" {:>10} {:>9}", micros(row.libomp->side.overhead), ratio(*row.libomp));
    while (text.ends_with(' ')) text.pop_back();
    text += '\n';
  }
  text += request.hogs > 0 ? "\nµs: overhead, mean of a run, " : "\nµs: overhead, ";
  text += "median over the pairs. ratio: stock / Smelt";
  text += third ? " and " + name + " / Smelt" : "";
  text += ", median over the pairs; above 1 Smelt is faster.\nspread: least and greatest ratio of a pair.\n";
  if (marked)
    text += "*: an overhead is within its own noise; this is the ratio of the times, delay included: nearer to 1.\n";
  if (results.moved > 0)
    text += fmt::format(
        "{} pairs during which the CPUs moved between near (hop <= {:g} ns) and far were repeated or left out.\n",
        results.moved, kNearHopNs);
  return text;
}

std::string report_json(const Request& request, const Results& results, const std::string& machine) {
  const std::vector<KernelRow> rows = all_rows(results);
  const HopSummary hops = summarise_hops(results, rows);
  Json json = {{"machine", machine},
               {"threads", request.threads},
               {"bound", request.bind},
               {"runtime", request.runtime},
               {"wait_policy", request.wait_policy},
               {"hogs", request.hogs},
               {"pairs", request.pairs},
               {"settings", results.settings},
               {"smelt_library", request.smelt_library},
               {"smelt_env", request.smelt_env},
               {"smelt_active", !results.smelt_says.empty()},
               {"smelt_says", results.smelt_says},
               {third_name(request), results.libomp_says},
               {"method", method(request)},
               {"hop_ns", {{"min", hops.min}, {"median", hops.median}, {"max", hops.max}, {"class", hops.name}}},
               {"moved_pairs", results.moved},
               {"warnings", results.warnings}};
  json["rows"] = Json::array();
  for (const KernelRow& row : rows) {
    Json entry = {
        {"suite", row.suite},
        {"kernel", row.kernel},
        {"distance", distance_name(row.distance)},
        {"pairs", row.pairs},
        {"smelt", {{"overhead_us", row.smelt.overhead}, {"noise_us", row.smelt.noise}, {"time_us", row.smelt.time}}},
        {"stock", against_json(row.stock)}};
    if (row.libomp) entry[third_name(request)] = against_json(*row.libomp);
    json["rows"].push_back(std::move(entry));
  }
  json["runs"] = Json::array();
  for (const Construct& construct : results.constructs)
    for (const Pair& pair : construct.pairs) {
      Json entry = {{"suite", construct.suite},
                    {"kernel", construct.kernel},
                    {"hop_ns", pair.hop_ns},
                    {"distance", distance_name(classify(pair.hop_ns))},
                    {"stock", figures_json(pair.stock)},
                    {"smelt", figures_json(pair.smelt)}};
      if (pair.libomp) entry[third_name(request)] = figures_json(*pair.libomp);
      json["runs"].push_back(std::move(entry));
    }
  return json.dump(2) + "\n";
}

}  // namespace smelt::epcc
