// The configurations, and how they are priced.
//
//   flat, vanilla    one flag and, up to 512 B, one buffer of the root's for all; longer messages are read where the
//                    root has them
//   clwb             the same, and the root writes longer messages back to memory first
//   dual             a flag and a buffer for each socket
//   wait,CHUNK,...   flat; a rank on another socket reads a chunk (strict: each; relaxed: the first) after one of the
//                    root's socket has read it
//   opt4,CHUNK,...   dual, to 64 B; `wait`: longer messages as wait,relaxed
//
// The ranks begin when they leave a barrier of two levels, so the barrier is simulated (pattern relay:2), then the
// flags (pattern line, for each socket one line or one for all), from when each rank has left. A reader then reads the
// message, the first line as all others do (ready read and pollers), further ones overlapping as further messages do
// (receive busy). Lines of the root's that are read on both sides of the boundary cost a crossing more at first, and
// then half of the way from the near pace to the far one; where the root's side has read before, it keeps its own pace.
// The root is through when all have acknowledged. The rest of a call's cost, one number, is taken from the row
// of two ranks with the shortest message.
#include "cli/broadcast_table.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/live.h"
#include "generate/patterns.h"
#include "profile/api.h"
#include "profile/text/error.h"
#include "profile/text/json_checks.h"
#include "profile/text/read.h"
#include "schedule/build.h"
#include "schedule/predict.h"
#include "zoo/zoo.h"

namespace smelt {
namespace {

constexpr uint64_t kLine = 64;
constexpr double kAlike = 0.03;  // measured times nearer than that count as equal
constexpr double kNear = 0.25;   // a ratio is hit within that

struct Configuration {
  bool per_socket = false;    // flags, and buffers of short messages
  uint64_t buffered = 512;    // messages of up to so many bytes go through the buffer
  bool written_back = false;  // longer ones
  bool ordered = false, strict = false;
  bool ordered_if_long = false;
  uint64_t chunk = 16 << 10;
};

// False: nothing is known of it.
bool parse_configuration(const std::string& text, Configuration* out) {
  Configuration made;
  bool known = true;
  size_t part = 0;
  for (size_t at = 0; at <= text.size(); ++part) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    uint64_t kib = 0;
    const auto read = std::from_chars(word.data(), word.data() + word.size(), kib);
    if (part == 0 && (word == "flat" || word == "vanilla"))
      continue;
    else if (part == 0 && word == "clwb")
      made.written_back = true;
    else if (part == 0 && word == "dual")
      made.per_socket = true;
    else if (part == 0 && word == "wait")
      made.ordered = true;
    else if (part == 0 && word == "opt4")
      made.per_socket = true, made.buffered = kLine;
    else if (part > 0 && read.ec == std::errc{} && kib > 0 && std::string_view(read.ptr) == "K")
      made.chunk = kib << 10;
    else if (part > 0 && word == "strict")
      made.strict = true;
    else if (part > 0 && word == "wait")
      made.ordered_if_long = true;
    else if (part == 0 || (word != "relaxed" && word != "no-wait"))
      known = false;
  }
  *out = made;
  return known;
}

// The first `ranks` of a table's, on their cores.
class Simulation {
 public:
  Simulation(const BroadcastTable& table, uint32_t ranks)
      : n_(ranks), near_(std::min(ranks, table.cores_per_socket)), arena_(2 * generation_bytes(ranks)) {
    const std::span<const uint16_t> members(table.core_of.data(), ranks);
    Choice barrier;
    if (!arena_.ok() || subset_costs(table.machine.overlap, members, arena_, &costs_) != 0 ||
        build({find("relay"), kPackageLines}, Operation::kBarrier, 0, costs_, arena_, &barrier) != 0)
      throw UserError("out of memory");
    left_ = times(barrier.schedule, std::vector<double>(n_, 0));
  }

  // The mean over the ranks of their own times.
  double mean(const Configuration& configuration, uint64_t bytes, double call) {
    const bool buffered = bytes <= configuration.buffered, far = n_ > near_, shared = far && near_ > 1;
    const bool ordered = configuration.ordered || (configuration.ordered_if_long && !buffered);
    const bool crosses = shared && !(buffered && configuration.per_socket);  // the message's lines
    const uint64_t lines = (bytes + kLine - 1) / kLine, per_chunk = std::max<uint64_t>(configuration.chunk / kLine, 1);
    std::vector<double> done = left_;
    done[0] += call;
    if (configuration.written_back && !buffered) done[0] += static_cast<double>(lines) * receive(1);
    char* const scratch = arena_.mark();
    done = times(flags(configuration.per_socket), done);
    arena_.rewind(scratch);
    const uint32_t farthest = n_ - 1;
    std::vector<double> told;  // when the first reader has read each chunk
    for (uint32_t r = 1; r < n_; ++r) {
      const bool here = r < near_;
      const uint32_t readers = !(buffered && configuration.per_socket) ? n_ - 1 : here ? near_ - 1 : n_ - near_;
      const double first = (crosses ? ready(farthest) + crossing() : ready(r)) + (readers - 1) * double{costs_.poller};
      const double pace = crosses && !ordered ? (receive(r) + receive(farthest)) / 2 : receive(r);
      uint64_t read = 0;
      for (size_t k = 0; read < lines; ++k) {
        if (ordered && !here && shared && (k == 0 || configuration.strict))
          done[r] = std::max(done[r] + hop(r), told[k] + hop(r));
        const uint64_t now = std::min(per_chunk, lines - read);
        done[r] += static_cast<double>(now - (k == 0)) * pace + (k == 0 ? first : 0);
        // Its progress is a line that the other socket polls.
        if (ordered && here && far) done[r] += ready(farthest);
        if (r == 1) told.push_back(done[r]);
        read += now;
      }
    }
    std::vector<std::pair<double, uint32_t>> answers;
    for (uint32_t r = 1; r < n_; ++r) answers.emplace_back(done[r] + costs_.hop[costs_.at(r, 0)], r);
    std::sort(answers.begin(), answers.end());
    bool alone = true;
    for (const auto& [visible, r] : answers) {
      done[0] = std::max(done[0] + (alone ? costs_.ready_read : costs_.recv_busy)[costs_.at(r, 0)], visible);
      alone = false;
    }
    double sum = 0;
    for (uint32_t r = 0; r < n_; ++r) sum += done[r] - left_[r];
    return sum / n_;
  }

 private:
  static const PatternInfo* find(const char* name) {
    Pattern pattern;
    find_pattern(name, &pattern);
    return pattern.info;
  }

  double hop(uint32_t r) const { return costs_.hop[r]; }
  double ready(uint32_t r) const { return costs_.ready_read[r]; }
  double receive(uint32_t r) const { return costs_.recv_busy[r]; }
  double crossing() const { return costs_.crossing[static_cast<uint32_t>(distance_in(costs_, 0, n_ - 1))]; }

  Schedule flags(bool per_socket) {
    Choice choice;
    if (build({find("line"), per_socket ? kPackageLines : kOneLine}, Operation::kBroadcast, 0, costs_, arena_,
              &choice) != 0)
      throw UserError("out of memory");
    return choice.schedule;
  }

  // When each is through, if it begins then.
  std::vector<double> times(const Schedule& schedule, std::vector<double> begin) {
    std::vector<uint16_t> place(n_);
    for (uint32_t r = 0; r < n_; ++r) place[r] = static_cast<uint16_t>(r);
    Pricer pricer;
    double makespan = 0;
    if (pricer.make(schedule, costs_, arena_) != 0 || pricer.price_next(place.data(), begin.data(), &makespan) != 0)
      throw UserError("out of memory");
    return begin;
  }

  const uint32_t n_, near_;  // near: on the root's socket
  MappedArena arena_;
  Costs costs_;
  std::vector<double> left_;
};

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
    Configuration known;
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
  std::map<uint32_t, Simulation> of;
  for (const uint32_t ranks : counts) of.try_emplace(ranks, table, ranks);
  double call = 0;
  const auto predicted = [&](const TimedBroadcast& row) {
    Configuration configuration;
    parse_configuration(row.configuration, &configuration);
    return of.at(row.ranks).mean(configuration, row.bytes, call);
  };
  for (const uint64_t bytes : sizes)
    if (const TimedBroadcast* pair = find_row(table, "flat", 2, bytes)) {
      call = std::max(0.0, pair->ns - predicted(*pair));
      break;
    }
  Document out = {{"name", table.name},
                  {"machine", table.machine_name},
                  {"call", call},
                  {"sizes", Document::array()},
                  {"not_priced", table.unknown}};
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
      "A call costs {} beside what is priced (from two ranks).\n",
      shown(document, "call", As::kTenths) + " ns");
  if (!document["not_priced"].empty())
    out += fmt::format("not priced: {}\n", fmt::join(document["not_priced"].get<std::vector<std::string>>(), "; "));
  return out;
}

}  // namespace smelt
