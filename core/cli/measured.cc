// A cost model is held against measurements that it has never seen: other people's trees, on other people's machines,
// with the pairwise costs that they measured there. It need not hit a time, because a loop of theirs holds more than
// messages; what counts is the order, for a pattern is chosen by nothing else. So: rank correlation, the error that is
// left when one factor is free, and how much longer the cheapest by the model took than the quickest.
#include "cli/measured.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/command.h"
#include "cli/live.h"
#include "discover/machine_file.h"
#include "generate/tree.h"
#include "profile/api.h"
#include "profile/text/json_checks.h"
#include "profile/text/read.h"
#include "schedule/choose.h"
#include "schedule/predict.h"

namespace smelt {
namespace {

using Json = nlohmann::ordered_json;

enum Way { kDown, kUp };
struct MeasuredOperation {
  const char* name;
  std::vector<Way> ways;  // one after the other over the same tree
};
const std::vector<MeasuredOperation>& operations() {
  static const std::vector<MeasuredOperation> all = {
      {"broadcast", {kDown}}, {"reduce", {kUp}}, {"barrier", {kUp, kDown}}, {"agreement", {kDown, kUp, kDown}}};
  return all;
}

struct MeasuredTree {
  std::string name;
  const MeasuredOperation* operation;
  uint16_t root;
  std::vector<std::vector<uint16_t>> children;
  double time;
};

// The rows of one file, one operation and one model.
struct MeasuredSet {
  std::string machine, model;
  const MeasuredOperation* operation = nullptr;
  std::string unit;
  std::vector<const MeasuredTree*> trees;
  std::vector<double> predicted, measured;
  double spearman = 0, error = 0, scale = 0, chosen_over_best = 0;
  size_t chosen = 0;
};

MeasuredTree read_tree(const nlohmann::json& row, uint32_t n, const JsonChecks& checks) {
  MeasuredTree tree;
  tree.name = one_line(checks.text(row, "tree"));
  const std::string name = checks.text(row, "operation");
  const auto known = std::find_if(operations().begin(), operations().end(),
                                  [&](const MeasuredOperation& operation) { return name == operation.name; });
  if (known == operations().end())
    checks.fail("\"operation\" is \"{}\", not \"broadcast\", \"reduce\", \"barrier\" or \"agreement\"", name);
  tree.operation = &*known;
  tree.root = static_cast<uint16_t>(checks.whole(checks.member(row, "root"), "\"root\"", n - 1));
  tree.time = checks.number(row, "time");
  if (tree.time <= 0) checks.fail("\"time\" of {} \"{}\" is not more than 0", name, tree.name);
  const nlohmann::json& lists = checks.member(row, "children");
  if (!lists.is_array() || lists.size() != n) checks.fail("\"children\" of \"{}\" is not a list of {}", tree.name, n);
  for (const nlohmann::json& list : lists) {
    if (!list.is_array()) checks.fail("\"children\" of \"{}\" is not a list of lists", tree.name);
    std::vector<uint16_t> below;
    for (const nlohmann::json& child : list)
      below.push_back(static_cast<uint16_t>(checks.whole(child, "a child", n - 1)));
    tree.children.push_back(std::move(below));
  }
  return tree;
}

// Down: everybody hears it from the parent; up: everybody's news reaches the root. The next way begins for everybody
// when it is through with the one before.
double predicted_time(const MeasuredTree& given, const Costs& machine, const JsonChecks& checks) {
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
  if (!error) error = release.make(down, arena);
  if (!error) error = gather.make(up, arena);
  std::vector<double> done(n, 0);
  double makespan = 0;
  for (const Way way : given.operation->ways)
    if (!error) error = (way == kDown ? release : gather).price_next(costs, identity.data(), done.data(), &makespan);
  if (error) throw UserError("out of memory");
  return makespan;
}

void judge(MeasuredSet& set) {
  for (const MeasuredTree* tree : set.trees) set.measured.push_back(tree->time);
  const size_t count = set.trees.size();
  double logarithms = 0, least = std::numeric_limits<double>::infinity();
  for (size_t k = 0; k < count; ++k) {
    logarithms += std::log(set.measured[k] / set.predicted[k]);
    least = std::min(least, set.predicted[k]);
  }
  set.scale = std::exp(logarithms / static_cast<double>(count));
  std::vector<double> scaled;
  for (const double predicted : set.predicted) scaled.push_back(predicted * set.scale);
  const Agreement agrees = agreement(scaled, set.measured, 0);
  set.spearman = agrees.spearman;
  set.error = agrees.mean_error;
  // Of several that cost the same the slowest: it might be taken.
  double slowest = 0;
  for (size_t k = 0; k < count; ++k)
    if (set.predicted[k] <= least * (1 + 1e-6) && set.measured[k] > slowest) set.chosen = k, slowest = set.measured[k];
  set.chosen_over_best = slowest / *std::min_element(set.measured.begin(), set.measured.end());
}

struct MeasuredFile {
  MachineFile machine;
  std::vector<MeasuredTree> trees;
};

MeasuredFile read_measured(const std::string& path) {
  MeasuredFile file;
  const JsonChecks checks(path);
  const nlohmann::json root = checks.parse(read_text_file(path));
  checks.member(root, "t_send");
  file.machine = read_machine_file(path);
  const nlohmann::json& rows = checks.member(root, "measured");
  if (!rows.is_array() || rows.empty()) checks.fail("\"measured\" is not a list of trees");
  const auto n = static_cast<uint32_t>(file.machine.cpus.size());
  for (const nlohmann::json& row : rows) file.trees.push_back(read_tree(row, n, checks));
  return file;
}

std::vector<MeasuredSet> sets_of(const MeasuredFile& file, const std::string& path) {
  std::vector<MeasuredSet> sets;
  const JsonChecks checks(path);
  for (const MeasuredOperation& operation : operations())
    for (const bool paper : {false, true}) {
      MeasuredSet set;
      set.machine = one_line(file.machine.name);
      set.model = paper ? "paper" : "overlap";
      set.operation = &operation;
      const Costs& costs = paper ? file.machine.paper : file.machine.overlap;
      set.unit = cost_unit_name(costs.unit);
      for (const MeasuredTree& tree : file.trees) {
        if (tree.operation != &operation) continue;
        set.trees.push_back(&tree);
        set.predicted.push_back(predicted_time(tree, costs, checks));
        if (set.predicted.back() <= 0)
          checks.fail("\"{}\" of {}: by the file's costs it takes no time", tree.name, operation.name);
      }
      if (set.trees.empty()) continue;
      if (set.trees.size() < 2)
        checks.fail("\"measured\" has one tree of operation {}; an order takes two", operation.name);
      judge(set);
      sets.push_back(std::move(set));
    }
  return sets;
}

// Over all sets of one model.
struct ModelSummary {
  std::string model;
  size_t sets = 0;
  double spearman = 0, error = 0, chosen_over_best = 0, worst = 0;
};
std::vector<ModelSummary> summaries(const std::vector<MeasuredSet>& sets) {
  std::vector<ModelSummary> out;
  for (const char* model : {"overlap", "paper"}) {
    ModelSummary all;
    all.model = model;
    for (const MeasuredSet& set : sets) {
      if (set.model != model) continue;
      ++all.sets;
      all.spearman += set.spearman;
      all.error += set.error;
      all.chosen_over_best += std::log(set.chosen_over_best);
      all.worst = std::max(all.worst, set.chosen_over_best);
    }
    const auto count = static_cast<double>(all.sets);
    all.spearman /= count;
    all.error /= count;
    all.chosen_over_best = std::exp(all.chosen_over_best / count);
    out.push_back(all);
  }
  return out;
}

void put_json(const std::vector<MeasuredSet>& sets) {
  Json rows = Json::array(), models = Json::array();
  for (const MeasuredSet& set : sets) {
    Json patterns = Json::array();
    for (size_t k = 0; k < set.trees.size(); ++k)
      patterns.push_back({{"tree", set.trees[k]->name},
                          {"root", set.trees[k]->root},
                          {"predicted", set.predicted[k]},
                          {"measured", set.measured[k]}});
    rows.push_back({{"name", set.machine},
                    {"operation", set.operation->name},
                    {"model", set.model},
                    {"spearman", set.spearman},
                    {"error", set.error},
                    {"scale", set.scale},
                    {"chosen", set.trees[set.chosen]->name},
                    {"chosen_over_best", set.chosen_over_best},
                    {"unit", set.unit},
                    {"patterns", std::move(patterns)}});
  }
  for (const ModelSummary& all : summaries(sets))
    models.push_back({{"model", all.model},
                      {"sets", all.sets},
                      {"spearman", all.spearman},
                      {"error", all.error},
                      {"chosen_over_best", all.chosen_over_best},
                      {"worst_chosen_over_best", all.worst}});
  put(Json{{"sets", std::move(rows)}, {"models", std::move(models)}}.dump(2) + "\n");
}

void put_text(const std::vector<MeasuredSet>& sets) {
  constexpr auto kHead = "{:<24} {:<10} {:<8} {:>9} {:>7} {:>10}  {}\n";
  constexpr auto kRow = "{:<24} {:<10} {:<8} {:>9.2f} {:>6.0f}% {:>10.2f}  {}\n";
  std::string out = fmt::format(kHead, "machine", "operation", "model", "spearman", "error", "over best", "chosen");
  for (const MeasuredSet& set : sets)
    out += fmt::format(kRow, set.machine, set.operation->name, set.model, set.spearman, 100 * set.error,
                       set.chosen_over_best, set.trees[set.chosen]->name);
  for (const ModelSummary& all : summaries(sets))
    out += fmt::format(kRow, fmt::format("all {} sets", all.sets), "", all.model, all.spearman, 100 * all.error,
                       all.chosen_over_best, fmt::format("worst {:.2f}", all.worst));
  out +=
      "spearman: rank correlation of predicted with measured. error: mean, after one factor for the set.\n"
      "over best: measured time of the tree that the model finds cheapest over the shortest; of all, geometric mean.\n";
  put(out);
}

}  // namespace

void put_measured(const std::vector<std::string>& paths, bool json) {
  std::vector<MeasuredFile> files;
  for (const std::string& path : paths) files.push_back(read_measured(path));
  std::vector<MeasuredSet> sets;
  for (size_t k = 0; k < files.size(); ++k)
    for (MeasuredSet& set : sets_of(files[k], paths[k])) sets.push_back(std::move(set));
  if (json)
    put_json(sets);
  else
    put_text(sets);
}

}  // namespace smelt
