// Two kinds of files. A matrix file with the trees that were timed on the very machine, each tree written out. And a
// table out of a paper, which names patterns that the registry knows, and a machine whose costs are in the zoo or in a
// file; where those are not the machine's own, the file says whose they are.
#include "bench/lab/measured_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>

#include "cli/command.h"
#include "generate/registry.h"
#include "generate/tree.h"
#include "pictures/picture_request.h"
#include "profile/profile.h"
#include "profile/text/json_checks.h"
#include "profile/text/read.h"
#include "schedule/choose.h"
#include "schedule/predict.h"

namespace smelt {
namespace {

// Of a pattern: the operation that it serves. False: the registry's patterns do not serve it.
bool operation_of(const MeasuredRow& row, Operation* out) {
  for (const Operation op : {Operation::kBroadcast, Operation::kReduce, Operation::kBarrier})
    if (std::strcmp(row.operation->name, operation_name(op)) == 0) {
      *out = op;
      return true;
    }
  return false;
}

void read_tree(const nlohmann::json& row, uint32_t n, const JsonChecks& checks, MeasuredRow* out) {
  MeasuredRow& tree = *out;
  tree.name = one_line(checks.text(row, "tree"));
  tree.root = static_cast<uint16_t>(checks.whole(checks.member(row, "root"), "\"root\"", n - 1));
  const nlohmann::json& lists = checks.member(row, "children");
  if (!lists.is_array() || lists.size() != n) checks.fail("\"children\" of \"{}\" is not a list of {}", tree.name, n);
  for (const nlohmann::json& list : lists) {
    if (!list.is_array()) checks.fail("\"children\" of \"{}\" is not a list of lists", tree.name);
    std::vector<uint16_t> below;
    for (const nlohmann::json& child : list)
      below.push_back(static_cast<uint16_t>(checks.whole(child, "a child", n - 1)));
    tree.children.push_back(std::move(below));
  }
}

void read_pattern(const nlohmann::json& row, const JsonChecks& checks, MeasuredRow* out) {
  out->pattern = checks.text(row, "pattern");
  out->name = one_line(row.contains("name") ? checks.text(row, "name") : out->pattern);
  if (row.contains("cpus")) out->cpus = checks.text(row, "cpus");
  if (row.contains("loop")) {
    if (!row["loop"].is_boolean()) checks.fail("\"loop\" of \"{}\" is not true or false", out->name);
    out->loop = row["loop"].get<bool>();
  }
  Operation op;
  if (!operation_of(*out, &op)) checks.fail("\"{}\" is a pattern, which serves no {}", out->name, out->operation->name);
  if (out->loop && op != Operation::kBarrier) checks.fail("\"loop\" of \"{}\": only barriers are run so", out->name);
}

MeasuredRow read_row(const nlohmann::json& row, uint32_t n, const JsonChecks& checks) {
  MeasuredRow out;
  const std::string name = checks.text(row, "operation");
  const auto& known = measured_operations();
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const MeasuredOperation& operation) { return name == operation.name; });
  if (found == known.end())
    checks.fail("\"operation\" is \"{}\", not \"broadcast\", \"reduce\", \"barrier\" or \"agreement\"", name);
  out.operation = &*found;
  out.time = checks.number(row, "time");
  if (row.contains("pattern"))
    read_pattern(row, checks, &out);
  else
    read_tree(row, n, checks, &out);
  if (out.time <= 0) checks.fail("\"time\" of {} \"{}\" is not more than 0", name, out.name);
  return out;
}

// Down: everybody hears it from the parent; up: everybody's news reaches the root. The next way begins for everybody
// when it is through with the one before.
double price_of_tree(const MeasuredRow& given, const Costs& machine, const JsonChecks& checks) {
  std::vector<uint16_t> members{given.root};
  std::vector<uint16_t> place(machine.n, kNobody);
  place[given.root] = 0;
  for (size_t k = 0; k < members.size(); ++k)
    for (const uint16_t child : given.children[members[k]]) {
      if (place[child] != kNobody) checks.fail("\"children\" of \"{}\": {} has two parents", given.name, child);
      place[child] = static_cast<uint16_t>(members.size());
      members.push_back(child);
    }
  const auto n = static_cast<uint32_t>(members.size());
  MappedArena arena(2 * generation_bytes(n));
  Costs costs;
  Tree tree;
  Schedule down, up;
  Pricer release, gather;
  std::vector<uint16_t> identity(n);
  for (uint32_t i = 0; i < n; ++i) identity[i] = static_cast<uint16_t>(i);
  int error = arena.ok() ? subset_costs(machine, members, arena, &costs) : -1;
  if (!error) error = make_tree(n, 0, arena, &tree);
  for (uint32_t i = 0; i < n && !error; ++i)
    for (const uint16_t child : given.children[members[i]]) append_child(tree, static_cast<uint16_t>(i), place[child]);
  if (!error) error = broadcast_schedule(tree, arena, &down);
  if (!error) error = reduce_schedule(tree, arena, &up);
  if (!error) error = release.make(down, costs, arena);
  if (!error) error = gather.make(up, costs, arena);
  std::vector<double> done(n, 0);
  double makespan = 0;
  for (const TreeWay way : given.operation->ways)
    if (!error) error = (way == TreeWay::kDown ? release : gather).price_next(identity.data(), done.data(), &makespan);
  if (error) throw UserError("out of memory");
  return makespan;
}

double price_of_pattern(const MeasuredRow& row, const MachineFile& machine, bool paper) {
  PictureRequest request;
  operation_of(row, &request.op);
  request.pattern = row.pattern;
  request.paper = paper;
  request.effort = kStartEffort;
  request.effort.lines = !paper;
  if (!row.cpus.empty()) request.cpus = parse_cpu_list(row.cpus);
  const Picture picture = make_picture(machine, request);
  return row.loop ? picture.steady : picture.predicted;
}

}  // namespace

const std::vector<MeasuredOperation>& measured_operations() {
  constexpr TreeWay kDown = TreeWay::kDown, kUp = TreeWay::kUp;
  static const std::vector<MeasuredOperation> all = {
      {"broadcast", {kDown}}, {"reduce", {kUp}}, {"barrier", {kUp, kDown}}, {"agreement", {kDown, kUp, kDown}}};
  return all;
}

MeasuredFile read_measured_file(const std::string& path) {
  MeasuredFile file;
  file.path = path;
  const JsonChecks checks(path);
  const nlohmann::json root = checks.parse(read_text_file(path));
  const bool table = checks.member(root, "measured").is_array() && root.contains("machine");
  if (!table) checks.member(root, "t_send");
  file.machine = read_machine_file(table ? checks.text(root, "machine") : path);
  file.name = one_line(table ? checks.text(root, "name") : file.machine.name);
  if (root.contains("stand_in")) file.stand_in = one_line(checks.text(root, "stand_in"));
  const nlohmann::json& rows = root["measured"];
  if (!rows.is_array() || rows.empty()) checks.fail("\"measured\" is not a list of trees or patterns");
  const auto n = static_cast<uint32_t>(file.machine.cpus.size());
  for (const nlohmann::json& row : rows) file.rows.push_back(read_row(row, n, checks));
  return file;
}

double predicted_time(const MeasuredFile& file, const MeasuredRow& row, bool paper) {
  const JsonChecks checks(file.path);
  const double price = row.pattern.empty()
                           ? price_of_tree(row, paper ? file.machine.paper : file.machine.overlap, checks)
                           : price_of_pattern(row, file.machine, paper);
  if (price <= 0) checks.fail("\"{}\" of {}: by the file's costs it takes no time", row.name, row.operation->name);
  return price;
}

}  // namespace smelt
