#include "tree.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include <smelt/tree.h>

namespace onepaxos {
namespace {

struct FreeTree {
  void operator()(smelt_tree* tree) const { smelt_tree_free(tree); }
};

bool knows(const smelt_model* model, const std::vector<unsigned>& cpus) {
  std::set<int> known;
  for (unsigned i = 0; i < smelt_model_cpus(model); ++i) known.insert(smelt_model_cpu(model, i));
  return std::all_of(cpus.begin(), cpus.end(), [&](unsigned cpu) { return known.count(static_cast<int>(cpu)) != 0; });
}

// A machine on which every message costs the same: nothing better is known of replicas that share CPUs.
smelt_model* even(unsigned n) {
  constexpr double kNanoseconds = 100;  // any: only that all are the same counts
  std::vector<double> cost(n * n, kNanoseconds);
  for (unsigned i = 0; i < n; ++i) cost[i * n + i] = 0;
  smelt_model* model = nullptr;
  if (smelt_model_create(n, cost.data(), cost.data(), nullptr, nullptr, &model) != 0)
    throw std::runtime_error("no memory for a model");
  return model;
}

}  // namespace

Trees::Trees(unsigned replicas, const Options& options)
    : replicas_(replicas), broadcast_(options.broadcast), pattern_(options.pattern), cpus_(options.cpus) {
  if (broadcast_ == Broadcast::kSequential) return;
  if (std::set<unsigned>(cpus_.begin(), cpus_.end()).size() == replicas) {
    smelt_model* model = nullptr;
    if (smelt_model_load(nullptr, &model) == 0) model_.reset(model);
  }
  if (!model_ || !knows(model_.get(), cpus_)) {
    model_.reset(even(replicas));
    cpus_.resize(replicas);
    for (unsigned i = 0; i < replicas; ++i) cpus_[i] = i;
  }
  make(options.acceptor, 0);
}

Tree Trees::make(unsigned root, uint64_t silent) const {
  Tree result;
  result.parent.assign(replicas_, static_cast<int>(root));
  result.parent[root] = -1;
  result.children.resize(replicas_);
  silent &= ~(uint64_t{1} << root);
  if (broadcast_ == Broadcast::kSequential) silent = ~(uint64_t{1} << root);

  std::vector<unsigned> members, cpus;  // of Smelt's tree
  int root_member = 0;
  for (unsigned i = 0; i < replicas_; ++i) {
    if (silent >> i & 1) continue;
    if (i == root) root_member = static_cast<int>(members.size());
    members.push_back(i);
    if (broadcast_ == Broadcast::kTree) cpus.push_back(cpus_[i]);
  }
  if (members.size() > 1) {
    smelt_tree* made = nullptr;
    if (smelt_tree_create(model_.get(), pattern_.c_str(), static_cast<unsigned>(members.size()), cpus.data(),
                          root_member, &made) != 0)
      throw std::invalid_argument("no tree of Smelt's: " + pattern_);
    const std::unique_ptr<smelt_tree, FreeTree> tree(made);
    for (unsigned m = 0; m < members.size(); ++m) {
      std::vector<unsigned> children(members.size());
      const int count = smelt_tree_children(tree.get(), m, children.data(), static_cast<unsigned>(children.size()));
      for (int k = 0; k < count; ++k) {
        const unsigned child = members[children[static_cast<size_t>(k)]];
        result.parent[child] = static_cast<int>(members[m]);
        result.children[members[m]].push_back(child);
      }
    }
  }
  for (unsigned i = 0; i < replicas_; ++i)
    if (silent >> i & 1) result.children[root].push_back(i);
  return result;
}

}  // namespace onepaxos
