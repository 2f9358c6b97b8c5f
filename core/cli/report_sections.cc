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
#include "cli/houses.h"
#include "cli/methods.h"
#include "cli/picture_request.h"
#include "cli/thresholds.h"
#include "draw/charts.h"
#include "draw/plot.h"
#include "model/distance.h"
#include "report/html.h"

namespace smelt {
namespace {

constexpr uint32_t kMostRows = 96;  // of a chart: 128 rows are more than a screen shows, and make pages of 1.2 MB
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

// "mst, binary, chain and 9 more": long lists are for smelt compare.
std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t kMost = 4;
  std::string out = names.front();
  for (size_t k = 1; k < std::min(names.size(), kMost); ++k) out += ", " + names[k];
  return names.size() > kMost ? fmt::format("{} and {} more", out, names.size() - kMost) : out;
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
  Document cpus = Document::array(), places = Document::array(), distances = Document::array();
  for (const uint32_t i : members(subject)) {
    const Location at = place(subject.machine, i);
    cpus.push_back(subject.machine.cpus[i]);
    places.push_back({at.core, at.llc, at.node, at.package});
  }
  for (uint32_t d = 0; d < kDistances; ++d) distances.push_back(distance_name(static_cast<Distance>(d)));
  const Document data = {{"unit", cost_unit_name(subject.machine.unit)},
                         {"cpus", cpus},
                         {"places", places},
                         {"distances", distances},
                         {"origins", cost_origins(subject)},
                         {"heat", subject.heat}};
  return data.dump(-1, ' ', true, Document::error_handler_t::replace);
}

// The conclusions from the rest of the page, in a few sentences: made when that is known.
std::string conclusion_section(const ReportSubject& subject) {
  const Document& document = subject.document;
  std::vector<std::string> sentences = {words_of_kind(subject.machine.kind)};
  const std::string unit = cost_unit_name(subject.machine.unit);
  if (const Document& hops = document["hops"]; !hops.empty()) {
    const Document &near = hops.front(), &far = hops.back();
    std::string one = fmt::format("A message takes {} {} to a CPU of the {}", shown(near, "median", As::kTenths), unit,
                                  shown(near, "distance"));
    if (hops.size() > 1)
      one += fmt::format(", and {:.1f} times as long to one of {}",
                         far["median"].get<double>() / near["median"].get<double>(),
                         shown(far, "distance").starts_with("other") ? "an" + shown(far, "distance")
                                                                     : "the " + shown(far, "distance"));
    sentences.push_back(one + ".");
  }
  if (document.contains("patterns"))
    for (const auto& [op, compared] : document["patterns"].items()) {
      std::string one = fmt::format(
          "The cheapest {} of the {} CPUs is {}: {} {}", op == operation_name(Operation::kReduce) ? "reduction" : op,
          shown(compared, "participants"), shown(compared, "chosen"), shown(compared, "best", As::kTenths), unit);
      sentences.push_back(one + ".");
    }
  if (document.contains("doctor"))
    for (const auto& [about, said] : doctor_conclusions(document["doctor"]))
      sentences.push_back(fmt::format("{}: {}.", about == "running" ? "Running programs" : "Measuring", said.first));
  std::string out = "<ul class=\"conclusion\">\n";
  for (const std::string& sentence : sentences) out += html::element("li", sentence);
  return out + "</ul>\n";
}

std::string overview_section(const ReportSubject& subject) {
  const MachineFile& machine = subject.machine;
  const size_t n = machine.cpus.size();
  const auto count = [](size_t many, const char* one, const char* more) {
    return html::Tile{std::to_string(many), many == 1 ? one : more};
  };
  const std::vector<html::Tile> all = {
      count(n, "CPU", "CPUs"), count(distinct(machine.core), "core", "cores"),
      count(distinct(numbers(machine.overlap.llc, n)), "last-level cache", "last-level caches"),
      count(distinct(numbers(machine.overlap.node, n)), "NUMA node", "NUMA nodes"),
      count(distinct(machine.package), "package", "packages")};
  std::string out = conclusion_section(subject) + html::tiles(all);
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
  const std::vector<HopClass> classes = summarise_hops(machine.overlap, machine.package, machine.core);
  Document& hops = subject.document["hops"] = hops_document(classes);
  for (size_t k = 0; k < classes.size(); ++k) hops[k]["origin"] = origins[static_cast<uint32_t>(classes[k].distance)];
  Table table = hops_table(hops, cost_unit_name(machine.unit));
  table.title = "Costs by distance: " + table.title;
  table.columns.push_back({"origin", "origin"});
  out += hops.empty() ? html::paragraph("One CPU alone sends no messages.") : table_html(table, true);
  if (machine.cpus.size() < 2 || subject.cpus.size() < 2) return out;

  Picture costs = picture_costs(machine, request_of(subject, Operation::kBarrier));
  costs.most_rows = kMostRows;
  const struct {
    CostKind kind;
    const char *id, *name;
  } maps[] = {{CostKind::kHop, "heat-hop", "hop"},
              {CostKind::kSend, "heat-send", "send"},
              {CostKind::kReceive, "heat-receive", "receive"}};
  std::string parts;
  for (const auto& map : maps) {
    (map.kind == CostKind::kHop ? out : parts) += html::figure(matrix_drawing(costs, {map.kind}), map.id);
    const HeatMap cells = lay_out_heat_map(costs, map.kind);
    if (cells.rows.folded()) continue;  // the page's script knows CPUs
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

// The cheapest rows of a comparison. Patterns that cost the same are one row: on few CPUs many are the same schedule.
Table cheapest_patterns(const Document& document, const std::string& chosen) {
  Table table = comparison_table(document);
  table.title = fmt::format("Patterns for a {}, {}; the cheapest {}", shown(document, "op"), shown(document, "unit"),
                            kShownPatterns);
  // The chosen one has a name of its own.
  const bool named =
      std::any_of(table.rows.begin(), table.rows.end(), [&](const Document& row) { return row["pattern"] == chosen; });
  Document folded = Document::array();
  std::vector<std::vector<std::string>> names;
  for (const Document& row : table.rows) {
    const auto name = row["pattern"].get<std::string>();
    if (named && name == "best") continue;
    const auto figures = [](const Document& one) {
      return shown(one, "predicted", As::kTenths) + " " + shown(one, "predicted_in_a_loop", As::kTenths);
    };
    if (folded.empty() || figures(folded.back()) != figures(row)) {
      if (folded.size() == kShownPatterns) break;
      folded.push_back(row);
      names.emplace_back();
    }
    if (name == chosen) {
      folded.back()["mark"] = "best";
      names.back().insert(names.back().begin(), name);
    } else {
      names.back().push_back(name);
    }
  }
  for (size_t k = 0; k < folded.size(); ++k) folded[k]["pattern"] = some_of(names[k]);
  table.rows = std::move(folded);
  return table;
}

}  // namespace

std::string patterns_section(ReportSubject& subject) {
  const MachineFile& machine = subject.machine;
  if (subject.cpus.size() < 2) return "";
  std::string out = html::paragraph(
      "What is cheapest under these costs, how it goes, and what the others would take. All figures here are the "
      "model's.");
  for (const Operation op : {Operation::kBarrier, Operation::kBroadcast, Operation::kReduce}) {
    const PictureRequest request = request_of(subject, op);
    Comparison comparison;
    Picture p = picture_and_comparison(machine, request, &comparison);
    p.most_rows = kMostRows;
    const std::string name = operation_name(op);
    std::string title = name;
    title[0] = static_cast<char>(title[0] - 'a' + 'A');
    const char* unit = cost_unit_name(p.costs.unit);
    out += html::element("h3", title, fmt::format("id=\"pattern-{}\"", name));
    std::vector<html::Tile> figures = {{p.pattern, "pattern"},
                                       {fmt::format("{} {}", cost_text(p.predicted), unit), "predicted"}};
    if (p.steady > 0) figures.push_back({fmt::format("{} {}", cost_text(p.steady), unit), "each, in a loop"});
    out += html::tiles(figures);
    out +=
        p.is_tree ? html::figure(tree_drawing(p), "tree-" + name) : html::figure(schedule_drawing(p), "rounds-" + name);
    out += html::figure(timeline_drawing(p), "timeline-" + name);
    Document& compared = subject.document["patterns"][name] = comparison_document(comparison);
    compared["chosen"] = p.pattern;
    out += table_html(cheapest_patterns(compared, p.pattern));
  }
  return out;
}

namespace {

// The axis names the unit, the notes what the upright lines are.
}  // namespace

std::string plot_figure(const Plot& plot, const std::string& id) {
  Plot bare = plot;
  bare.title.clear();
  Drawing drawing = plots_drawing({bare});
  drawing.title = plot.title;
  for (const PlotPlace& place : plot.places) drawing.notes.push_back("Dashed: " + place.words);
  return html::figure(drawing, id);
}

std::string thresholds_section(ReportSubject& subject) {
  const MachineFile& machine = subject.machine;
  const Document& document = subject.document["thresholds"] =
      thresholds_document(machine, situation_of(subject.cpus.size(), 0, machine.here));
  std::string out = html::paragraph(
      told(document,
           "At which size, time or count one way of doing something hands over to the next, for {participants} "
           "participants, and why."));
  if (machine.curves.empty())
    out += html::note(
        "There are no curves here: nobody measured the methods on this machine, so sizes are typical "
        "ones. 'smelt calibrate' measures them.");
  const Table others = thresholds_table(document, false);
  out += table_html(thresholds_table(document, true), true);
  if (!others.rows.empty())
    out += html::folded(fmt::format("{} that are the same on every machine, or typical", others.rows.size()),
                        table_html(others, true));
  size_t nth = 0;
  for (const CurveSet& set : machine.curves)
    for (const Plot& plot : curve_plots(set)) out += plot_figure(plot, fmt::format("curves-{}", ++nth));
  return out;
}

std::string raced_section(ReportSubject& subject) {
  const MachineFile& machine = subject.machine;
  if (machine.winners.empty()) return "";
  const Document& document = subject.document["raced"] = winners_document(machine.winners, machine.winner_cpus);
  return html::paragraph(
             "When the machine was calibrated, the patterns with the best predictions were timed against each other. A "
             "program gets the one that won.") +
         table_html(winners_table(document));
}

std::string doctor_section(ReportSubject& subject) {
  const Document& document = subject.document["doctor"] = examine_this_machine();
  std::string out;
  for (const auto& [about, said] : doctor_conclusions(document))
    out += html::paragraph(fmt::format("{}: {}.", about == "running" ? "Running programs" : "Measuring", said.first));
  return out + table_html(doctor_table(document), true);
}

std::string networks_section(ReportSubject& subject, const std::string& profile) {
  if (profile.empty() && (!subject.machine.here || find_house("smelt-network").empty())) return "";
  std::vector<std::string> words = {"info", "--rails", "--html"};
  if (!profile.empty()) words.insert(words.end(), {"--network", profile});
  std::string out = ask_house(words);
  words[2] = "--json";
  if (!out.empty()) subject.document["networks"] = Document::parse(ask_house(words));
  return out;
}

std::string commands_section(const std::string& machine) {
  const std::string of = machine == "this" ? "" : " --machine " + machine;
  const std::pair<const char*, const char*> verbs[] = {{"smelt info", "what is known of the machine"},
                                                       {"smelt draw matrix -o costs.svg", "a heat map of its own file"},
                                                       {"smelt draw timeline --op barrier", "what everybody does when"},
                                                       {"smelt compare --op barrier", "all patterns side by side"},
                                                       {"smelt info --thresholds", "thresholds and their reasons"}};
  Table table{"The same figures, one by one", columns("Command=command; What it shows=shows"), Document::array()};
  for (const auto& [verb, shows] : verbs) table.rows.push_back({{"command", verb + of}, {"shows", shows}});
  return table_html(table, true);
}

}  // namespace smelt
