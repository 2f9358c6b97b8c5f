// A cost model is held against measurements that it has never seen: other people's trees, on other people's machines,
// with the pairwise costs that they measured there. It need not hit a time, because a loop of theirs holds more than
// messages. Only the order counts, because a pattern is chosen by nothing else. So: rank correlation, the error that is
// left when one factor is free, and how much longer the cheapest by the model took than the quickest.
#include "bench/lab/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/lab/broadcast_table.h"
#include "bench/lab/live.h"
#include "bench/lab/measured_file.h"
#include "cli/command.h"
#include "cli/progress_line.h"
#include "pictures/picture_request.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

// The rows of one file, one operation, the same CPUs and one model.
struct MeasuredSet {
  std::string machine, model, cpus;
  const MeasuredOperation* operation = nullptr;
  bool loop = false, counts = true;  // false: with the costs of another machine, so not in the mean
  std::string unit;
  std::vector<const MeasuredRow*> rows;
  std::vector<double> predicted, measured;
  double spearman = 0, error = 0, scale = 0, chosen_over_best = 0;
  size_t chosen = 0;
};

void judge(MeasuredSet& set) {
  for (const MeasuredRow* row : set.rows) set.measured.push_back(row->time);
  const size_t count = set.rows.size();
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

bool belongs(const MeasuredRow& row, const MeasuredSet& set) {
  return row.operation == set.operation && row.loop == set.loop && row.cpus == set.cpus;
}

std::vector<MeasuredSet> sets_of(const MeasuredFile& file) {
  std::vector<MeasuredSet> sets;
  const auto begin = [&](const MeasuredRow& row) {
    MeasuredSet set;
    set.machine = file.name;
    set.operation = row.operation;
    set.loop = row.loop;
    set.cpus = row.cpus;
    set.counts = file.stand_in.empty();
    set.unit = cost_unit_name(file.machine.overlap.unit);
    for (const MeasuredRow& other : file.rows)
      if (belongs(other, set)) set.rows.push_back(&other);
    if (set.rows.size() < 2)
      throw UserError(fmt::format("{}: \"measured\" has one row of operation {}{}{}; an order takes two", file.path,
                                  row.operation->name, set.cpus.empty() ? "" : " on CPUs ", set.cpus));
    for (const bool paper : {false, true}) {
      MeasuredSet one = set;
      one.model = paper ? "paper" : "overlap";
      for (const MeasuredRow* each : one.rows) one.predicted.push_back(predicted_time(file, *each, paper));
      judge(one);
      sets.push_back(std::move(one));
    }
  };
  for (const MeasuredOperation& operation : measured_operations())
    for (const MeasuredRow& row : file.rows)
      if (row.operation == &operation &&
          std::none_of(sets.begin(), sets.end(), [&](const MeasuredSet& set) { return belongs(row, set); }))
        begin(row);
  return sets;
}

// Over all sets of one model that count.
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
      if (set.model != model || !set.counts) continue;
      ++all.sets;
      all.spearman += set.spearman;
      all.error += set.error;
      all.chosen_over_best += std::log(set.chosen_over_best);
      all.worst = std::max(all.worst, set.chosen_over_best);
    }
    if (all.sets == 0) return {};
    const auto count = static_cast<double>(all.sets);
    all.spearman /= count;
    all.error /= count;
    all.chosen_over_best = std::exp(all.chosen_over_best / count);
    out.push_back(all);
  }
  return out;
}

Document measured_document(const std::vector<MeasuredSet>& sets) {
  Document rows = Document::array(), models = Document::array();
  for (const MeasuredSet& set : sets) {
    Document patterns = Document::array();
    for (size_t k = 0; k < set.rows.size(); ++k)
      patterns.push_back({{"tree", set.rows[k]->name},
                          {"root", set.rows[k]->root},
                          {"predicted", set.predicted[k]},
                          {"measured", set.measured[k]}});
    rows.push_back({{"name", set.machine},
                    {"operation", set.operation->name},
                    {"model", set.model},
                    {"loop", set.loop},
                    {"cpus", set.cpus},
                    {"counts", set.counts},
                    {"spearman", set.spearman},
                    {"error", set.error},
                    {"scale", set.scale},
                    {"chosen", set.rows[set.chosen]->name},
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
  return {{"sets", std::move(rows)}, {"models", std::move(models)}};
}

// "ziger", or "SB 4 x 8 x 2 /32" where only so many CPUs took part; with a star where the costs are another machine's.
std::string label_of(const Document& set) {
  std::string out = set["name"];
  if (const std::string cpus = set["cpus"]; !cpus.empty()) out += fmt::format(" /{}", parse_cpu_list(cpus).size());
  return set["counts"] ? out : out + " *";
}

std::string measured_text(const Document& document, const std::vector<MeasuredFile>& files) {
  Document rows = document["sets"];
  for (Document& row : rows) row["label"] = label_of(row);
  for (Document all : document["models"]) {
    all["label"] = told(all, "all {sets} sets");
    all["operation"] = "";
    all["chosen"] = "worst " + shown(all, "worst_chosen_over_best", As::kHundredths);
    rows.push_back(std::move(all));
  }
  std::string out = table_text(
      {"machine", columns("machine=label; operation; model; spearman|2; error|%; over best=chosen_over_best|2; chosen"),
       std::move(rows)});
  out +=
      "spearman: rank correlation of predicted with measured. error: mean, after one factor for the set.\n"
      "over best: measured time of the tree that the model finds cheapest over the shortest; of all, geometric mean.\n";
  for (const MeasuredFile& file : files)
    if (!file.stand_in.empty()) out += fmt::format("* {}: {}; not in the mean.\n", file.name, file.stand_in);
  return out;
}

}  // namespace

void put_measured(const std::vector<std::string>& paths, const std::string& machine, bool json) {
  std::vector<MeasuredFile> files;
  std::vector<BroadcastTable> tables;
  for (const std::string& path : paths) {
    if (is_broadcast_table(path))
      tables.push_back(read_broadcast_table(path, machine));
    else
      files.push_back(read_measured_file(path));
  }
  if (!machine.empty() && !files.empty())
    throw UserError(fmt::format("--machine: {} says itself whose costs it has; leave --machine out", files[0].path));
  std::vector<MeasuredSet> sets;
  Document document;
  {
    const StillWorking working("pricing what was measured");
    for (const MeasuredFile& file : files)
      for (MeasuredSet& set : sets_of(file)) sets.push_back(std::move(set));
    document = measured_document(sets);
    for (const BroadcastTable& table : tables) document["broadcasts"].push_back(broadcast_table_document(table));
  }
  show(document, json, [&files](const Document& all) {
    std::string out = files.empty() ? "" : measured_text(all, files);
    if (all.contains("broadcasts"))
      for (const Document& table : all["broadcasts"]) out += broadcast_table_text(table);
    return out;
  });
}

}  // namespace smelt
