// OSDI'16, Figures 12 and 13: 1Paxos, and a replicated key-value store over it, with the acceptor's broadcast sent one
// by one or over Smelt's tree.
//
// The model says when the leader hears of the decision (what a client waits for: two messages to the acceptor, the
// broadcast, one message back) and what keeps the busiest core. Clients that ask again as soon as they are answered
// then see the two asymptotic bounds of operational analysis (Denning and Buzen, ACM Computing Surveys 10(3), 1978):
// with c of them, R0 alone and D at the busiest core, the throughput is min(c / (R0 + Z), 1 / D), where Z is what a
// client does between two requests, and the response time is c / throughput - Z.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <sstream>

#include "bench/lab/paper/figures.h"
#include "bench/lab/paper/price.h"
#include "bench/lab/paper/programs.h"
#include "bench/lab/paper/timing.h"

namespace smelt::paper {
namespace {

struct Service {
  double alone = 0;    // R0
  double busiest = 0;  // D
};

// The model's omissions, so that nobody takes a bound for a measurement.
constexpr const char* kBounds =
    "Bounds: messages alone, no computation and no queueing before the busiest core is full.";

// The replicas among each other, and with the client behind them.
struct Priced {
  Pricing among, whole;
  const Costs& costs = whole.costs();
  const uint32_t last;

  Priced(const PaperMachine& machine, std::vector<uint16_t> members, uint16_t client)
      : among(machine.file, members),
        whole(machine.file, (members.push_back(client), members)),
        last(static_cast<uint32_t>(members.size() - 1)) {}
};

// 1Paxos: leader 0, acceptor 1, which broadcasts to all replicas.
Service one_paxos(Priced&& at, const char* pattern) {
  const Costs& costs = at.costs;
  constexpr int kLeader = 0, kAcceptor = 1;
  const double asks = costs.hop[costs.at(at.last, kLeader)] + costs.hop[costs.at(kLeader, kAcceptor)];
  const double answers = costs.hop[costs.at(kLeader, at.last)];
  const double decided = at.among.done(Work::kBroadcast, pattern, kAcceptor)[kLeader];
  // The acceptor takes a message from the leader for each that it spreads; the leader four.
  const double acceptor = costs.recv_busy[costs.at(kLeader, kAcceptor)];
  const double leader = costs.recv_busy[costs.at(at.last, kLeader)] + costs.send_busy[costs.at(kLeader, kAcceptor)] +
                        costs.recv_busy[costs.at(kAcceptor, kLeader)] + costs.send_busy[costs.at(kLeader, at.last)];
  return {asks + decided + answers,
          std::max(at.among.busiest(Work::kBroadcast, pattern, kAcceptor) + acceptor, leader)};
}

// An atomic broadcast with the same threads: the client asks the root, which tells everybody and answers.
Service atomic_broadcast(Priced&& at, const char* pattern) {
  const Costs& costs = at.costs;
  const size_t asks = costs.at(at.last, 0), answers = costs.at(0, at.last);
  return {costs.hop[asks] + at.among.done(Work::kBroadcast, pattern, 0)[0] + costs.hop[answers],
          at.among.busiest(Work::kBroadcast, pattern, 0) + costs.recv_busy[asks] + costs.send_busy[answers]};
}

double throughput(const Service& service, double clients, double between) {
  return std::min(clients / (service.alone + between), 1 / service.busiest);
}

Panel lines(const std::string& title, const char* rows_are, const char* unit, const char* what,
            std::vector<std::string> series) {
  return {.title = title,
          .rows_are = rows_are,
          .unit = unit,
          .y_title = what,
          .chart = Chart::kLines,
          .series = std::move(series)};
}

FigureRow row_at(size_t x) {
  return {.kind = Origin::kPredicted, .name = std::to_string(x), .x = static_cast<double>(x)};
}

constexpr const char* kSequential = "sequential";
constexpr const char* kSmelt = "adaptive-sorted";

// An example's figures: response time and throughput by x, sequentially [0] and over Smelt's tree [1].
struct Point {
  double us[2] = {}, per_second[2] = {};
  double hop_ns = 0;
};

// Lines of words; those of a table begin as the examples' do.
std::vector<std::vector<std::string>> words_of(const std::string& text) {
  std::vector<std::vector<std::string>> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    out.emplace_back(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
  }
  return out;
}

int column_of(const std::string& broadcast) { return broadcast == "sequential" ? 0 : broadcast == "tree" ? 1 : -1; }

double number(const std::string& word) { return std::strtod(word.c_str(), nullptr); }

void put_measured(const std::map<size_t, Point>& points, const char* rows_are, const char* what,
                  std::vector<std::string> series, const std::string& note, Figure* figure) {
  Panel response = lines("This machine, response time, measured", rows_are, "µs", "response time", series);
  Panel rate = lines("This machine, throughput, measured", rows_are, "thousands/s", what, std::move(series));
  for (const auto& [x, point] : points) {
    FigureRow row = row_at(x);
    row.kind = Origin::kMeasured;
    row.hop_ns = point.hop_ns;
    row.cells.resize(2);
    FigureRow rate_row = row;
    for (size_t k = 0; k < 2; ++k) {
      row.cells[k].value = point.us[k];
      rate_row.cells[k].value = point.per_second[k] / 1000;
    }
    response.rows.push_back(row);
    rate.rows.push_back(rate_row);
  }
  // With fewer CPUs than threads the scheduler's time slices count beside microseconds.
  response.log_y = rate.log_y = true;
  response.notes = {note};
  rate.notes = {note};
  figure->panels.insert(figure->panels.begin(), {response, rate});
}

// One of core/library/examples, run with several numbers of something. A line of `words` words tells which way it is
// of, the throughput in the word `rate` and the response time in the next.
struct Example {
  const FigureSettings& settings;
  Figure* figure;
  const std::string name;
  const size_t words, way, rate;
  const std::vector<uint32_t> cpus = cpus_of(this_machine(Occupancy::kThreads));
  const std::string program = find_in_build(settings, name);
  std::map<size_t, Point> points{};
  std::string why{};

  bool can_run() const {
    if (!program.empty() && cpus.size() >= 2) return true;
    figure->notes.push_back(cpus.size() < 2 ? kOneCpu : "Not measured: no " + name + " in this build.");
    return false;
  }
  void run(size_t x, std::vector<std::string> argv) {
    argv.insert(argv.begin(), program);
    std::string text;
    const double hop = hop_around(cpus, [&] { text = run_program(argv, &why); });
    for (const std::vector<std::string>& line : words_of(text))
      if (const int column = line.size() == words ? column_of(line[way]) : -1; column >= 0) {
        points[x].per_second[column] = number(line[rate]);
        points[x].us[column] = number(line[rate + 1]);
        points[x].hop_ns = hop;
      }
  }
  bool has_points() const {
    if (!why.empty()) figure->notes.push_back(name + ": " + why + ".");
    return !points.empty();
  }
};

// With as many replicas as there is room for, as the paper has them; at least 2 to 4.
void measure_agreement(const FigureSettings& settings, Figure* figure) {
  Example example{settings, figure, "core/library/onepaxos", 6, 1, 2};
  if (!example.can_run()) return;
  constexpr size_t kClients = 4, kLeast = 8;
  const size_t cpus = example.cpus.size();
  const bool roomy = cpus >= kLeast + kClients, quick = settings.quick;
  for (size_t replicas = roomy ? kLeast : 2; replicas <= (roomy ? std::min<size_t>(28, cpus - kClients) : 4);
       replicas += roomy ? 4 : 1)
    example.run(replicas, {"--replicas", std::to_string(replicas), "--clients", roomy ? std::to_string(kClients) : "1",
                           "--rounds", quick ? "1" : "3", quick ? "--commands" : "--seconds", quick ? "50" : "2"});
  if (!example.has_points()) return;
  put_measured(example.points, "replicas", "requests", {"1Paxos, sequential", "1Paxos, Smelt"},
               roomy ? "4 threads that ask, 8 requests of each under way; medians."
                     : "One thread that asks, 8 requests under way; more threads than CPUs, not pinned; medians.",
               figure);
}

// One replica on each NUMA node (three where there is one node only).
void measure_store(const FigureSettings& settings, Figure* figure) {
  Example example{settings, figure, "core/library/kvstore", 9, 0, 6};
  if (!example.can_run()) return;
  const bool quick = settings.quick;
  for (size_t clients = 1; clients <= std::max<size_t>(example.cpus.size(), 4); clients *= 2)
    example.run(clients,
                {"--clients", std::to_string(clients), quick ? "--operations" : "--seconds", quick ? "50" : "2"});
  if (!example.has_points()) return;
  put_measured(example.points, "clients", "sets", {"sequential", "Smelt"},
               "80 % gets; a replica on each NUMA node, three where there is one node; the response time is the median "
               "of the sets.",
               figure);
}

}  // namespace

Figure osdi_figure_12(const FigureSettings& settings) {
  Figure figure{"OSDI'16, Figure 12: 1Paxos agreement",
                fmt::format("{}, section 5.6: plot only. It says: up to 3 times the throughput and response time of "
                            "sequential sending, with 28 replicas.",
                            kOsdi),
                {},
                {}};
  // Every thread of the machine: 28 replicas and 4 that ask. Typical costs are in ns.
  const PaperMachine machine = paper_machine("A IL 4x4x2", Occupancy::kThreads, "");
  constexpr double kClients = 4;
  const std::vector<uint16_t> spread = round_robin(machine, machine.members.size());
  const std::vector<std::string> series{"1Paxos, sequential", "1Paxos, Smelt", "broadcast, sequential",
                                        "broadcast, Smelt"};
  Panel response = lines("A IL 4x4x2, response time, predicted", "replicas", "µs", "response time", series);
  Panel rate = lines("A IL 4x4x2, throughput, predicted", "replicas", "thousands/s", "requests", series);
  for (size_t replicas = 8; replicas <= 28; replicas += 4) {
    const std::vector<uint16_t> members(spread.begin(), spread.begin() + static_cast<std::ptrdiff_t>(replicas));
    FigureRow response_row = row_at(replicas), rate_row = response_row;
    for (const auto service : {one_paxos, atomic_broadcast})
      for (const char* pattern : {kSequential, kSmelt}) {
        const double per_ns = throughput(service({machine, members, spread[28]}, pattern), kClients, 0);
        response_row.cells.push_back({kClients / per_ns / 1000, 0, ""});
        rate_row.cells.push_back({per_ns * 1e6, 0, ""});
      }
    response.rows.push_back(response_row);
    rate.rows.push_back(rate_row);
  }
  const FigureRow& last = rate.rows.back();
  rate.notes.push_back(fmt::format("Smelt against sequential with 28 replicas: {:.1f} times the throughput of 1Paxos.",
                                   last.cells[1].value / last.cells[0].value));
  for (Panel* panel : {&response, &rate}) panel->notes.push_back(kBounds);
  rate.notes.push_back("Costs: " + machine.stand_in + ".");
  figure.panels = {response, rate};
  measure_agreement(settings, &figure);
  return figure;
}

Figure osdi_figure_13(const FigureSettings& settings) {
  Figure figure{"OSDI'16, Figure 13: sets of a replicated key-value store",
                fmt::format("{}, section 5.7: plot only. It says: up to 3 times the throughput and response time, "
                            "with 8 replicas, 80 % gets.",
                            kOsdi),
                {},
                {}};
  // A replica on each of the 8 NUMA nodes; the clients on the 24 threads that are left ask the nearest.
  const PaperMachine machine = paper_machine("A IL 4x4x2", Occupancy::kThreads, "");
  const std::vector<uint16_t> spread = round_robin(machine, machine.members.size());
  constexpr size_t kReplicas = 8;
  const std::vector<uint16_t> replicas(spread.begin(), spread.begin() + kReplicas);
  Pricing near(machine.file, {spread[0], spread[kReplicas]});
  // Between two sets a client does four gets, each a question and an answer of its own node's replica.
  const double gets = 4 * (near.costs().hop[1] + near.costs().hop[2]);
  const std::vector<std::string> series{"sequential", "Smelt"};
  Panel response = lines("A IL 4x4x2, response time of a set, predicted", "clients", "µs", "response time", series);
  Panel rate = lines("A IL 4x4x2, throughput of sets, predicted", "clients", "thousands/s", "sets", series);
  for (size_t clients = 2; clients <= machine.members.size() - kReplicas; clients += 2) {
    FigureRow response_row = row_at(clients), rate_row = response_row;
    for (const char* pattern : {kSequential, kSmelt}) {
      const Service service = one_paxos({machine, replicas, spread[kReplicas]}, pattern);
      const double per_ns = throughput(service, static_cast<double>(clients), gets);
      response_row.cells.push_back({(static_cast<double>(clients) / per_ns - gets) / 1000, 0, ""});
      rate_row.cells.push_back({per_ns * 1e6, 0, ""});
    }
    response.rows.push_back(response_row);
    rate.rows.push_back(rate_row);
  }
  for (Panel* panel : {&response, &rate}) panel->notes.push_back(kBounds);
  rate.notes.push_back("Costs: " + machine.stand_in + ".");
  figure.panels = {response, rate};
  measure_store(settings, &figure);
  return figure;
}

}  // namespace smelt::paper
