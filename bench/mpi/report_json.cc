#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/mpi/report.h"

namespace smelt::bench {
namespace {

using Json = nlohmann::ordered_json;

Json spread_json(const Spread& spread) { return {{"median", spread.median}, {"min", spread.min}, {"max", spread.max}}; }

Json sides_json(const Results& results) {
  Json list = Json::array();
  for (size_t i = 0; i < results.sides.size(); i++)
    list.push_back(
        {{"name", results.sides[i].name}, {"library", results.libraries[i]}, {"command", results.sides[i].shown()}});
  return list;
}

Json failures_json(const Results& results) {
  Json list = Json::array();
  for (const Failure& failure : results.failures)
    list.push_back({{"side", results.sides[failure.side].name}, {"kernel", failure.kernel}, {"why", failure.why}});
  return list;
}

Json row_json(const Results& results, const SweepRow& row) {
  Json json = {{"kernel", row.kernel},
               {"size", row.size},
               {"distance", epcc::distance_name(row.distance)},
               {"rounds", row.rounds},
               {"sides", Json::object()}};
  for (size_t i = 0; i < row.sides.size(); i++) {
    if (!row.sides[i].us) continue;
    Json side = {{"us", spread_json(*row.sides[i].us)}};
    if (row.sides[i].ratio) side["ratio"] = spread_json(*row.sides[i].ratio);
    json["sides"][results.sides[i].name] = std::move(side);
  }
  if (row.against_fastest) json["fastest_other_ratio"] = spread_json(*row.against_fastest);
  if (row.fastest >= 0) json["fastest_other"] = results.sides[static_cast<size_t>(row.fastest)].name;
  return json;
}

Json summary_json(const Summary& one) {
  return {{"kernel", one.kernel},
          {"distance", epcc::distance_name(one.distance)},
          {"geometric_mean", one.geometric_mean},
          {"sizes", one.sizes},
          {"least", one.least},
          {"least_size", one.least_size}};
}

Json cell_json(const Results& results, const Series& series, const Cell& cell) {
  Json json = {{"kernel", series.kernel},
               {"size", series.size},
               {"round", cell.round},
               {"distance", epcc::distance_name(epcc::classify(cell.hop_ns()))},
               {"sides", Json::object()}};
  for (size_t i = 0; i < cell.sides.size(); i++) {
    if (!cell.sides[i]) continue;
    const Reading& reading = *cell.sides[i];
    json["sides"][results.sides[i].name] = {
        {"us", reading.us},       {"min_us", reading.min_us},     {"max_us", reading.max_us},
        {"calls", reading.calls}, {"verified", reading.verified}, {"hop_ns", reading.hop_ns}};
  }
  return json;
}

Json hop_json(const Results& results) {
  if (results.hop_ns.empty()) return nullptr;
  const auto [min, max] = std::minmax_element(results.hop_ns.begin(), results.hop_ns.end());
  return {{"min", *min}, {"median", epcc::median(results.hop_ns)}, {"max", *max}};
}

}  // namespace

std::string report_json(const Request& request, const Results& results, const std::string& machine) {
  Json json = {{"machine", machine},
               {"ranks", request.ranks},
               {"placement", placement(request)},
               {"oversubscribed", request.oversubscribed()},
               {"skew_ns", request.skew_ns},
               {"strict", request.strict},
               {"rounds", request.rounds},
               {"method", method(request)},
               {"sides", sides_json(results)},
               {"reference", results.sides[results.reference].name},
               {"settings", results.settings},
               {"hop_ns", hop_json(results)},
               {"near_hop_ns", epcc::kNearHopNs},
               {"moved", results.moved()},
               {"warnings", results.warnings},
               {"failures", failures_json(results)}};
  const std::vector<SweepRow> rows = results.rows();
  json["rows"] = Json::array();
  for (const SweepRow& row : rows) json["rows"].push_back(row_json(results, row));
  json["summary"] = Json::array();
  for (const Summary& one : summarise(rows)) json["summary"].push_back(summary_json(one));
  json["cells"] = Json::array();
  for (const Series& series : results.series)
    for (const Cell& cell : series.cells) json["cells"].push_back(cell_json(results, series, cell));
  return json.dump(2) + "\n";
}

}  // namespace smelt::bench
