#include "cli/report_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "cli/class_figures.h"
#include "cli/command.h"
#include "cli/comparison.h"
#include "cli/doctor.h"
#include "cli/hops.h"
#include "cli/methods.h"
#include "cli/picture_request.h"
#include "cli/progress_line.h"
#include "cli/rails.h"
#include "cli/thresholds.h"
#include "draw/charts.h"
#include "draw/plot.h"
#include "model/distance.h"
#include "report/html.h"

namespace smelt {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostCells = 256;  // CPUs: above, a page's script does not know each cell of a heat map
constexpr size_t kShownPatterns = 12;

// One number per CPU; empty where the file does not tell.
std::vector<uint16_t> numbers(const uint16_t* ids, size_t n) {
  return ids ? std::vector<uint16_t>(ids, ids + n) : std::vector<uint16_t>();
}

size_t distinct(const std::vector<uint16_t>& all) {
  return all.empty() ? 1 : std::set<uint16_t>(all.begin(), all.end()).size();
}

// Of the machine's participants, those that take part: its indices, in their order.
std::vector<uint32_t> members(const ReportSubject& subject) {
  std::vector<uint32_t> out;
  for (const uint32_t cpu : subject.cpus) {
    const auto& all = subject.machine.cpus;
    out.push_back(static_cast<uint32_t>(std::find(all.begin(), all.end(), cpu) - all.begin()));
  }
  return out;
}

Location place(const MachineFile& machine, uint32_t i) {
  const Costs& costs = machine.overlap;
  return {machine.core[i], costs.llc ? costs.llc[i] : uint16_t{0}, costs.node ? costs.node[i] : uint16_t{0},
          machine.package[i]};
}

PictureRequest request_of(const ReportSubject& subject, Operation op) {
  PictureRequest request;
  request.op = op;
  request.cpus = subject.cpus;
  request.effort.limits.stop = subject.stop;
  return request;
}

std::string words_of_kind(const std::string& kind) {
  return kind == "measured" ? "The costs were measured on this machine."
         : kind == "classes"
             ? "The costs are what others published about this kind of machine, one figure for each class "
               "of distance; nobody calibrated it."
         : kind == "guessed" ? "Nothing was measured: the costs are typical ones for the machine's shape. 'smelt "
                               "calibrate' on the idle machine replaces them."
                             : "The costs are those of a matrix file.";
}

}  // namespace

std::vector<std::string> cost_origins(const ReportSubject& subject) {
  const MachineFile& machine = subject.machine;
  std::vector<std::string> out(kDistances);
  const std::vector<HopClass> classes = summarise_hops(machine.overlap, machine.package, machine.core);
  for (const HopClass& hops : classes) {
    const auto distance = static_cast<uint32_t>(hops.distance);
    const std::string name = distance_name(hops.distance);
    std::string& origin = out[distance];
    for (const std::string& source : machine.sources)
      if (source.starts_with(name + ", ")) origin = "published, " + source.substr(name.size() + 2);
    for (const ClassFigures& figures : machine.classes)
      if (figures.distance == distance) {
        if (!origin.empty()) origin += "; ";
        origin +=
            fmt::format("measured, {} pair{}, {} sample{}, spread {}", figures.pairs, figures.pairs == 1 ? "" : "s",
                        figures.samples, figures.samples == 1 ? "" : "s", percent(figures.spread));
        if (figures.marks) origin += ", " + marks_text(figures.marks);
      }
    if (origin.empty()) origin = machine.origin;
    origin = one_line(origin);
  }
  return out;
}

std::string script_data(const ReportSubject& subject) {
  Json cpus = Json::array(), places = Json::array(), distances = Json::array();
  for (const uint32_t i : members(subject)) {
    const Location at = place(subject.machine, i);
    cpus.push_back(subject.machine.cpus[i]);
    places.push_back({at.core, at.llc, at.node, at.package});
  }
  for (uint32_t d = 0; d < kDistances; ++d) distances.push_back(distance_name(static_cast<Distance>(d)));
  const Json data = {{"unit", cost_unit_name(subject.machine.unit)},
                     {"cpus", cpus},
                     {"places", places},
                     {"distances", distances},
                     {"origins", cost_origins(subject)},
                     {"heat", subject.heat}};
  return data.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string overview_section(const ReportSubject& subject) {
  const MachineFile& machine = subject.machine;
  const size_t n = machine.cpus.size();
  const auto count = [](size_t many, const char* one, const char* more) {
    return html::Tile{std::to_string(many), many == 1 ? one : more};
  };
  std::vector<html::Tile> all = {
      count(n, "CPU", "CPUs"), count(distinct(machine.core), "core", "cores"),
      count(distinct(numbers(machine.overlap.llc, n)), "last-level cache", "last-level caches"),
      count(distinct(numbers(machine.overlap.node, n)), "NUMA node", "NUMA nodes"),
      count(distinct(machine.package), "package", "packages")};
  const std::vector<HopClass> hops = summarise_hops(machine.overlap, machine.package, machine.core);
  if (!hops.empty()) {
    const char* unit = cost_unit_name(machine.unit);
    all.push_back({fmt::format("{} {}", cost_text(hops.front().median), unit),
                   fmt::format("a hop, {}", distance_name(hops.front().distance))});
    if (hops.size() > 1)
      all.push_back({fmt::format("{} {}", cost_text(hops.back().median), unit),
                     fmt::format("a hop, {}", distance_name(hops.back().distance))});
  }
  std::string out = html::tiles(all) + html::paragraph(words_of_kind(machine.kind));
  if (subject.cpus.size() < n)
    out += html::paragraph(fmt::format("This process may use {} of the CPUs: {}. What follows is about these.",
                                       subject.cpus.size(), cpu_ranges(subject.cpus)));
  out += html::note("Origin of the costs: " + one_line(machine.origin) + ".");
  if (!machine.note.empty()) out += html::paragraph(one_line(machine.note));
  return out;
}

std::string topology_section(const ReportSubject& subject) {
  const MachineFile& machine = subject.machine;
  const size_t n = machine.cpus.size();
  html::Boxes all{machine.cpus, machine.package, numbers(machine.overlap.node, n), numbers(machine.overlap.llc, n),
                  machine.core};
  return html::paragraph(
             "Packages, NUMA nodes, last-level caches and cores, as far as they differ; the numbers are the "
             "kernel's CPUs.") +
         html::boxes(all);
}

std::string costs_section(ReportSubject& subject) {
  const MachineFile& machine = subject.machine;
  const std::vector<std::string> origins = cost_origins(subject);
  std::string out = html::paragraph(
      "A message costs its sender the time to store a line, and its receiver the rest until it has seen the line; a "
      "hop is from the store until a receiver that polls has it.");
  html::Table table(fmt::format("Costs by distance: one hop, {}", cost_unit_name(machine.unit)),
                    {{"Distance"}, {"Pairs", true}, {"Least", true}, {"Median", true}, {"Most", true}, {"Origin"}},
                    true);
  for (const HopClass& hops : summarise_hops(machine.overlap, machine.package, machine.core))
    table.row({distance_name(hops.distance), std::to_string(hops.pairs), cost_text(hops.min), cost_text(hops.median),
               cost_text(hops.max), origins[static_cast<uint32_t>(hops.distance)]});
  out += table.empty() ? html::paragraph("One CPU alone sends no messages.") : table.html();
  if (machine.cpus.size() < 2 || subject.cpus.size() < 2) return out;

  const Picture costs = picture_costs(machine, request_of(subject, Operation::kBarrier));
  const struct {
    CostKind kind;
    const char *id, *name;
  } maps[] = {{CostKind::kHop, "heat-hop", "hop"},
              {CostKind::kSend, "heat-send", "send"},
              {CostKind::kReceive, "heat-receive", "receive"}};
  std::string parts;
  for (const auto& map : maps) {
    (map.kind == CostKind::kHop ? out : parts) += html::figure(matrix_drawing(costs, {map.kind}), map.id);
    if (costs.cpu.size() > kMostCells) continue;
    const HeatMap cells = lay_out_heat_map(costs, map.kind);
    std::map<std::string, size_t> number;
    std::vector<std::string> values;
    std::vector<size_t> indices;
    for (const float cost : cells.cells) {
      const auto [at, is_new] = number.emplace(cost_text(cost), values.size());
      if (is_new) values.push_back(at->first);
      indices.push_back(at->second);
    }
    subject.heat[map.id] = {{"name", map.name}, {"order", cells.rows.order}, {"values", values}, {"cells", indices}};
  }
  return out + html::folded("Send and receive, each", parts);
}

namespace {

std::string comparison_table(const Comparison& all, const std::string& chosen) {
  const bool barrier = all.op == Operation::kBarrier;
  std::vector<html::Table::Column> columns = {
      {"Pattern"}, {"Predicted", true}, {"To the cheapest", true}, {"Above the bound", true}};
  if (barrier) columns.push_back({"In a loop", true});
  html::Table table(
      fmt::format("Patterns for a {}, {}; the cheapest {}", operation_name(all.op), all.unit, kShownPatterns), columns);
  std::vector<ComparedPattern> rows = all.patterns;
  // The chosen one has a name of its own.
  if (all.find(chosen)) std::erase_if(rows, [](const ComparedPattern& row) { return row.name == "best"; });
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ComparedPattern& a, const ComparedPattern& b) { return a.predicted < b.predicted; });
  rows.resize(std::min(rows.size(), kShownPatterns));
  for (const ComparedPattern& row : rows) {
    std::vector<std::string> cells = {
        row.name, cost_text(row.predicted), fmt::format("{:.2f}", all.best() > 0 ? row.predicted / all.best() : 1),
        all.bound > 0 ? fmt::format("{:.1f} %", 100 * (row.predicted / all.bound - 1)) : "not known"};
    if (barrier) cells.push_back(cost_text(row.steady));
    table.row(cells, row.name == chosen ? "best" : "");
  }
  return table.html();
}

}  // namespace

std::string patterns_section(const ReportSubject& subject) {
  const MachineFile& machine = subject.machine;
  if (subject.cpus.size() < 2) return "";
  std::string out = html::paragraph(
      "What is cheapest under these costs, how it goes, and what the others would take. All figures here are the "
      "model's.");
  for (const Operation op : {Operation::kBarrier, Operation::kBroadcast, Operation::kReduce}) {
    const PictureRequest request = request_of(subject, op);
    const Picture p = make_picture(machine, request);
    const std::string name = operation_name(op);
    std::string title = name;
    title[0] = static_cast<char>(title[0] - 'a' + 'A');
    const char* unit = cost_unit_name(p.costs.unit);
    out += html::element("h3", title, fmt::format("id=\"pattern-{}\"", name));
    std::vector<html::Tile> figures = {{p.pattern, "pattern"},
                                       {fmt::format("{} {}", cost_text(p.predicted), unit), "predicted"}};
    if (p.bound > 0) figures.push_back({fmt::format("{} {}", cost_text(p.bound), unit), "nothing can take less"});
    if (p.steady > 0) figures.push_back({fmt::format("{} {}", cost_text(p.steady), unit), "each, in a loop"});
    out += html::tiles(figures);
    out +=
        p.is_tree ? html::figure(tree_drawing(p), "tree-" + name) : html::figure(schedule_drawing(p), "rounds-" + name);
    out += html::figure(timeline_drawing(p), "timeline-" + name);
    const Picture costs = picture_costs(machine, request);
    const StillWorking working(fmt::format("comparing the patterns of a {}", name));
    out += comparison_table(compare_patterns(costs, op, -1, request.effort), p.pattern);
  }
  return out;
}

namespace {

// The axis names the unit, the notes what the upright lines are.
std::string plot_figure(const Plot& plot, const std::string& id) {
  Plot bare = plot;
  bare.title.clear();
  Drawing drawing = plots_drawing({bare});
  drawing.title = plot.title;
  for (const PlotPlace& place : plot.places) drawing.notes.push_back("Dashed: " + place.words);
  return html::figure(drawing, id);
}

}  // namespace

std::string thresholds_section(const ReportSubject& subject) {
  const MachineFile& machine = subject.machine;
  const Situation situation = situation_of(subject.cpus.size(), 0, machine.here);
  std::string out = html::paragraph(fmt::format(
      "At which size, time or count one way of doing something hands over to the next, for {} participants, and why.",
      situation.participants));
  if (machine.curves.empty())
    out += html::note(
        "There are no curves here: nobody measured the methods on this machine, so sizes are typical "
        "ones. 'smelt calibrate' measures them.");
  const std::vector<ThresholdRow> rows = threshold_rows(machine, situation);
  const std::vector<html::Table::Column> columns = {
      {"Threshold"}, {"Value", true}, {"Origin"}, {"What it decides, and why there"}};
  html::Table here("Thresholds that follow from this machine and its use", columns, true);
  html::Table anywhere("Thresholds that are the same on every machine, or typical", columns, true);
  size_t others = 0;
  for (const ThresholdRow& row : rows) {
    others += !row.of_machine;
    (row.of_machine ? here : anywhere)
        .row({row.setting.empty() ? row.name : fmt::format("{} ({})", row.name, row.setting), row.value, row.origin,
              fmt::format("{} – {}", row.decides, row.reason)});
  }
  if (!here.empty()) out += here.html();
  if (others > 0)
    out += html::folded(fmt::format("{} that are the same on every machine, or typical", others), anywhere.html());
  size_t nth = 0;
  for (const CurveSet& set : machine.curves)
    for (const Plot& plot : curve_plots(set)) out += plot_figure(plot, fmt::format("curves-{}", ++nth));
  return out;
}

std::string raced_section(const ReportSubject& subject) {
  const MachineFile& machine = subject.machine;
  if (machine.winners.empty()) return "";
  html::Table table("Raced on this machine, ns", {{"For"},
                                                  {"Pattern"},
                                                  {"Predicted", true},
                                                  {"Measured", true},
                                                  {"Measured / predicted", true},
                                                  {"Spread", true}});
  for (size_t w = 0; w < machine.winners.size(); ++w) {
    const Winner& won = machine.winners[w];
    table.row({fmt::format("{} on CPUs {}", kWinnerOperationNames[won.operation], cpu_ranges(machine.winner_cpus[w])),
               won.pattern, cost_text(won.predicted), cost_text(won.measured),
               won.predicted > 0 ? fmt::format("{:.2f}", won.measured / won.predicted) : "", percent(won.spread)});
  }
  return html::paragraph(
             "When the machine was calibrated, the patterns with the best predictions were timed against each other. A "
             "program gets the one that won.") +
         table.html();
}

std::string doctor_section() {
  const std::vector<Finding> findings = examine_this_machine();
  html::Table table("When this report was made", {{"Severity"}, {"What"}, {"Found"}, {"Why, and what to do"}}, true);
  for (const Finding& f : findings)
    table.row({severity_name(f.severity), f.what, one_line(f.found), f.why.empty() ? "" : f.why + " " + f.advice},
              severity_name(f.severity));
  return html::paragraph(any_warning(findings) ? "There are warnings: figures taken now would be wrong."
                                               : "Nothing here would make figures wrong.") +
         table.html();
}

std::string networks_section(const NetworkProfile& profile) {
  std::string out = html::preformatted(rails_text(profile), "Rails");
  size_t nth = 0;
  for (const Plot& plot : rails_plots(profile)) out += plot_figure(plot, fmt::format("rail-{}", ++nth));
  return out;
}

std::string commands_section(const std::string& machine) {
  const std::string of = machine == "this" ? "" : " --machine " + machine;
  const std::pair<const char*, const char*> verbs[] = {{"smelt info", "what is known of the machine"},
                                                       {"smelt draw matrix -o costs.svg", "a heat map of its own file"},
                                                       {"smelt draw timeline --op barrier", "what everybody does when"},
                                                       {"smelt compare --op barrier", "all patterns side by side"},
                                                       {"smelt info --thresholds", "thresholds and their reasons"}};
  html::Table table("The same figures, one by one", {{"Command"}, {"What it shows"}}, true);
  for (const auto& [verb, shows] : verbs) table.row({verb + of, shows});
  return table.html();
}

}  // namespace smelt
