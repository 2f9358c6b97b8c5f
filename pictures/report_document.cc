#include "pictures/report_document.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <ctime>

#include "base/options.h"
#include "cli/class_figures.h"
#include "cli/command.h"
#include "cli/doctor.h"
#include "cli/houses.h"
#include "cli/methods.h"
#include "cli/thresholds.h"
#include "generate/registry.h"
#include "pictures/comparison.h"
#include "pictures/documents.h"
#include "pictures/picture_request.h"
#include "smelt_config.h"

namespace smelt {
namespace {

PictureRequest request_of(const ReportSubject& subject, Operation op) {
  PictureRequest request;
  request.op = op;
  request.cpus = subject.cpus;
  request.effort.limits.stop = subject.stop;
  return request;
}

// How the costs of the pairs at a distance are known.
std::string cost_origin(const MachineFile& machine, const std::string& distance) {
  std::string origin;
  for (const std::string& source : machine.sources)
    if (source.starts_with(distance + ", ")) origin = "published, " + source.substr(distance.size() + 2);
  for (const ClassFigures& figures : machine.classes)
    if (distance == distance_name(static_cast<Distance>(figures.distance))) {
      if (!origin.empty()) origin += "; ";
      origin +=
          fmt::format("measured, {} pair{}, {} sample{}, spread {:.0f} %", figures.pairs, figures.pairs == 1 ? "" : "s",
                      figures.samples, figures.samples == 1 ? "" : "s", 100 * figures.spread);
      if (figures.marks) origin += ", " + marks_text(figures.marks);
    }
  return one_line(origin.empty() ? machine.origin : origin);
}

// Every CPU of the machine, and where it sits.
Document shape_document(const MachineFile& machine) {
  const size_t n = machine.cpus.size();
  const auto numbers = [n](const uint16_t* ids) {
    return ids ? std::vector<uint16_t>(ids, ids + n) : std::vector<uint16_t>(n);
  };
  return {{"cpus", machine.cpus},
          {"cores", machine.core},
          {"caches", numbers(machine.overlap.llc)},
          {"nodes", numbers(machine.overlap.node)},
          {"packages", machine.package}};
}

// One plot per collective: the curves of its methods, and the sizes at which one hands over to the next.
Document curve_plots(const std::vector<CurveSet>& sets) {
  Document plots = Document::array();
  const Document methods = methods_document(sets);
  for (size_t s = 0; s < sets.size(); ++s)
    for (const auto& [collective, steps] : methods[s].items()) {
      if (!steps.is_array()) continue;
      const CurveSet& set = sets[s];
      Document plot = {{"title", fmt::format("{} among {} processes{}", collective, set.participants,
                                             set.sync ? ", a barrier after each call" : "")},
                       {"x", "bytes"},
                       {"y", "µs"},
                       {"curves", Document::array()},
                       {"places", Document::array()}};
      for (uint32_t method = 0; method < kCurveMethods; ++method) {
        const std::string name = kCurveMethodNames[method];
        if (!name.starts_with(collective + "_")) continue;
        Document curve = {
            {"name", name.substr(name.find('_') + 1)}, {"x", Document::array()}, {"y", Document::array()}};
        for (uint32_t size = 0; size < kCurveSizes; ++size)
          if (set.ns[method][size] > 0) {
            curve["x"].push_back(kSampledBytes[size]);
            curve["y"].push_back(set.ns[method][size] / 1e3);
          }
        if (curve["x"].size() > 1) plot["curves"].push_back(std::move(curve));
      }
      for (const Document& step : steps)
        if (const auto from = step["from_bytes"].get<uint64_t>())
          plot["places"].push_back(
              {{"x", from}, {"words", fmt::format("{} from {}", shown(step, "method"), bytes_text(from))}});
      if (!plot["curves"].empty()) plots.push_back(std::move(plot));
    }
  return plots;
}

Document patterns_document(const ReportSubject& subject, Operation op) {
  Comparison comparison;
  const Picture picture = picture_and_comparison(subject.machine, request_of(subject, op), &comparison);
  Document out = comparison_document(comparison);
  out["chosen"] = picture.pattern;
  out["predicted"] = picture.predicted;
  if (op == Operation::kBarrier) out["predicted_in_a_loop"] = picture.steady;
  out[picture.is_tree ? "tree" : "schedule"] = picture.is_tree ? picture_document(picture) : rounds_document(picture);
  out["timeline"] = timeline_document(picture);
  return out;
}

// What the names mean that a page shows.
Document help_document() {
  Document out = {{"patterns", Document::object()}, {"settings", Document::object()}};
  for (const PatternInfo& row : pattern_registry()) out["patterns"][row.name] = row.help;
  for (uint32_t i = 0; i < option_count(); ++i) {
    OptionRow row;
    option_row(i, &row);
    out["settings"][row.name] = row.help;
  }
  return out;
}

// What smelt-network says of the networks, null where none were sampled.
Document networks_document(const ReportSubject& subject) {
  if (!subject.network.empty())
    return Document::parse(ask_house({"info", "--rails", "--json", "--network", subject.network}));
  if (!subject.machine.here || find_house("smelt-network").empty()) return {};
  const std::string said = ask_house({"info", "--rails", "--json", "--if-sampled"});
  return said.empty() ? Document() : Document::parse(said);
}

Document doctor_document() {
  Document out = examine_this_machine();
  for (const auto& [about, said] : doctor_conclusions(out)) out["conclusions"][about] = said.first;
  return out;
}

}  // namespace

Document report_document(const ReportSubject& subject) {
  const MachineFile& machine = subject.machine;
  Document out = {{"machine", one_line(machine.name)},
                  {"origin", one_line(machine.origin)},
                  {"kind", machine.kind},
                  {"note", one_line(machine.note)},
                  {"unit", cost_unit_name(machine.unit)},
                  {"asked", subject.asked},
                  {"version", SMELT_VERSION},
                  {"cpus", subject.cpus},
                  {"shape", shape_document(machine)}};
  // A machine of the zoo is always the same, and so is its report.
  if (machine.here) {
    char host[256] = "";
    ::gethostname(host, sizeof host - 1);
    out["host"] = one_line(host);
    out["date"] = fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time(nullptr)));
  }
  Document& hops = out["hops"] = hops_document(machine.overlap, machine.package, machine.core);
  Document origins = Document::object();
  for (Document& row : hops) {
    const std::string distance = row["distance"];
    origins[distance] = row["origin"] = cost_origin(machine, distance);
  }
  out["distances"] = kDistanceNames;
  out["origins"] = Document::array();  // by distance; "" where no pair is at it
  for (const char* const distance : kDistanceNames) out["origins"].push_back(origins.value(distance, ""));
  if (subject.cpus.size() > 1) {
    out["costs"] = matrix_document(picture_costs(machine, request_of(subject, Operation::kBarrier)),
                                   {CostKind::kHop, CostKind::kSend, CostKind::kReceive});
    for (const Operation op : {Operation::kBarrier, Operation::kBroadcast, Operation::kReduce})
      out["patterns"][operation_name(op)] = patterns_document(subject, op);
  }
  if (!machine.winners.empty()) out["raced"] = winners_document(machine.winners, machine.winner_cpus);
  out["thresholds"] =
      thresholds_document(machine.name, profile_of(machine), situation_of(subject.cpus.size(), 0, machine.here));
  out["plots"] = curve_plots(machine.curves);
  if (Document networks = networks_document(subject); !networks.is_null()) out["networks"] = std::move(networks);
  if (machine.here) out["doctor"] = doctor_document();
  out["help"] = help_document();
  if (subject.measure) out["measured"] = measure_for_report(subject);
  return out;
}

}  // namespace smelt
