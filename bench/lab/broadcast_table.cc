// Whose costs stand in for those of the table's machine, and how predictions and measurements are held against each
// other. What the configurations are, and what they cost: broadcast_simulation.cc. The rest of a call's cost is taken
// from the row of two ranks with the shortest message, and what showing others the own memory costs from the shortest
// that does.
#include "bench/lab/broadcast_table.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/lab/broadcast_simulation.h"
#include "bench/lab/live.h"
#include "cli/command.h"
#include "pictures/machines/zoo.h"
#include "profile/text/error.h"
#include "profile/text/json_checks.h"
#include "profile/text/read.h"

namespace smelt {
namespace {

constexpr double kAlike = 0.03;  // measured times nearer than that count as equal
constexpr double kNear = 0.25;   // a ratio is hit within that

// Words of letters and digits, in lower case.
std::set<std::string> words_of(const std::string& text) {
  std::set<std::string> out;
  std::string word;
  for (const char c : text + " ") {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter)
      word += static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    else if (!word.empty())
      out.insert(std::exchange(word, ""));
  }
  return out;
}

// The first thread of every core, by packages; empty where there are not so many cores.
std::vector<uint16_t> cores_of(const MachineFile& machine, uint32_t sockets, uint32_t cores_per_socket) {
  std::vector<uint16_t> packages, out;
  for (const uint16_t package : machine.package)
    if (std::find(packages.begin(), packages.end(), package) == packages.end()) packages.push_back(package);
  if (packages.size() < sockets) return {};
  for (uint32_t s = 0; s < sockets; ++s) {
    std::set<uint16_t> cores;
    for (uint32_t i = 0; i < machine.package.size() && cores.size() < cores_per_socket; ++i)
      if (machine.package[i] == packages[s] && cores.insert(machine.core[i]).second)
        out.push_back(static_cast<uint16_t>(i));
    if (cores.size() < cores_per_socket) return {};
  }
  return out;
}

void find_machine(const std::string& cpu, uint32_t sockets, const JsonChecks& checks, BroadcastTable* out) {
  const std::set<std::string> wanted = words_of(cpu);
  size_t best = 0;
  for (const ZooEntry& entry : zoo()) {
    const MachineFile machine = read_machine_file(std::string("zoo:") + entry.name);
    const std::vector<uint16_t> cores = cores_of(machine, sockets, out->cores_per_socket);
    if (cores.empty() || machine.package.size() > 4 * cores.size()) continue;
    size_t alike = 1;
    for (const std::string& word : words_of(machine.name)) alike += wanted.count(word);
    if (alike <= best) continue;
    best = alike;
    out->machine = machine;
    out->core_of = cores;
  }
  if (best == 0)
    checks.fail("no machine of the zoo has {} sockets of {} cores; name one with --machine", sockets,
                out->cores_per_socket);
}

const TimedBroadcast* find_row(const BroadcastTable& table, const char* configuration, uint32_t ranks, uint64_t bytes) {
  for (const TimedBroadcast& row : table.rows)
    if (row.configuration == configuration && row.ranks == ranks && row.bytes == bytes) return &row;
  return nullptr;
}

}  // namespace

bool is_broadcast_table(const std::string& path) {
  const JsonChecks checks(path);
  const nlohmann::json root = checks.parse(read_text_file(path));
  return root.is_object() && root.contains("rows") && root.contains("cores_per_socket");
}

BroadcastTable read_broadcast_table(const std::string& path, const std::string& machine) {
  BroadcastTable out;
  const JsonChecks checks(path);
  const nlohmann::json root = checks.parse(read_text_file(path));
  out.name = one_line(checks.text(root, "name"));
  if (checks.text(root, "unit") != "us") checks.fail("\"unit\" is not \"us\"");
  const auto sockets =
      static_cast<uint32_t>(checks.whole(checks.member(root, "sockets"), "\"sockets\"", kMaxParticipants));
  out.cores_per_socket = static_cast<uint32_t>(
      checks.whole(checks.member(root, "cores_per_socket"), "\"cores_per_socket\"", kMaxParticipants));
  if (sockets < 2 || out.cores_per_socket < 2 || sockets * out.cores_per_socket > kMaxParticipants)
    checks.fail("{} sockets of {} cores: two and more of each, and at most {} in all", sockets, out.cores_per_socket,
                kMaxParticipants);
  out.ranks = sockets * out.cores_per_socket;
  if (machine.empty()) {
    find_machine(checks.text(root, "cpu"), sockets, checks, &out);
  } else {
    out.machine = read_machine_file(machine);
    out.core_of = cores_of(out.machine, sockets, out.cores_per_socket);
    if (out.core_of.empty())
      checks.fail("{} has not {} sockets of {} cores", one_line(out.machine.name), sockets, out.cores_per_socket);
  }
  out.machine_name = one_line(out.machine.name);
  const nlohmann::json& rows = checks.member(root, "rows");
  if (!rows.is_array()) checks.fail("\"rows\" is not a list");
  for (const nlohmann::json& row : rows) {
    TimedBroadcast one;
    one.configuration = one_line(checks.text(row, "configuration"));
    one.ranks = static_cast<uint32_t>(checks.whole(checks.member(row, "ranks"), "\"ranks\"", out.ranks));
    one.bytes = checks.whole(checks.member(row, "bytes"), "\"bytes\"", uint64_t{1} << 30);
    one.ns = 1000 * checks.number(row, "avg_us");
    if (one.ranks < 2 || one.bytes < 1 || one.ns <= 0)
      checks.fail("a row of \"{}\": two ranks, a byte and more than no time", one.configuration);
    BroadcastConfiguration known;
    if (parse_configuration(one.configuration, &known))
      out.rows.push_back(one);
    else if (std::find(out.unknown.begin(), out.unknown.end(), one.configuration) == out.unknown.end())
      out.unknown.push_back(one.configuration);
  }
  return out;
}

Document broadcast_table_document(const BroadcastTable& table) {
  const uint32_t socket = table.cores_per_socket;
  std::set<uint64_t> sizes;
  std::set<uint32_t> counts;
  for (const TimedBroadcast& row : table.rows) sizes.insert(row.bytes), counts.insert(row.ranks);
  std::map<uint32_t, BroadcastSimulation> of;
  for (const uint32_t ranks : counts)
    of.try_emplace(ranks, table.machine.overlap, std::span(table.core_of).first(ranks), socket);
  double call = 0, shown = 0;
  const auto predicted = [&](const TimedBroadcast& row) {
    BroadcastConfiguration configuration;
    parse_configuration(row.configuration, &configuration);
    return of.at(row.ranks).mean(configuration, row.bytes, call, shown);
  };
  const auto beside = [&](uint64_t more_than) {
    for (const uint64_t bytes : sizes)
      if (const TimedBroadcast* pair = bytes > more_than ? find_row(table, "flat", 2, bytes) : nullptr)
        return std::max(0.0, pair->ns - predicted(*pair));
    return 0.0;
  };
  call = beside(0);
  shown = beside(BroadcastConfiguration().buffered);
  Document out = {{"name", table.name}, {"machine", table.machine_name}, {"call", call},
                  {"shown", shown},     {"sizes", Document::array()},    {"not_priced", table.unknown}};
  double spearman = 0;
  size_t ordered = 0;
  for (const uint64_t bytes : sizes) {
    Document size = {{"bytes", bytes}};
    // How flat grows from so many ranks to so many.
    const auto ratio = [&](const char* name, uint32_t from, uint32_t to) {
      const TimedBroadcast *few = find_row(table, "flat", from, bytes), *many = find_row(table, "flat", to, bytes);
      if (!few || !many || from == to) return;
      const double measured = many->ns / few->ns, ours = predicted(*many) / predicted(*few);
      size[name] = {{"from", from},
                    {"to", to},
                    {"measured", measured},
                    {"predicted", ours},
                    {"times", ours / measured},
                    {"within", std::abs(ours / measured - 1) <= kNear}};
    };
    ratio("growth", 2, socket);
    ratio("step", socket, socket + 1);
    ratio("beyond", socket + 1, table.ranks);
    std::vector<double> measured, ours;
    Document rows = Document::array();
    for (const TimedBroadcast& row : table.rows) {
      if (row.bytes != bytes || row.ranks != table.ranks) continue;
      measured.push_back(row.ns), ours.push_back(predicted(row));
      rows.push_back({{"configuration", row.configuration}, {"measured", row.ns}, {"predicted", ours.back()}});
    }
    if (rows.size() >= 3) {
      size["spearman"] = agreement(ours, measured, kAlike).spearman;
      spearman += size["spearman"].get<double>(), ++ordered;
    }
    size["configurations"] = std::move(rows);
    out["sizes"].push_back(std::move(size));
  }
  if (ordered) out["spearman"] = spearman / static_cast<double>(ordered);
  for (const char* name : {"growth", "step", "beyond"}) {
    size_t hit = 0, all = 0;
    for (const Document& size : out["sizes"])
      if (size.contains(name)) ++all, hit += size[name]["within"].get<bool>();
    out["within"][name] = {{"sizes", all}, {"hit", hit}};
  }
  return out;
}

std::string broadcast_table_text(const Document& document) {
  std::string out = told(document, "{name}: broadcasts of ranks core by core, by the costs of {machine}\n");
  Document rows = Document::array();
  for (const Document& size : document["sizes"]) {
    Document row = {{"bytes", size["bytes"]}, {"spearman", size.contains("spearman") ? size["spearman"] : Document()}};
    for (const char* name : {"growth", "step", "beyond"}) {
      const bool there = size.contains(name);
      row[std::string(name)] = there ? Document(fmt::format("{:.2f} {:.2f}", size[name]["measured"].get<double>(),
                                                            size[name]["predicted"].get<double>()))
                                     : Document();
    }
    rows.push_back(std::move(row));
  }
  out += table_text({"bytes", columns("bytes|0; in a socket=growth; step; beyond; spearman|2"), std::move(rows)});
  if (document.contains("spearman")) out += told(document, "spearman, mean of the sizes: {spearman|2}\n");
  for (const auto& [name, within] : document["within"].items())
    if (within["sizes"] != 0)
      out += fmt::format("{}: within 25 % at {} of {} sizes\n", name == "growth" ? "in a socket" : name,
                         shown(within, "hit"), shown(within, "sizes"));
  out += fmt::format(
      "Each: measured, predicted. in a socket: flat on all its cores / on two. step: one rank more, on the other one.\n"
      "beyond: all ranks / those. spearman: of all configurations with all ranks; within 3 % counts as equal.\n"
      "A call costs {} beside what is priced (from two ranks), and {} where others read the root's own memory.\n",
      shown(document, "call", As::kTenths) + " ns", shown(document, "shown", As::kTenths) + " ns");
  if (!document["not_priced"].empty())
    out += fmt::format("not priced: {}\n", fmt::join(document["not_priced"].get<std::vector<std::string>>(), "; "));
  return out;
}

}  // namespace smelt
